"""Plain data that every reader of JSON understands."""

import math
from typing import Any


def finite(value: Any) -> Any:
    """JSON has no infinity: numbers that are not finite become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value

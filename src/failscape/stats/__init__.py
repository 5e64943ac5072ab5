"""Pure functions on arrays: intervals, e-values, false discovery control."""

from failscape.stats.evalues import e_bh, e_value, log_e_bh, log_e_process, log_e_value
from failscape.stats.intervals import clopper_pearson, jeffreys, wilson

__all__ = [
    "clopper_pearson",
    "e_bh",
    "e_value",
    "jeffreys",
    "log_e_bh",
    "log_e_process",
    "log_e_value",
    "wilson",
]

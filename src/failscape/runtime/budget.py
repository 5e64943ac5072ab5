"""What a run may spend and has spent. Pure accounting: the engine tells it what starts and what ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from failscape.atlas import Call, Spent
from failscape.config import BudgetConfig
from failscape.trials import Probe

#: Sums of prices are not exact.
ROUNDING = 1e-9


@dataclass(slots=True)
class Budget:
    """Counts over all sessions of a run.

    What is under way is set aside, so that no probe is started which could pass a limit. Only retries
    can: they are counted when they are over. `prices` is money per request, by role.
    """

    limits: BudgetConfig
    spent: Spent
    prices: Mapping[str, float] = field(default_factory=dict)
    images_under_way: int = 0
    requests_under_way: int = 0
    money_under_way: float = 0.0

    def start(self, probe: Probe) -> bool:
        """Set aside what `probe` will take, or say that there is not enough left."""
        if self.refuses(probe):
            return False
        self.images_under_way += probe.images
        self.requests_under_way += _requests(probe)
        self.money_under_way += self._price(probe)
        return True

    def end(self, probe: Probe, calls: tuple[Call, ...] | list[Call]) -> None:
        """Give back what was set aside for `probe` and count what it took."""
        self.images_under_way -= probe.images
        self.requests_under_way -= _requests(probe)
        self.money_under_way -= self._price(probe)
        for call in calls:
            if not call.cached:
                self.spent.images += call.role in ("generator", "editor")
                self.spent.requests += call.usage.requests
                self.spent.money += call.usage.cost

    def room(self, most: int) -> int:
        """How many more one-image probes may start now, at most `most`."""
        limits = self.limits
        if limits.images is not None:
            most = min(most, limits.images - self.spent.images - self.images_under_way)
        return 0 if self.exhausted() else max(most, 0)

    def exhausted(self, images: int = 1, requests: int = 1, money: float = 0.0) -> str:
        """The limit, in words, that leaves no room for so much more; `""` when none does."""
        limits, spent = self.limits, self.spent
        if limits.images is not None and spent.images + self.images_under_way + images > limits.images:
            return f"budget of {limits.images} images"
        if (
            limits.requests is not None
            and spent.requests + self.requests_under_way + requests > limits.requests
        ):
            return f"budget of {limits.requests} requests"
        if limits.seconds is not None and spent.seconds >= limits.seconds:
            return f"budget of {limits.seconds:g} seconds"
        money += spent.money + self.money_under_way
        if limits.money is not None and (money > limits.money + ROUNDING or spent.money >= limits.money):
            return f"budget of {limits.money:g} in money"
        return ""

    def refuses(self, probe: Probe) -> str:
        """The limit that keeps `probe` from starting."""
        return self.exhausted(probe.images, _requests(probe), self._price(probe))

    def _price(self, probe: Probe) -> float:
        return sum(self.prices.get(step.role, 0.0) for step in probe.steps) if self.prices else 0.0

    def share(self) -> float | None:
        """The largest share of any limit that is spent; `None` without limits."""
        limits, spent = self.limits, self.spent
        pairs = (
            (spent.images, limits.images),
            (spent.requests, limits.requests),
            (spent.seconds, limits.seconds),
            (spent.money, limits.money),
        )
        shares = [used / limit for used, limit in pairs if limit is not None]
        return max(shares) if shares else None


def _requests(probe: Probe) -> int:
    return sum([step.role != "" for step in probe.steps])

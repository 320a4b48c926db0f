"""Rule of following an archive: the settings that determine the results, with defaults and bounds."""

from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from pipeline.rem_variants import REM, RemVariant, rem_variants
from pipeline.text import printable, suggest_name
from pipeline.variants import variants_for

FOLLOWING = "following"  # the dataset that is followed
LATE_DAYS = 14  # days for which late data is requested and replayed
JUDGED_DAYS = 7  # days on which a new model is compared with the old one, and its epoch chosen
FEWEST_DAYS = JUDGED_DAYS + 1  # leaves one day to learn from
QUIET_DAYS = 7  # after so many days without an event among the followed, nothing is forecast
NOTHING_HAPPENED = f"the followed accounts had no events among themselves for {QUIET_DAYS} days"
FEWEST_NODES = 3  # with fewer there is nothing to rank


def model_that_follows(name: str) -> RemVariant:
    """Return the model of this name; raise ValueError if it cannot follow."""
    models = {one.name: one for one in rem_variants()}
    if any(name in (one.name, one.key) for one in variants_for(("",))):
        raise ValueError(
            f"LDG_FOLLOW_VARIANTS names {name}: following by the paper's models was removed in 0.4, because "
            f"they lose to recency; use {REM}"
        )
    if name not in models:
        raise ValueError(
            f"LDG_FOLLOW_VARIANTS names {printable(name)}; those that follow are {', '.join(models)}"
            f"{suggest_name(name, models)}"
        )
    return models[name]


@dataclass(frozen=True)
class FollowRule:
    """People, window and models of following; `accounts` or `organizations` replace the core.

    People are chosen again every `reselect` days from the `days` before. The first of `variants` decides when
    the new people are promoted.
    """

    days: int = 90
    nodes: int = 1000
    accounts: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    reselect: int = 28
    variants: tuple[str, ...] = (REM,)

    def __post_init__(self) -> None:
        if self.days < FEWEST_DAYS:
            raise ValueError(f"days takes more than {JUDGED_DAYS}, not {self.days}")
        if self.nodes < FEWEST_NODES:
            raise ValueError(
                f"nodes takes {FEWEST_NODES} or more, not {self.nodes}: with fewer there is nothing to rank"
            )
        if self.reselect < 1:
            raise ValueError(f"reselect takes 1 or more, not {self.reselect}")
        if not self.variants or len(set(self.variants)) < len(self.variants):
            raise ValueError(f"LDG_FOLLOW_VARIANTS takes one or more different names, not {self.variants}")

    @property
    def people(self) -> tuple[object, ...]:
        """Settings that determine whom to follow."""
        return self.days, self.nodes, self.accounts, self.organizations

    def as_json(self) -> dict[str, Any]:
        """Return the rule as JSON values for files."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }


# msgspec prepares a type at its first use, which is not thread-safe: do it at import.
msgspec.json.Decoder(FollowRule)

"""How an archive is followed: the settings that decide what comes out."""

from dataclasses import asdict, dataclass
from typing import Any

from pipeline.settings import Settings

FOLLOWING = "following"  # the dataset that is followed
LATE_DAYS = 14  # so many days back, late data is asked for and put right
JUDGED_DAYS = 7  # a new model is held against the old one, and its epoch chosen, on so many days


@dataclass(frozen=True)
class FollowRule:
    """What is followed, how far back, and by which models; `accounts` or `organizations` replace the core.

    Everyone is chosen anew every `reselect` days from the `days` before. The first of `variants` decides when
    the new people are taken on.
    """

    days: int = 90
    nodes: int = 1000
    accounts: tuple[str, ...] = ()
    organizations: tuple[str, ...] = ()
    reselect: int = 28
    variants: tuple[str, ...] = ("rem",)

    def __post_init__(self) -> None:
        if self.days <= JUDGED_DAYS:
            raise ValueError(f"days takes more than {JUDGED_DAYS}, not {self.days}")
        if self.nodes < 3:
            raise ValueError(f"nodes takes 3 or more, not {self.nodes}: with fewer there is nothing to rank")
        if self.reselect < 1:
            raise ValueError(f"reselect takes 1 or more, not {self.reselect}")
        if not self.variants or len(set(self.variants)) < len(self.variants):
            raise ValueError(f"variants takes one or more different names, not {self.variants}")

    @property
    def people(self) -> tuple[object, ...]:
        """What decides whom to follow."""
        return self.days, self.nodes, self.accounts, self.organizations

    def as_json(self) -> dict[str, Any]:
        """The rule as files name it."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }


def follow_rule(settings: Settings) -> FollowRule:
    """How the settings ask to follow."""
    return FollowRule(
        days=settings.follow_days,
        nodes=settings.follow_nodes,
        accounts=settings.follow_accounts,
        organizations=settings.follow_organizations,
        reselect=settings.follow_reselect,
        variants=settings.follow_variants,
    )

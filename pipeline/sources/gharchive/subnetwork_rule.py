"""Membership rule of the dense subnetwork, and the patterns of bot logins."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

# Bot accounts, as regular expressions over the whole lower-case login.
BOT_PATTERNS = (
    r".*\[bot\]",  # GitHub Apps
    r".*[-_.]bot\d*",
    r"bot[-_.].*",
    r".*(build|deploy|merge|release|commit|travis|jenkins|issue|review)bot\d*",
    r".+-(ci|jenkins|travis|buildmaster|autobuild|deployer)",
    r"(travis-?ci|jenkins(ci)?|hudson|houndci|coveralls|codecov|dependabot|renovate|greenkeeper(io)?)",
    r"(dependabot|renovate|greenkeeper|snyk|pyup)[-_].*",
    r"(web-flow|ghost|github-actions|invalid-email-address)",  # GitHub's placeholder accounts
)


@dataclass(frozen=True)
class SubnetworkRule:
    """Membership rule of the subnetwork; the defaults are the paper's.

    An account qualifies if it is not a bot and initiated at least `min_communications` and `min_associations`
    in the window, without self-interactions. `start` and `end` are file days, both inclusive. With `core`,
    only events among members count, and the rule is applied until the set is stable. `max_nodes` keeps the
    densest part: the account with the fewest events among the rest is removed, one by one.
    """

    min_communications: int = 200
    min_associations: int = 7
    start: date = date(2013, 1, 1)
    end: date = date(2013, 12, 31)
    core: bool = False
    max_nodes: int | None = None
    bot_patterns: tuple[str, ...] = BOT_PATTERNS

    def __post_init__(self) -> None:
        for name in ("min_communications", "min_associations"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it takes a whole number from 0")
        if self.start > self.end:
            raise ValueError(f"start {self.start} is after end {self.end}")
        if self.max_nodes is not None and self.max_nodes < 2:
            raise ValueError(f"max_nodes is {self.max_nodes}; it takes a whole number from 2, or None")

    @property
    def bots(self) -> str:
        """One pattern that matches the login of any bot."""
        return any_of(self.bot_patterns)


def any_of(patterns: Iterable[str]) -> str:
    """Join patterns into one; without patterns, return one that never matches."""
    return "|".join(f"(?:{pattern})" for pattern in patterns) or r"[^\s\S]"

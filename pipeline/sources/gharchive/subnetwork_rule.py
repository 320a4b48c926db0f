"""Who belongs to the dense subnetwork: the rule, and which logins are machines."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

# Accounts that are machines, as regular expressions over the whole lower-case login.
BOT_PATTERNS = (
    r".*\[bot\]",  # GitHub Apps
    r".*[-_.]bot\d*",
    r"bot[-_.].*",
    r".*(build|deploy|merge|release|commit|travis|jenkins|issue|review)bot\d*",
    r".+-(ci|jenkins|travis|buildmaster|autobuild|deployer)",
    r"(travis-?ci|jenkins(ci)?|hudson|houndci|coveralls|codecov|dependabot|renovate|greenkeeper(io)?)",
    r"(dependabot|renovate|greenkeeper|snyk|pyup)[-_].*",
    r"(web-flow|ghost|github-actions|invalid-email-address)",  # GitHub's own stand-ins
)


@dataclass(frozen=True)
class SubnetworkRule:
    """Who belongs to the subnetwork; the defaults are the paper's.

    An account qualifies if it is no bot and initiated at least `min_communications` and `min_associations` in
    the window, self-interactions apart. `start` and `end` are file days, both inside. With `core`, only
    events among members count, and the rule is applied until nobody more falls out. `max_nodes` keeps the
    densest part: the account with the fewest events among the rest leaves, one by one.
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
        """The pattern of a machine's login."""
        return any_of(self.bot_patterns)


def any_of(patterns: Iterable[str]) -> str:
    """One pattern for several; a class that matches nothing stands for none."""
    return "|".join(f"(?:{pattern})" for pattern in patterns) or r"[^\s\S]"

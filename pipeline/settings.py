"""Every setting of the system: environment variables `LDG_…`, each with a default, checked when read."""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

from dotenv import dotenv_values

from pipeline.lake import Lake
from pipeline.sources.gharchive.normalize import OWNER_TYPES

PREFIX = "LDG_"


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Settings:
    """What a user may set; field `github_start` is the environment variable `LDG_GITHUB_START`, and so on."""

    home: Path = Path("data")
    gharchive_url: str = "https://data.gharchive.org"
    keep_raw: bool = True
    largest_hour: int = 4 << 30
    communications: tuple[str, ...] = tuple(sorted(OWNER_TYPES))
    associations: tuple[str, ...] = ("FollowEvent",)
    github_history: date = date(2012, 3, 11)
    github_start: date = date(2013, 1, 1)
    github_split: datetime = datetime(2013, 9, 1)
    github_time_zone: str = "America/Toronto"
    github_end: date = date(2013, 12, 31)
    github_min_communications: int = 200
    github_min_associations: int = 7
    github_core: bool = False
    github_max_nodes: int | None = None
    social_evolution: str = ""
    social_evolution_terms_accepted: bool = False
    social_evolution_probability: float = 0.8
    social_evolution_relations: tuple[str, ...] = ("CloseFriend",)
    social_evolution_start: date = date(2008, 9, 11)
    social_evolution_split: date = date(2009, 5, 1)
    social_evolution_end: date = date(2009, 7, 1)
    seeds: int = 10
    epochs: int = 5
    batch: int = 200
    learning_rate: float = 2e-4
    datasets: tuple[str, ...] = ()  # none named: all
    variants: tuple[str, ...] = ("dyrep", "ldg_learned_sparse")
    trainings: int = field(default_factory=processors)

    def __post_init__(self) -> None:
        if not self.github_history <= self.github_start <= self.github_end:
            raise ValueError(
                f"LDG_GITHUB_HISTORY {self.github_history}, LDG_GITHUB_START {self.github_start} and "
                f"LDG_GITHUB_END {self.github_end} must be in this order"
            )
        for name in ("seeds", "epochs", "batch", "trainings", "largest_hour"):
            if getattr(self, name) < 1:
                raise ValueError(f"{PREFIX}{name.upper()} is {getattr(self, name)}; it takes 1 or more")

    @property
    def lake(self) -> Lake:
        """The lake at this home."""
        return Lake(self.home)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the variables present in `environment`; an empty value means the default."""
        values: dict[str, Any] = {}
        for setting in fields(cls):
            variable = PREFIX + setting.name.upper()
            text = environment.get(variable, "").strip()
            if not text:
                continue
            read, allowed = READERS[setting.type]
            try:
                values[setting.name] = read(text)
            except ValueError:
                raise ValueError(f"{variable} is {text!r}; it takes {allowed}") from None
        return cls(**values)

    def environment(self) -> dict[str, str]:
        """Every setting as its variable, such that `from_environment` reads it back."""
        return {
            PREFIX + setting.name.upper(): written(getattr(self, setting.name)) for setting in fields(self)
        }

    @classmethod
    def load(cls) -> Self:
        """Settings of this process; its environment goes before `$LDG_HOME/.env`, that before `./.env`."""
        here = {name: text for name, text in dotenv_values(".env").items() if text is not None}
        outer = {**here, **os.environ}
        home = Path(outer.get("LDG_HOME") or cls.home)
        inner = {name: text for name, text in dotenv_values(home / ".env").items() if text is not None}
        return cls.from_environment({**here, **inner, **os.environ})


def yes_or_no(text: str) -> bool:
    """`yes`, `true`, `1`, `on` or their opposites."""
    if text.lower() in ("yes", "true", "1", "on"):
        return True
    if text.lower() in ("no", "false", "0", "off"):
        return False
    raise ValueError(text)


def written(value: object) -> str:
    """A setting's value as text; nothing for none."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case date():
            return value.isoformat()
        case tuple():
            return ",".join(value)
    return str(value)


def environment_lines(variables: Mapping[str, str]) -> str:
    """Variables as a `.env` has them, such that a shell reads them as well."""
    return "".join(f"{name}={quoted(value)}\n" for name, value in variables.items())


def quoted(text: str) -> str:
    """`text` as a shell and a `.env` both read it; an apostrophe asks for the quotes that both know."""
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\') else shlex.quote(text)


def listed(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


READERS: dict[Any, tuple[Callable[[str], Any], str]] = {
    Path: (lambda text: Path(text).expanduser(), "a folder"),
    str: (str, "text"),
    bool: (yes_or_no, "yes or no"),
    int: (int, "a whole number"),
    int | None: (int, "a whole number, or nothing for no limit"),
    float: (float, "a number"),
    date: (date.fromisoformat, "a date such as 2013-01-31"),
    datetime: (datetime.fromisoformat, "a date or a time such as 2013-09-01T00:00"),
    tuple[str, ...]: (listed, "names separated by commas"),
}

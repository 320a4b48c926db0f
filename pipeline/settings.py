"""All settings: environment variables `LDG_…`, each with a default, validated when read.

The shell takes precedence over `$LDG_HOME/.env`, which takes precedence over `./.env`. A `.env` is data: no
commands or variables in it are expanded.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Self, get_args
from urllib.parse import urlsplit

from annotated_types import Ge, Gt, Le, Lt
from dotenv.parser import Binding, parse_stream
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from pipeline.event_table import is_time_zone
from pipeline.following.rule import FEWEST_DAYS, FEWEST_NODES, FollowRule
from pipeline.lake import Lake, temporary_name
from pipeline.machine import processors
from pipeline.paper_training import BATCH, EPOCHS, LEARNING_RATE, SEEDS
from pipeline.rem_variants import REM
from pipeline.sources.download import LARGEST
from pipeline.sources.gharchive.hours import ARCHIVE
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.subnetwork_rule import SubnetworkRule
from pipeline.sources.social_evolution.events import SocialEvolutionRules
from pipeline.sources.social_evolution.relations import RELATIONS
from pipeline.sources.urls import shown_address
from pipeline.text import suggest_name
from pipeline.variant_names import ldg_name
from pipeline.variants import DYREP

PREFIX = "LDG_"
SHELL = "the shell"
# Fields whose whole text may be secret; never shown on pages or in logs.
SECRET = ("alert_webhook", "alert_command", "store")
# Internal variables, not settings.
SHELL_NAMES = "LDG_SHELL_NAMES"  # names of the variables in the shell of `ldg dev`
STARTED_IN = "LDG_STARTED_IN"  # its working directory
OPTIONS = "LDG_OPTIONS"  # variables set by command-line options
INTERNAL = (SHELL_NAMES, STARTED_IN, OPTIONS, "LDG_REAL_DATA", "LDG_SCREENSHOTS")


class SettingError(ValueError):
    """An invalid setting; the message names the variable, its source, and the values it takes."""


def read_date(value: object) -> object:
    """Parse an ISO date; pydantic alone would read a bare number as seconds since 1970."""
    return date.fromisoformat(value) if isinstance(value, str) else value


def read_moment(value: object) -> object:
    """Parse an ISO date and time; pydantic alone would read a bare number as seconds since 1970."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def read_names(value: object) -> object:
    """Split names separated by commas."""
    return (
        tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value
    )


def checked_zone(name: str) -> str:
    """Return a time zone's name; raise ValueError if it is unknown."""
    if not is_time_zone(name):
        raise ValueError(name)
    return name


def checked_relations(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return relations of the survey; raise ValueError if empty, or if one is unknown or repeated."""
    if not names or len(set(names)) < len(names) or not set(names) <= set(RELATIONS):
        raise ValueError(names)
    return names


def checked_store(address: str) -> str:
    """Return the address of a PostgreSQL database, or an empty string; raise ValueError for others."""
    parts = urlsplit(address)
    if address and not (parts.scheme == "postgresql" and parts.path.strip("/")):
        raise ValueError(address)
    return address


def checked_storage(address: str) -> str:
    """Return the address of a bucket or a folder in it, or an empty string; raise ValueError for others."""
    if address and not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]+(/[\w.=-]+)*/?", address, re.ASCII):
        raise ValueError(address)
    return address.rstrip("/")


def checked_cluster(address: str) -> str:
    """Return the address of a Dask scheduler, or an empty string; raise ValueError for others."""
    if address and not re.fullmatch(r"(tcp|tls)://[^/:@\s]+:\d+", address):
        raise ValueError(address)
    return address


def checked_cron(schedule: str) -> str:
    """Return a cron schedule; raise ValueError for numbers out of range and dates that never occur."""
    fields = schedule.split(" ")
    values = [cron_values(field, *bounds) for field, bounds in zip(fields, CRON_BOUNDS, strict=True)]
    if min(values[2]) > max(LONGEST_MONTHS[month - 1] for month in values[3]):
        raise ValueError(schedule)
    return schedule


def cron_values(field: str, lowest: int, highest: int, names: str = "") -> set[int]:
    """Return the numbers that a cron field matches, such as {0, 20, 40} for `*/20`."""
    numbers = {name: str(number) for number, name in enumerate(names.split(), lowest)}
    values: set[int] = set()
    for part in field.lower().split(","):
        span, slash, step = part.partition("/")
        first, dash, last = (f"{lowest}-{highest}" if span in {"*", "?"} else span).partition("-")
        start = int(numbers.get(first, first))
        end = int(numbers.get(last, last)) if dash else highest if slash else start
        stride = int(step) if slash else 1
        if not (lowest <= start <= highest and lowest <= end <= highest and stride > 0):
            raise ValueError(field)
        wrapped = end if start <= end else end + highest - lowest + 1  # 22-2 wraps over midnight
        values |= {
            lowest + (number - lowest) % (highest - lowest + 1)
            for number in range(start, wrapped + 1, stride)
        }
    return values


def checked_hosts(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return host names in lower case; raise ValueError for whole addresses."""
    for name in names:
        if not re.fullmatch(r"([\w.-]+|\[[0-9a-fA-F:]+\])(:\d+)?", name, re.ASCII):
            raise ValueError(name)
    return tuple(name.lower() for name in names)


@dataclass(frozen=True)
class Takes:
    """A description of valid values, for settings whose type and bounds are not enough."""

    words: str


Folder = Annotated[Path, AfterValidator(Path.expanduser)]
Day = Annotated[date, BeforeValidator(read_date)]
Moment = Annotated[datetime, BeforeValidator(read_moment)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(read_names)]
Zone = Annotated[str, AfterValidator(checked_zone), Takes("a time zone such as America/Toronto")]
Relations = Annotated[
    Names, AfterValidator(checked_relations), Takes(f"one or several of {', '.join(RELATIONS)}")
]
CRON_BOUNDS = (
    (0, 59),
    (0, 23),
    (1, 31),
    (1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"),
    (0, 7, "sun mon tue wed thu fri sat"),
)
LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
Cron = Annotated[
    str,
    Field(pattern=r"^[A-Za-z\d*?,/-]+( [A-Za-z\d*?,/-]+){4}$"),
    AfterValidator(checked_cron),
    Takes("five fields of cron such as 30 12 * * *, in UTC, of a date that some year has"),
]
Hosts = Annotated[
    Names,
    AfterValidator(checked_hosts),
    Takes("names of hosts separated by commas, such as ldg.example.org or ldg.example.org:8443"),
]
Cluster = Annotated[
    str,
    AfterValidator(checked_cluster),
    Takes("an address such as tcp://host:8786 or tls://host:8786, or nothing"),
]
Store = Annotated[
    str,
    AfterValidator(checked_store),
    Takes("an address such as postgresql://user:password@host/database, or nothing"),
]
Storage = Annotated[
    str,
    AfterValidator(checked_storage),
    Takes("an address such as s3://bucket/prefix, or nothing"),
]
Count = Annotated[int, Field(ge=1)]
PAPER_ALONE = "It reaches the paper's models alone (DyRep, LDG), not REM, waiting times or `ldg follow`."


class Settings(BaseSettings):
    """The user's settings; field `github_start` is the environment variable `LDG_GITHUB_START`, and so on.

    `Settings(…)` uses only its arguments and the defaults; `load` reads the environment and `.env` files. The
    rule classes define the defaults for the paper's data.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    home: Folder = Field(Path("data"), description="The folder in which everything is kept.")
    storage: Storage = Field(
        "",
        description="S3-compatible storage that several machines share: what is finished is published there, "
        "what is missing is brought from there; the AWS_… variables say how to reach it.",
    )
    gharchive_url: str = Field(
        ARCHIVE,
        description="Where hour files come from: an http(s) address or a local folder.",
    )
    keep_raw: bool = Field(True, description="Whether hour files stay after reading.")
    # The last hour of a day is published shortly after midnight UTC. A file still absent half a day later
    # will not appear, so the previous day is complete at this time.
    schedule: Cron = Field("30 12 * * *", description="When the schedules bring the newest day.")
    retry_seconds: int = Field(
        60,
        ge=0,
        le=86_400,
        description="How long a run waits before it asks again for hours that failed, the second time twice "
        "as long; 0 for no second try.",
    )
    largest_hour: int = Field(
        LARGEST,
        ge=1 << 20,
        le=1 << 40,
        description="The most bytes an hour file may have; a larger one is refused.",
    )
    communications: Names = Field(
        tuple(sorted(EventRules.communications)), description="Types of events that are communications."
    )
    associations: Names = Field(
        tuple(sorted(EventRules.associations)),
        description="Types of events that are associations; `MemberEvent` may be added.",
    )
    github_history: Day = Field(
        date(2012, 3, 11), description="First file day whose follows are initial associations."
    )
    github_start: Day = Field(SubnetworkRule.start, description="First file day of the network.")
    github_split: Moment = Field(
        datetime(2013, 9, 1), description="When testing starts, on the clock of `LDG_GITHUB_TIME_ZONE`."
    )
    github_time_zone: Zone = Field("America/Toronto", description="The time zone of `LDG_GITHUB_SPLIT`.")
    github_end: Day = Field(SubnetworkRule.end, description="Last file day of the network.")
    github_min_communications: int = Field(
        SubnetworkRule.min_communications,
        ge=0,
        description="How many communications an account must start to belong to the network.",
    )
    github_min_associations: int = Field(
        SubnetworkRule.min_associations,
        ge=0,
        description="How many associations an account must start to belong to the network.",
    )
    github_core: bool = Field(
        SubnetworkRule.core,
        description="Whether both rules are repeated on those who belong until nobody leaves.",
    )
    github_max_nodes: int | None = Field(
        SubnetworkRule.max_nodes,
        ge=2,
        description="Keep only so many accounts, the most densely connected ones.",
    )
    follow_days: int = Field(
        FollowRule.days, ge=FEWEST_DAYS, description="How many days `ldg follow` looks back and learns from."
    )
    follow_nodes: int = Field(
        FollowRule.nodes, ge=FEWEST_NODES, description="How many accounts are followed: the densest core."
    )
    follow_accounts: Names = Field(FollowRule.accounts, description="Follow these accounts instead.")
    follow_organizations: Names = Field(
        FollowRule.organizations,
        description="Follow these owners of repositories and who acts on them instead.",
    )
    follow_reselect: Count = Field(
        FollowRule.reselect, description="After how many days it is chosen anew whom to follow."
    )
    follow_variants: Names = Field(
        FollowRule.variants,
        description="The models that follow; the first decides when new people are taken on.",
    )
    follow_keep_raw: bool = Field(
        False, description="Whether hour files that `ldg follow` brings stay after reading."
    )
    social_evolution: str = Field(
        "", description="Where the Social Evolution files come from: a zip, a folder or a URL of a zip."
    )
    social_evolution_terms_accepted: bool = Field(
        False, description="Whether you accept the terms of the data; a URL is not downloaded otherwise."
    )
    social_evolution_probability: float = Field(
        SocialEvolutionRules.min_probability,
        ge=0,
        lt=1,
        description="How probable proximity on the same floor must be to count as an event.",
    )
    social_evolution_relations: Relations = Field(
        SocialEvolutionRules.relations, description="Surveyed relations that are associations."
    )
    social_evolution_start: Day = Field(SocialEvolutionRules.start, description="First day of the events.")
    social_evolution_split: Day = Field(SocialEvolutionRules.test_start, description="First day of testing.")
    social_evolution_end: Day = Field(
        SocialEvolutionRules.end, description="The day at whose start the events end."
    )
    seeds: Count = Field(SEEDS, description="How many times each variant is trained, each from another seed.")
    epochs: Count = Field(
        EPOCHS, description=f"How many passes are made over the training events. {PAPER_ALONE}"
    )
    batch: Count = Field(
        BATCH,
        description=f"Events per step of the optimizer; a small dataset wants fewer. {PAPER_ALONE}",
    )
    learning_rate: float = Field(
        LEARNING_RATE,
        gt=0,
        le=1,
        description=f"The size of the optimizer's steps; a small dataset wants larger ones. {PAPER_ALONE}",
    )
    datasets: Names = Field((), description="The datasets a run works on, by name; all of them if empty.")
    variants: Names = Field(
        (DYREP, ldg_name("learned", "sparse"), REM),
        description="The models a run trains, those of the paper with both interactions.",
    )
    trainings: Count = Field(
        default_factory=processors,
        description="How many trainings this home has side by side, in runs of the UI and headless ones "
        "together; one per processor if empty.",
    )
    alert_webhook: str = Field(
        "", description="An http(s) address that gets every alert as JSON; its path is kept secret."
    )
    alert_command: str = Field(
        "", description="A command, for instance `mail -s alert me`, that gets every alert as its input."
    )
    store: Store = Field(
        "",
        description="The PostgreSQL database where Dagster keeps runs and schedules; SQLite files if empty.",
    )
    cluster: Cluster = Field(
        "",
        description="The scheduler of the cluster that reads days and trains; this machine alone if empty.",
    )
    ui_hosts: Hosts = Field(
        (),
        description="Names by which browsers reach the UI behind a proxy, with the port if the address bar "
        "shows one; 127.0.0.1 and localhost are always served, requests for any other host are refused.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use arguments only; `load` reads the `.env` files, so that errors can name a value's source."""
        return (init_settings,)

    @model_validator(mode="after")
    def home_fits(self) -> Self:
        """Raise ValueError for a home whose path databases misinterpret."""
        Lake(self.home)
        return self

    @model_validator(mode="after")
    def days_in_order(self) -> Self:
        """Raise ValueError for days that are not in order."""
        if not self.github_history <= self.github_start <= self.github_end:
            raise ValueError(
                f"LDG_GITHUB_HISTORY {self.github_history}, LDG_GITHUB_START {self.github_start} and "
                f"LDG_GITHUB_END {self.github_end} must be in this order"
            )
        if not self.social_evolution_start < self.social_evolution_split < self.social_evolution_end:
            raise ValueError(
                f"LDG_SOCIAL_EVOLUTION_START {self.social_evolution_start}, "
                f"LDG_SOCIAL_EVOLUTION_SPLIT {self.social_evolution_split} and "
                f"LDG_SOCIAL_EVOLUTION_END {self.social_evolution_end} must follow one another"
            )
        return self

    @model_validator(mode="after")
    def event_types_and_split_fit(self) -> Self:
        """Raise ValueError for event types and splits that would otherwise fail only after a download."""
        try:
            EventRules(frozenset(self.communications), frozenset(self.associations))
        except ValueError as error:
            raise ValueError(f"LDG_COMMUNICATIONS or LDG_ASSOCIATIONS: {error}") from None
        if self.github_split.tzinfo is not None:
            raise ValueError(
                f"LDG_GITHUB_SPLIT is {self.github_split}; it takes a time without an offset, on the clock "
                "of LDG_GITHUB_TIME_ZONE"
            )
        return self

    @property
    def lake(self) -> Lake:
        """The lake of this home."""
        return Lake(self.home, self.storage)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read settings from `environment`; an empty value means the default."""
        return cls.from_values({name: Value(text, SHELL) for name, text in environment.items()})

    @classmethod
    def from_values(cls, values: Mapping[str, "Value"]) -> Self:
        """Read settings from variables with sources; raise SettingError for unknown or invalid ones."""
        ours = {name: value for name, value in values.items() if name.startswith(PREFIX)}
        for name, value in ours.items():
            refuse_unknown(name, value.source)
        texts = {name: value.text.strip() for name, value in ours.items() if name not in INTERNAL}
        try:
            return cls(**VariablesSource(cls, texts)())
        except ValidationError as error:
            (first, *_) = error.errors()
            if not first["loc"]:
                raise SettingError(first["msg"].removeprefix("Value error, ")) from None
            name = str(first["loc"][0])
            wrong = ours[variable(name)]
            raise SettingError(
                f"{variable(name)} is {shown_address(wrong.text.strip())!r} in {wrong.source}; "
                f"it takes {values_taken(cls.model_fields[name])}"
            ) from None

    def environment(self) -> dict[str, str]:
        """Return all settings as environment variables, the inverse of `from_environment`."""
        return {variable(name): setting_text(getattr(self, name)) for name in type(self).model_fields}

    @classmethod
    def load(cls) -> Self:
        """Load the settings of this process from the environment and `.env` files."""
        return cls.from_values(values_in_force())

    def still_to_come(self, today: date | None = None) -> list[str]:
        """Return a message for each last day that lies in the future and has no data yet."""
        today = today or datetime.now(UTC).date()
        return [
            f"{variable(name)} is {last}, which is still to come: there is nothing to read after {today}"
            for name in ("github_end", "social_evolution_end")
            if (last := getattr(self, name)) > today
        ]

    def last_github_day(self, today: date | None = None) -> date:
        """Return the last file day of the network that is complete, by default as of today in UTC."""
        return min(self.github_end, (today or datetime.now(UTC).date()) - timedelta(days=1))

    def make_home(self) -> None:
        """Create the home's folder; raise SettingError if it is not writable."""
        probe = temporary_name(self.home / "writable")
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            probe.touch()
            probe.unlink()
        except OSError as error:
            reason = "it is a file" if self.home.is_file() else error.strerror
            raise SettingError(
                f"LDG_HOME is {str(self.home)!r}, where nothing can be written ({reason}); "
                "it takes a folder of your own"
            ) from None


@dataclass(frozen=True)
class Value:
    """A variable's text and the source that sets it."""

    text: str
    source: str

    @property
    def is_of_command(self) -> bool:
        """Return True if it is set for one command, in the shell or by an option, and not in a `.env`."""
        return self.source == SHELL or self.source.startswith("--")


class VariablesSource(EnvSettingsSource):
    """A source of settings that reads a mapping as pydantic-settings reads the environment."""

    def __init__(self, settings: type[BaseSettings], texts: Mapping[str, str]) -> None:
        self.texts = texts
        super().__init__(settings)

    def _load_env_vars(self) -> Mapping[str, str]:
        return {name.lower(): text for name, text in self.texts.items() if text}


def values_in_force() -> dict[str, Value]:
    """Return all variables in effect: the shell overrides `$LDG_HOME/.env`, which overrides `./.env`."""
    ours = {name: text for name, text in shell_variables().items() if name.startswith(PREFIX)}
    options = option_names()
    shell = {name: Value(text, option_of(name) if name in options else SHELL) for name, text in ours.items()}
    here = read_env_file(env_file_here())
    named = {name: value for name, value in (here | shell).items() if name == "LDG_HOME"}
    inner = read_env_file(Settings.from_values(named).home / ".env")
    # The home's own `.env` cannot move the home.
    inner.pop("LDG_HOME", None)
    return here | inner | shell


def set_options(values: Mapping[str, object]) -> None:
    """Set variables of this process from a command's options, by field; None means not given."""
    texts = {variable(name): str(value) for name, value in values.items() if value is not None}
    os.environ |= {**texts, OPTIONS: ",".join(texts)}


def option_names() -> list[str]:
    """Return the variables that command-line options set."""
    return os.environ.get(OPTIONS, "").split(",")


def option_of(name: str) -> str:
    """Return the command-line option of a variable."""
    return "--" + name.removeprefix(PREFIX).lower().replace("_", "-")


def given_name(field: str) -> str:
    """Return a setting's name as the user gave it: the command-line option if used, else the variable."""
    name = variable(field)
    return option_of(name) if name in option_names() else name


def shell_to_remember() -> dict[str, str]:
    """Return variables that tell Dagster's processes the shell's variable names and working directory.

    These processes run in another folder, and Dagster adds that folder's `.env` to their environment.
    """
    names = [name for name in os.environ if name.startswith((PREFIX, "AWS_"))]
    return {SHELL_NAMES: ",".join(names), STARTED_IN: str(Path.cwd())}


def shell_variables() -> dict[str, str]:
    """Return the shell's variables, without those that Dagster read from a `.env`, which may be outdated."""
    names = list(os.environ)
    if SHELL_NAMES in os.environ:
        names = [*os.environ[SHELL_NAMES].split(","), *option_names()]
    return {name: os.environ[name] for name in names if name in os.environ}


def env_file_here() -> Path:
    """Return the path of `./.env` in the folder where the command was started."""
    return Path(os.environ.get(STARTED_IN, "")) / ".env"


def read_env_file(path: Path) -> dict[str, Value]:
    """Read the variables of a `.env` without expansion; return {} if the file is absent."""
    return {
        binding.key: Value(binding.value or "", f"{path}, line {binding.original.line}")
        for binding in bindings_in(path)
        if binding.key
    }


def env_file_with(path: Path, variables: Mapping[str, str]) -> str:
    """Return the text of a `.env` with these variables set and everything else unchanged."""
    bindings = bindings_in(path)
    text = "".join(
        environment_lines({binding.key: variables[binding.key]})
        if binding.key and binding.key in variables
        else binding.original.string
        for binding in bindings
    )
    new = {name: variables[name] for name in variables if name not in {binding.key for binding in bindings}}
    return text + ("\n" if new and not text.endswith("\n") else "") + environment_lines(new)


def bindings_in(path: Path) -> list[Binding]:
    """Parse a `.env` with comments and empty lines; return [] if absent, raise SettingError if invalid."""
    try:
        with path.open(encoding="utf-8") as lines:
            bindings = list(parse_stream(lines))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} cannot be read ({error}); it takes lines such as LDG_SEEDS=3") from None
    for binding in bindings:
        if binding.error:
            raise SettingError(
                f"{path}, line {binding.original.line}: {binding.original.string.strip()!r} is not NAME=value"
            )
    return bindings


def refuse_unknown(name: str, source: str) -> None:
    """Raise SettingError for an unknown variable `LDG_…`, which is usually misspelled."""
    names = [variable(field) for field in Settings.model_fields]
    if name in names or name in INTERNAL:
        return
    remedy = suggest_name(name, names) or "; docs/settings.md lists every setting"
    raise SettingError(f"{name} in {source} is no setting{remedy}")


def variable(name: str) -> str:
    """Return the environment variable of a field."""
    return PREFIX + name.upper()


KINDS: dict[Any, str] = {
    Path: "a folder",
    str: "text",
    bool: "yes or no",
    int: "a whole number",
    float: "a number",
    date: "a date such as 2013-01-31",
    datetime: "a date or a time such as 2013-09-01T00:00",
    tuple[str, ...]: "names separated by commas",
}


def values_taken(field: FieldInfo) -> str:
    """Return a description of the values that a setting takes, for messages and pages."""
    for part in field.metadata:
        if isinstance(part, Takes):
            return part.words
    optional = isinstance(field.annotation, UnionType)
    kind = KINDS[get_args(field.annotation)[0] if optional else field.annotation]
    bounds = [text for part in field.metadata if (text := bound_in_words(part))]
    return ", ".join([kind, *bounds]) + (", or nothing for no limit" if optional else "")


def bound_in_words(part: object) -> str:
    """Return a description of a bound, or an empty string for other metadata."""
    match part:
        case Ge():
            return f"{part.ge} or more"
        case Gt():
            return f"above {part.gt}"
        case Le():
            return f"{part.le} at most"
        case Lt():
            return f"below {part.lt}"
    return ""


def setting_text(value: object) -> str:
    """Return a setting's value as text; an empty string for None."""
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
    """Return variables as lines of a `.env`."""
    return "".join(f"{name}={quoted(value)}\n" for name, value in variables.items())


def quoted(text: str) -> str:
    """Return `text` as a `.env` value, quoted if necessary."""
    if re.fullmatch(r"[\w@%+=:,./-]+", text, re.ASCII):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

"""The home of the paper's experiments: made from its two data sets, with its settings pinned."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from pipeline.lake import Lake, replacing, write_text
from pipeline.paper_training import BATCH, EPOCHS, LEARNING_RATE, SEEDS
from pipeline.rem_variants import REM
from pipeline.settings import Settings, environment_lines, read_env_file, variable
from pipeline.sources.paper.experiments import GITHUB, SOCIAL_EVOLUTION, VARIANTS

GITHUB_FILES = ("events.parquet", "follows_2011_2012.parquet", "nodes.parquet")
SOCIAL_EVOLUTION_FILE = "SocialEvolution.zip"
GITHUB_TOML = Path(__file__).with_name("github_2013.toml")

# The paper's training settings. Data rules are the defaults; `pinned` writes all of them down.
PAPER_ENVIRONMENT = {
    "LDG_DATASETS": ",".join(VARIANTS),
    "LDG_VARIANTS": ",".join((*VARIANTS[SOCIAL_EVOLUTION], REM)),
    "LDG_SEEDS": str(SEEDS),
    "LDG_EPOCHS": str(EPOCHS),
    "LDG_BATCH": str(BATCH),
    "LDG_LEARNING_RATE": str(LEARNING_RATE),
}
# Settings without effect on results: locations, speed, limits, and following the archive.
FREE = (
    "LDG_CLUSTER",
    "LDG_HOME",
    "LDG_LARGEST_HOUR",
    "LDG_RETRY_SECONDS",
    "LDG_SCHEDULE",
    "LDG_STORAGE",
    "LDG_STORE",
    "LDG_TRAININGS",
    "LDG_ALERT_WEBHOOK",
    "LDG_ALERT_COMMAND",
    *(variable(name) for name in Settings.model_fields if name.startswith("follow_")),
)
ENVIRONMENT_HEAD = "# The settings of the paper's experiments, written when it was prepared.\n"


class PaperError(ValueError):
    """The home of the paper's experiments cannot be prepared; the message says why and what to do."""


def prepare_papers_home(data: Path, home: Path, environment: Mapping[str, str]) -> bool:
    """Prepare `home` for the paper from the real files in `data`; return False if it had the settings.

    `environment` may override training settings (fewer seeds, say): they are written into the home's `.env`,
    which in `ldg reproduce` takes precedence over the shell. Raise `PaperError` for other settings there.
    """
    check_data(data)
    ours = pinned((data / SOCIAL_EVOLUTION / SOCIAL_EVOLUTION_FILE).resolve(), environment)
    path = home / ".env"
    theirs = papers_environment(home)
    if theirs is not None and theirs != ours:
        raise PaperError(
            f"{path} holds other settings: {differing_settings(theirs, ours)}. "
            "Name another home (LDG_HOME=…), or remove that file if this home is to have the new settings."
        )
    folder = Lake(home).own / GITHUB
    for source in (*(data / GITHUB / name for name in GITHUB_FILES), GITHUB_TOML):
        with replacing(folder / ("dataset.toml" if source == GITHUB_TOML else source.name)) as temporary:
            shutil.copyfile(source, temporary)
    if theirs is None:
        write_text(ENVIRONMENT_HEAD + environment_lines(ours), path)
    return theirs is None


def check_data(data: Path) -> None:
    """Raise `PaperError` if `data` lacks one of the real files."""
    wanted = [data / GITHUB / name for name in GITHUB_FILES]
    wanted.append(data / SOCIAL_EVOLUTION / SOCIAL_EVOLUTION_FILE)
    missing = [str(path) for path in wanted if not path.is_file()]
    if missing:
        raise PaperError(f"there is no {', no '.join(missing)}; docs/operations.md says what DATA must hold")


def pinned(source: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return every result-deciding setting for the home's `.env`; `source` is Social Evolution's path."""
    tried = {name: environment[name] for name in PAPER_ENVIRONMENT if environment.get(name, "").strip()}
    wanted = {**PAPER_ENVIRONMENT, **tried, "LDG_SOCIAL_EVOLUTION": str(source)}
    return {**wanted, **deciding(Settings.from_environment(wanted))}


def deciding(settings: Settings) -> dict[str, str]:
    """Return every setting that decides a result, by variable name."""
    return {name: text for name, text in settings.environment().items() if name not in FREE}


def papers_environment(home: Path) -> dict[str, str] | None:
    """Return every setting that decides a result from a home's `.env`; None without such a file.

    A setting absent from the file has its default: the file was written before the setting existed.
    """
    path = home / ".env"
    return deciding(Settings.from_values(read_env_file(path))) if path.exists() else None


def differing_settings(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    """Return text that lists the differing settings with both values."""
    names = sorted(name for name, text in ours.items() if theirs[name] != text)
    return "; ".join(f"{name} is {theirs[name]!r} there, {ours[name]!r} here" for name in names)


def is_the_papers(home: Path) -> bool:
    """Return whether a home has the paper's settings, not those of a trial."""
    pins = papers_environment(home) or {}
    return pins == pinned(Path(pins.get("LDG_SOCIAL_EVOLUTION", "")), {})

"""Builder of the sample world in a home: raw files, planted graphs, and a completion marker."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from pipeline.lake import Lake, replacing, write_json, write_parquet, write_text
from pipeline.settings import env_file_with, environment_lines, read_env_file
from pipeline.sources.sample import gharchive, social_evolution
from pipeline.sources.sample.world import WorldSettings, planted_graph, simulate
from pipeline.sources.source import SAMPLE_WORLD

VERSION = 2  # raise it whenever the same settings begin to make other files

GITHUB_WORLD = WorldSettings(
    seed=2015,
    people=66,
    communities=5,
    hubs=3,
    start=datetime(2014, 12, 19, 8),  # UTC: midnight in California, where the first file begins
    end=datetime(2015, 1, 12),
    interactions=7_800,
    memory_hours=0.4,
    reply=0.35,
    spread=0.35,
)
SOCIAL_EVOLUTION_WORLD = WorldSettings(
    seed=2009,
    people=46,
    communities=5,
    hubs=3,
    start=datetime(2008, 9, 4),
    end=datetime(2009, 6, 30),
    interactions=4_700,
    memory_hours=0.4,
    reply=0.35,
    spread=0.35,
    forming=0.3,
    dissolving=0.2,
)
GITHUB_SPLIT = datetime(2015, 1, 6)
SOCIAL_EVOLUTION_SPLIT = datetime(2009, 5, 1)

# The settings that fit this world: a window of file days that begins four days after the first file, so that
# follows before it are initial associations, and thresholds that most people of the planted graph reach and
# no other account. Files since 2015 have no follows, so membership counts as an association, too.
SAMPLE_ENVIRONMENT = {
    "LDG_GITHUB_HISTORY": f"{gharchive.FIRST_DAY}",
    "LDG_GITHUB_START": "2014-12-23",
    "LDG_GITHUB_SPLIT": f"{GITHUB_SPLIT:%Y-%m-%d}",
    "LDG_GITHUB_TIME_ZONE": "UTC",
    "LDG_GITHUB_END": f"{gharchive.LAST_DAY}",
    "LDG_GITHUB_MIN_COMMUNICATIONS": "8",
    "LDG_GITHUB_MIN_ASSOCIATIONS": "1",
    "LDG_ASSOCIATIONS": "FollowEvent,MemberEvent",
    "LDG_SEEDS": "3",
    "LDG_EPOCHS": "2",
    "LDG_BATCH": "100",
    "LDG_LEARNING_RATE": "0.001",
}
SAMPLE_MARK = "# The settings that fit the sample world"
ENVIRONMENT_HEAD = f"{SAMPLE_MARK}, written with it.\n"


@dataclass(frozen=True)
class SamplePaths:
    """Paths of a sample world: both sources, the `.env` that names them, and the marker."""

    gharchive: Path
    social_evolution: Path
    environment: Path
    marker: Path


def sample_paths(home: Path) -> SamplePaths:
    """Return the paths of the sample world under a home."""
    folder = home / SAMPLE_WORLD
    return SamplePaths(
        folder / "gharchive", folder / "SocialEvolution.zip", home / ".env", folder / "world.json"
    )


def build(home: Path) -> bool:
    """Build the sample world under `home`; return False if it exists, made with the same settings.

    The marker is removed first and written last: an interrupted build is repeated from the start. The home's
    `.env` may be edited afterwards; one that is not the sample world's raises FileExistsError. In a moved
    home it is updated with the new paths.
    """
    lake, paths = Lake(home), sample_paths(home)
    known_github, known_social = lake.known_graph("github"), lake.known_graph("social_evolution")
    places = {
        "LDG_GHARCHIVE_URL": paths.gharchive.absolute(),
        "LDG_SOCIAL_EVOLUTION": paths.social_evolution.absolute(),
    }
    recipe = {
        "version": VERSION,
        "environment": SAMPLE_ENVIRONMENT,
        "github": comparable_settings(GITHUB_WORLD),
        "social_evolution": comparable_settings(SOCIAL_EVOLUTION_WORLD),
    }
    if paths.environment.exists():
        environment = paths.environment.read_text(encoding="utf-8")
        if not environment.startswith(SAMPLE_MARK):
            raise FileExistsError(
                f"{paths.environment} holds settings that are not the sample world's; "
                "give the sample world a home of its own"
            )
        files = (paths.gharchive, paths.social_evolution, known_github, known_social)
        if recipe_of(paths.marker) == recipe and all(path.exists() for path in files):
            point_to(places, paths.environment)
            return False
    paths.marker.unlink(missing_ok=True)
    if paths.marker.parent.exists():
        shutil.rmtree(paths.marker.parent)

    github, social = simulate(GITHUB_WORLD), simulate(SOCIAL_EVOLUTION_WORLD)
    unfinished = paths.gharchive.with_name(".gharchive.unfinished")
    counts = {"gharchive": gharchive.write_hour_files(github, unfinished)}
    unfinished.rename(paths.gharchive)
    with replacing(paths.social_evolution) as temporary:
        counts["social_evolution"] = social_evolution.write_zip(social, temporary)
    write_parquet(planted_graph(github, GITHUB_SPLIT, gharchive.login), known_github)
    write_parquet(planted_graph(social, SOCIAL_EVOLUTION_SPLIT, social_evolution.subject), known_social)
    sources = {name: str(place) for name, place in places.items()}
    write_text(ENVIRONMENT_HEAD + environment_lines(sources | SAMPLE_ENVIRONMENT), paths.environment)
    write_json({"recipe": recipe, "counts": counts}, paths.marker)
    return True


def point_to(places: Mapping[str, Path], environment: Path) -> None:
    """Update the paths of the sample world's raw files in a home's `.env`.

    An address outside a sample world stays, and the file keeps its permissions.
    """
    stated = read_env_file(environment)
    moved = {
        name: str(place)
        for name, place in places.items()
        if name not in stated
        or (stated[name].text != str(place) and Path(stated[name].text).parts[-2:] == place.parts[-2:])
    }
    if moved:
        with replacing(environment) as temporary:
            temporary.touch()
            shutil.copymode(environment, temporary)  # first: it may hold secrets
            temporary.write_text(env_file_with(environment, moved), encoding="utf-8")


def comparable_settings(settings: WorldSettings) -> dict[str, str]:
    """Return a sample world's settings as text, which compares equal after a JSON round trip."""
    return {name: str(value) for name, value in asdict(settings).items()}


def recipe_of(marker: Path) -> dict | None:
    """Return the recipe of a finished build, or None if no build was finished."""
    return json.loads(marker.read_text(encoding="utf-8"))["recipe"] if marker.exists() else None

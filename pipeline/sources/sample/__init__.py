"""The embedded sample world: both raw sources in their true formats, with a planted graph beside them.

`build(home)` makes it; `sample_paths(home)` returns its paths; `SAMPLE_ENVIRONMENT` holds the settings that
fit it, as environment variables, and `build` leaves them in the home's `.env` with the paths of both sources;
the hour files cover the file days `FIRST_DAY` to `LAST_DAY`.
"""

from pipeline.sources.sample.build import (
    GITHUB_WORLD,
    SAMPLE_ENVIRONMENT,
    SOCIAL_EVOLUTION_WORLD,
    build,
    sample_paths,
)
from pipeline.sources.sample.gharchive import FIRST_DAY, LAST_DAY

__all__ = [
    "FIRST_DAY",
    "GITHUB_WORLD",
    "LAST_DAY",
    "SAMPLE_ENVIRONMENT",
    "SOCIAL_EVOLUTION_WORLD",
    "build",
    "sample_paths",
]

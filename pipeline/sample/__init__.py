"""The embedded sample world: both raw sources in their true formats, with a planted graph beside them."""

from pipeline.sample.build import (
    GITHUB_WORLD,
    SAMPLE_ENVIRONMENT,
    SOCIAL_EVOLUTION_WORLD,
    build,
    sample_paths,
)

__all__ = ["GITHUB_WORLD", "SAMPLE_ENVIRONMENT", "SOCIAL_EVOLUTION_WORLD", "build", "sample_paths"]

"""The registry of raw sources and of the datasets they offer on a home."""

from collections.abc import Sequence

from pipeline.settings import Settings
from pipeline.sources.gharchive.source import GitHub
from pipeline.sources.own.source import Own
from pipeline.sources.social_evolution.source import SocialEvolution
from pipeline.sources.source import DatasetSpec, Source

SOURCES: tuple[Source, ...] = (GitHub(), SocialEvolution())


def registry(settings: Settings, sources: Sequence[Source] = SOURCES) -> list[DatasetSpec]:
    """Return every dataset: those of `sources`, then each of the user's folders with a `dataset.toml`."""
    specs = [spec for source in sources for spec in source.datasets(settings)]
    own = Own(taken=frozenset(spec.name for spec in specs))
    return [*specs, *own.datasets(settings)]

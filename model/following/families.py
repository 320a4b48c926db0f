"""Which models can follow, by the name of their variant."""

from model.following.follower import Family
from model.following.rem import RemFamily
from model.identity import TrainingSettings
from model.rem.settings import RemSettings
from pipeline.following.rule import model_that_follows
from pipeline.rem_variants import RemVariant


def family_of(name: str) -> Family:
    """How followers of a model come to be; one that cannot follow is refused."""
    model = model_that_follows(name)
    if isinstance(model, RemVariant):
        return RemFamily(model, RemSettings(seeds=(0,)))
    from model.following.paper import PaperFamily

    return PaperFamily(model, TrainingSettings(seeds=(0,)))

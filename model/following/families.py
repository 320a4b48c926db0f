"""Which models can follow, by the name of their variant."""

from model.following.follower import Family
from model.following.rem import RemFamily
from model.identity import TrainingSettings
from model.rem.settings import RemSettings
from pipeline.rem_variants import rem_variants
from pipeline.variants import variants_for


def family_of(variant: str) -> Family:
    """How followers of a variant come to be; a variant that cannot follow is refused."""
    rem = {one.name: one for one in rem_variants() if one.needs is None}
    if variant in rem:
        return RemFamily(rem[variant], RemSettings(seeds=(0,)))
    # Static graph networks have no state that events move; + Freq is another way of ranking, not of learning.
    ours = {one.key: one for one in variants_for(("",)) if one.is_recurrent and not one.frequency}
    if variant in ours:
        from model.following.paper import PaperFamily

        return PaperFamily(ours[variant], TrainingSettings(seeds=(0,)))
    raise ValueError(f"LDG_FOLLOW_VARIANTS names {variant}; those that follow are {', '.join((*rem, *ours))}")

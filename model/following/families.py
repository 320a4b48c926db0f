"""Which models can follow, by the name of their variant."""

from model.following.follower import Family
from model.following.rem import RemFamily
from model.rem.settings import RemSettings
from pipeline.rem_variants import rem_variants


def family_of(variant: str) -> Family:
    """How followers of a variant come to be; a variant that cannot follow is refused."""
    known = {one.name: one for one in rem_variants() if one.needs is None}
    if variant not in known:
        raise ValueError(f"LDG_FOLLOW_VARIANTS names {variant}; those that follow are {', '.join(known)}")
    return RemFamily(known[variant], RemSettings(seeds=(0,)))

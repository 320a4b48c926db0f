"""The paper's experiments: the variants trained on each of its two data sets."""

from pipeline.sources.social_evolution.relations import CLOSE_FRIEND, RELATIONS
from pipeline.variant_names import CONCAT, ldg_name, variant_key
from pipeline.variants import (
    DYREP,
    DYREP_RANDOM,
    DYREP_WIDE,
    LDG_FREQUENCY,
    PAPER_INTERACTIONS,
    PRIORS,
    dyrep_on,
)

GITHUB, SOCIAL_EVOLUTION = "github_2013", "social_evolution"

# The rows of Table 3 and the additions of Figs. 5 and 8. DyRep uses CloseFriend and Follow.
COMMON = (
    DYREP,
    DYREP_RANDOM,
    DYREP_WIDE,
    *(ldg_name(attention, prior) for attention in ("random", "learned") for prior in PRIORS),
    LDG_FREQUENCY,
)
VARIANTS = {
    GITHUB: COMMON,
    SOCIAL_EVOLUTION: (*COMMON, *(dyrep_on(name) for name in RELATIONS if name != CLOSE_FRIEND)),
}
CONCAT_ONLY = (DYREP_WIDE,)


def paper_trainings() -> list[tuple[str, str]]:
    """Return dataset and variant of every training behind the paper's tables and figures."""
    return [
        (dataset, variant_key(name, interaction))
        for dataset, names in VARIANTS.items()
        for name in names
        for interaction in PAPER_INTERACTIONS
        if interaction == CONCAT or name not in CONCAT_ONLY
    ]

"""How a variant is named: its folder, and the parts of its name that more than one family of models uses."""

import re
from typing import Literal, get_args

Interaction = Literal["concat", "bilinear"]
Prior = Literal["uniform", "sparse"]
CONCAT: Interaction = "concat"
BILINEAR: Interaction = "bilinear"
INTERACTIONS: tuple[Interaction, ...] = get_args(Interaction)
HISTORY = "history"  # stands where the paper's models have their interaction: λ is made from the past


def variant_key(name: str, interaction: str) -> str:
    """A variant's folder and Dagster partition key, for instance `ldg_learned_sparse-bilinear`."""
    return f"{name}-{interaction}"


def split_key(key: str) -> tuple[str, str]:
    """The name and the interaction of a variant's key."""
    name, _, interaction = key.rpartition("-")
    if not name or interaction not in (*INTERACTIONS, HISTORY):
        raise ValueError(
            f"{key!r} is no variant: a model's folder is named <name>-<interaction>, the interaction one of "
            f"{', '.join((*INTERACTIONS, HISTORY))}; rename or remove it"
        )
    return name, interaction


def ldg_name(attention: Literal["random", "learned"], prior: Prior) -> str:
    """The name of LDG on a random or a learned graph under a prior."""
    return f"ldg_{attention}_{prior}"


def relation_slug(relation: str) -> str:
    """A relation's name as part of a variant's name."""
    return re.sub(r"[^a-z0-9]+", "_", relation.lower()).strip("_")

"""Names of variants: keys (folder names), and the name parts that several model families share."""

import re
from typing import Literal, get_args

Interaction = Literal["concat", "bilinear"]
Prior = Literal["uniform", "sparse"]
CONCAT: Interaction = "concat"
BILINEAR: Interaction = "bilinear"
INTERACTIONS: tuple[Interaction, ...] = get_args(Interaction)
HISTORY = "history"  # in place of an interaction, for models whose λ depends on the history


def variant_key(name: str, interaction: str) -> str:
    """Return a variant's folder and Dagster partition key, such as `ldg_learned_sparse-bilinear`."""
    return f"{name}-{interaction}"


def split_key(key: str) -> tuple[str, str]:
    """Split a variant's key into name and interaction; raise ValueError if it is not a key."""
    name, _, interaction = key.rpartition("-")
    if not name or interaction not in (*INTERACTIONS, HISTORY):
        raise ValueError(
            f"{key!r} is no variant: a model's folder is named <name>-<interaction>, the interaction one of "
            f"{', '.join((*INTERACTIONS, HISTORY))}; rename or remove it"
        )
    return name, interaction


def ldg_name(attention: Literal["random", "learned"], prior: Prior) -> str:
    """Return the name of LDG with a random or learned graph and a prior."""
    return f"ldg_{attention}_{prior}"


def relation_slug(relation: str) -> str:
    """Return a relation's name in lower case with underscores, for a variant's name."""
    return re.sub(r"[^a-z0-9]+", "_", relation.lower()).strip("_")

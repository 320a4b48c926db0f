"""How a variant is named: its folder, and the parts of its name that more than one family of models uses."""

from typing import Literal

Interaction = Literal["concat", "bilinear"]
Prior = Literal["uniform", "sparse"]
CONCAT: Interaction = "concat"
BILINEAR: Interaction = "bilinear"


def variant_key(name: str, interaction: str) -> str:
    """A variant's folder and Dagster partition key, for instance `ldg_learned_sparse-bilinear`."""
    return f"{name}-{interaction}"


def ldg(attention: Literal["random", "learned"], prior: Prior) -> str:
    """The name of LDG on a random or a learned graph under a prior."""
    return f"ldg_{attention}_{prior}"

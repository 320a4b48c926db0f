"""The relational-event models as data. Does not import torch, to keep start-up fast."""

import re
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, get_args

from pipeline.variant_names import HISTORY, variant_key

REM = "rem"
REM_ROLE_BLIND = f"{REM}_role_blind"
Form = Literal["branching", "flat", "linear"]
REMOVED = (f"{REM}_embeddings", f"{REM}_attention")  # they read a trained LDG
REMOVAL = f"was removed in 0.4: two seeds showed no gain over {REM}"
GROUPS = (
    "pair",
    "share",
    "pair_type",
    "node",
    "node_type",
    "clock",
    "association",
    "two_hops",
    "sequence",
)
OWN = ("pair", "share", "pair_type")  # statistics of the pair's own history


@dataclass(frozen=True)
class RemVariant:
    """One relational-event model.

    `form` is `branching` (λ = μ + Σ αᵏ, with `edge_types` many k), `flat` (one network) or `linear` (the
    classical relational-event model). Without `by_role` the model ignores the direction of events. `without`
    lists excluded statistics or groups of them.
    """

    interaction: ClassVar[str] = HISTORY
    # Attributes that the paper's variants also have; constant in this family.
    attention: ClassVar[str] = HISTORY
    prior: ClassVar[None] = None
    frequency: ClassVar[bool] = False
    is_printed_in_table_4: ClassVar[bool] = False
    needs: ClassVar[None] = None

    name: str = REM
    form: Form = "branching"
    edge_types: int = 2
    by_role: bool = True
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9_]+", self.name):
            raise ValueError(f"name takes lower-case letters, digits and _, not {self.name!r}")
        if self.form not in get_args(Form):
            raise ValueError(f"form takes one of {get_args(Form)}, not {self.form!r}")
        if self.edge_types < 1:
            raise ValueError(f"edge_types takes 1 or more, not {self.edge_types}")

    @property
    def key(self) -> str:
        """The variant's folder and Dagster partition key."""
        return variant_key(self.name, HISTORY)

    def title(self, own_relation: str) -> str:  # noqa: ARG002 - for `Variant.title`
        """Return the printed name."""
        details: list[str] = [] if self.form == "branching" else [self.form]
        details += [] if self.by_role else ["role-blind"]
        details += [f"without {group.replace('_', ' ')}" for group in self.without]
        return f"REM ({', '.join(details)})" if details else "REM"

    def trained_like(self) -> "RemVariant":
        """Return the variant whose weights this one uses: itself."""
        return self

    @property
    def outputs(self) -> int:
        """The number of log-intensities that the network returns: μ and every αᵏ, or λ alone."""
        return 1 + self.edge_types if self.form == "branching" else 1

    def as_json(self) -> dict[str, Any]:
        """Return the variant as model.json names it."""
        return {**asdict(self), "without": list(self.without)}


def rem_variants() -> list[RemVariant]:
    """Return the REM, its simpler forms, its extensions by LDG, and its ablations."""
    return [
        RemVariant(),
        RemVariant(f"{REM}_flat", form="flat"),
        RemVariant(f"{REM}_linear", form="linear"),
        RemVariant(REM_ROLE_BLIND, by_role=False),
        *(RemVariant(f"{REM}_without_{group}", without=(group,)) for group in GROUPS),
    ]


def explain_removal(name: str) -> str | None:
    """Return what to use instead of a removed variant, given by name or key; None for any other name."""
    removed, dash, interaction = name.partition("-")
    return f"{name} {REMOVAL}; use {REM}{dash}{interaction}" if removed in REMOVED else None

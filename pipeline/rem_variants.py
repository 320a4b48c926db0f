"""The relational-event models as data. Does not import torch, to keep start-up fast."""

import re
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, get_args

from pipeline.variant_names import BILINEAR, HISTORY, ldg_name, variant_key

REM = "rem"
REM_ROLE_BLIND = f"{REM}_role_blind"
Form = Literal["branching", "flat", "linear"]
OfLdg = Literal["embeddings", "attention"]
LDG = variant_key(ldg_name("learned", "sparse"), BILINEAR)  # the trained LDG that a model may read
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
    lists excluded statistics or groups of them. `of_ldg` selects additional inputs from a trained LDG.
    """

    interaction: ClassVar[str] = HISTORY
    # Attributes that the paper's variants also have; constant in this family.
    attention: ClassVar[str] = HISTORY
    prior: ClassVar[None] = None
    frequency: ClassVar[bool] = False
    is_printed_in_table_4: ClassVar[bool] = False

    name: str = REM
    form: Form = "branching"
    edge_types: int = 2
    by_role: bool = True
    without: tuple[str, ...] = ()
    of_ldg: OfLdg | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9_]+", self.name):
            raise ValueError(f"name takes lower-case letters, digits and _, not {self.name!r}")
        if self.form not in get_args(Form):
            raise ValueError(f"form takes one of {get_args(Form)}, not {self.form!r}")
        if self.of_ldg not in (None, *get_args(OfLdg)):
            raise ValueError(f"of_ldg takes one of {get_args(OfLdg)} or None, not {self.of_ldg!r}")
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
        details += [] if self.of_ldg is None else [f"with LDG's {self.of_ldg}"]
        return f"REM ({', '.join(details)})" if details else "REM"

    def trained_like(self) -> "RemVariant":
        """Return the variant whose weights this one uses: itself."""
        return self

    @property
    def needs(self) -> str | None:
        """The key of the variant that must be trained before this one, or None."""
        return None if self.of_ldg is None else LDG

    @property
    def outputs(self) -> int:
        """The number of log-intensities that the network returns: μ and every αᵏ, or λ alone."""
        return 1 + self.edge_types if self.form == "branching" else 1

    def as_json(self) -> dict[str, Any]:
        """Return the fields as stored in model.json; `of_ldg` is omitted if None."""
        facts = {**asdict(self), "without": list(self.without)}
        return {name: value for name, value in facts.items() if value is not None}


def rem_variants() -> list[RemVariant]:
    """Return the REM, its simpler forms, its extensions by LDG, and its ablations."""
    return [
        RemVariant(),
        RemVariant(f"{REM}_flat", form="flat"),
        RemVariant(f"{REM}_linear", form="linear"),
        RemVariant(REM_ROLE_BLIND, by_role=False),
        *(RemVariant(f"{REM}_{of_ldg}", of_ldg=of_ldg) for of_ldg in get_args(OfLdg)),
        *(RemVariant(f"{REM}_without_{group}", without=(group,)) for group in GROUPS),
    ]

"""The rows of the results table: every model of the paper as data. Imports no torch, so that naming variants
is cheap.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

Interaction = Literal["concat", "bilinear"]
Attention = Literal["association", "random", "learned", "gcn", "gat"]
Prior = Literal["uniform", "sparse"]

# Graph networks on the association graph, whose embeddings no event updates.
STATIC: tuple[Attention, ...] = ("gcn", "gat")

INTERACTIONS: tuple[Interaction, ...] = get_args(Interaction)
SPARSE_PRIORS = {
    1: (0.95, 0.05),
    2: (0.90, 0.05, 0.05),
    3: (0.91, 0.03, 0.03, 0.03),
    4: (0.90, *(0.025,) * 4),
}


@dataclass(frozen=True)
class Variant:
    """One model of the results table.

    `attention` says where S comes from: DyRep's rule on an association graph (`association`), a random graph
    kept fixed (`random`), the encoder (`learned`); `gcn` and `gat` are static graph networks on the
    association graph. `relation` names the association graph (None: the dataset's own),
    `random_associations` replaces its start by a random graph of the same size. `prior` and `edge_types`
    (the paper's r) describe LDG's multirelational graph.
    """

    name: str
    interaction: Interaction
    attention: Attention = "association"
    relation: str | None = None
    random_associations: bool = False
    prior: Prior | None = None
    edge_types: int = 1
    passes: Literal[1, 2] = 2
    encoder_interaction: Interaction | None = None
    wide: bool = False
    frequency: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9_]+", self.name):
            raise ValueError(f"name takes lower-case letters, digits and _, not {self.name!r}")
        for argument, value, allowed in (
            ("interaction", self.interaction, INTERACTIONS),
            ("encoder_interaction", self.encoder_interaction, (None, *INTERACTIONS)),
            ("attention", self.attention, get_args(Attention)),
            ("passes", self.passes, (1, 2)),
        ):
            if value not in allowed:
                raise ValueError(f"{argument} takes one of {allowed}, not {value!r}")
        latent = self.attention in ("random", "learned")
        if latent != (self.prior is not None):
            raise ValueError(f"prior belongs to random and learned attention, not to {self.attention!r}")
        if self.edge_types < 1 or (not latent and self.edge_types != 1):
            raise ValueError(f"edge_types takes 1 or more, and 1 outside LDG, not {self.edge_types}")
        if self.wide and self.interaction != "concat":
            raise ValueError(
                "wide takes interaction 'concat': it widens concat to bilinear's number of parameters"
            )

    @property
    def key(self) -> str:
        """The variant's folder and Dagster partition key."""
        return f"{self.name}-{self.interaction}"

    @property
    def of_encoder(self) -> Interaction:
        """The encoder's interaction: that of the intensity unless it is set apart."""
        return self.encoder_interaction or self.interaction

    @property
    def is_recurrent(self) -> bool:
        """Whether events update embeddings (all but the static graph networks)."""
        return self.attention not in STATIC

    @property
    def prior_probabilities(self) -> tuple[float, ...]:
        """p(S): over r edge types, or over the non-edge and r edge types when sparse."""
        if self.prior is None:
            raise ValueError(f"{self.key} has no prior: its attention is not latent")
        if self.prior == "uniform":
            return (1 / self.edge_types,) * self.edge_types
        rest = 0.1 / self.edge_types
        return SPARSE_PRIORS.get(self.edge_types, (0.9, *(rest,) * self.edge_types))

    def trained_like(self) -> "Variant":
        """The variant whose weights this one uses: + Freq only changes the ranking."""
        return (
            replace(self, name=self.name.removesuffix("_freq"), frequency=False) if self.frequency else self
        )


def variants_for(relations: Sequence[str]) -> list[Variant]:
    """Every variant of a dataset whose known relations are `relations`, its own first."""
    if not relations:
        raise ValueError("relations takes at least the dataset's own relation")
    rows: list[Variant] = []
    for interaction in INTERACTIONS:
        rows.append(Variant("dyrep", interaction))
        rows += [Variant(f"dyrep_{slug(other)}", interaction, relation=other) for other in relations[1:]]
        rows.append(Variant("dyrep_random", interaction, random_associations=True))
        if interaction == "concat":
            rows.append(Variant("dyrep_wide", interaction, wide=True))
        for attention in ("random", "learned"):
            for prior in ("uniform", "sparse"):
                name = f"ldg_{attention}_{prior}"
                rows.append(Variant(name, interaction, attention=attention, prior=prior, edge_types=2))
        sparse = rows[-1]
        rows.append(replace(sparse, name="ldg_learned_sparse_freq", frequency=True))
        rows.append(replace(sparse, name="ldg_learned_sparse_one_pass", passes=1))
        rows += [Variant("gcn", interaction, attention="gcn"), Variant("gat", interaction, attention="gat")]
    return rows


def variant_named(key: str, relations: Sequence[str]) -> Variant:
    """The variant with this key, for instance `ldg_learned_sparse-bilinear`."""
    rows = {variant.key: variant for variant in variants_for(relations)}
    if key not in rows:
        raise ValueError(f"variant takes one of {', '.join(rows)}; got {key!r}")
    return rows[key]


def slug(relation: str) -> str:
    """A relation's name as part of a variant's name."""
    return re.sub(r"[^a-z0-9]+", "_", relation.lower()).strip("_")

"""The rows of the results table: every model of the paper as data, with its file name and printed name.

Does not import torch, to keep start-up fast.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, get_args

from pipeline.rem_variants import RemVariant, explain_removal, rem_variants
from pipeline.variant_names import (
    BILINEAR,
    CONCAT,
    INTERACTIONS,
    Interaction,
    Prior,
    ldg_name,
    relation_slug,
    variant_key,
)

Attention = Literal["association", "random", "learned", "gcn", "gat"]
Moves = Literal["never", "with associations", "with every event"]

# Graph networks on the association graph; events do not update their embeddings.
STATIC: tuple[Attention, ...] = ("gcn", "gat")
# When the others update S: at associations and communications of associates, or at every event, which makes
# the two nodes neighbours.
MOVES: dict[Attention, Moves] = {
    "association": "with associations",
    "random": "never",
    "learned": "with every event",
}

# The paper's interactions, in its order. Other model families may have their own.
PAPER_INTERACTIONS = (CONCAT, BILINEAR)
PRIORS: tuple[Prior, ...] = get_args(Prior)

DYREP, DYREP_RANDOM, DYREP_WIDE = "dyrep", "dyrep_random", "dyrep_wide"
GCN, GAT = "gcn", "gat"
SPARSE_PRIORS = {
    1: (0.95, 0.05),
    2: (0.90, 0.05, 0.05),
    3: (0.91, 0.03, 0.03, 0.03),
    4: (0.90, *(0.025,) * 4),
}


@dataclass(frozen=True)
class Variant:
    """One model of the results table.

    `attention` is the source of S: DyRep's rule on an association graph (`association`), a fixed random graph
    (`random`) or the encoder (`learned`); `gcn` and `gat` are static graph networks on the association graph.
    `relation` names the association graph (None: the dataset's own), `random_associations` replaces its
    initial state by a random graph of the same size. `prior` and `edge_types` (the paper's r) describe LDG's
    multirelational graph.
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
            ("attention", self.attention, (*MOVES, *STATIC)),
            ("passes", self.passes, (1, 2)),
        ):
            if value not in allowed:
                raise ValueError(f"{argument} takes one of {allowed}, not {value!r}")
        latent = self.attention in ("random", "learned")
        if latent != (self.prior is not None):
            raise ValueError(f"prior belongs to random and learned attention, not to {self.attention!r}")
        if self.edge_types < 1 or (not latent and self.edge_types != 1):
            raise ValueError(f"edge_types takes 1 or more, and 1 outside LDG, not {self.edge_types}")
        if self.wide and self.interaction != CONCAT:
            raise ValueError(
                "wide takes interaction 'concat': it widens concat to bilinear's number of parameters"
            )

    @property
    def key(self) -> str:
        """The variant's folder and Dagster partition key."""
        return variant_key(self.name, self.interaction)

    def title(self, own_relation: str) -> str:
        """Return the printed name, without the interaction; `own_relation` is the dataset's first."""
        if self.attention in STATIC:
            return self.attention.upper()
        if self.prior is not None:
            end = " + Freq" if self.frequency else "" if self.passes == 2 else ", one pass"
            return f"LDG ({self.attention}, {self.prior}){end}"
        if self.attention != "association":
            return self.attention.capitalize()
        if self.wide:
            return "DyRep, wider"
        graph = "random associations" if self.random_associations else self.relation or own_relation
        return dyrep_title(graph)

    @property
    def is_printed_in_table_4(self) -> bool:
        """Return True for plain LDG on a learned graph, the graph that the paper's Table 4 evaluates."""
        return self.attention == "learned" and self.passes == 2 and not self.frequency

    @property
    def of_encoder(self) -> Interaction:
        """The encoder's interaction, by default that of the intensity."""
        return self.encoder_interaction or self.interaction

    @property
    def is_recurrent(self) -> bool:
        """Return True if events update embeddings (all but the static graph networks)."""
        return self.attention not in STATIC

    @property
    def is_sampled(self) -> bool:
        """Return True if S is sampled from the encoder's output at each event."""
        return self.attention == "learned"

    @property
    def prior_probabilities(self) -> tuple[float, ...]:
        """The prior p(S) over r edge types, or over the non-edge and r edge types if sparse."""
        if self.prior is None:
            raise ValueError(f"{self.key} has no prior: its attention is not latent")
        if self.prior == "uniform":
            return (1 / self.edge_types,) * self.edge_types
        rest = 0.1 / self.edge_types
        return SPARSE_PRIORS.get(self.edge_types, (0.9, *(rest,) * self.edge_types))

    def trained_like(self) -> "Variant":
        """Return the variant whose weights this one uses: + Freq only changes the ranking."""
        return (
            replace(self, name=self.name.removesuffix("_freq"), frequency=False) if self.frequency else self
        )

    @property
    def needs(self) -> str | None:
        """The key of the variant that must be trained before this one, or None."""
        return self.trained_like().key if self.frequency else None


def dyrep_title(graph: str) -> str:
    """Return the printed name of DyRep on an association graph."""
    return f"DyRep ({graph})"


def dyrep_on(relation: str) -> str:
    """Return the name of DyRep on an association graph that is not the dataset's own."""
    return f"{DYREP}_{relation_slug(relation)}"


LDG_FREQUENCY = f"{ldg_name('learned', 'sparse')}_freq"
LDG_ONE_PASS = f"{ldg_name('learned', 'sparse')}_one_pass"


def variants_for(relations: Sequence[str]) -> list[Variant]:
    """Return the variants of DyRep, LDG, GCN and GAT for a dataset's relations, of which its own is first."""
    if not relations:
        raise ValueError("relations takes at least the dataset's own relation")
    rows: list[Variant] = []
    for interaction in PAPER_INTERACTIONS:
        rows.append(Variant(DYREP, interaction))
        rows += [Variant(dyrep_on(other), interaction, relation=other) for other in relations[1:]]
        rows.append(Variant(DYREP_RANDOM, interaction, random_associations=True))
        if interaction == CONCAT:
            rows.append(Variant(DYREP_WIDE, interaction, wide=True))
        for attention in ("random", "learned"):
            for prior in PRIORS:
                name = ldg_name(attention, prior)
                rows.append(Variant(name, interaction, attention=attention, prior=prior, edge_types=2))
        sparse = rows[-1]
        rows.append(replace(sparse, name=LDG_FREQUENCY, frequency=True))
        rows.append(replace(sparse, name=LDG_ONE_PASS, passes=1))
        rows += [Variant(GCN, interaction, attention="gcn"), Variant(GAT, interaction, attention="gat")]
    return rows


def models_for(relations: Sequence[str]) -> list[Variant | RemVariant]:
    """Return all models of a dataset: those of `variants_for`, then the relational-event models."""
    return [*variants_for(relations), *rem_variants()]


def in_print_order(relations: Sequence[str]) -> dict[str, Variant | RemVariant]:
    """Return one model per name in the order of the paper's Table 3; models not printed there come last."""

    def place(variant: Variant | RemVariant) -> int:
        if isinstance(variant, RemVariant):
            return 3
        on_relation = variant.attention == "association" and not variant.random_associations
        if on_relation and not variant.wide:
            return 0
        return 1 if variant.prior is not None else 2

    by_name = {variant.name: variant for variant in models_for(relations)}
    return dict(sorted(by_name.items(), key=lambda item: place(item[1])))


def variant_title(name: str, relations: Sequence[str]) -> str:
    """Return a variant's printed name; unknown names are returned unchanged."""
    variant = in_print_order(relations).get(name)
    return name if variant is None else variant.title(relations[0])


def model_named(key: str, relations: Sequence[str]) -> Variant | RemVariant:
    """Return the model with this key, such as `ldg_learned_sparse-bilinear` or `rem-history`."""
    return variant_with_key(key, models_for(relations))


Model = TypeVar("Model", bound=Variant | RemVariant)


def variant_with_key(key: str, models: Sequence[Model]) -> Model:
    """Return the one of `models` with this key; raise ValueError if there is none."""
    by_key = {model.key: model for model in models}
    if key not in by_key:
        raise ValueError(explain_removal(key) or f"variant takes one of {', '.join(by_key)}; got {key!r}")
    return by_key[key]


def has_latent_edges(variant: Variant | RemVariant) -> bool:
    """Return True if a variant can have more than one edge type."""
    return variant.form == "branching" if isinstance(variant, RemVariant) else variant.prior is not None

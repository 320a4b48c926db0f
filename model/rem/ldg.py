"""A trained LDG as a relational-event model reads it: its frozen weights, run along the whole stream.

The paper's idea on top of history. While an epoch is chosen, the weights are those LDG had before validation;
for the final model, those it had before the test period.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from model.batches import Chance, advance_clocks
from model.checkpoint import read_tensors
from model.choice import Chosen
from model.encoder import Workspace
from model.forward import advance_embeddings
from model.history.latent import Course
from model.intensity import symmetric_compatibility
from model.large.rule import LARGE, is_large
from model.parameters import Parameters, shapes_of
from model.run import generators
from model.state import initial_state
from model.stream import COMMUNICATION, Stream
from pipeline.paper_training import TEMPERATURE
from pipeline.rem_variants import LDG, RemVariant
from pipeline.results.trained import STATE, read_facts
from pipeline.variants import Variant

AT_ONCE = 200  # events; another number gives the same course
LDG_WEIGHTS = "ldg.weights"  # their name in the file of a relational-event model's weights


@dataclass(frozen=True)
class FrozenLdg:
    """One seed of a trained LDG that learns no more."""

    variant: Variant
    width: int
    seed: int
    weights: Tensor  # (1, P)

    def header(self) -> dict[str, Any]:
        """What a file says of it beside its weights."""
        return {"variant": asdict(self.variant), "width": self.width, "seed": self.seed}

    @classmethod
    def from_file(cls, tensors: dict[str, Tensor], header: dict[str, Any]) -> Self:
        """The one that a relational-event model was trained with."""
        variant, width, seed = (header[name] for name in ("variant", "width", "seed"))
        return cls(Variant(**variant), width, seed, tensors[LDG_WEIGHTS])

    @torch.no_grad()
    def course(self, stream: Stream, reader: RemVariant) -> Course:
        """How it goes along `stream` from the first event on, for what `reader` reads of it."""
        assert reader.of_ldg is not None
        if is_large(stream.nodes):
            raise ValueError(
                f"{reader.key} reads S of all pairs and takes networks of at most {LARGE:,} nodes; "
                f"{stream.name!r} has {stream.nodes:,}: train rem-history, which reads no LDG"
            )
        named = Parameters(shapes_of(self.variant, self.width), self.weights).named
        state = initial_state(stream, self.variant, self.width, generators((self.seed,), "start"))
        z, attention = state.z[0].numpy().copy(), state.attention.dense()[0].numpy()
        workspace, silence = Workspace(), Chance(torch.empty(0), None)
        nodes, edge_types = stream.nodes, self.variant.edge_types
        new_z, new_attention = [np.empty((0, 2, self.width))], [np.empty((0, 2, edge_types))]
        while state.position < len(stream):
            until = min(state.position + AT_ONCE, len(stream))
            batch = advance_clocks(stream, self.variant, state, until)
            versions, logits = advance_embeddings(
                self.variant, named, state, batch, silence, workspace, learn=False
            )
            assert logits is not None
            new_z.append(versions[0, nodes:].view(-1, 2, self.width).numpy())
            sampled = (logits[:, 0] / TEMPERATURE).softmax(2)  # (B, 2, r'), a non-edge first
            new_attention.append(sampled[:, :, -edge_types:].numpy())
        symmetric = symmetric_compatibility(named["intensity.compatibility"])
        return Course(
            reader.of_ldg,
            z,
            np.concatenate(new_z).astype(np.float32),
            attention,
            np.concatenate(new_attention).astype(np.float32),
            symmetric[0, COMMUNICATION].numpy(),
            float(named["intensity.rate"][0, COMMUNICATION]),
        )


@dataclass(frozen=True)
class TrainedLdg:
    """The first seed of a finished LDG: as it was before validation, and before the test period."""

    choosing: FrozenLdg
    final: FrozenLdg
    identity: dict[str, Any]


def trained_ldg(models: Path, reader: RemVariant, fingerprint: str) -> TrainedLdg:
    """The LDG that `reader` reads, from the folder of a dataset's models; refused where it is not trained on
    the event table with this `fingerprint`.
    """
    folder = models / LDG
    facts = read_facts(folder)
    if facts is None or facts["fingerprint"] != fingerprint:
        state = "is not finished" if facts is None else "was trained on another event table"
        raise ValueError(
            f"{reader.key} reads {LDG}, which {state} in {folder}: train {LDG} first, for instance with "
            f"LDG_VARIANTS={LDG.partition('-')[0]},{reader.name}"
        )
    chosen = Chosen.from_tensors(read_tensors(folder / STATE)[0])
    variant, width, seed = Variant(**facts["variant"]), facts["width"], facts["seeds"][0]
    return TrainedLdg(
        *(FrozenLdg(variant, width, seed, of.weights[:1]) for of in (chosen.validation, chosen.test)),
        {"key": LDG, "seed": seed, "finished_at": facts["finished_at"]},
    )

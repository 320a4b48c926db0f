"""The files stored for a trained relational-event model, the same for every variant."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
import torch
from torch import Tensor

from model.checkpoint import write_tensors
from model.history.events import Events
from model.history.reading import Pass
from model.history.room import to_arrays
from model.history.standard import Standard
from model.rem.audience import audience_of, most_active
from model.rem.explain import explain
from model.rem.network import Layout, Weights, log_intensity
from model.rem.ranking import positions_to_rank, rem_ranks, scored_answers
from model.rem.settings import RemSettings
from model.rem.standard import standard_of, standard_tensors
from model.stream import COMMUNICATION, Stream
from pipeline.lake import write_json, write_parquet
from pipeline.machine import commit
from pipeline.names import FINAL, TEST, VALIDATION
from pipeline.progress import Progress
from pipeline.rem_variants import RemVariant
from pipeline.results.trained import FACTS, STATE, WEIGHTS
from pipeline.schemas import (
    ATTENTION,
    CONTRIBUTIONS,
    CURVES,
    EMBEDDINGS,
    PARTNERS,
    POSTERIOR,
    PREDICTIONS,
    RANKINGS,
    REASONS,
)

GRAPH = {
    **ATTENTION.types,
    "posterior": pl.Float32,
}


@dataclass
class Chosen:
    """Each seed's weights at its chosen epoch, and its validation ranks with them."""

    weights: dict[str, Tensor]
    standard: Standard | None
    ranks: np.ndarray  # (S, E, 2)

    @classmethod
    def nothing(cls, like: dict[str, Tensor], stream: Stream, seeds: tuple[int, ...]) -> Self:
        """Return zero weights and ranks, before an epoch is chosen."""
        weights = {name: torch.zeros_like(tensor) for name, tensor in like.items()}
        return cls(weights, None, np.zeros((len(seeds), len(positions_to_rank(stream, *stream.splits)), 2)))

    def take(
        self, rows: list[int], weights: dict[str, Tensor], standard: Standard | None, ranks: np.ndarray | None
    ) -> None:
        """Store these weights, standard and ranks (if any) for the seeds in `rows`."""
        for name, tensor in weights.items():
            self.weights[name][rows] = tensor[rows]
        self.standard = standard
        if ranks is not None:
            self.ranks[rows] = ranks[rows]

    def tensors(self) -> dict[str, Tensor]:
        """Return the state as tensors for a file."""
        standard = {} if self.standard is None else standard_tensors(self.standard)
        weights = {f"weights.{name}": tensor for name, tensor in self.weights.items()}
        return {**weights, **standard, "ranks": torch.from_numpy(self.ranks)}

    def fill(self, tensors: dict[str, Tensor]) -> None:
        """Restore the state from the output of `tensors`."""
        for name in self.weights:
            self.weights[name] = tensors[f"weights.{name}"]
        self.standard = standard_of(tensors)
        self.ranks = tensors["ranks"].numpy()


def write_rem_records(
    *,
    events: Events,
    variant: RemVariant,
    layout: Layout,
    settings: RemSettings,
    identity: dict[str, Any],
    chosen: list[Chosen],
    measured: list[list[float]],
    losses: list[np.ndarray],
    seconds: float,
    folder: Path,
    log: Callable[[str], None] | None,
) -> dict[str, Any]:
    """Rank the test period once with the final weights, write all files, model.json last, and return it."""
    stream, seeds = events.stream, settings.seeds
    validation, test = stream.splits
    weights, standard = chosen[1].weights, chosen[1].standard
    assert standard is not None
    reading = Pass(events, by_role=variant.by_role, standard=standard)
    header = {
        "seeds": list(seeds),
        "variant": variant.as_json(),
        "statistics": [one.name for one in reading.statistics],
        "types": list(events.types),
    }
    write_tensors(
        {**weights, **standard_tensors(standard), "columns": torch.from_numpy(layout.columns)},
        header,
        folder / WEIGHTS,
    )
    state = {f"validation.{name}": tensor for name, tensor in chosen[0].tensors().items() if name != "ranks"}
    reading.skip(validation)
    state |= history_tensors(reading, "validation.history.")
    reading.skip(test)
    state |= history_tensors(reading, "test.history.")
    write_tensors(state, header, folder / STATE)
    graph = latent_graph(reading, weights, layout, variant, seeds)
    write_parquet(ATTENTION.cast(graph), folder / "attention.parquet")
    write_parquet(POSTERIOR.cast(graph), folder / "posterior.parquet")
    write_parquet(pl.DataFrame(schema=EMBEDDINGS.types), folder / "embeddings.parquet")
    judged = positions_to_rank(stream, validation, test), positions_to_rank(stream, test, len(stream))
    with Progress(f"rank {variant.key}", len(judged[1]), "events", log) as progress:
        ranks = rem_ranks(reading, judged[1], weights, layout, progress.advance)
    reading.skip(len(stream))
    rankings = rem_ranking_rows(
        stream, np.concatenate(judged), np.concatenate([chosen[0].ranks, ranks], 1), seeds
    )
    write_parquet(RANKINGS.cast(rankings), folder / "rankings.parquet")
    predictions, added = forecasts(reading, weights, layout, seeds[0])
    write_parquet(PREDICTIONS.cast(predictions), folder / "predictions.parquet")
    write_parquet(REASONS.cast(predictions), folder / "reasons.parquet")
    write_parquet(added, folder / "contributions.parquet")
    write_parquet(CURVES.cast(rem_curve_rows(seeds, losses, measured)), folder / "curves.parquet")
    epochs = np.argmin(np.array(measured), axis=0) + 1
    summary = {
        **identity,
        "key": variant.key,
        "seeds": list(seeds),
        "parameters": sum(tensor[0].numel() for tensor in weights.values()),
        "width": len(layout.columns),
        "chosen_epoch": {str(seed): int(epoch) for seed, epoch in zip(seeds, epochs, strict=True)},
        "stopped": {},
        "not_ranked": {"associations_of_another_relation": 0},
        "ranked": {
            split: int((stream.k[of_split] == COMMUNICATION).sum())
            for split, of_split in zip((VALIDATION, TEST), judged, strict=True)
        },
        "by_role": variant.by_role,
        "training_seconds": round(seconds, 3),
        "commit": commit(),
        "finished_at": datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds"),
    }
    write_json(summary, folder / FACTS)
    return summary


def history_tensors(reading: Pass, prefix: str) -> dict[str, Tensor]:
    """Return the state of the statistics as tensors."""
    return {prefix + name: torch.from_numpy(array) for name, array in to_arrays(reading.history).items()}


def rem_ranking_rows(
    stream: Stream, ranked: np.ndarray, ranks: np.ndarray, seeds: tuple[int, ...]
) -> pl.DataFrame:
    """Return one row per seed and event at the positions `ranked`."""
    return pl.DataFrame(
        {
            "seed": np.repeat(np.array(seeds), len(ranked)),
            "idx": np.tile(stream.idx[ranked], len(seeds)),
            "split": np.tile(np.where(ranked < stream.splits[1], VALIDATION, TEST), len(seeds)),
            "rank_v": ranks[:, :, 0].reshape(-1),
            "rank_u": ranks[:, :, 1].reshape(-1),
        }
    )


def rem_curve_rows(
    seeds: tuple[int, ...], losses: list[np.ndarray], measured: list[list[float]]
) -> pl.DataFrame:
    """Return one row per step and seed of the measured training; MAR on an epoch's last step."""
    steps = len(losses)
    per_epoch = steps // max(len(measured), 1)
    step = np.repeat(np.arange(1, steps + 1), len(seeds))
    mar = np.full((steps, len(seeds)), np.nan)
    for epoch, of_seeds in enumerate(measured):
        mar[per_epoch * (epoch + 1) - 1] = of_seeds
    return pl.DataFrame(
        {
            "seed": np.tile(np.array(seeds), steps),
            "step": step,
            "epoch": (step - 1) // max(per_epoch, 1) + 1,
            "loss_events": np.stack(losses).astype(np.float64).reshape(-1),
            "loss_nonevents": np.zeros(len(step)),
            "loss_kl": np.zeros(len(step)),
            "mar": pl.Series(mar.reshape(-1)).fill_nan(None),
            "test_mar": pl.Series([None] * len(step), dtype=pl.Float64),
        }
    )


def last_moment_read(reading: Pass) -> float:
    """Return the time of the last event read, in seconds."""
    return float(reading.events.stream.seconds[reading.position - 1])


def latent_graph(
    reading: Pass,
    weights: Weights,
    layout: Layout,
    variant: RemVariant,
    seeds: tuple[int, ...],
) -> pl.DataFrame:
    """Return excitation and posterior of each pair with a past at the current position, by edge type k.

    `weight` is αᵏ_ab/Σ_c λ_ac, the probability that a's next event goes to b along edge type k; `posterior`
    is Sᵏ_ab = αᵏ_ab/λ_ab, the probability that an event of this pair comes along k. Before the first event no
    pair has a past, so the graph `initial` has no rows. A large network is limited to its most active nodes.
    """
    if variant.form != "branching":
        return pl.DataFrame(schema=GRAPH)
    stream, now = reading.events.stream, last_moment_read(reading)
    parts = []
    for node in most_active(reading.history).tolist():
        others, weight = audience_of(reading, node, now)
        answers = reading.ask(node, now, others=others)
        logs = scored_answers(weights, layout, answers).double()  # (S, M, 1 + r)
        total = log_intensity(logs)
        everyone = (total + torch.from_numpy(weight).log()).logsumexp(1)[:, None, None]
        probability = (logs[:, :, 1:] - everyone).exp().numpy()[:, answers.met]
        posterior = (logs[:, :, 1:] - total[:, :, None]).exp().numpy()[:, answers.met]
        s, partner, edge_type = np.indices(probability.shape).reshape(3, -1)
        parts.append(
            pl.DataFrame(
                {
                    "seed": np.array(seeds)[s],
                    "edge_type": edge_type,
                    "u": np.full(len(s), node),
                    "v": others[answers.met][partner],
                    "weight": probability.reshape(-1),
                    "posterior": posterior.reshape(-1),
                }
            )
        )
    moment = stream.start + timedelta(seconds=now)
    rows = pl.concat(parts).sort("seed", "u", "v", "edge_type")
    labelled = rows.with_columns(
        snapshot=pl.lit(1), label=pl.lit(FINAL), created_at=pl.lit(moment, pl.Datetime("us"))
    )
    return labelled.filter(pl.col("weight") > 0).select(
        pl.col(name).cast(dtype) for name, dtype in GRAPH.items()
    )


def forecasts(
    reading: Pass, weights: Weights, layout: Layout, seed: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the likeliest targets of each node's next event after the last one, for the first seed.

    `density` is the probability that the node's next event goes to the partner. The second table holds the
    contribution of each group of statistics to log λ, relative to the average candidate.
    """
    now = last_moment_read(reading)
    rows, parts = [], []
    for node in most_active(reading.history).tolist():
        explanation = explain(reading, weights, layout, node, now)
        for rank, at in enumerate(np.argsort(-explanation.probability, kind="stable")[:PARTNERS].tolist()):
            pair = (seed, node, int(explanation.candidates[at]))
            rows.append(
                (
                    *pair,
                    rank,
                    float(explanation.probability[at]),
                    explanation.why(at),
                    explanation.edge_type(at),
                )
            )
            parts += [(*pair, group, value) for group, value in explanation.contributions(at).items()]
    return (
        pl.DataFrame(rows, schema={**PREDICTIONS.types, **REASONS.types}, orient="row"),
        pl.DataFrame(parts, schema=CONTRIBUTIONS.types, orient="row"),
    )

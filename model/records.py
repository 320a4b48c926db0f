"""Everything kept of a trained variant: go on from the chosen epoch and write what is seen on the way."""

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from model.attention.rows import AttentionRows
from model.batches import Batch
from model.checkpoint import read_tensors, write_tensors
from model.choice import Chosen
from model.gnn import adjacency_of, embeddings
from model.intensity import symmetric_compatibility
from model.learning import Log, Run, carry_on, generators, rank_until
from model.parameters import Parameters, count_parameters
from model.ranking import Frequencies, log_density
from model.state import State, initial_state
from model.stream import COMMUNICATION, Stream
from pipeline.lake import write_json, write_parquet
from pipeline.progress import Progress

PARTNERS = 10


def write_records(run: Run, curves: pl.DataFrame, folder: Path, log: Log | None) -> dict[str, Any]:
    """Go on from the chosen epoch to the stream's end and write all files of a trained variant, model.json
    last.
    """
    stream, settings = run.stream, run.settings
    alive = [row for row, seed in enumerate(settings.seeds) if seed not in run.stopped]
    seeds = tuple(settings.seeds[row] for row in alive)
    assert run.chosen is not None
    chosen = run.chosen.of_seeds(alive)
    weights, state = Parameters(run.parameters.shapes, chosen.test.weights), chosen.test.state
    header = {"seeds": list(seeds), "variant": asdict(run.variant)}
    write_tensors(weights.named, header, folder / "weights.safetensors")
    write_tensors(chosen.tensors(), header, folder / "state.safetensors")
    validation, test = stream.splits
    attention = [
        initial_attention(run, seeds),
        *training_attention(run, state, seeds),
        attention_rows(run, state.attention, test, seeds, "final"),
    ]
    write_parquet(
        embedding_rows(current_embeddings(run, state, weights), seeds), folder / "embeddings.parquet"
    )
    frequent = [
        Frequencies.of_events(stream, end) if run.variant.frequency else None for end in stream.splits
    ]
    with Progress(f"rank {run.variant.key}", len(stream) - validation, "events", log) as progress:
        ranks = [
            rank_until(run, chosen.validation, test, seeds, progress, frequent[0]),
            carry_on(run, weights, state, len(stream), generators(seeds, "ranking"), progress, frequent[1]),
        ]
        write_parquet(prediction_rows(run, state, weights, seeds), folder / "predictions.parquet")
    write_parquet(numbered(attention), folder / "attention.parquet")
    found = ranking_rows(stream, torch.cat(ranks, dim=1).numpy(), seeds)
    write_parquet(found, folder / "rankings.parquet")
    write_parquet(curves, folder / "curves.parquet")
    summary = {
        **run.identity,
        "key": run.variant.key,
        "seeds": list(seeds),
        "parameters": count_parameters(run.variant, run.d),
        "width": run.d,
        "chosen_epoch": {str(settings.seeds[row]): run.chosen_epoch[row] for row in alive},
        "stopped": {str(seed): reason for seed, reason in run.stopped.items()},
        "not_ranked": {"associations_of_another_relation": int((stream.idx[validation:] < 0).sum())},
        "training_seconds": round(run.seconds, 3),
        "finished_at": datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds"),
    }
    write_json(summary, folder / "model.json")
    return summary


def moment(stream: Stream, position: int) -> datetime:
    """When the event before `position` happened."""
    return stream.start + timedelta(seconds=float(stream.seconds[position - 1]))


ATTENTION = {
    "seed": pl.Int64,
    "label": pl.String,
    "created_at": pl.Datetime("us"),
    "edge_type": pl.Int32,
    "u": pl.Int32,
    "v": pl.Int32,
    "weight": pl.Float32,
}


def attention_rows(
    run: Run, rows: AttentionRows, position: int, seeds: tuple[int, ...], label: str | None
) -> pl.DataFrame:
    """The non-zero entries of S after `position` events; none for models without attention (GCN, GAT)."""
    if not run.variant.is_recurrent:
        return pl.DataFrame(schema=ATTENTION)
    values = rows.values[: len(seeds)].numpy()
    s, u, slot, edge_type = np.nonzero(values)
    return pl.DataFrame(
        {
            "seed": np.array(seeds)[s],
            "label": [label] * len(s),
            "created_at": [moment(run.stream, position) if position else None] * len(s),
            "edge_type": edge_type,
            "u": u,
            "v": rows.order[s, u, slot],
            "weight": values[s, u, slot, edge_type],
        },
        schema=ATTENTION,
    )


def initial_attention(run: Run, seeds: tuple[int, ...]) -> pl.DataFrame:
    """S before the first event."""
    start = initial_state(run.stream, run.variant, run.d, generators(seeds, "start"))
    return attention_rows(run, start.attention, 0, seeds, "initial")


def training_attention(run: Run, state: State, seeds: tuple[int, ...]) -> list[pl.DataFrame]:
    """S of the first seed as the chosen epoch passed; nothing where that seed stopped."""
    assert run.chosen is not None
    if seeds[0] != run.settings.seeds[0]:
        return []
    return [
        attention_rows(run, replace(state.attention, values=kept.unsqueeze(0)), at, seeds[:1], None)
        for at, kept in run.chosen.snapshots.items()
    ]


def numbered(snapshots: list[pl.DataFrame]) -> pl.DataFrame:
    """Snapshots in stream order as one table."""
    return pl.concat(
        rows.insert_column(1, pl.repeat(number, rows.height, dtype=pl.Int32, eager=True).alias("snapshot"))
        for number, rows in enumerate(snapshots)
    )


def current_embeddings(run: Run, state: State, parameters: Parameters) -> Tensor:
    """Z of every seed as the next event would see it: (S, N, d)."""
    if run.variant.is_recurrent:
        return state.z
    return embeddings(run.variant, state.z, adjacency_of(state.attention), parameters.named)


def embedding_rows(z: Tensor, seeds: tuple[int, ...]) -> pl.DataFrame:
    """One row a seed and node."""
    count, nodes, d = z.shape
    return pl.DataFrame(
        {
            "seed": np.repeat(np.array(seeds), nodes),
            "node": np.tile(np.arange(nodes, dtype=np.int32), count),
            "z": pl.Series(z.reshape(-1, d).numpy()).cast(pl.List(pl.Float32)),
        }
    )


def ranking_rows(stream: Stream, ranks: np.ndarray, seeds: tuple[int, ...]) -> pl.DataFrame:
    """One row a seed and event of the table after training; association events of another relation have no
    row there.
    """
    validation, test = stream.splits
    idx = stream.idx[validation:]
    assert ranks.shape[1] == len(idx)
    split = np.where(np.arange(validation, len(stream)) < test, "validation", "test")
    known = idx >= 0
    return pl.DataFrame(
        {
            "seed": np.repeat(np.array(seeds), known.sum()),
            "idx": np.tile(idx[known], len(seeds)),
            "split": np.tile(split[known], len(seeds)),
            "rank_v": ranks[:, known, 0].reshape(-1),
            "rank_u": ranks[:, known, 1].reshape(-1),
        }
    )


def curve_rows(run: Run) -> pl.DataFrame:
    """One row a step and seed; MAR on an epoch's last step."""
    seeds = run.settings.seeds
    steps = len(run.losses)
    losses = torch.stack(run.losses).double().numpy()  # (steps, S, 3)
    per_epoch = -(-run.stream.splits[0] // run.settings.batch)
    step = np.repeat(np.arange(1, steps + 1), len(seeds))
    measured = {
        (per_epoch * (epoch + 1), seed): (validation, test)
        for epoch, found in enumerate(run.measured)
        for seed, validation, test in zip(seeds, *found, strict=True)
    }
    pairs = [measured.get(key, (None, None)) for key in zip(step.tolist(), list(seeds) * steps, strict=True)]
    return pl.DataFrame(
        {
            "seed": np.tile(np.array(seeds), steps),
            "step": step,
            "epoch": (step - 1) // per_epoch + 1,
            "loss_events": losses[:, :, 0].reshape(-1),
            "loss_nonevents": losses[:, :, 1].reshape(-1),
            "loss_kl": losses[:, :, 2].reshape(-1),
            "mar": pl.Series([pair[0] for pair in pairs], dtype=pl.Float64),
            "test_mar": pl.Series([pair[1] for pair in pairs], dtype=pl.Float64),
        }
    ).filter(pl.col("loss_events").is_not_nan())


def prediction_rows(run: Run, state: State, parameters: Parameters, seeds: tuple[int, ...]) -> pl.DataFrame:
    """The likeliest partners of every node's next communication after the last event, for the first seed."""
    stream = run.stream
    nodes = stream.nodes
    first = Parameters(parameters.shapes, parameters.flat[:1])
    z = current_embeddings(run, state, parameters)[:1]
    everyone = np.arange(nodes)
    now = Batch(
        now=np.full(nodes, state.position),  # every node is asked at the same moment: after the last event
        u=everyone,
        v=everyone,
        kinds=torch.full((nodes,), COMMUNICATION),
        waiting=torch.zeros(0),
        versions=np.tile(everyone, (nodes, 1)),
        heard=np.tile(np.searchsorted(stream.seconds, state.clock, side="right"), (nodes, 1)),
        steps=[],
    )
    symmetric = symmetric_compatibility(first.named["intensity.compatibility"])
    rate = first.named["intensity.rate"]
    density = log_density(z, now, everyone, symmetric, rate, state.survival[:1])[0].double()  # (N, N)
    density.fill_diagonal_(float("-inf"))
    values, partners = density.sort(1, descending=True)
    kept = min(PARTNERS, nodes - 1)
    return pl.DataFrame(
        {
            "seed": np.full(nodes * kept, seeds[0]),
            "node": np.repeat(everyone.astype(np.int32), kept),
            "partner": partners[:, :kept].reshape(-1).numpy().astype(np.int32),
            "rank": np.tile(np.arange(kept, dtype=np.int32), nodes),
            "density": values[:, :kept].reshape(-1).exp().numpy(),
        }
    )


def read_finished(run: Run, folder: Path, known: dict[str, Any]) -> pl.DataFrame:
    """Fill a new run with the chosen weights and state of a finished one; its curves."""
    kept, _ = read_tensors(folder / "state.safetensors")
    # A stopped seed has nothing there: any other stands in its row, and is left out again.
    stand_in = [known["seeds"].index(seed) if seed in known["seeds"] else 0 for seed in run.settings.seeds]
    run.chosen = Chosen.from_tensors(kept).of_seeds(stand_in)
    run.chosen_epoch = [known["chosen_epoch"].get(str(seed)) for seed in run.settings.seeds]
    run.stopped = {int(seed): reason for seed, reason in known["stopped"].items()}
    run.seconds = known["training_seconds"]
    return pl.read_parquet(folder / "curves.parquet")

"""Output files of a training: rankings, predictions, embeddings, attention, curves and model.json."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import Tensor

from model.attention.rows import AttentionRows
from model.checkpoint import read_tensors, write_tensors
from model.choice import Chosen
from model.epochs import Log
from model.forward import current_embeddings
from model.parameters import Parameters, count_parameters
from model.ranking import Frequencies, carry_and_rank, partner_densities, rank_until
from model.run import Run, generators
from model.state import State, initial_state
from model.stream import COMMUNICATION, Stream
from pipeline.lake import write_json, write_parquet
from pipeline.machine import commit
from pipeline.names import FINAL, INITIAL, TEST, VALIDATION
from pipeline.progress import Progress
from pipeline.results.trained import FACTS, STATE, WEIGHTS
from pipeline.schemas import ATTENTION, PARTNERS


def write_records(run: Run, curves: pl.DataFrame, folder: Path, log: Log | None) -> dict[str, Any]:
    """Rank validation and test from the chosen epoch; write all output files, model.json last."""
    stream, settings = run.stream, run.settings
    alive = [row for row, seed in enumerate(settings.seeds) if seed not in run.stopped]
    seeds = tuple(settings.seeds[row] for row in alive)
    assert run.chosen is not None
    chosen = run.chosen.of_seeds(alive)
    weights, state = Parameters(run.parameters.shapes, chosen.test.weights), chosen.test.state
    header = {"seeds": list(seeds), "variant": asdict(run.variant)}
    write_tensors(weights.named, header, folder / WEIGHTS)
    write_tensors(chosen.tensors(), header, folder / STATE)
    validation, test = stream.splits
    attention = [
        initial_attention_rows(run, seeds),
        *training_attention(run, state, seeds),
        attention_rows(run, state.attention, test, seeds, FINAL),
    ]
    write_parquet(
        embedding_rows(current_embeddings(run.variant, state, weights.named), seeds),
        folder / "embeddings.parquet",
    )
    frequent = [
        Frequencies.of_events(stream, end) if run.variant.frequency else None for end in stream.splits
    ]
    with Progress(f"rank {run.variant.key}", len(stream) - validation, "events", log) as progress:
        ranks = [
            rank_until(run, chosen.validation, test, seeds, progress, frequent[0]),
            carry_and_rank(
                run, weights, state, len(stream), generators(seeds, "ranking"), progress, frequent[1]
            ),
        ]
        write_parquet(prediction_rows(run, state, weights, seeds), folder / "predictions.parquet")
    write_parquet(numbered_snapshots(attention), folder / "attention.parquet")
    rankings = ranking_rows(stream, torch.cat(ranks, dim=1).numpy(), seeds)
    write_parquet(rankings, folder / "rankings.parquet")
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
        **ranked_of_large(run, rankings, len(seeds)),
        "training_seconds": round(run.seconds, 3),
        "commit": commit(),
        "finished_at": datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds"),
    }
    write_json(summary, folder / FACTS)
    return summary


def ranked_of_large(run: Run, rankings: pl.DataFrame, seeds: int) -> dict[str, dict[str, int]]:
    """Return the number of ranked communications per period of a large network, else an empty dict."""
    if not run.state.is_large:
        return {}
    stream = run.stream
    communications = pl.DataFrame({"idx": stream.idx[(stream.k == COMMUNICATION) & (stream.idx >= 0)]})
    counted = rankings.join(communications, on="idx", how="semi").group_by("split").len()
    return {"ranked": {split: count // seeds for split, count in sorted(counted.rows())}}


# Columns of one snapshot; `numbered_snapshots` adds the snapshot's number.
ONE_SNAPSHOT = {name: dtype for name, dtype in ATTENTION.types.items() if name != "snapshot"}


def attention_rows(
    run: Run, rows: AttentionRows, position: int, seeds: tuple[int, ...], label: str | None
) -> pl.DataFrame:
    """Return the non-zero entries of S after `position` events; empty for GCN and GAT."""
    if not run.variant.is_recurrent:
        return pl.DataFrame(schema=ONE_SNAPSHOT)
    s, u, v, edge_type, weight = rows.nonzero()
    entries = pl.DataFrame(
        {"seed": np.array(seeds)[s], "edge_type": edge_type, "u": u, "v": v, "weight": weight},
        schema={name: ONE_SNAPSHOT[name] for name in ("seed", "edge_type", "u", "v", "weight")},
    )
    moment = run.stream.moment(position) if position else None
    labels = {"label": label, "created_at": moment}
    return entries.with_columns(
        **{name: pl.lit(value, dtype=ONE_SNAPSHOT[name]) for name, value in labels.items()}
    ).select(*ONE_SNAPSHOT)


def initial_attention_rows(run: Run, seeds: tuple[int, ...]) -> pl.DataFrame:
    """Return the attention rows of S before the first event."""
    start = initial_state(run.stream, run.variant, run.d, generators(seeds, "start"))
    return attention_rows(run, start.attention, 0, seeds, INITIAL)


def training_attention(run: Run, state: State, seeds: tuple[int, ...]) -> list[pl.DataFrame]:
    """Return snapshots of S of the first seed from its chosen epoch; an empty list if that seed stopped."""
    assert run.chosen is not None
    if seeds[0] != run.settings.seeds[0]:
        return []
    return [
        attention_rows(run, replace(state.attention, values=values.unsqueeze(0)), at, seeds[:1], None)
        for at, values in run.chosen.snapshots.items()
    ]


def numbered_snapshots(snapshots: list[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate snapshots in stream order, numbered from 0."""
    return pl.concat(
        rows.select("seed", pl.lit(number, dtype=pl.Int32).alias("snapshot"), pl.exclude("seed"))
        for number, rows in enumerate(snapshots)
    )


def embedding_rows(z: Tensor, seeds: tuple[int, ...]) -> pl.DataFrame:
    """Return one row of embeddings per seed and node."""
    count, nodes, d = z.shape
    return pl.DataFrame(
        {
            "seed": np.repeat(np.array(seeds), nodes),
            "node": np.tile(np.arange(nodes, dtype=np.int32), count),
            "z": pl.Series(z.reshape(-1, d).numpy()).cast(pl.List(pl.Float32)),
        }
    )


def ranking_rows(stream: Stream, ranks: np.ndarray, seeds: tuple[int, ...]) -> pl.DataFrame:
    """Return one row per seed and ranked validation or test event; events of other relations are omitted."""
    validation, test = stream.splits
    idx = stream.idx[validation:]
    assert ranks.shape[1] == len(idx)
    split = np.where(np.arange(validation, len(stream)) < test, VALIDATION, TEST)
    in_table = (idx >= 0) & ~np.isnan(ranks[0, :, 0])  # NaN: not ranked, in large networks
    return pl.DataFrame(
        {
            "seed": np.repeat(np.array(seeds), in_table.sum()),
            "idx": np.tile(idx[in_table], len(seeds)),
            "split": np.tile(split[in_table], len(seeds)),
            "rank_v": ranks[:, in_table, 0].reshape(-1),
            "rank_u": ranks[:, in_table, 1].reshape(-1),
        }
    )


def curve_rows(run: Run) -> pl.DataFrame:
    """Return losses per step and seed, with MAR on an epoch's last step."""
    seeds = run.settings.seeds
    steps = len(run.losses)
    losses = torch.stack(run.losses).double().numpy()  # (steps, S, 3)
    per_epoch = -(-run.stream.splits[0] // run.settings.batch)
    step = np.repeat(np.arange(1, steps + 1), len(seeds))
    measured = {
        (per_epoch * (epoch + 1), seed): (validation, test)
        for epoch, of_epoch in enumerate(run.measured)
        for seed, validation, test in zip(seeds, *of_epoch, strict=True)
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
    """Return each node's likeliest next communication partners after the last event, for the first seed."""
    nodes = run.stream.nodes
    ranks = min(PARTNERS, nodes - 1)
    first = Parameters(parameters.shapes, parameters.flat[:1])
    if state.is_large:
        from model.large.ranking import likeliest_partners

        partners, values = map(torch.from_numpy, likeliest_partners(run.stream, state, first.named, ranks))
    else:
        z = current_embeddings(run.variant, state, parameters.named)[:1]
        density = partner_densities(run.stream, z, state.of_seeds([0]), first.named)[0]  # (N, N)
        values, partners = density.sort(1, descending=True)
    return pl.DataFrame(
        {
            "seed": np.full(nodes * ranks, seeds[0]),
            "node": np.repeat(np.arange(nodes, dtype=np.int32), ranks),
            "partner": partners[:, :ranks].reshape(-1).numpy().astype(np.int32),
            "rank": np.tile(np.arange(ranks, dtype=np.int32), nodes),
            "density": values[:, :ranks].reshape(-1).exp().numpy(),
        }
    )


def fill_from_finished(run: Run, folder: Path, summary: dict[str, Any]) -> None:
    """Fill a new run with the chosen weights and state of the finished one whose model.json is `summary`."""
    tensors, _ = read_tensors(folder / STATE)
    # A stopped seed has no row there: the first one is a placeholder, which `write_records` leaves out.
    seeds = summary["seeds"]
    stand_in = [seeds.index(seed) if seed in seeds else 0 for seed in run.settings.seeds]
    run.chosen = Chosen.from_tensors(tensors).of_seeds(stand_in)
    run.chosen_epoch = [summary["chosen_epoch"].get(str(seed)) for seed in run.settings.seeds]
    run.stopped = {int(seed): reason for seed, reason in summary["stopped"].items()}
    run.seconds = summary["training_seconds"]

"""The small world of the tests: a dataset, trained variants and results, as the files that the system leaves.

Its people belong to circles and mostly talk within them. Pairs repeat, several events share a moment, and the
last person never does anything. Attention begins at random and ends along the circles.
"""

import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from pipeline.event_table import (
    EventTable,
    Split,
    build_event_table,
    dataset_names,
    read_event_table,
    write_event_table,
)
from pipeline.lake import Lake, write_json, write_parquet
from pipeline.results.agreement import write_attention_auc
from pipeline.results.baselines import baselines
from pipeline.results.dataset_stats import write_dataset_stats
from pipeline.results.metrics import write_link_prediction, write_training_curves
from pipeline.results.waits import DAY, HOUR, bin_of, no_learn_forecasts, past_of, wait_scores, waits_between
from pipeline.schemas import CALIBRATION, NEXT_EVENT_TIME, REASONS, TRAINED

START = datetime(2013, 1, 1)
RELATIONS = ("Follow", "Friend")  # the dataset's own, and another
VARIANTS = ("dyrep-bilinear", "ldg_learned_sparse-concat", "ldg_learned_sparse-bilinear")
AT_ONCE = 3  # events of a moment
PARTNERS = 6  # of a node in a snapshot of attention
STEPS = 30  # of an epoch
SUBJECTS = pl.DataFrame({"subject": ["node", "pair"], "split": "test"})  # of forecast waits


def circles_of(nodes: int) -> np.ndarray:
    """The circle of each node."""
    return np.arange(nodes) % max(4, nodes // 25)


def small_table(
    name: str = "toy",
    *,
    title: str = "Toy",
    nodes: int = 16,
    names: Sequence[str] = (),
    events: int = 300,
    seed: int = 0,
) -> EventTable:
    """Events and the graphs of both relations; the first nodes have the given `names`."""
    random = np.random.default_rng(seed)
    names = [*names, *(f"node {number}" for number in range(len(names), nodes))]
    circle = circles_of(nodes - 1)
    rows, ties, graphs = [], [], []
    for number in range(events):
        source = int(random.integers(nodes - 1))
        others = np.flatnonzero(np.arange(nodes - 1) != source)
        near = others[circle[others] == circle[source]]
        target = int(random.choice(near if random.random() < 0.8 and len(near) else others))
        pair, moment = (names[source], names[target]), START + timedelta(hours=number // AT_ONCE)
        is_tie = number % 7 == 0
        event_type = "Follow" if is_tie else ("Push", "Fork")[number % 2]
        rows.append((*pair, event_type, "association" if is_tie else "communication", moment))
        if is_tie:
            ties.append(("Follow", *pair, moment))
        elif number % 11 == 0:
            ties.append(("Friend", *pair, moment))
    for relation in RELATIONS:
        for snapshot in ("initial", "final"):
            for source, target in random.choice(nodes, (nodes, 2)):  # a self-report may come up
                graphs.append((relation, snapshot, names[source], names[target]))
    return build_event_table(
        name=name,
        title=title,
        description="People of a few circles who mostly talk within their circle.",
        rows=pl.DataFrame(rows, schema=["source", "target", "type", "kind", "created_at"], orient="row"),
        node_names=names,
        split=Split(START + timedelta(hours=events // AT_ONCE * 2 // 3)),
        own_relations=["Follow"],
        associations=pl.DataFrame(graphs, schema=["relation", "snapshot", "source", "target"], orient="row"),
        association_events=pl.DataFrame(
            ties, schema=["relation", "source", "target", "created_at"], orient="row"
        ),
    )


def write_table(folder: Path, **world: Any) -> Path:
    """Write a small table; `world` is as `small_table` takes it."""
    write_event_table(small_table(**world), folder)
    return folder


def store_table(lake: Lake, dataset: str = "toy", **world: Any) -> EventTable:
    """Write a small table to its place in the lake and read it back."""
    return read_event_table(write_table(lake.dataset(dataset), name=dataset, **world))


def store_variant(lake: Lake, table: EventTable, variant: str, *, seeds: int = 2, snapshots: int = 3) -> None:
    """Everything that the training of a variant leaves, `model.json` last; its rankings are random."""
    random = np.random.default_rng(len(variant))
    folder = lake.model(table.name, variant)
    tables = {
        "curves": curves(seeds, random),
        "rankings": rankings(table, seeds, random),
        "attention": attention(table, variant, seeds, snapshots, random),
        "embeddings": embeddings(table, seeds, random),
        "predictions": predictions(table, random),
    }
    for records, rows in tables.items():
        write_parquet(TRAINED[records].cast(rows), folder / f"{records}.parquet")
    if variant.startswith("rem-"):
        write_parquet(reasons(tables["predictions"]), folder / "reasons.parquet")
    facts = {
        "dataset": table.name,
        "fingerprint": table.metadata["fingerprint"],
        "variant": variant,
        "settings": {"seeds": list(range(seeds)), "epochs": 2, "batch": 200, "learning_rate": 2e-4},
        "seeds": list(range(seeds)),
        "parameters": 12_345,
        "width": 32,
        "chosen_epoch": {str(seed): 2 for seed in range(seeds)},
        "stopped": {},
        "training_seconds": 61.5,
    }
    write_json(facts, folder / "model.json")


def store_results(lake: Lake, dataset: str = "toy", **choices: Any) -> EventTable:
    """A dataset, its trained variants, and the result tables of the whole lake.

    `choices` are those of `make_results`. What a home of one dataset holds is made once and then copied.
    """
    if lake.home.exists() and any(lake.home.iterdir()):
        return make_results(lake, dataset, **choices)
    # A cache looks up what cannot change.
    fixed = {name: tuple(value) if isinstance(value, list) else value for name, value in choices.items()}
    home = made_home(dataset, **fixed)
    shutil.copytree(home.name, lake.home, dirs_exist_ok=True)
    return read_event_table(lake.dataset(dataset))


@cache
def made_home(dataset: str, **choices: Any) -> TemporaryDirectory[str]:
    """A home with one dataset that nobody changes; it goes with the process."""
    home = TemporaryDirectory(prefix="small-world-")
    make_results(Lake(Path(home.name)), dataset, **choices)
    return home


def make_results(
    lake: Lake,
    dataset: str,
    *,
    variants: Sequence[str] = VARIANTS,
    seeds: int = 2,
    snapshots: int = 6,
    **world: Any,
) -> EventTable:
    """The same computed; `world` is as `small_table` takes it."""
    table = store_table(lake, dataset, **world)
    for variant in variants:
        store_variant(lake, table, variant, seeds=seeds, snapshots=snapshots)
    write_parquet(baselines(table), lake.dataset(dataset) / "baselines.parquet")
    write_results(lake)
    return table


def write_results(lake: Lake) -> None:
    """The result tables, computed from what is stored of the datasets and their variants."""
    for write in (write_dataset_stats, write_link_prediction, write_training_curves, write_attention_auc):
        write(lake)
    for dataset in dataset_names(lake):
        store_waits(lake, dataset)


def store_waits(lake: Lake, dataset: str) -> None:
    """Scores of waiting times, with a forecast that knows the truth half of the time."""
    table = read_event_table(lake.dataset(dataset))
    events = table.events.filter(pl.col("kind") == "communication")
    seconds = (events["created_at"] - events["created_at"].min()).dt.total_seconds().to_numpy().astype(float)
    waits = waits_between(events["u"].to_numpy().astype(np.int64), seconds, seconds[-1])
    edges = np.array([0, 1, HOUR, 6 * HOUR, DAY, 7 * DAY, 400 * DAY], dtype=np.float64)
    trivial = dict(no_learn_forecasts(waits, past_of(waits), past_of(waits), edges))
    masses = (np.eye(len(edges) - 1)[bin_of(waits.seconds, edges)] + trivial["histogram"]) / 2
    scores = wait_scores(waits, edges, ("hazard", masses), trivial.items())
    origin = {"dataset": dataset, "as_of": table.as_of, "fingerprint": table.metadata["fingerprint"]}
    for result, rows in zip((NEXT_EVENT_TIME, CALIBRATION), scores, strict=True):
        for_each = rows.join(SUBJECTS, how="cross").with_columns(
            **{name: pl.lit(value) for name, value in origin.items()}
        )
        write_parquet(result.stored().cast(for_each), lake.waiting_times(dataset) / f"{result.name}.parquet")


def curves(seeds: int, random: np.random.Generator) -> pl.DataFrame:
    """Losses that fall over two epochs; MAR at the last step of each."""
    step = np.arange(1, 2 * STEPS + 1)
    fall = 1 / (1 + step / 10)
    is_last = pl.Series(step % STEPS == 0)
    of_seeds = []
    for seed in range(seeds):
        noise = random.normal(0, 0.05, len(step))
        rows = pl.DataFrame(
            {
                "seed": seed,
                "step": step,
                "epoch": (step - 1) // STEPS + 1,
                "loss_events": 2 * fall + noise,
                "loss_nonevents": 1 - fall / 2 + noise,
                "loss_kl": 0.3 * fall,
                "mar": 10 - step / 20 + noise,
                "test_mar": 11 - step / 20 + noise,
            }
        )
        of_seeds.append(rows.with_columns(pl.when(is_last).then(pl.col("mar", "test_mar"))))
    return pl.concat(of_seeds)


def rankings(table: EventTable, seeds: int, random: np.random.Generator) -> pl.DataFrame:
    """Random places, halves among them, of every event after training."""
    ranked = table.events.filter(pl.col("split") != "train").select("idx", "split")
    places = partial(random.integers, 0, 2 * (table.nodes.height - 2) + 1, ranked.height)
    return pl.concat(
        ranked.with_columns(seed=pl.lit(seed), rank_v=pl.Series(places() / 2), rank_u=pl.Series(places() / 2))
        for seed in range(seeds)
    )


def attention(
    table: EventTable, variant: str, seeds: int, snapshots: int, random: np.random.Generator
) -> pl.DataFrame:
    """The first and the last snapshot of every seed, those between of the first."""
    return pl.concat(
        snapshot_rows(table, seed, snapshot, snapshots, edge_type, random)
        for seed in range(seeds)
        for snapshot in (range(snapshots) if seed == 0 else (0, snapshots - 1))
        for edge_type in range(1 if variant.startswith("dyrep") else 2)
    )


def snapshot_rows(
    table: EventTable, seed: int, snapshot: int, snapshots: int, edge_type: int, random: np.random.Generator
) -> pl.DataFrame:
    """Entries of one edge type that sum to one per node, many of them equal."""
    nodes, share = table.nodes.height, snapshot / (snapshots - 1)
    circles = len(set(circles_of(nodes)))
    u = np.repeat(np.arange(nodes), PARTNERS)
    near = (u + circles * random.integers(1, 5, u.size)) % nodes
    v = np.where(random.random(u.size) < share, near, random.integers(0, nodes, u.size))
    end = datetime.fromisoformat(table.metadata["split"]["test_start"])
    pairs = pl.DataFrame({"u": u, "v": v}).filter(pl.col("u") != pl.col("v")).unique(maintain_order=True)
    return pairs.with_columns(
        seed=pl.lit(seed),
        snapshot=pl.lit(snapshot),
        label=pl.lit({0: "initial", snapshots - 1: "final"}.get(snapshot), pl.String),
        created_at=pl.lit(START + (end - START) * share if snapshot else None, pl.Datetime("us")),
        edge_type=pl.lit(edge_type),
        weight=pl.Series(random.integers(1, 4, pairs.height)),
    ).with_columns(weight=pl.col("weight") / pl.col("weight").sum().over("u"))


def embeddings(table: EventTable, seeds: int, random: np.random.Generator) -> pl.DataFrame:
    """Places of the nodes, those of a circle near each other."""
    nodes = table.nodes.height
    z = np.eye(32)[circles_of(nodes) % 32] + random.normal(0, 0.2, (seeds, nodes, 32))
    return pl.DataFrame(
        {
            "seed": np.repeat(np.arange(seeds), nodes),
            "node": np.tile(np.arange(nodes), seeds),
            "z": pl.Series(z.reshape(-1, 32).tolist(), dtype=pl.List(pl.Float32)),
        }
    )


def predictions(table: EventTable, random: np.random.Generator) -> pl.DataFrame:
    """Ten partners of each node, or as many as there are."""
    nodes = table.nodes.height
    many = min(10, nodes - 1)
    partners = [
        random.choice(np.delete(np.arange(nodes), node), many, replace=False) for node in range(nodes)
    ]
    return pl.DataFrame(
        {
            "seed": np.zeros(nodes * many, dtype=np.int64),
            "node": np.repeat(np.arange(nodes), many),
            "partner": np.concatenate(partners),
            "rank": np.tile(np.arange(many), nodes),
            "density": np.tile(np.linspace(2, 0.2, many), nodes),
        }
    )


def reasons(predicted: pl.DataFrame) -> pl.DataFrame:
    """What a relational-event model says of each prediction: the first of a node comes along an edge."""
    is_first = pl.col("rank") == 0
    return REASONS.cast(
        predicted.with_columns(
            why=pl.when(is_first)
            .then(pl.lit("met 3 h ago; 4 common partners"))
            .otherwise(pl.lit("never met")),
            edge_type=pl.when(is_first).then(1),
        )
    )

"""Small stored results in exactly the formats that training and evaluation write."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

import numpy as np
import polars as pl

from pipeline.event_table import EventTable, Split, build_event_table, write_event_table
from pipeline.lake import Lake, write_json, write_parquet
from pipeline.schemas import RESULTS, TRAINED
from pipeline.variants import split_key

START = datetime(2013, 1, 1)
RELATIONS = ("Follow", "CloseFriend")
VARIANTS = ("dyrep-bilinear", "ldg_learned_sparse-concat", "ldg_learned_sparse-bilinear")
BASELINES = {
    ("random", None): 0.5,
    ("frequency", None): 0.2,
    ("associates", "Follow"): 0.3,
    ("online_frequency", None): 0.12,
    ("online_recency", None): 0.1,
}


def store_results(
    lake: Lake,
    dataset: str = "toy",
    *,
    title: str = "Toy network",
    nodes: int = 24,
    names: Sequence[str] = (),
    variants: Sequence[str] = VARIANTS,
    seeds: int = 2,
    snapshots: int = 6,
    events: int = 600,
) -> EventTable:
    """Store a dataset with four planted circles, its trained variants, and its rows of every result table."""
    random = np.random.default_rng(7)
    table = planted_events(dataset, title, nodes, list(names), events, random)
    metadata = write_event_table(table, lake.dataset(dataset))
    for variant in variants:
        store_variant(lake, table, metadata["fingerprint"], variant, seeds, snapshots, random)
    store_result_tables(lake, table, metadata["fingerprint"], variants, seeds, random)
    return table


def planted_events(
    dataset: str, title: str, nodes: int, names: list[str], events: int, random: np.random.Generator
) -> EventTable:
    """Events mostly inside circles of nodes, with directed associations along the circles."""
    names = names + [f"person {node:04d}" for node in range(len(names), nodes)]
    circle = np.arange(nodes) % max(4, nodes // 25)
    rows, associations = [], []
    for index in range(events):
        u = int(random.integers(nodes))
        near = np.flatnonzero((circle == circle[u]) & (np.arange(nodes) != u))
        far = np.flatnonzero(np.arange(nodes) != u)
        v = int(random.choice(near if random.random() < 0.8 and len(near) else far))
        kind = "association" if index % 10 == 0 else "communication"
        when = START + timedelta(days=300 * index / events)
        rows.append((names[u], names[v], "Follow" if kind == "association" else "Push", kind, when))
        for relation in RELATIONS:
            if random.random() < 0.4:
                associations.append((relation, "final", names[u], names[v]))
                if random.random() < 0.4:
                    associations.append((relation, "initial", names[u], names[v]))
    return build_event_table(
        name=dataset,
        title=title,
        description="People of four circles who mostly talk within their circle.",
        rows=pl.DataFrame(rows, schema=["source", "target", "type", "kind", "created_at"], orient="row"),
        node_names=names,
        split=Split(test_start=START + timedelta(days=200)),
        own_relations=["Follow"],
        associations=pl.DataFrame(
            associations, schema=["relation", "snapshot", "source", "target"], orient="row"
        ),
    )


def store_records(lake: Lake, table: EventTable, variant: str, records: str, rows: pl.DataFrame) -> None:
    """One table of a trained variant, with the columns and types that training writes."""
    write_parquet(TRAINED[records].cast(rows), lake.model(table.name, variant) / f"{records}.parquet")


def store_variant(
    lake: Lake,
    table: EventTable,
    fingerprint: str,
    variant: str,
    seeds: int,
    snapshots: int,
    random: np.random.Generator,
) -> None:
    """Everything kept of one trained variant, `model.json` last."""
    folder, nodes = lake.model(table.name, variant), table.nodes.height
    store = partial(store_records, lake, table, variant)
    edge_types = 1 if variant.startswith("dyrep") else 2
    store("curves", training_curves(seeds, random))
    scored = table.events.filter(pl.col("split") != "train").select("idx", "split")
    ranks = [
        scored.with_columns(
            seed=pl.lit(seed),
            rank_v=pl.Series(random.integers(0, nodes - 1, scored.height).astype(float)),
            rank_u=pl.Series(random.integers(0, nodes - 1, scored.height).astype(float)),
        )
        for seed in range(seeds)
    ]
    store("rankings", pl.concat(ranks))
    attention = [
        snapshot_rows(table, seed, snapshot, snapshots, edge_type, random)
        for seed in range(seeds)
        for snapshot in (range(snapshots) if seed == 0 else (0, snapshots - 1))
        for edge_type in range(edge_types)
    ]
    store("attention", pl.concat(attention))
    circle = np.arange(nodes) % max(4, nodes // 25)
    z = np.eye(32)[circle % 32] + random.normal(0, 0.2, (seeds, nodes, 32))
    store(
        "embeddings",
        pl.DataFrame(
            {
                "seed": np.repeat(np.arange(seeds), nodes),
                "node": np.tile(np.arange(nodes, dtype=np.int32), seeds),
                "z": pl.Series(z.reshape(-1, 32).tolist(), dtype=pl.List(pl.Float32)),
            }
        ),
    )
    many = min(10, nodes - 1)
    partners = [
        random.choice(np.delete(np.arange(nodes), node), many, replace=False) for node in range(nodes)
    ]
    store(
        "predictions",
        pl.DataFrame(
            {
                "seed": np.zeros(nodes * many, dtype=np.int64),
                "node": np.repeat(np.arange(nodes, dtype=np.int32), many),
                "partner": np.concatenate(partners).astype(np.int32),
                "rank": np.tile(np.arange(many, dtype=np.int32), nodes),
                "density": np.tile(np.linspace(2, 0.2, many, dtype=np.float32), nodes),
            }
        ),
    )
    write_json(
        {
            "dataset": table.name,
            "fingerprint": fingerprint,
            "variant": variant,
            "settings": {"epochs": 2, "hidden": 32},
            "seeds": list(range(seeds)),
            "parameters": 12_345,
            "chosen_epoch": {str(seed): 1 for seed in range(seeds)},
            "stopped": {},
            "seconds": 12.5,
        },
        folder / "model.json",
    )


def training_curves(seeds: int, random: np.random.Generator) -> pl.DataFrame:
    """Curves of two epochs of thirty steps; MAR at the last step of each."""
    rows = []
    for seed in range(seeds):
        for step in range(60):
            last = step % 30 == 29
            noise = random.normal(0, 0.05)
            fall = 1 / (1 + step / 10)
            mar = 10 - step / 20 + noise
            rows.append(
                {
                    "seed": seed,
                    "step": step,
                    "epoch": step // 30,
                    "loss_events": 2 * fall + noise,
                    "loss_nonevents": 1 - fall / 2 + noise,
                    "loss_kl": 0.3 * fall,
                    "mar": mar if last else None,
                    "test_mar": mar + 1 if last else None,
                }
            )
    return pl.DataFrame(rows)


def snapshot_rows(
    table: EventTable, seed: int, snapshot: int, snapshots: int, edge_type: int, random: np.random.Generator
) -> pl.DataFrame:
    """Non-zero entries of one edge type: random at first, then more and more along the circles."""
    nodes = table.nodes.height
    circle = np.arange(nodes) % max(4, nodes // 25)
    share = snapshot / (snapshots - 1)
    u = np.repeat(np.arange(nodes), 6)
    anyone = random.integers(0, nodes, u.size)
    near = (u + max(4, nodes // 25) * random.integers(1, 5, u.size)) % nodes
    v = np.where(random.random(u.size) < share, np.where(circle[near] == circle[u], near, anyone), anyone)
    test_start = datetime.fromisoformat(table.metadata["split"]["test_start"])
    frame = pl.DataFrame({"u": u, "v": v}).filter(pl.col("u") != pl.col("v")).unique(maintain_order=True)
    weight = random.random(frame.height)
    label = "initial" if snapshot == 0 else "final" if snapshot == snapshots - 1 else None
    return (
        frame.with_columns(
            seed=pl.lit(seed, pl.Int64),
            snapshot=pl.lit(snapshot, pl.Int32),
            label=pl.lit(label, pl.String),
            created_at=pl.lit(
                None if snapshot == 0 else START + (test_start - START) * share, pl.Datetime("us")
            ),
            edge_type=pl.lit(edge_type, pl.Int32),
            u=pl.col("u").cast(pl.Int32),
            v=pl.col("v").cast(pl.Int32),
            weight=pl.Series(weight, dtype=pl.Float32),
        )
        .with_columns(weight=pl.col("weight") / pl.col("weight").sum().over("u"))
        .select("seed", "snapshot", "label", "created_at", "edge_type", "u", "v", "weight")
    )


def store_result_tables(
    lake: Lake,
    table: EventTable,
    fingerprint: str,
    variants: Sequence[str],
    seeds: int,
    random: np.random.Generator,
) -> None:
    """The dataset's rows of the result tables, beside those of other datasets already stored."""
    nodes = table.nodes.height
    scores = {"hits_at_10": 0.4, "mrr": 0.2, "hits_at_1": 0.1, "hits_at_3": 0.2, "fingerprint": fingerprint}
    link, auc = [], []
    for variant in variants:
        name, interaction = split_key(variant)
        for seed in range(seeds):
            key = {"dataset": table.name, "variant": name, "interaction": interaction, "seed": seed}
            for split in ("validation", "test"):
                mar = nodes * (0.3 + 0.02 * random.random())
                link.append({**key, "split": split, "events": 100, "mar": mar, **scores})
            auc += [
                {**key, "edge_type": edge_type, **graph, "picked": edge_type == 0, "fingerprint": fingerprint}
                for edge_type in range(1 if name == "dyrep" else 2)
                for graph in known_graph_scores(random)
            ]
    frequency = {
        "dataset": table.name,
        "variant": "communication_frequency",
        "interaction": None,
        "seed": None,
    }
    auc += [
        {**frequency, "edge_type": None, **graph, "picked": True, "fingerprint": fingerprint}
        for graph in known_graph_scores(random)
    ]
    append(lake, "link_prediction", complete("link_prediction", link))
    append(lake, "attention_auc", complete("attention_auc", auc))
    baselines = [
        {
            "dataset": table.name,
            "baseline": name,
            "relation": relation,
            "events": 100,
            "mar": nodes * share,
            **scores,
            "never_seen_events": 10,
            "never_seen_mar": nodes / 2,
            "never_seen_hits_at_10": 0.1,
        }
        for (name, relation), share in BASELINES.items()
    ]
    write_parquet(complete("baselines", baselines), lake.dataset(table.name) / "baselines.parquet")


def complete(result: str, rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Rows with every column the warehouse asks of a result table; what a test does not care for is null."""
    absent = dict.fromkeys(RESULTS[result].names)
    return pl.DataFrame([{**absent, **row} for row in rows], infer_schema_length=None)


def known_graph_scores(random: np.random.Generator) -> list[dict[str, object]]:
    """Agreement with each relation's initial and final graph."""
    return [
        {
            "relation": relation,
            "snapshot": snapshot,
            "auc": level + 0.05 * random.random(),
            "average_precision": 0.3,
            "attention": "final",
            "pairs": 100,
        }
        for relation in RELATIONS
        for snapshot, level in (("initial", 0.6), ("final", 0.8))
    ]


def append(lake: Lake, result: str, rows: pl.DataFrame) -> None:
    path = lake.results / f"{result}.parquet"
    write_parquet(pl.concat([pl.read_parquet(path), rows]) if path.exists() else rows, path)

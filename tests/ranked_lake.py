"""A small dataset and trained variants of it, as the files that building and training leave."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl

from pipeline.event_table import EventTable, Split, build_event_table, read_event_table, write_event_table
from pipeline.lake import Lake, write_json, write_parquet
from pipeline.schemas import TRAINED

START = datetime(2013, 1, 1)
RELATIONS = ("Follow", "Friend")


def store_table(
    lake: Lake, dataset: str = "toy", *, nodes: int = 16, events: int = 300, seed: int = 0
) -> EventTable:
    """Write and read back a table of random events, several at the same moment, some nodes without any."""
    random = np.random.default_rng(seed)
    names = [f"node {number}" for number in range(nodes)]
    rows, ties, graphs = [], [], []
    for number in range(events):
        source, target = random.choice(nodes - 1, 2, replace=False, p=popularity(nodes - 1))
        moment = START + timedelta(hours=int(number // 3))
        kind = "association" if number % 7 == 0 else "communication"
        event_type = "Follow" if kind == "association" else ("Push", "Fork")[number % 2]
        rows.append((names[source], names[target], event_type, kind, moment))
        if kind == "association":
            ties.append(("Follow", names[source], names[target], moment))
        elif number % 11 == 0:
            ties.append(("Friend", names[source], names[target], moment))
    for relation in RELATIONS:
        for snapshot in ("initial", "final"):
            for _ in range(nodes):
                # A self-report on the diagonal may come up.
                source, target = random.choice(nodes, 2)
                graphs.append((relation, snapshot, names[source], names[target]))
    table = build_event_table(
        name=dataset,
        title="Toy",
        description="",
        rows=pl.DataFrame(rows, schema=["source", "target", "type", "kind", "created_at"], orient="row"),
        node_names=names,
        split=Split(START + timedelta(hours=events // 3 * 2 // 3)),
        own_relations=["Follow"],
        associations=pl.DataFrame(graphs, schema=["relation", "snapshot", "source", "target"], orient="row"),
        association_events=pl.DataFrame(
            ties, schema=["relation", "source", "target", "created_at"], orient="row"
        ),
    )
    write_event_table(table, lake.dataset(dataset))
    return read_event_table(lake.dataset(dataset))


def popularity(nodes: int) -> np.ndarray:
    """Unequal shares of events, so that pairs repeat."""
    weights = 1 / np.arange(1, nodes + 1)
    return weights / weights.sum()


def store_variant(
    lake: Lake, table: EventTable, variant: str, *, seeds: int = 2, edge_types: int = 2
) -> None:
    """Random rankings, attention and curves of a finished variant."""
    random = np.random.default_rng(len(variant))
    nodes, folder = table.nodes.height, lake.model(table.name, variant)
    ranked = table.events.filter(pl.col("split") != "train").select("idx", "split")
    rankings, attention, curves = [], [], []
    for seed in range(seeds):
        ranks = random.integers(0, 2 * (nodes - 2) + 1, (2, ranked.height)) / 2
        rankings.append(
            ranked.with_columns(seed=pl.lit(seed), rank_v=pl.Series(ranks[0]), rank_u=pl.Series(ranks[1]))
        )
        for label, moment in (("initial", None), (None, START), ("final", START)):
            # Few distinct weights: ties; about half of them zero and so not stored.
            weights = random.integers(0, 4, (edge_types, nodes, nodes)).astype(np.float32)
            weights[random.random(weights.shape) < 0.3] = 0
            edge_type, u, v = np.nonzero(weights)
            attention.append(
                pl.DataFrame(
                    {
                        "seed": np.full(len(u), seed),
                        "snapshot": np.full(len(u), {"initial": 0, None: 1, "final": 2}[label], np.int32),
                        "label": pl.Series([label] * len(u), dtype=pl.String),
                        "created_at": pl.Series([moment] * len(u), dtype=pl.Datetime("us")),
                        "edge_type": edge_type.astype(np.int32),
                        "u": u.astype(np.int32),
                        "v": v.astype(np.int32),
                        "weight": weights[edge_type, u, v],
                    }
                )
            )
        curves.append(
            pl.DataFrame(
                {
                    "seed": seed,
                    "step": range(4),
                    "epoch": [0, 0, 1, 1],
                    "loss_events": random.random(4),
                    "loss_nonevents": random.random(4),
                    "loss_kl": random.random(4),
                    "mar": [None, 3.0, None, 2.0],
                    "test_mar": [None, 4.0, None, 3.0],
                }
            )
        )
    for records, rows in (("rankings", rankings), ("attention", attention), ("curves", curves)):
        write_parquet(TRAINED[records].cast(pl.concat(rows)), folder / f"{records}.parquet")
    write_json({"fingerprint": table.metadata["fingerprint"]}, folder / "model.json")

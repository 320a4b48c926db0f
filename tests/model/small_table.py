"""A small event table for tests that train."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from pipeline.event_table import Split, build_event_table, write_event_table
from tests.model.streams import random_stream

RELATIONS = ["Follow", "Friend"]


def write_table(folder: Path, nodes: int = 12, events: int = 90, seed: int = 0) -> Path:
    """A small event table with two relations; the second is not the dataset's own."""
    stream = random_stream(seed, nodes, events)
    names = [f"node {node}" for node in range(nodes)]
    start = datetime(2013, 1, 1)
    created = [start + timedelta(minutes=n // 2) for n in range(events)]  # every other event is a tie
    rows = pl.DataFrame(
        {
            "source": [names[u] for u in stream.u],
            "target": [names[v] for v in stream.v],
            "type": ["PushEvent" if k else "FollowEvent" for k in stream.k],
            "kind": ["communication" if k else "association" for k in stream.k],
            "created_at": created,
        }
    )
    ties = [(names[u], names[v]) for u, v in np.argwhere(stream.associations)]
    associations = pl.DataFrame(
        [
            (relation, snapshot, *tie)
            for relation in RELATIONS
            for snapshot in ("initial", "final")
            for tie in ties
        ],
        schema=["relation", "snapshot", "source", "target"],
        orient="row",
    )
    own = rows.filter(pl.col("kind") == "association").select(
        pl.lit("Follow").alias("relation"), "source", "target", "created_at"
    )
    other = own.tail(8).with_columns(pl.lit("Friend").alias("relation"))
    table = build_event_table(
        name="small",
        title="Small",
        description="",
        rows=rows,
        node_names=names,
        split=Split(created[events - 25]),
        own_relations=["Follow"],
        associations=associations,
        association_events=pl.concat([own, other]),
    )
    write_event_table(table, folder)
    return folder

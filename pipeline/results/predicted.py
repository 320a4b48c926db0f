"""Whom a trained model expects to interact with a node next, with names."""

from dataclasses import dataclass

import polars as pl

from pipeline.event_table import EventTable
from pipeline.lake import Lake


@dataclass(frozen=True)
class Partner:
    """A likely next partner, and the density of its next event relative to the likeliest partner's."""

    name: str
    share: float


def node_of(table: EventTable, name: str) -> int:
    """The number of the node called `name`, or `name` itself where it is a number and nobody's name."""
    rows = table.nodes.filter(pl.col("name") == name)
    if rows.height:
        return int(rows["node"][0])
    if name.isdecimal() and int(name) < table.nodes.height:
        return int(name)
    near = table.nodes.filter(pl.col("name").str.to_lowercase().str.contains(name.lower(), literal=True))
    like = f"; there is {', '.join(near['name'].head(5))}" if near.height else ""
    raise LookupError(f"{table.name} has no node {name!r}{like}")


def likeliest_partners(lake: Lake, table: EventTable, variant: str, node: int, many: int) -> list[Partner]:
    """The likeliest next partners of `node` at the end of the events, the likeliest first."""
    rows = (
        pl.read_parquet(lake.model(table.name, variant) / "predictions.parquet", glob=False)
        .filter((pl.col("node") == node) & (pl.col("seed") == pl.col("seed").min()))
        .with_columns(share=pl.col("density") / pl.col("density").max())
        .join(table.nodes.select("node", "name"), left_on="partner", right_on="node")
        .sort("rank")
        .head(many)
    )
    return [Partner(name, share) for name, share in rows.select("name", "share").iter_rows()]

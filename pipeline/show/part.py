"""The part of a network that is drawn: all of it, or its most active nodes."""

from dataclasses import dataclass, replace

import polars as pl

from pipeline.event_table import EventTable
from pipeline.lake import scan_parquet
from pipeline.names import COMMUNICATION_KIND
from pipeline.results.pairs import training_events
from pipeline.results.trained import TrainedVariant

MOST = 2_000  # nodes: their communities and layout take seconds, and a picture cannot show more


@dataclass(frozen=True)
class Part:
    """The shown nodes, renumbered from 0 in their order, and the events and associations among them.

    `numbers` has a row per shown node: `node` (original number) and `shown` (new number).
    """

    table: EventTable
    numbers: pl.DataFrame
    of: int  # number of nodes of the whole network

    @property
    def size(self) -> str:
        """Label with the number of shown nodes, and of all nodes if not all are shown."""
        shown = self.table.nodes.height
        return f"{shown:,} nodes" if shown == self.of else f"{shown:,} most active of {self.of:,} nodes"

    def of_first_seed(self, trained: TrainedVariant, records: str, *columns: str) -> pl.DataFrame:
        """Return the first seed's rows whose nodes in `columns` are all shown, renumbered."""
        if self.table.nodes.height == self.of:
            return trained.of_first_seed(records)
        rows = scan_parquet(trained.path(records))
        rows = rows.filter(pl.col("seed") == pl.col("seed").min())
        return self.renumbered(rows.filter(self.shows(*columns)).collect(), *columns)

    def shows(self, *columns: str) -> pl.Expr:
        """Return an expression for whether all nodes in `columns` are shown."""
        return pl.all_horizontal(pl.col(column).is_in(self.numbers["node"].implode()) for column in columns)

    def renumbered(self, rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """Return the rows whose nodes in `columns` are all shown, in order and renumbered."""
        if self.table.nodes.height == self.of:
            return rows
        node, shown = self.numbers["node"], self.numbers["shown"]
        return rows.filter(self.shows(*columns)).with_columns(
            pl.col(column).replace_strict(node, shown).cast(rows.schema[column]) for column in columns
        )


def part_of(table: EventTable, most: int = MOST) -> Part:
    """Select the `most` nodes with the most communications before the test period; ties by lowest number."""
    every = table.nodes.select("node", shown="node")
    whole = Part(table, every, table.nodes.height)
    if table.nodes.height <= most:
        return whole
    talk = training_events(table, COMMUNICATION_KIND)
    ends = pl.concat([talk.select(node="u"), talk.select(node="v")]).group_by("node").len("events")
    active = every.join(ends, on="node", how="left").sort(
        pl.col("events").fill_null(0), "node", descending=[True, False]
    )
    numbers = active.head(most).select("node").sort("node").with_columns(shown=pl.int_range(pl.len()))
    part = replace(whole, numbers=numbers, table=replace(table, nodes=table.nodes[numbers["node"]]))
    frames = {
        frame: part.renumbered(getattr(table, frame), "u", "v")
        for frame in ("events", "associations", "association_events")
    }
    return replace(part, table=replace(part.table, **frames))

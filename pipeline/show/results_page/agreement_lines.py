"""AUC of the learned graph with every known graph during training, for the first seed."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from pipeline.event_table import EventTable
from pipeline.names import FINAL
from pipeline.results.agreement import edge_keys, weight_ranking
from pipeline.results.trained import TrainedVariant
from pipeline.show.figures.style import FAINT, PALETTE, QUIET, Figure, marks
from pipeline.show.results_page.measured import Measured, of_model

WIDTH = 420


def agreement_lines(table: EventTable, data: Measured, trained: TrainedVariant) -> Figure | None:
    """Draw the AUC with each relation's final graph by stored snapshot; None if no edge type is picked."""
    attention = trained.of_first_seed("attention")
    edge_type = picked_edge_type(data, trained, attention["seed"].min())
    if edge_type is None:
        return None
    frame = agreement_points(table, data.relations, attention.filter(pl.col("edge_type") == edge_type))
    ends = frame.filter(pl.col("snapshot") == pl.col("snapshot").max())
    model = trained.label(data.relations)
    values = ", ".join(
        f"{relation} {value:.0f}" for relation, value in ends.select("relation", "auc").iter_rows()
    )
    return Figure(
        "agreement",
        f"{data.title}: AUC of the learned graph over the training events, {model}",
        f"AUC in % of the attention of {model} with the final graph of each relation, first "
        f"seed, picked edge type, from its random start through the training events; at the end: {values}.",
        lines(frame, list(data.relations)),
    )


def agreement_points(table: EventTable, relations: Sequence[str], attention: pl.DataFrame) -> pl.DataFrame:
    """Compute AUC (%) of one seed's and edge type's attention with each final graph, by snapshot.

    `share` is the snapshot's position in training, in %.
    """
    nodes = table.nodes.height
    final = table.associations.filter(pl.col("snapshot") == FINAL)
    graphs = {
        relation: edge_keys(final.filter(pl.col("relation") == relation), nodes) for relation in relations
    }
    entries = attention.filter(pl.col("u") != pl.col("v")).sort("snapshot")
    rows = [
        (snapshot, relation, 100 * ranking.agreement(graph)[0])
        for (snapshot,), of_snapshot in entries.group_by("snapshot", maintain_order=True)
        for ranking in [weight_ranking(of_snapshot, nodes)]
        for relation, graph in graphs.items()
        if 0 < len(graph) < nodes * (nodes - 1)
    ]
    frame = pl.DataFrame(
        rows, schema={"snapshot": pl.Int32, "relation": pl.String, "auc": pl.Float64}, orient="row"
    )
    return frame.with_columns(share=100 * pl.col("snapshot") / pl.col("snapshot").max().clip(1))


def picked_edge_type(data: Measured, trained: TrainedVariant, seed: object) -> int | None:
    """Return the edge type that represents a seed in Table 4, or None."""
    rows = of_model(data.auc, trained.variant, trained.interaction).filter(
        pl.col("seed") == seed,
        pl.col("picked"),
        pl.col("edge_type").is_not_null(),
    )
    return rows["edge_type"][0] if rows.height else None


def lines(frame: pl.DataFrame, relations: list[str]) -> alt.LayerChart:
    """Draw AUC over the share of training events, with chance as a dashed line."""
    x = alt.X("share:Q", title="Share of the training events (%)", axis={"grid": False, "tickCount": 5})
    y = alt.Y("auc:Q", title="AUC (%)", scale={"zero": False})
    colour = alt.Color(
        "relation:N",
        title=None,
        scale={"domain": relations, "range": list(PALETTE[: len(relations)])},
        legend={"orient": "right", "labelLimit": 220},
    )
    chance = marks(pl.DataFrame({"auc": [50.0]}), alt.MarkDef("rule", color=FAINT, strokeDash=[4, 3])).encode(
        y
    )
    line = marks(frame, alt.MarkDef("line", strokeWidth=1.8, point=alt.OverlayMarkDef(size=26))).encode(
        x, y, colour
    )
    word = marks(
        pl.DataFrame({"auc": [50.0]}),
        alt.MarkDef("text", color=QUIET, fontSize=10, align="right", dx=-4, dy=-6, text="chance"),
    ).encode(y, x=alt.value(WIDTH))
    return alt.LayerChart(layer=[chance, word, line], width=WIDTH, height=220)

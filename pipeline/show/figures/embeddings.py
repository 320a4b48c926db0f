"""t-SNE of node embeddings after training, with the three most frequent pairs marked."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from pipeline.names import COMMUNICATION_KIND
from pipeline.results.pairs import pair_list, training_events
from pipeline.results.trained import TrainedVariant, showcase
from pipeline.show.figures.style import GREEN, INK, RED, SKY, Figure, marks
from pipeline.show.part import Part
from pipeline.variant_names import ldg_name
from pipeline.variants import DYREP

COLOURS = (RED, GREEN, SKY)
SHAPES = ("circle", "square", "triangle-up")
SIDE = 240


def embeddings_figure(part: Part, trained: Sequence[TrainedVariant]) -> Figure:
    """Draw a panel per variant: as in the paper DyRep, random and learned LDG, with each interaction."""
    table = part.table
    relations = table.metadata["relations"]
    shown = chosen(trained, relations)
    pairs = pair_list(training_events(table, COMMUNICATION_KIND)).head(len(COLOURS))
    names = table.nodes["name"]
    labels = [f"{names[u]} – {names[v]} ({n:,})" for u, v, n in pairs.iter_rows()]
    panels = []
    for one in shown:
        frame = part.of_first_seed(one, "embeddings", "node").sort("node")
        place = tsne(np.array(frame["z"].to_list(), dtype=np.float32))
        panels.append(embedding_panel(place, pairs, labels, one.label(relations)))
    return Figure(
        "embeddings",
        "Node embeddings after training (t-SNE)",
        f"t-SNE of the embeddings of {part.size} for {len(shown)} variants. Marked are the "
        f"{len(labels)} pairs that communicate most: {'; '.join(labels)}.",
        alt.concat(*panels, columns=2 if len(panels) in (2, 4) else 3, spacing=18),
    )


def chosen(trained: Sequence[TrainedVariant], relations: Sequence[str]) -> list[TrainedVariant]:
    """Select the trainings of DyRep, of LDG on a random sparse graph, and of LDG on the learned one."""
    names = (DYREP, ldg_name("random", "sparse"), ldg_name("learned", "sparse"))
    shown = [one for name in names for one in trained if one.variant == name]
    return shown or [showcase(trained, relations)]


def tsne(z: np.ndarray) -> np.ndarray:
    """Return two coordinates per node (N, 2); deterministic."""
    # Imported here because loading scikit-learn takes seconds.
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(z) - 1) / 3)
    # On so small a problem, threads synchronize longer than they compute.
    with threadpool_limits(1):
        return TSNE(2, perplexity=perplexity, init="pca", random_state=0, max_iter=500).fit_transform(z)


def embedding_panel(place: np.ndarray, pairs: pl.DataFrame, labels: list[str], title: str) -> alt.LayerChart:
    """Draw the nodes of one variant; marked pairs differ in colour and shape."""
    points = pl.DataFrame({"x": place[:, 0], "y": place[:, 1]})
    marked = pl.DataFrame(
        [
            {"x": float(place[node, 0]), "y": float(place[node, 1]), "pair": label}
            for (u, v, _), label in zip(pairs.iter_rows(), labels, strict=True)
            for node in (u, v)
        ],
        schema={"x": pl.Float64, "y": pl.Float64, "pair": pl.String},
    )
    x = alt.X("x:Q", axis=None, scale={"zero": False, "padding": 12})
    y = alt.Y("y:Q", axis=None, scale={"zero": False, "padding": 12})
    legend = {"title": "Most frequent pairs", "orient": "bottom", "direction": "vertical", "labelLimit": 420}
    colour = alt.Color("pair:N", legend=legend, scale={"domain": labels, "range": COLOURS[: len(labels)]})
    shape = alt.Shape("pair:N", legend=legend, scale={"domain": labels, "range": SHAPES[: len(labels)]})
    cloud = marks(points, alt.MarkDef("circle", size=26, color="#8895a7", opacity=0.75)).encode(x, y)
    lines = marks(marked, alt.MarkDef("line", strokeWidth=1, opacity=0.7)).encode(x, y, colour)
    dots = marks(
        marked, alt.MarkDef("point", size=80, filled=True, opacity=1, stroke=INK, strokeWidth=0.8)
    ).encode(x, y, colour, shape)
    return alt.LayerChart(layer=[cloud, lines, dots], width=SIDE, height=SIDE, title=title)

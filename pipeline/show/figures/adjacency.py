"""Adjacency matrices by community: the learned graph beside each association graph, initial and final."""

import base64
import struct
import zlib

import altair as alt
import numpy as np
import polars as pl

from pipeline.names import SNAPSHOTS
from pipeline.results.trained import TrainedVariant
from pipeline.show.communities import communication_graph, communities
from pipeline.show.figures.style import Figure, marks
from pipeline.show.part import Part

SIDE = 190
PIXELS = 2 * SIDE
PAPER, BLOCK, INK = np.array([250, 251, 252]), np.array([228, 233, 240]), np.array([0, 59, 112])


def adjacency_figure(part: Part, trained: TrainedVariant) -> Figure:
    """Draw rows for initial and final, and columns for relations and for edge types of the attention S."""
    table = part.table
    community = communities(communication_graph(table))
    order = np.lexsort((np.arange(community.size), community))
    attention = part.of_first_seed(trained, "attention", "u", "v").filter(pl.col("label").is_not_null())
    relations = table.metadata["relations"]
    model = trained.label(relations)
    edge_types = sorted(attention["edge_type"].unique())
    rows = []
    for snapshot in SNAPSHOTS:
        panels = []
        for relation in relations:
            entries = table.associations.filter(
                (pl.col("relation") == relation) & (pl.col("snapshot") == snapshot)
            ).with_columns(weight=pl.lit(1.0))
            panels.append(
                matrix_panel(entries, order, community, relation, f"{snapshot} · {entries.height:,} entries")
            )
        for edge_type in edge_types:
            entries = attention.filter((pl.col("label") == snapshot) & (pl.col("edge_type") == edge_type))
            title = f"Attention S, edge type {edge_type + 1}" if len(edge_types) > 1 else "Attention S"
            panels.append(
                matrix_panel(entries, order, community, title, f"{snapshot} · {entries.height:,} entries")
            )
        rows.append(alt.hconcat(*panels, spacing=18))
    return Figure(
        "adjacency",
        f"Learned graph beside known graphs: {model}",
        f"Adjacency matrices of {', '.join(relations)} and of the attention of "
        f"{model}, at the beginning (top) and at the end of training (bottom). The "
        f"{part.size} are ordered by {int(community.max()) + 1} communities of who communicates "
        "with whom, shaded along the diagonal; darker points are stronger entries.",
        alt.vconcat(*rows, spacing=18),
    )


def matrix_panel(
    entries: pl.DataFrame, order: np.ndarray, community: np.ndarray, title: str, subtitle: str
) -> alt.Chart:
    """Draw one matrix as an image; a mark per entry would make a figure of megabytes."""
    image = matrix_image(entries, order, community)
    heading = alt.TitleParams(
        title, subtitle=subtitle, subtitleColor="#5f6b7a", subtitleFontSize=11, fontSize=12
    )
    picture = marks(pl.DataFrame({"url": [image]}), alt.MarkDef("image", width=SIDE, height=SIDE))
    return picture.encode(x=alt.value(SIDE / 2), y=alt.value(SIDE / 2), url="url:N").properties(
        width=SIDE, height=SIDE, title=heading
    )


def matrix_image(entries: pl.DataFrame, order: np.ndarray, community: np.ndarray) -> str:
    """Return a matrix as a PNG data URL; darkness grows with the square root of the weight."""
    nodes = order.size
    place = np.empty(nodes, dtype=np.int64)
    place[order] = np.arange(nodes)
    strength = np.zeros((nodes, nodes))
    if entries.height:
        weight = entries["weight"].to_numpy().astype(float)
        top = np.quantile(weight, 0.98) or 1.0
        strength[place[entries["u"].to_numpy()], place[entries["v"].to_numpy()]] = np.sqrt(
            np.clip(weight / top, 0, 1)
        )
    pixels = np.linspace(0, nodes, PIXELS, endpoint=False).astype(int)
    strength = pooled(strength) if nodes > PIXELS else strength[np.ix_(pixels, pixels)]
    sorted_community = community[order][pixels]
    block = sorted_community[:, None] == sorted_community[None, :]
    ground = np.where(block[..., None], BLOCK, PAPER)
    picture = ground + strength[..., None] * (INK - ground)
    return "data:image/png;base64," + base64.b64encode(png(picture.astype(np.uint8))).decode()


def pooled(matrix: np.ndarray) -> np.ndarray:
    """Reduce a large matrix to the image size by max-pooling, so that no entry is lost."""
    starts = np.linspace(0, matrix.shape[0], PIXELS, endpoint=False).astype(int)
    return np.maximum.reduceat(np.maximum.reduceat(matrix, starts, axis=0), starts, axis=1)


def png(picture: np.ndarray) -> bytes:
    """Encode an 8-bit RGB array (height, width, 3) as PNG."""
    height, width, _ = picture.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))
        + chunk(b"IEND", b"")
    )

"""Tables of a folder that `ldg export` writes."""

from pipeline.schemas.columns import KIND, RELATION, SNAPSHOT, SPLIT
from pipeline.schemas.datasets import EVENTS, NODES
from pipeline.schemas.table import COUNT, SMALL, TEXT, TIME, Column, Table, tables_by_name

SRC, DST = Column("src", SMALL, "the source node"), Column("dst", SMALL, "the target node")
EDGES = Table(
    "edges",
    "One row per event, in order.",
    (
        SRC,
        DST,
        Column("t", COUNT, "when: whole seconds since the first event"),
        Column("label", SMALL, "1 for a communication, which is what is ranked; 0 for an association"),
        Column("edge_type", SMALL, "number of the type in `types` of `export.json`"),
        SPLIT,
        EVENTS.columns[0],
        Column("source", TEXT, "name of `src`"),
        Column("target", TEXT, "name of `dst`"),
        Column("type", TEXT, "what happened"),
        KIND,
        Column("created_at", TIME, "when, on the dataset's own clock"),
    ),
)
EXPORTED_NODES = Table(
    "nodes",
    "One row per node, in order of its number; features follow as columns `x_0`, `x_1`, …, if there are any.",
    NODES.columns[:2],
)
EXPORTED_ASSOCIATIONS = Table(
    "associations",
    "One row per entry of a relation's directed association graph.",
    (RELATION, SNAPSHOT, SRC, DST),
)
EXPORTED = tables_by_name((EDGES, EXPORTED_NODES, EXPORTED_ASSOCIATIONS))

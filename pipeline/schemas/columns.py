"""Columns that several tables share."""

from pipeline.names import METRICS
from pipeline.schemas.table import COUNT, FLAG, NUMBER, SMALL, TEXT, Column

DATASET = Column("dataset", TEXT, "name of the dataset")
VARIANT = Column("variant", TEXT, "name of the variant, for instance `ldg_learned_sparse`")
INTERACTION = Column(
    "interaction",
    TEXT,
    "how two nodes' embeddings meet: `concat`, `bilinear`, or another of the variant's own",
)
SEED = Column("seed", COUNT, "number of the run, which decides all its random numbers")
MODEL = (DATASET, VARIANT, INTERACTION, SEED)
SPLIT = Column("split", TEXT, "`train`, `validation` (the last tenth of the training period) or `test`")
EVENTS_RANKED = Column("events", COUNT, "number of events ranked")
BY_ROLE = Column("by_role", FLAG, "whether the predictor knows who acted and who was acted on")
METRIC_COLUMNS = (
    EVENTS_RANKED,
    *(Column(metric.name, NUMBER, metric.description) for metric in METRICS),
)
U, V = Column("u", SMALL, "the source node"), Column("v", SMALL, "the target node")
RELATION = Column("relation", TEXT, "name of the relation")
SNAPSHOT = Column("snapshot", TEXT, "`initial`: at the first training event; `final`: at the last one")
KIND = Column("kind", TEXT, "`association` or `communication`")

"""Schemas of every written table: name, description, and columns with their types and meaning.

Parquet files, the warehouse and its comments, documentation tables and tests all use these definitions:
`from pipeline.schemas import EVENTS`. Each module covers one subject and alone defines its tables.
"""

from pipeline.schemas.archive import *
from pipeline.schemas.columns import *
from pipeline.schemas.datasets import *
from pipeline.schemas.exported import *
from pipeline.schemas.following import *
from pipeline.schemas.published import *
from pipeline.schemas.results import *
from pipeline.schemas.table import *
from pipeline.schemas.trained import *
from pipeline.schemas.views import *

WAREHOUSE = tables_by_name(
    (
        *(GHARCHIVE_FILES, GITHUB_EVENTS, QUARANTINE, SUBNETWORK),
        *(DATASET_EVENTS, DATASET_NODES, DATASET_ASSOCIATIONS, DATASET_STATS),
        *RESULTS.values(),
        *TRACK_RECORD_TABLES.values(),
        *(LEFT_OUT, TRAININGS, NAMED_PREDICTIONS),
        *TRAINING_VIEWS.values(),
        *PUBLISHED.values(),
        *VIEWS.values(),
        *TRACK_RECORD_VIEWS.values(),
    )
)

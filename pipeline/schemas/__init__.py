"""Every table that is written: its name, what it holds, and its columns with their types and meaning.

Parquet files, the warehouse with its comments, the tables of the documentation and the tests all take their
columns from here: `from pipeline.schemas import EVENTS`. A file per subject, the only one to name its tables.
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

"""The Dagster layer and the command line: resolve paths, call the pipeline or the model, report results."""

import warnings

# Backfill policies, pools and partition checks are marked so; dagster is pinned, so changes are noticed.
# Filtered by message, not by class, so that `ldg --help` does not import dagster.
warnings.filterwarnings("ignore", message=".* is currently in (beta|preview)")

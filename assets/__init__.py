"""Dagster wiring: resolve paths, call a function, say what came out."""

import warnings

# Backfill policies, pools and checks of a partition are marked so; dagster is pinned, so a change cannot come
# unseen. By message, not by class: `ldg --help` need not wait for dagster.
warnings.filterwarnings("ignore", message=".* is currently in (beta|preview)")

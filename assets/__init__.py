"""Dagster wiring: resolve paths, call a function, say what came out."""

import warnings

from dagster import BetaWarning

# Backfill policies and pools are marked beta; dagster is pinned, so a change cannot come unseen.
warnings.filterwarnings("ignore", category=BetaWarning)

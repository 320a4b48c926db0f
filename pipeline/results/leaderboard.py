"""Comparison of trained models with baselines, read from the warehouse."""

from pathlib import Path

import duckdb


def datasets_lost(warehouse: Path) -> list[str]:
    """Return the datasets on which no trained model beats its best baseline."""
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        rows = connection.sql(
            "select dataset from leaderboard where learns and not stale group by dataset "
            "having not coalesce(bool_or(beats_baselines), false) order by dataset"
        ).fetchall()
    return [dataset for (dataset,) in rows]

"""Whether learning is worth it: models against predictors that learn nothing, as the warehouse has them."""

from pathlib import Path

import duckdb


def datasets_lost(warehouse: Path) -> list[str]:
    """The datasets on which no trained model ranks better than every predictor that learns nothing."""
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        rows = connection.sql(
            "select dataset from leaderboard where learns and not stale group by dataset "
            "having not coalesce(bool_or(beats_baselines), false) order by dataset"
        ).fetchall()
    return [dataset for (dataset,) in rows]

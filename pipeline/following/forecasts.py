"""What is published as of the end of a day: the likeliest partners of each node, how likely, and when."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import polars as pl

PARTNERS = 20
LONGEST = 365.0  # days: an event expected later than that has no date


def forecast_rows(variant: str, names: Sequence[str], hazard: np.ndarray, as_of: datetime) -> pl.DataFrame:
    """The rows of one model: `hazard` (N, N) are the events expected of every ordered pair within a day.

    Until then the rate is taken as constant: the next event comes 1 / hazard days after `as_of`, on average.
    """
    nodes = len(names)
    hazard = hazard.copy()
    np.fill_diagonal(hazard, -1.0)
    partners = np.argsort(-hazard, axis=1, kind="stable")[:, : min(PARTNERS, nodes - 1)]  # (N, 20)
    listed = np.take_along_axis(hazard, partners, 1).ravel()
    node = np.repeat(np.arange(nodes), partners.shape[1])
    days = 1 / np.maximum(listed, 1e-12)
    microseconds = np.where(days <= LONGEST, np.minimum(days, LONGEST) * 86_400e6, -1).astype(np.int64)
    named = np.array(names, dtype=object)
    return pl.DataFrame(
        {
            "variant": [variant] * len(node),
            "node": node,
            "name": named[node].tolist(),
            "partner": partners.ravel(),
            "partner_name": named[partners.ravel()].tolist(),
            "rank": np.tile(np.arange(partners.shape[1]), nodes),
            "probability": -np.expm1(-listed),
            "after": microseconds,
        }
    ).with_columns(
        as_of=pl.lit(as_of),
        expected_at=pl.when(pl.col("after") >= 0).then(pl.lit(as_of) + pl.duration(microseconds="after")),
    )

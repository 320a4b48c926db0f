"""The published forecasts of a day: the likeliest partners of each node, how likely, and when."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np
import polars as pl

from pipeline.following.outlook import Block

PARTNERS = 20
LONGEST = 365.0  # days: an event expected later than that has no date


def forecast_rows(
    variant: str, names: Sequence[str], hazards: Iterable[tuple[Block, np.ndarray]], as_of: datetime
) -> pl.DataFrame:
    """Return the rows of one model from `hazards`, the expected events within a day: (B, W) per block.

    The rate is taken as constant: the next event comes 1 / hazard days after `as_of`, on average.
    """
    nodes, count = len(names), min(PARTNERS, len(names) - 1)
    parts = [likeliest(block, hazard, count) for block, hazard in hazards]
    partners, listed = (np.concatenate(part).ravel() for part in zip(*parts, strict=True))  # (N · 20)
    node = np.repeat(np.arange(nodes), count)
    days = 1 / np.maximum(listed, 1e-12)
    microseconds = np.where(days <= LONGEST, np.minimum(days, LONGEST) * 86_400e6, -1).astype(np.int64)
    named = np.array(names, dtype=object)
    return pl.DataFrame(
        {
            "variant": [variant] * len(node),
            "node": node,
            "name": named[node].tolist(),
            "partner": partners,
            "partner_name": named[partners].tolist(),
            "rank": np.tile(np.arange(count), nodes),
            "probability": -np.expm1(-listed),
            "after": microseconds,
        }
    ).with_columns(
        as_of=pl.lit(as_of),
        expected_at=pl.when(pl.col("after") >= 0).then(pl.lit(as_of) + pl.duration(microseconds="after")),
    )


def likeliest(block: Block, hazard: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `count` likeliest partners of each node, in order, and their hazards: (B, count) both."""
    hazard = np.where(block.weight > 0, hazard, -1.0)
    places = np.argsort(-hazard, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(block.partner, places, 1), np.take_along_axis(hazard, places, 1)

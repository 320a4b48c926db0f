"""Content digests, by which inputs are compared."""

import hashlib
import json
from typing import Any

import polars as pl


def digest_of(value: Any) -> str:  # noqa: ANN401 - JSON is any value
    """Return the SHA-256 of a JSON value, independent of the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def digest_of_rows(rows: pl.DataFrame) -> str:
    """Return the SHA-256 of a frame: its columns, and its rows in order."""
    return hashlib.sha256(rows.write_csv().encode()).hexdigest()

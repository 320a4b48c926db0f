"""Digests: what makes two inputs the same, by their content and not by how they came."""

import hashlib
import json
from typing import Any

import polars as pl


def digest_of(value: Any) -> str:  # noqa: ANN401 - JSON is any value
    """That of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def digest_of_rows(rows: pl.DataFrame) -> str:
    """That of a frame: its columns, and its rows in their order."""
    return hashlib.sha256(rows.write_csv().encode()).hexdigest()

"""Files are written whole or not at all."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.lake import replacing, write_json, write_parquet


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    write_json({"kept": True}, path)
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text(str(1 / 0))
    assert path.read_text() == '{\n  "kept": true\n}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_made_and_a_frame_comes_back_as_it_was(tmp_path: Path) -> None:
    frame = pl.DataFrame({"node": [0, 1], "name": ["ada", "bob"]})
    write_parquet(frame, tmp_path / "a" / "b" / "nodes.parquet")
    assert pl.read_parquet(tmp_path / "a" / "b" / "nodes.parquet").equals(frame)

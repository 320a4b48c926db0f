"""Compiled functions are cached on disk, and a cache is never older than anything compiled into it."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from model.history.compiled import discard_outdated_cache
from tests.whole_system import ROOT

ROOMS = sorted(path.parent for path in (ROOT / "model").glob("*/compiled.py"))


def imported_files(source: Path) -> set[Path]:
    """The files of `model/` that a file imports from."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    files = {ROOT / f"{module.replace('.', '/')}.py" for module in modules if module.startswith("model.")}
    return {file for file in files if file.exists()}


def is_compiled(source: Path) -> bool:
    """Whether a file has functions that numba compiles."""
    return any(file.name == "compiled.py" for file in imported_files(source))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_all_that_is_compiled_into_a_cache_decides_whether_it_is_outdated(room: Path) -> None:
    compilation = import_module(f"model.{room.name}.compiled")
    listed = {(room / f"{name}.py").resolve() for name in compilation.SOURCES}
    compiled = {source for source in room.glob("*.py") if is_compiled(source)} - {room / "compiled.py"}
    from_elsewhere = {file for source in compiled for file in imported_files(source) if is_compiled(file)}
    assert (compiled | from_elsewhere) - listed == set()


def test_a_cache_stays_until_one_of_its_sources_changes(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("one")
    discard_outdated_cache(tmp_path, ("loop",))
    (cached := tmp_path / "__pycache__" / "loop.1.nbc").write_bytes(b"machine code")
    discard_outdated_cache(tmp_path, ("loop",))
    assert cached.exists()
    (tmp_path / "loop.py").write_text("another")
    discard_outdated_cache(tmp_path, ("loop",))
    assert not cached.exists()

"""The rooms import only what they may."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {
    "pipeline": {"dagster", "torch", "safetensors", "model", "assets", "tests", "benchmarks"},
    "model": {"dagster", "duckdb", "assets", "tests", "benchmarks"},
    "assets": {"tests", "benchmarks"},
}


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def calls_a_fixture(decorator: ast.expr) -> bool:
    """Whether it is `@pytest.fixture`, with or without arguments."""
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Attribute) and name.attr == "fixture"


def imported(tree: ast.Module) -> set[str]:
    """Top-level names of every package the module imports, wherever in it the import stands."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("room", FORBIDDEN)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    forbidden = {
        str(path.relative_to(ROOT)): wrong
        for path in modules(room)
        if (wrong := imported(ast.parse(path.read_text(encoding="utf-8"))) & FORBIDDEN[room])
    }
    assert modules(room)
    assert not forbidden


def test_assets_leave_annotations_readable_for_dagster() -> None:
    postponed = [path for path in modules("assets") if "from __future__" in path.read_text(encoding="utf-8")]
    assert not postponed


@pytest.mark.slow
def test_the_code_location_loads_without_torch() -> None:
    script = "import sys, assets.definitions; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


def test_a_name_that_a_page_places_in_a_file_is_there() -> None:
    placed = re.compile(r"`(\w+)`\s+in\s+`((?:pipeline|model|assets)/[\w/]+\.py)`")
    for page in sorted((ROOT / "docs").glob("*.md")):
        for name, path in placed.findall(page.read_text(encoding="utf-8")):
            assert re.search(rf"^(def |class )?{name}\b", (ROOT / path).read_text("utf-8"), re.MULTILINE), (
                page
            )


def test_a_fixture_has_a_name_of_its_own() -> None:
    names = Counter(
        function.name
        for path in modules("tests")
        if "fixture" in (text := path.read_text(encoding="utf-8"))
        for function in ast.parse(text).body
        if isinstance(function, ast.FunctionDef) and any(map(calls_a_fixture, function.decorator_list))
    )
    assert [name for name, count in names.items() if count > 1] == []

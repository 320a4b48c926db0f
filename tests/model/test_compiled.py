"""Compiled functions are cached on disk, and a cache is never older than anything compiled into it."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from numba.core.registry import CPUDispatcher

from model.history.compiled import discard_outdated_cache
from tests.whole_system import ROOT

FOLDERS = sorted({path.parent for path in (ROOT / "model").rglob("*.py") if "compiled" in path.read_text()})


@cache
def module_of(source: Path) -> ModuleType:
    return import_module(".".join(source.relative_to(ROOT).with_suffix("").parts))


def compiled_functions(source: Path) -> dict[str, CPUDispatcher]:
    """The functions of a file that numba compiles."""
    module = module_of(source)
    members = {name: value for name, value in vars(module).items() if isinstance(value, CPUDispatcher)}
    return {name: value for name, value in members.items() if value.py_func.__module__ == module.__name__}


@cache
def imported_from(source: Path) -> dict[str, tuple[Path, str]]:
    """The names that a file imports from our own files, each with its file and its name there."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    names = {
        alias.asname or alias.name: (ROOT / f"{node.module.replace('.', '/')}.py", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    return {name: (file, there) for name, (file, there) in names.items() if file.exists()}


@cache
def parts_of_constants(source: Path) -> dict[str, set[str]]:
    """What the constants of a file are made of."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return {
        target.id: {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def names_in(code: CodeType) -> set[str]:
    """The names that a function reads from outside, and those within it do."""
    within = (names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return {*code.co_names}.union(*within)


def compiled_into(source: Path, name: str, seen: set[tuple[Path, str]]) -> set[Path]:
    """The files of all that a function or a constant consists of when it is compiled."""
    if (source, name) in seen:
        return set()
    seen.add((source, name))
    value, constants = getattr(module_of(source), name), parts_of_constants(source)
    is_function = isinstance(value, CPUDispatcher)
    files = {source}
    for part in names_in(value.py_func.__code__) if is_function else constants.get(name, set()):
        if part in imported_from(source):
            files |= compiled_into(*imported_from(source)[part], seen)
        elif part in constants or part in compiled_functions(source):
            files |= compiled_into(source, part, seen)
    return files


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_all_that_is_compiled_into_a_cache_decides_whether_it_is_outdated(folder: Path) -> None:
    has_rule = (folder / "compiled.py").exists()
    sources = module_of(folder / "compiled.py").SOURCES if has_rule else ()
    listed = {(folder / f"{name}.py").resolve() for name in sources}
    for source in sorted(folder.glob("*.py")):
        for name in compiled_functions(source):
            others = compiled_into(source, name, set()) - listed
            assert others <= (set() if has_rule else {source}), f"{source.name}: {name}"


def test_a_cache_stays_until_one_of_its_sources_changes(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("one")
    discard_outdated_cache(tmp_path, ("loop",))
    (cached := tmp_path / "__pycache__" / "loop.1.nbc").write_bytes(b"machine code")
    discard_outdated_cache(tmp_path, ("loop",))
    assert cached.exists()
    (tmp_path / "loop.py").write_text("another")
    discard_outdated_cache(tmp_path, ("loop",))
    assert not cached.exists()

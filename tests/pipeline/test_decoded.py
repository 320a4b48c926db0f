"""Classes that stored JSON is checked against are ready before two threads ask for one at the same moment."""

import ast
import subprocess
import sys
from collections.abc import Iterator

from tests.whole_system import ROOT

# While msgspec works out the first class that has a Literal, another thread reads that class as well.
AT_THE_WORST_MOMENT = """
import threading, typing
from dataclasses import asdict
from datetime import date
import msgspec
from pipeline.sources.gharchive.files import HourFile

values = {**asdict(HourFile(date(2020, 5, 5), 7, "failed", "asked in vain")), "day": "2020-05-05"}
literals = type(typing.Literal["one"])
plainly = literals.__setattr__

def interrupted(literal, name, value):
    plainly(literal, name, value)
    other = threading.Thread(target=msgspec.convert, args=(values, HourFile))
    other.start()
    other.join()

literals.__setattr__ = interrupted
msgspec.convert(values, HourFile)
"""


def test_a_thread_that_reads_a_note_while_another_reads_the_first_does_not_end_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_WORST_MOMENT], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def classes_that_are_read(tree: ast.Module) -> Iterator[str]:
    """Names of the classes that a module hands to msgspec: `convert(…, C)`, `decode(…, type=C)`."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    own_class = {call: node.name for node in classes for call in ast.walk(node)}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        function = ast.unparse(call.func)
        if function == "msgspec.convert":
            asked = call.args[1]
        elif function == "msgspec.json.decode":
            asked = next((one.value for one in call.keywords if one.arg == "type"), None)
        else:
            continue
        names = [node.id for node in ast.walk(asked) if isinstance(node, ast.Name)] if asked else []
        yield from (own_class[call] if name == "cls" else name for name in names)


def test_every_class_that_is_read_from_json_is_ready_when_its_module_is() -> None:
    paths = [path for room in ("pipeline", "model", "assets") for path in (ROOT / room).rglob("*.py")]
    trees = [ast.parse(path.read_text()) for path in paths]
    ready = {
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and "decoded" in {ast.unparse(mark) for mark in node.decorator_list}
    }
    read = {name for tree in trees for name in classes_that_are_read(tree)} - {"list"}
    assert {"Holder", "HourFile", "Session", "Seal"} <= read
    assert read - ready == set()

"""The examples of CONTRIBUTING.md, as the files that they tell a reader to write."""

import re
from typing import Any

from tests.whole_system import ROOT


def example(file: str) -> dict[str, Any]:
    """The names that a new file of the document's examples defines."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"```python\n# {re.escape(file)}\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {"__name__": file}
    exec(compile(block, file, "exec"), names)
    return names


def lines(start: str, until: str) -> str:
    """What the document's examples say from `start` up to `until`."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text[text.index(start) : text.index(until, text.index(start))]

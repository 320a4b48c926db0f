"""What a headless run prints is text, whatever the home is called."""

import io
from pathlib import Path

from rich.console import Console

from assets.headless.account import Account
from pipeline.results.warehouse import build_warehouse
from pipeline.settings import Settings


def test_a_home_named_like_markup_is_told_as_it_is(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "[b]home[/i]")
    build_warehouse(settings.lake)
    console = Console(record=True, width=80, file=io.StringIO())
    Account(console, settings).end(1.0)
    assert f"  report     {settings.lake.report}\n" in console.export_text()

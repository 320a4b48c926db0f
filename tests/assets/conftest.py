"""A home small enough that a model is trained on it within a second."""

from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.settings import Settings


@pytest.fixture
def office(tmp_path: Path) -> Settings:
    """A home with a dataset of three people's mails."""
    folder = Lake(tmp_path).own / "office"
    folder.mkdir(parents=True)
    mails = [f"ann,bob,2024-01-{1 + n}" for n in range(20)] + ["bob,cat,2024-01-21", "cat,ann,2024-01-22"]
    (folder / "mails.csv").write_text("from,to,sent\n" + "\n".join(mails) + "\n")
    (folder / "dataset.toml").write_text(
        'title = "The office"\n[events]\nfile = "mails.csv"\nsource = "from"\ntarget = "to"\ntime = "sent"\n'
        'time_zone = "UTC"\n[split]\ntest_start = 2024-01-18\ntime_zone = "UTC"\n'
    )
    return Settings(home=tmp_path, seeds=1, epochs=1)

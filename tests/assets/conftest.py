"""A home small enough that a model is trained on it within a second."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from dagster import AssetKey, DagsterInstance, Definitions

from assets.lanes.dataset import dataset_chain
from assets.settings_resource import settings_resource
from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.sources.registry import registry


@pytest.fixture(autouse=True, scope="session")
def migrations_are_read_once() -> Iterator[None]:
    """Dagster's migrations never change, yet each new database of runs would have all of them read again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", staticmethod(cache(ScriptDirectory.from_config)))
        yield


def write_mails(home: Path) -> Settings:
    """A home with a dataset of three people's mails."""
    folder = Lake(home).own / "office"
    folder.mkdir(parents=True)
    mails = [f"ann,bob,2024-01-{1 + n}" for n in range(20)] + ["bob,cat,2024-01-21", "cat,ann,2024-01-22"]
    (folder / "mails.csv").write_text("from,to,sent\n" + "\n".join(mails) + "\n")
    (folder / "dataset.toml").write_text(
        'title = "The office"\n[events]\nfile = "mails.csv"\nsource = "from"\ntarget = "to"\ntime = "sent"\n'
        'time_zone = "UTC"\n[split]\ntest_start = 2024-01-18\ntime_zone = "UTC"\n'
    )
    return Settings(home=home, seeds=1, epochs=1)


@pytest.fixture
def office(tmp_path: Path) -> Settings:
    """A home with a dataset of which nothing is made yet."""
    return write_mails(tmp_path)


@pytest.fixture(scope="session")
def tabled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose dataset has its event table; nobody changes it."""
    settings = write_mails(tmp_path_factory.mktemp("tabled"))
    (spec,) = (spec for spec in registry(settings) if spec.name == "office")
    resources = {"settings": settings_resource(settings)}
    chain = Definitions(assets=dataset_chain(spec, settings), resources=resources)
    made = chain.resolve_implicit_global_asset_job_def().execute_in_process(
        asset_selection=[AssetKey(["office", "event_table"])], instance=DagsterInstance.ephemeral()
    )
    assert made.success
    return settings.home


@pytest.fixture
def office_with_table(tabled_home: Path, tmp_path: Path) -> Settings:
    """A home whose dataset has its event table."""
    shutil.copytree(tabled_home, tmp_path, dirs_exist_ok=True)
    return Settings(home=tmp_path, seeds=1, epochs=1)

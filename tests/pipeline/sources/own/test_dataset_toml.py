"""A `dataset.toml` of any content: one lane's trouble stays in its lane, and says what to correct."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.system import build_definitions
from pipeline.settings import Settings
from pipeline.sources.own.dataset_toml import LARGEST, DatasetToml, OwnDataError, read_dataset_toml
from pipeline.sources.registry import registry

GOOD = '[events]\nfile = "e.csv"\n[split]\ntest_start = 2024-02-01\n'
ROWS = "source,target,time\nann,bob,2024-01-01\nbob,ann,2024-03-01\n"
DEEP = 5_000

HOSTILE = {
    "a file name of 300 characters": (
        GOOD.replace("e.csv", "e" * 300 + ".csv"),
        r"\[events\] file is 'eee.*…, which",
    ),
    "a file name with a NUL": (GOOD.replace("e.csv", r"e\u0000.csv"), r"\[events\] file is 'e\\x00.csv'"),
    "deep lists": (f"title = {'[' * DEEP}{']' * DEEP}", "nested too deeply|is not TOML"),
    "deep tables": (f"title = {'{a=' * DEEP}1{'}' * DEEP}", "nested too deeply|is not TOML"),
    "a deep key": (f"title.{'a.' * 1_200}a = 1\n{GOOD}", "nested too deeply|is not TOML|title is"),
    "a deep unknown key": (f"{GOOD}[{'a.' * 1_200}a]", "nested too deeply|is not TOML|is not known"),
    "a huge file": (f"{GOOD}# {'x' * LARGEST}", "bytes; it takes 32,768 at most"),
    "a huge value": (f"title = [{'1,' * 10_000}]\n{GOOD}", r"title is \[1, 1.*…; it takes a text"),
    "a number of many digits": (f"title = {'9' * 20_000}\n{GOOD}", "is not TOML: .*digits"),
    "a number of many digits in another notation": (
        f"title = 0x{'f' * 20_000}\n{GOOD}",
        r"title is too large a value \(int\); it takes a text",
    ),
    "an unknown key like a path": (f'{GOOD}"a` - at `$.b`" = 1', "is not known"),
    "a zone of the machine": (
        f'{GOOD}time_zone = "localtime"',
        r"\[split\] time_zone is 'localtime'; it takes",
    ),
    "a zone that is none": (f'{GOOD}time_zone = "Factory"', r"\[split\] time_zone is 'Factory'; it takes"),
    "a zone of leap seconds": (
        GOOD.replace("[split]", 'time_zone = "right/UTC"\n[split]'),
        r"\[events\] time_zone",
    ),
    "a zone outside": (f'{GOOD}time_zone = "../../etc/passwd"', r"\[split\] time_zone"),
    "a zone of 300 characters": (f'{GOOD}time_zone = "{"z" * 300}"', r"\[split\] time_zone"),
    "a test in year 1": (
        GOOD.replace("2024-02-01", "0001-01-01") + 'time_zone = "Asia/Tokyo"',
        r"\[split\] test_start is 0001-01-01; it takes a time in the years 1000 to 2999",
    ),
    "a test in year 9999": (
        GOOD.replace("2024-02-01", "9999-12-31T23:59:59") + 'time_zone = "America/Toronto"',
        r"\[split\] test_start is 9999-12-31 23:59:59; it takes a time in",
    ),
    "a test at an hour": (GOOD.replace("2024-02-01", "12:00:00"), r"\[split\] test_start is datetime.time"),
    "relations that become alike": (
        GOOD.replace("[split]", 'type = "t"\n[kinds]\nassociation = ["a", "b!", "b?"]\n[split]'),
        r"\[kinds\] association gives more than one model the name 'dyrep_b-concat'",
    ),
    "a relation called random": (
        GOOD.replace("[split]", 'type = "t"\n[kinds]\nassociation = ["a", "Random"]\n[split]'),
        r"\[kinds\] association gives more than one model the name",
    ),
    "not UTF-8": (b"title = '\xff'", "is not TOML"),
    "no events": ("[split]\ntest_start = 2024-02-01", "events is missing; it takes a table"),
    "nothing": ("", "events is missing; it takes a table"),
}


def folder_of(home: Path, name: str, toml: str | bytes) -> Path:
    folder = home / "own" / name
    folder.mkdir(parents=True)
    (folder / "dataset.toml").write_bytes(toml if isinstance(toml, bytes) else toml.encode())
    (folder / "e.csv").write_text(ROWS)
    return folder


@pytest.mark.parametrize("what", HOSTILE)
def test_trouble_in_one_lane_is_told_there_and_leaves_the_others(what: str, tmp_path: Path) -> None:
    toml, message = HOSTILE[what]
    folder_of(tmp_path, "bad", toml)
    folder_of(tmp_path, "good", GOOD)
    settings = Settings(home=tmp_path)
    *_, bad, good = registry(settings)
    assert good.problem is None
    assert bad.problem is not None
    assert re.search(message, bad.problem), bad.problem
    assert "bad/dataset.toml" in bad.problem
    assert len(bad.problem) < 1_000 + len(str(tmp_path))
    with pytest.raises(OwnDataError, match=message):
        bad.build(settings)
    assert good.build(settings).nodes["name"].to_list() == ["ann", "bob"]


def test_the_code_location_loads_with_every_trouble_at_once(tmp_path: Path) -> None:
    for number, (toml, _) in enumerate(HOSTILE.values()):
        folder_of(tmp_path, f"bad{number}", toml)
    unreadable = folder_of(tmp_path, "pipe", "") / "dataset.toml"
    unreadable.unlink()
    os.mkfifo(unreadable)
    loop = folder_of(tmp_path, "loop", "") / "dataset.toml"
    loop.unlink()
    loop.symlink_to(loop)
    (tmp_path / "own" / "folder" / "dataset.toml").mkdir(parents=True)
    folder_of(tmp_path, os.fsdecode(b"no text \xff\x01"), GOOD)
    folder_of(tmp_path, "good", GOOD)
    definitions = build_definitions(Settings(home=tmp_path))
    keys = {key.to_user_string() for key in definitions.resolve_all_asset_keys()}
    assert {"good/event_table", "bad0/event_table", "pipe/event_table", "folder/event_table"} <= keys
    for spec in definitions.resolve_all_asset_specs():
        (spec.description or "").encode()  # a name that is no text would keep the UI from loading


KEYS = st.sampled_from(
    ["file", "source", "type", "time_zone", "association", "test_start", "initial", "final", "name", "x y"]
)
VALUES = st.recursive(
    st.text(max_size=5) | st.integers(-3, 3) | st.booleans() | st.sampled_from(["e.csv", "UTC", "training"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)


def written(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {written(inner)}' for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(character):08x}" for character in value) + '"'
    return str(value).lower()


def attempt(toml: Path) -> DatasetToml | OwnDataError:
    try:
        return read_dataset_toml(toml)
    except OwnDataError as error:
        return error


@pytest.fixture(scope="module")
def folder_with_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    (folder / "e.csv").write_text(ROWS)
    return folder


@settings(max_examples=60)
@given(
    section=st.sampled_from(["title", "events", "kinds", "split", "nodes", "associations", "other"]),
    value=VALUES,
)
def test_any_value_anywhere_is_taken_or_told_in_one_line(
    folder_with_rows: Path, section: str, value: object
) -> None:
    parts = {"events": '{file = "e.csv"}', "split": "{test_start = 2024-02-01}", section: written(value)}
    toml = folder_with_rows / "dataset.toml"
    toml.write_text("".join(f"{key} = {text}\n" for key, text in parts.items()), encoding="utf-8")
    read = attempt(toml)
    if isinstance(read, OwnDataError):
        assert str(read).startswith(str(toml))
        assert "\n" not in str(read)

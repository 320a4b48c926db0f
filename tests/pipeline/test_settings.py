"""Settings come from the environment, with defaults, and say what is wrong."""

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from dotenv import dotenv_values
from pydantic import ValidationError

from pipeline.settings import (
    INTERNAL,
    SettingError,
    Settings,
    environment_lines,
    read_env_file,
    shell_to_remember,
    variable,
)
from pipeline.show.settings_page import EXAMPLE, PAGE, example_file, settings_page

ROOT = Path(__file__).parents[2]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and nothing set in the shell."""
    for name in [name for name in os.environ if name.startswith("LDG_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_empty_environment_gives_the_papers_settings() -> None:
    settings = Settings.from_environment({})
    assert settings.home == Path("data")
    assert settings.github_start == date(2013, 1, 1)
    assert settings.github_min_communications == 200
    assert settings.github_max_nodes is None
    assert settings.largest_hour == 4 << 30


def test_every_type_of_setting_is_read() -> None:
    settings = Settings.from_environment(
        {
            "LDG_HOME": "elsewhere",
            "LDG_KEEP_RAW": "no",
            "LDG_GITHUB_MAX_NODES": "50",
            "LDG_SOCIAL_EVOLUTION_PROBABILITY": "0.5",
            "LDG_ASSOCIATIONS": "FollowEvent, MemberEvent",
            "LDG_GITHUB_START": "2013-02-01",
            "LDG_SEEDS": " ",
        }
    )
    assert settings.home == Path("elsewhere")
    assert settings.keep_raw is False
    assert settings.github_max_nodes == 50
    assert settings.social_evolution_probability == 0.5
    assert settings.associations == ("FollowEvent", "MemberEvent")
    assert settings.github_start == date(2013, 2, 1)
    assert settings.seeds == 10


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("LDG_SEEDS", "many", "a whole number"),
        ("LDG_SEEDS", "0", "1 or more"),
        ("LDG_KEEP_RAW", "perhaps", "yes or no"),
        ("LDG_LEARNING_RATE", "-1", "a number, above 0"),
        ("LDG_LEARNING_RATE", "nan", "a number, above 0"),
        ("LDG_LARGEST_HOUR", "12", "1048576 or more"),
        ("LDG_GITHUB_START", "31.12.2013", "a date such as"),
        ("LDG_GITHUB_START", "1356998400", "a date such as"),
        ("LDG_GITHUB_TIME_ZONE", "Toronto", "a time zone such as"),
        ("LDG_GITHUB_MAX_NODES", "1", "2 or more, or nothing"),
        ("LDG_SCHEDULE", "daily", "five fields of cron"),
        ("LDG_SCHEDULE", "0 0 31 2 *", "of a date that some year has"),
        ("LDG_SCHEDULE", "0 0 31 apr,jun *", "of a date that some year has"),
        ("LDG_SCHEDULE", "0 24 * * *", "five fields of cron"),
        ("LDG_SCHEDULE", "*/-5 * * * *", "five fields of cron"),
        ("LDG_UI_HOSTS", "https://ldg.example.org", "names of hosts"),
        ("LDG_GITHUB_END", "2011-01-01", "in this order"),
        ("LDG_GITHUB_SPLIT", "2013-09-01T00:00:00+00:00", "without an offset"),
        ("LDG_COMMUNICATIONS", "PushEvents", "it takes CommitCommentEvent"),
        ("LDG_ASSOCIATIONS", "PushEvent", "a type has one kind"),
        ("LDG_SOCIAL_EVOLUTION_PROBABILITY", "1", "below 1"),
        ("LDG_SOCIAL_EVOLUTION_RELATIONS", "Friends", "CloseFriend"),
        ("LDG_SOCIAL_EVOLUTION_SPLIT", "2019-01-01", "must follow one another"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(name: str, text: str, allowed: str) -> None:
    with pytest.raises(SettingError, match=name) as error:
        Settings.from_environment({name: text})
    assert allowed in str(error.value)
    assert "\n" not in str(error.value)


def test_settings_are_checked_however_they_are_made_and_never_change() -> None:
    with pytest.raises(ValidationError):
        Settings(seeds=0)
    with pytest.raises(ValidationError):
        Settings().seeds = 3  # ty: ignore[invalid-assignment]


def test_a_misspelled_name_is_refused_with_the_nearest_and_where_it_is(elsewhere: Path) -> None:
    with pytest.raises(SettingError, match="LDG_SEED in the shell is no setting; did you mean LDG_SEEDS"):
        Settings.from_environment({"LDG_SEED": "3"})
    (elsewhere / ".env").write_text("# mine\nLDG_SEEDS=3\nLDG_EPOCH=2\n")
    with pytest.raises(SettingError, match=r"LDG_EPOCH in \.env, line 3 is no setting.*LDG_EPOCHS"):
        Settings.load()
    with pytest.raises(SettingError, match=r"docs/settings\.md"):
        Settings.from_environment({"LDG_XYZZY": "3"})


def test_variables_of_the_project_and_of_others_are_left_alone() -> None:
    assert Settings.from_environment({**dict.fromkeys(INTERNAL, "x"), "HOME": "y"}) == Settings()


def test_the_shell_counts_before_the_home_and_that_before_the_current_folder(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / ".env").write_text("LDG_HOME=home\nLDG_SEEDS=7\nLDG_EPOCHS=3\nLDG_BATCH=9\n")
    (elsewhere / "home").mkdir()
    (elsewhere / "home" / ".env").write_text("LDG_HOME=another\nLDG_SEEDS=4\nLDG_EPOCHS=2\n")
    monkeypatch.setenv("LDG_EPOCHS", "1")
    settings = Settings.load()
    assert (settings.home, settings.batch, settings.seeds, settings.epochs) == (Path("home"), 9, 4, 1)


def test_a_wrong_value_is_named_with_its_file_and_line(elsewhere: Path) -> None:
    (elsewhere / "data").mkdir()
    (elsewhere / "data" / ".env").write_text("LDG_SEEDS=3\nLDG_EPOCHS=few\n")
    with pytest.raises(SettingError, match=r"LDG_EPOCHS is 'few' in data/\.env, line 2; it takes a whole"):
        Settings.load()


def test_a_file_is_data_and_nothing_in_it_is_run_or_replaced(elsewhere: Path) -> None:
    path = elsewhere / ".env"
    path.write_text("X=$(touch run)\nLDG_HOME=${HOME}/`touch run`\nLDG_SOCIAL_EVOLUTION='a b $X'\n")
    settings = Settings.load()
    assert settings.home == Path("${HOME}/`touch run`")
    assert settings.social_evolution == "a b $X"
    assert [entry.name for entry in elsewhere.iterdir()] == [".env"]


@pytest.mark.parametrize("text", ["LDG_SEEDS='3\n", "= 3\n"])
def test_a_line_that_is_no_variable_is_refused(elsewhere: Path, text: str) -> None:
    (elsewhere / ".env").write_text(text)
    with pytest.raises(SettingError, match=r"\.env, line 1"):
        Settings.load()


def test_a_file_that_is_no_text_is_refused(elsewhere: Path) -> None:
    (elsewhere / ".env").write_bytes(b"LDG_SEEDS=\xff\xfe")
    with pytest.raises(SettingError, match=r"\.env cannot be read"):
        Settings.load()


@pytest.mark.parametrize(
    "text", ["plain", "a b", "it's", "$HOME ${HOME}", "back\\slash\\", '"', "#1", "ü", "\\'", ""]
)
def test_any_text_survives_the_way_through_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / ".env").write_text(environment_lines({"LDG_SOCIAL_EVOLUTION": text, "LDG_SEEDS": "3"}))
    assert {name: value.text for name, value in read_env_file(tmp_path / ".env").items()} == {
        "LDG_SOCIAL_EVOLUTION": text,
        "LDG_SEEDS": "3",
    }


def test_a_last_day_in_the_future_is_told_and_not_asked_for() -> None:
    settings = Settings(github_end=date(2031, 5, 1))
    (sentence,) = settings.still_to_come(today=date(2030, 1, 2))
    assert "LDG_GITHUB_END is 2031-05-01" in sentence
    assert settings.last_github_day(today=date(2030, 1, 2)) == date(2030, 1, 1)
    assert not Settings().still_to_come(today=date(2030, 1, 2))
    assert Settings().last_github_day(today=date(2030, 1, 2)) == date(2013, 12, 31)


@pytest.mark.parametrize("home", ["file", "file/below"])
def test_a_home_that_cannot_be_written_to_is_one_sentence(tmp_path: Path, home: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SettingError, match=r"LDG_HOME is .* nothing can be written"):
        Settings(home=tmp_path / home).make_home()


def test_the_example_file_lists_every_setting_with_its_default() -> None:
    example = dotenv_values(EXAMPLE, interpolate=False)
    assert set(example) == {variable(name) for name in Settings.model_fields}
    assert Settings.from_environment({name: text or "" for name, text in example.items()}) == Settings()


def test_the_page_of_settings_and_the_example_file_are_those_of_the_settings() -> None:
    remedy = "run `python -m pipeline.show.settings_page`"
    assert PAGE.read_text(encoding="utf-8") == settings_page(), remedy
    assert EXAMPLE.read_text(encoding="utf-8") == example_file(), remedy


def test_every_setting_says_what_it_sets() -> None:
    assert all(field.description for field in Settings.model_fields.values())


def test_settings_need_neither_dagster_nor_torch() -> None:
    script = "import sys, pipeline.settings; sys.exit(bool({'torch', 'dagster'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


def test_the_ui_reads_the_file_of_the_folder_in_which_it_was_started(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, seeds in (("here", 7), ("project", 3)):
        (elsewhere / folder).mkdir()
        (elsewhere / folder / ".env").write_text(f"LDG_SEEDS={seeds}\n")
    monkeypatch.chdir(elsewhere / "here")
    for name, text in shell_to_remember().items():
        monkeypatch.setenv(name, text)
    monkeypatch.chdir(elsewhere / "project")
    monkeypatch.setenv("LDG_SEEDS", "3")  # by Dagster, from the file of that folder
    assert Settings.load().seeds == 7


def test_what_the_ui_copied_from_a_file_into_the_environment_is_none_of_the_shells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / ".env").write_text("LDG_SEEDS=7\nLDG_EPOCHS=8\n")
    (tmp_path / "home" / ".env").write_text("LDG_EPOCHS=9\n")
    monkeypatch.chdir(tmp_path)
    copied = {"LDG_SEEDS": "3", "LDG_EPOCHS": "8", "LDG_BATCH": "5"}
    for name, text in {**copied, "LDG_HOME": "home", "LDG_SHELL_NAMES": "LDG_HOME,LDG_BATCH"}.items():
        monkeypatch.setenv(name, text)
    settings = Settings.load()
    assert (settings.seeds, settings.epochs, settings.batch) == (7, 9, 5)


@pytest.mark.parametrize(
    "schedule", ["* * * * *", "*/15 22-2 29 FEB *", "0 12 1-7/2,31 4,5 mon-fri", "0 0 30/1 * 7"]
)
def test_a_schedule_that_comes_is_taken(schedule: str) -> None:
    assert Settings.from_environment({"LDG_SCHEDULE": schedule}).schedule == schedule

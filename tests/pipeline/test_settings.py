"""Settings come from the environment, with defaults, and say what is wrong."""

from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest
from dotenv import dotenv_values

from pipeline.settings import Settings

ROOT = Path(__file__).parents[2]


def test_an_empty_environment_gives_the_papers_settings() -> None:
    settings = Settings.from_environment({})
    assert settings.home == Path("data")
    assert settings.github_start == date(2013, 1, 1)
    assert settings.github_min_communications == 200
    assert settings.github_max_nodes is None


def test_every_type_of_setting_is_read() -> None:
    settings = Settings.from_environment(
        {
            "LDG_HOME": "elsewhere",
            "LDG_KEEP_RAW": "no",
            "LDG_GITHUB_MAX_NODES": "50",
            "LDG_SOCIAL_EVOLUTION_PROBABILITY": "0.5",
            "LDG_ASSOCIATIONS": "FollowEvent, MemberEvent",
            "LDG_GITHUB_START": "2013-02-01",
        }
    )
    assert settings.home == Path("elsewhere")
    assert settings.keep_raw is False
    assert settings.github_max_nodes == 50
    assert settings.social_evolution_probability == 0.5
    assert settings.associations == ("FollowEvent", "MemberEvent")
    assert settings.github_start == date(2013, 2, 1)


@pytest.mark.parametrize(
    ("variable", "text", "allowed"),
    [
        ("LDG_SEEDS", "many", "a whole number"),
        ("LDG_SEEDS", "0", "1 or more"),
        ("LDG_KEEP_RAW", "perhaps", "yes or no"),
        ("LDG_GITHUB_START", "31.12.2013", "a date such as"),
        ("LDG_GITHUB_END", "2011-01-01", "in this order"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(variable: str, text: str, allowed: str) -> None:
    with pytest.raises(ValueError, match=variable) as error:
        Settings.from_environment({variable: text})
    assert allowed in str(error.value)


def test_a_home_carries_settings_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("LDG_HOME=home\nLDG_SEEDS=7\nLDG_EPOCHS=3\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".env").write_text("LDG_SEEDS=4\nLDG_EPOCHS=2\n")
    monkeypatch.delenv("LDG_HOME", raising=False)
    monkeypatch.setenv("LDG_EPOCHS", "1")
    settings = Settings.load()
    assert (settings.home, settings.seeds, settings.epochs) == (Path("home"), 4, 1)


def test_the_example_file_lists_every_setting_with_its_default() -> None:
    example = dotenv_values(ROOT / ".env.example")
    assert set(example) == {f"LDG_{field.name.upper()}" for field in fields(Settings)}
    assert Settings.from_environment({name: text or "" for name, text in example.items()}) == Settings()


def test_the_readme_names_every_setting() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("## Settings")[1]
    for field in fields(Settings):
        name = f"LDG_{field.name.upper()}"
        # A row may name several settings that share a beginning: `LDG_GITHUB_START` `_END`.
        ends = [f"`{name}`", *(f"`{name[i:]}`" for i in range(len(name)) if name[i] == "_")]
        assert any(end in table for end in ends), name

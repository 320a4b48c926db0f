"""A data version changes with what was made, and with nothing else."""

from pathlib import Path

from assets.versions import version_of_facts, version_of_files, version_of_training


def test_the_version_of_files_is_that_of_their_content(tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    versions = [version_of_files([table])]
    for text in ("one", "two", "one"):
        table.write_text(text)
        versions.append(version_of_files([table]))
    absent, first, second, again = versions
    assert first == again
    assert len({absent.value, first.value, second.value}) == 3


def test_two_trainings_are_of_one_version_if_table_variant_and_settings_agree() -> None:
    facts = {"version": 3, "fingerprint": "ab", "variant": {"name": "rem"}, "settings": {"epochs": 5}}
    later = {**facts, "training_seconds": 7.0, "finished_at": "2026-01-01"}
    assert version_of_training(facts) == version_of_training(later)
    assert version_of_training(facts) != version_of_training({**facts, "settings": {"epochs": 6}})
    assert version_of_facts({"a": 1, "b": 2}) == version_of_facts({"b": 2, "a": 1})

"""Beyond the paper: a part of the page of results of its own, from stored results alone."""

import re
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.results.warehouse import build_warehouse
from pipeline.show.results_page import BEYOND, beyond, calibration, earlier_parts, write_results_page
from pipeline.show.results_page.measured import read_measured
from tests.small_world import store_results

RELATIONAL = ("rem-history", "rem_role_blind-history", "rem_flat-history", "rem_without_pair-history")


@pytest.fixture(scope="module")
def rem_results(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home with relational-event models alone."""
    lake = Lake(tmp_path_factory.mktemp("beyond"))
    store_results(lake, variants=RELATIONAL, seeds=3)
    build_warehouse(lake)
    return lake


@pytest.fixture(scope="module")
def text(rem_results: Lake) -> str:
    return beyond.section(read_measured(rem_results))


def cells(text: str, first: str) -> list[str]:
    """The cells of the row that begins with `first`."""
    (row,) = re.findall(rf"^\| {re.escape(first)} \|.*$", text, re.MULTILINE)
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_each_model_stands_above_the_best_baseline_that_knows_as_much(rem_results: Lake, text: str) -> None:
    (data,) = read_measured(rem_results)
    lines = text.splitlines()
    for title, by_role in (("REM", True), ("REM (role-blind)", False)):
        best = min(
            (row for row in data.baselines if by_role or not row["by_role"]), key=lambda row: row["mar"]
        )
        at = next(number for number, line in enumerate(lines) if line.startswith(f"| {title} |"))
        assert f"| {best['mar']:.2f} |" in lines[at + 1]


def test_a_difference_comes_with_its_interval(text: str) -> None:
    assert re.fullmatch(r"[+-][\d.]+ \[[+-][\d.]+, [+-][\d.]+\]", cells(text, "REM (flat)")[-1])
    assert len(cells(text, "REM (without pair)")) == 8


def test_counting_stands_beside_the_latent_graph(text: str) -> None:
    assert "communications counted" in text
    assert len(cells(text, "Follow")) == 4


def test_what_was_forecast_within_a_day_stands_beside_what_came(rem_results: Lake, text: str) -> None:
    (data,) = read_measured(rem_results)
    row = data.calibration.filter(subject="pair").sort("tenth").to_dicts()[-1]
    assert f"{row['predicted']:.3f} → {row['observed']:.3f} ± " in cells(text, "0.9 to 1.0")[2]
    assert re.search(r"Pairs: within 0\.03 in \d+ of \d+ tenths", text)


def test_a_forecast_is_near_what_came_or_said_to_be_off() -> None:
    near = {"predicted": 0.5, "observed": 0.52, "forecasts": 100}
    off = {"predicted": 0.5, "observed": 0.6, "forecasts": 100}
    assert calibration.calibration_in_words("pair", [near]) == "Pairs: within 0.03 in 1 of 1 tenths."
    assert "1 of 2 tenths, off by 0.100 at most, which is 2.0 standard errors with 100 forecasts." in (
        calibration.calibration_in_words("pair", [near, off])
    )


def test_a_home_renews_the_part_that_it_has_trainings_for(
    rem_results: Lake, text: str, tmp_path: Path
) -> None:
    page = tmp_path / "results.md"
    page.write_text(f"the paper's part\n\n{BEYOND}\nan earlier part\n", encoding="utf-8")
    write_results_page(rem_results, page)
    assert earlier_parts(page) == ("the paper's part\n", text)
    assert not page.with_suffix("").exists()
    write_results_page(rem_results, page)
    assert earlier_parts(page) == ("the paper's part\n", text)


def test_a_home_without_relational_event_models_leaves_their_part_as_it_is(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "home")
    store_results(lake, variants=("dyrep-bilinear",))
    build_warehouse(lake)
    page = tmp_path / "results.md"
    page.write_text(f"the paper's part\n\n{BEYOND}\nan earlier part\n", encoding="utf-8")
    write_results_page(lake, page)
    papers, later = earlier_parts(page)
    assert later == "an earlier part\n"
    assert "# The paper's results" in papers

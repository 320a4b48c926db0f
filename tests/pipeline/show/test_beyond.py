"""Beyond the paper: a part of the page of results of its own, from stored results alone."""

import re
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.results.warehouse import build_warehouse
from pipeline.show.results_page import beyond, calibration, write_results_page
from pipeline.show.results_page.evidence import Difference
from pipeline.show.results_page.measured import Measured, read_measured
from pipeline.show.results_page.parts import BEYOND, FOLLOWED, HEAD, Parts, read_parts
from pipeline.show.results_page.places import evidence_of
from tests.small_world import store_results

# To begin to draw takes seconds: one worker draws for all files that do.
pytestmark = pytest.mark.xdist_group("drawings")
RELATIONAL = ("rem-history", "rem_role_blind-history", "rem_flat-history", "rem_without_pair-history")


@pytest.fixture(scope="module")
def rem_results(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A home with relational-event models alone."""
    lake = Lake(tmp_path_factory.mktemp("beyond"))
    store_results(lake, variants=RELATIONAL, seeds=3)
    build_warehouse(lake)
    return lake


@pytest.fixture(scope="module")
def rem_data(rem_results: Lake) -> Measured:
    """What was measured there."""
    (data,) = read_measured(rem_results)
    return data


@pytest.fixture(scope="module")
def text(rem_data: Measured) -> str:
    return beyond.beyond_section([rem_data], "results-evidence.md")


@pytest.fixture(scope="module")
def evidence_of_rem(rem_data: Measured) -> str:
    return beyond.beyond_evidence([rem_data])


def cells(text: str, first: str) -> list[str]:
    """The cells of the row that begins with `first`."""
    (row,) = re.findall(rf"^\| {re.escape(first)} \|.*$", text, re.MULTILINE)
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_each_model_stands_above_the_best_baseline_that_knows_as_much(rem_data: Measured, text: str) -> None:
    lines = text.splitlines()
    for title, by_role in (("REM", True), ("REM (role-blind)", False)):
        best = min(
            (row for row in rem_data.baselines if by_role or not row["by_role"]), key=lambda row: row["mar"]
        )
        at = next(number for number, line in enumerate(lines) if line.startswith(f"| {title} |"))
        assert f"| {best['mar']:.2f} |" in lines[at + 1]


def test_a_difference_comes_with_its_interval(evidence_of_rem: str) -> None:
    assert re.fullmatch(r"[+-][\d.]+ \[[+-][\d.]+, [+-][\d.]+\]", cells(evidence_of_rem, "REM (flat)")[-1])
    assert len(cells(evidence_of_rem, "REM (without pair)")) == 8


def test_counting_stands_beside_the_latent_graph(evidence_of_rem: str) -> None:
    assert "communications counted" in evidence_of_rem
    assert len(cells(evidence_of_rem, "Follow")) == 4


def test_what_was_forecast_within_a_day_stands_beside_what_came(
    rem_data: Measured, evidence_of_rem: str
) -> None:
    row = rem_data.calibration.filter(subject="pair").sort("tenth").to_dicts()[-1]
    assert f"{row['predicted']:.3f} → {row['observed']:.3f} ± " in cells(evidence_of_rem, "0.9 to 1.0")[2]
    assert re.search(r"Pairs: within 0\.03 in \d+ of \d+ tenths", evidence_of_rem)


def test_the_page_has_one_table_and_a_finding_of_each_table_of_its_evidence(
    text: str, evidence_of_rem: str
) -> None:
    assert (text.count("\n| --- |"), evidence_of_rem.count("\n| --- |")) == (1, 4)
    (finding,) = re.findall(r"^- Toy: .*$", text, re.MULTILINE)
    rows = [cells(evidence_of_rem, relation) for relation in ("Friend", "Follow")]
    ours, counted = (" to ".join(row[column].split(" ±")[0] for row in rows) for column in (1, 2))
    assert f"REM's graph has AUC {ours} % with 2 known graphs, all events counted {counted} %." in finding
    assert "Of 3 variants " in finding
    for subject in ("node", "pair"):
        assert f"{subject}s {cells(evidence_of_rem, subject)[2]}" in finding
        (near,) = re.findall(
            rf"{subject.capitalize()}s: within 0\.03 in (\d+ of \d+ tenths)", evidence_of_rem
        )
        assert f"{near} of {subject}s" in finding
    assert "(results-evidence.md#beyond-the-paper)" in text
    assert evidence_of_rem.startswith("## Beyond the paper\n")


def test_the_variant_that_surely_ranks_worst_is_named(
    rem_data: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    differences = {
        "rem_flat": (-1.0, 1.0, 0.5),
        "rem_role_blind": (2.0, 2.1, 2.2),
        "rem_linear": (1.0, 1.1, 1.2),
    }
    paired = {variant: Difference("", values) for variant, values in differences.items()}
    monkeypatch.setattr(beyond, "ablated", lambda _: paired)
    assert beyond.ablations_in_short(rem_data).startswith(
        "Of 3 variants 2 rank worse by their 95 % interval, REM (role-blind) the most: +2.10 [+"
    )
    monkeypatch.setattr(beyond, "ablated", lambda _: {"rem_flat": None})
    assert beyond.ablations_in_short(rem_data) == "Of 1 variant 0 rank worse by their 95 % interval."


def test_a_forecast_is_near_what_came_or_said_to_be_off() -> None:
    near = {"predicted": 0.5, "observed": 0.52, "forecasts": 100}
    off = {"predicted": 0.5, "observed": 0.6, "forecasts": 100}
    assert calibration.calibration_in_words("pair", [near]) == "Pairs: within 0.03 in 1 of 1 tenths."
    assert "1 of 2 tenths, off by 0.100 at most, which is 2.0 standard errors with 100 forecasts." in (
        calibration.calibration_in_words("pair", [near, off])
    )


def test_a_home_renews_the_part_that_it_has_trainings_for(
    rem_results: Lake, text: str, evidence_of_rem: str, tmp_path: Path
) -> None:
    page = tmp_path / "results.md"
    for path in (page, evidence_of(page)):
        path.write_text(
            f"the paper's part\n\n{BEYOND}\nan earlier part\n\n{FOLLOWED}\na year\n", encoding="utf-8"
        )
    for _ in range(2):
        write_results_page(rem_results, page)
        assert read_parts(page) == Parts("the paper's part\n", text, "a year\n")
        assert read_parts(evidence_of(page)) == Parts("the paper's part\n", evidence_of_rem, "a year\n")
        assert not page.with_suffix("").exists()


def test_a_page_without_its_evidence_gets_some(
    rem_results: Lake, evidence_of_rem: str, tmp_path: Path
) -> None:
    page = tmp_path / "results.md"
    page.write_text("the paper's part\n", encoding="utf-8")
    write_results_page(rem_results, page)
    parts = read_parts(evidence_of(page))
    assert parts.papers.startswith(HEAD)
    assert "(results.md)" in parts.papers
    assert parts.beyond == evidence_of_rem


def test_a_home_without_relational_event_models_leaves_their_part_as_it_is(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "home")
    store_results(lake, variants=("gcn-concat",), seeds=1)
    build_warehouse(lake)
    page = tmp_path / "results.md"
    for path in (page, evidence_of(page)):
        path.write_text(f"the paper's part\n\n{BEYOND}\nan earlier part\n", encoding="utf-8")
    write_results_page(lake, page)
    for path, title in ((page, "# The paper's results"), (evidence_of(page), "# Evidence")):
        parts = read_parts(path)
        assert parts.beyond == "an earlier part\n"
        assert title in parts.papers

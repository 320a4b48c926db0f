"""The page of the paper's results: from stored results alone, the same every time, deciding honestly."""

import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pipeline.event_table import read_event_table, write_event_table
from pipeline.lake import Lake, write_parquet
from pipeline.machine import Machine
from pipeline.results.baselines import baselines
from pipeline.results.warehouse import build_warehouse
from pipeline.runs import FinishedTraining, Session
from pipeline.settings import Settings, read_env_file
from pipeline.show.results_page import write_results_page
from pipeline.show.results_page.agreement_lines import agreement_points
from pipeline.show.results_page.bounds import misses, reached_counts
from pipeline.show.results_page.circumstances import machines_and_times, table_3_time
from pipeline.show.results_page.evidence import Difference, claim_verdict, paired, rows_against
from pipeline.show.results_page.figures import draw_page_figures, remove_other_figures, store_page_figures
from pipeline.show.results_page.hindsight import hindsight, hindsight_section
from pipeline.show.results_page.markdown import markdown_of_printed, markdown_table
from pipeline.show.results_page.measured import Measured, read_measured
from pipeline.show.results_page.paper_evidence import paper_evidence
from pipeline.show.results_page.paper_part import paper_text, papers_verdict
from pipeline.show.results_page.parts import HEAD, read_parts
from pipeline.show.results_page.places import evidence_of, page_of
from pipeline.show.tables import table_3
from pipeline.sources import paper
from pipeline.sources.registry import registry
from pipeline.sources.social_evolution.files import fetch_social_evolution
from tests.paper_home import store_facts, store_reproduction
from tests.small_world import store_table
from tests.whole_system import ROOT

TWO_SCREENS = 105  # lines


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A home that nobody changes; its warehouse stays open, so that readers need not load it anew."""
    lake = store_reproduction(tmp_path_factory.mktemp("home"))
    with duckdb.connect(str(lake.warehouse), read_only=True):
        yield lake


@pytest.fixture(scope="module")
def of_github(reproduction: Lake) -> Measured:
    """What was measured on its second dataset."""
    return github(reproduction)


@pytest.fixture(scope="module")
def results_page(reproduction: Lake) -> Path:
    path = page_of(reproduction.home)
    write_results_page(reproduction, path)
    return path


@pytest.fixture
def changed(reproduction: Lake, tmp_path: Path) -> Lake:
    """The same home, to be changed."""
    shutil.copytree(reproduction.home, tmp_path / "home")
    return Lake(tmp_path / "home")


@pytest.fixture
def changed_github(changed: Lake) -> Lake:
    """The same with its second dataset alone, so that no other is read."""
    with duckdb.connect(str(changed.warehouse)) as warehouse:
        warehouse.execute("delete from dataset_stats where dataset != 'github_2013'")
    return changed


@pytest.fixture(scope="module")
def results_text(results_page: Path) -> str:
    return results_page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def evidence(results_page: Path) -> str:
    return evidence_of(results_page).read_text(encoding="utf-8")


def text_of(lake: Lake) -> str:
    """Both pages without their figures, which take their time to draw."""
    datasets = read_measured(lake)
    return paper_text(datasets, [], "evidence.md") + evidence_without_figures(datasets)


def evidence_without_figures(datasets: list[Measured]) -> str:
    """The page of evidence alone."""
    shown: dict[str, dict[str, str]] = {data.name: {} for data in datasets}
    return paper_evidence(datasets, [], shown, "page.md")


def rows_of(text: str, start: str) -> list[list[str]]:
    """The cells of every table row that begins with `start`."""
    return [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith(f"| {start}")
    ]


def github(lake: Lake) -> Measured:
    return read_measured(lake)[-1]


def change(lake: Lake, table: str, **columns: str) -> None:
    """Give every row of a table of the warehouse these values, in SQL."""
    values = ", ".join(f"{name} = {value}" for name, value in columns.items())
    with duckdb.connect(str(lake.warehouse)) as warehouse:
        warehouse.execute(f"update {table} set {values}")


def set_scores(lake: Lake, **values: float) -> None:
    """Give every trained model the same metrics."""
    change(lake, "link_prediction", **{name: str(value) for name, value in values.items()})


# --- the page as a whole


def test_the_pages_say_who_wrote_them_and_show_every_figure(
    results_page: Path, results_text: str, evidence: str
) -> None:
    assert results_text.startswith(HEAD)
    assert evidence.startswith(HEAD)
    shown = set(re.findall(r"\]\(results/(.*?)\)", evidence))
    assert shown == {path.name for path in results_page.with_suffix("").iterdir()}
    assert len(shown) == 10
    for path in results_page.with_suffix("").iterdir():
        assert path.read_text(encoding="utf-8").startswith("<svg")
        assert path.stat().st_size < 300_000


def test_page_and_evidence_lead_to_one_another(results_page: Path, results_text: str, evidence: str) -> None:
    assert f"({evidence_of(results_page).name})" in results_text
    assert f"({results_page.name})" in evidence


def test_the_page_fits_two_screens(results_text: str) -> None:
    assert len(results_text.splitlines()) <= TWO_SCREENS


def test_the_pages_number_figures_as_the_paper_does(results_text: str, evidence: str) -> None:
    """In the paper Fig. 5 has the training curves, Fig. 8 the association graphs."""
    assert set(re.findall(r"Fig\. \d", results_text + evidence)) == {"Fig. 5", "Fig. 8"}
    assert "## Fig. 5: bilinear against wider concat" in evidence
    assert "## Fig. 8: association graphs" in evidence


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(reproduction: Lake, results_page: Path, tmp_path: Path) -> None:
    assert text_of(reproduction) == text_of(reproduction)
    again = store_page_figures(
        draw_page_figures(reproduction, github(reproduction)), github(reproduction), tmp_path
    )
    assert len(again) == 5
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (results_page.with_suffix("") / path.name).read_bytes()


def test_no_ones_name_is_on_the_page(reproduction: Lake, results_page: Path) -> None:
    names = pl.read_parquet(reproduction.dataset("github_2013") / "nodes.parquet")["name"]
    for path in [results_page, evidence_of(results_page), *results_page.with_suffix("").iterdir()]:
        words = path.read_text(encoding="utf-8")
        assert not [name for name in names if re.search(rf"\b{name}\b", words)]


def test_a_figure_that_no_longer_applies_is_removed(tmp_path: Path) -> None:
    for name in ("old.svg", "new.svg", "notes.txt"):
        (tmp_path / name).touch()
    remove_other_figures(tmp_path, {"new.svg"})
    assert {path.name for path in tmp_path.iterdir()} == {"new.svg", "notes.txt"}


def test_only_the_papers_settings_write_into_the_documentation(tmp_path: Path) -> None:
    for dataset, names in (
        ("github_2013", paper.GITHUB_FILES),
        ("social_evolution", ("SocialEvolution.zip",)),
    ):
        for name in names:
            (tmp_path / "data" / dataset).mkdir(parents=True, exist_ok=True)
            (tmp_path / "data" / dataset / name).touch()
    paper.prepare_papers_home(tmp_path / "data", tmp_path / "paper", {})
    paper.prepare_papers_home(tmp_path / "data", tmp_path / "trial", {"LDG_SEEDS": "1"})
    assert page_of(tmp_path / "paper") == Path("docs/results.md")
    assert page_of(tmp_path / "trial") == tmp_path / "trial" / "page" / "results.md"


@pytest.mark.parametrize("built", [False, True])
def test_a_home_without_results_is_told_what_to_run(tmp_path: Path, built: bool) -> None:
    lake = Lake(tmp_path)
    if built:
        store_table(lake)
        build_warehouse(lake)
    with pytest.raises(FileNotFoundError, match="ldg run"):
        write_results_page(lake, tmp_path / "results.md")
    assert not (tmp_path / "results.md").exists()


def test_a_page_in_the_documentation_was_written_by_this_code() -> None:
    page = ROOT / "docs" / "results.md"
    assert page.read_text(encoding="utf-8").startswith(HEAD)


def test_the_page_in_the_documentation_fits_two_screens_with_its_evidence_beside_it() -> None:
    page = ROOT / "docs" / "results.md"
    text, evidence = (path.read_text(encoding="utf-8") for path in (page, evidence_of(page)))
    assert len(text.splitlines()) <= TWO_SCREENS
    assert evidence.startswith(HEAD)
    assert f"({evidence_of(page).name})" in text
    assert f"({page.name})" in evidence
    shown = set(re.findall(r"\]\(results/(.*?)\)", evidence))
    assert shown == {path.name for path in page.with_suffix("").iterdir()}
    assert set(re.findall(r"Fig\. \d", text + evidence)) == {"Fig. 5", "Fig. 8"}


def test_the_pages_in_the_documentation_have_the_sections_that_this_code_writes(
    results_text: str, evidence: str
) -> None:
    page = ROOT / "docs" / "results.md"
    for path, written in ((page, results_text), (evidence_of(page), evidence)):
        parts = read_parts(path)
        assert sections(parts.papers) == sections(written)
        assert sections(parts.beyond)[0] == "## Beyond the paper"
        assert sections(parts.followed) == ["## Followed through 2013"]


def test_both_parts_of_the_page_in_the_documentation_name_the_same_best_baseline() -> None:
    """A model of the paper knows as much as a role-blind one beyond it."""
    parts = read_parts(ROOT / "docs" / "results.md")
    named = re.findall(r"knows no more: (.*?) has MAR", parts.papers)
    role_blind = [row[0] for row in rows_of(parts.beyond, "") if row[1:3] == ["–", "no"]]
    assert named == role_blind
    assert len(named) == 2


def test_cells_in_the_documentation_have_as_many_decimals_of_the_std_as_of_the_mean() -> None:
    page = ROOT / "docs" / "results.md"
    for path in (page, evidence_of(page)):
        cells = re.findall(r"\d+(\.\d+)? ± \d+(\.\d+)?", path.read_text(encoding="utf-8"))
        assert cells
        assert [len(mean) for mean, _ in cells] == [len(std) for _, std in cells]


def test_the_evidence_in_the_documentation_has_every_baseline_as_this_code_prints_it(
    real_data: Path, tmp_path: Path
) -> None:
    lake = papers_baselines(real_data, tmp_path)
    evidence = evidence_of(ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        for dataset, title in (("social_evolution", "Social Evolution"), ("github_2013", "GitHub 2013")):
            printed = markdown_of_printed(table_3(warehouse, dataset, title))
            _, _, rows = printed.partition("**No learning at all**")
            section = evidence.partition(f"## Table 3: {title}\n")[2].partition("\n## ")[0]
            assert section.partition("**No learning at all**")[2].strip() == rows.strip()


def papers_baselines(data: Path, home: Path) -> Lake:
    """A home with the paper's data and what learns nothing on it, without any training."""
    paper.prepare_papers_home(data, home, {})
    settings = Settings.from_values(read_env_file(home / ".env")).model_copy(update={"home": home})
    fetch_social_evolution(settings.social_evolution, settings.lake, terms_accepted=True)
    for spec in registry(settings):
        if spec.name in ("social_evolution", "github_2013"):
            folder = settings.lake.dataset(spec.name)
            write_event_table(spec.build(settings), folder)
            write_parquet(baselines(read_event_table(folder)), folder / "baselines.parquet")
    build_warehouse(settings.lake)
    return settings.lake


def sections(text: str) -> list[str]:
    """The headings of a page, whatever the datasets are called."""
    return re.sub(
        r"Social Evolution|GitHub 2013|Toy", "…", "\n".join(re.findall(r"^#.*", text, re.M))
    ).splitlines()


# --- tables and marks


def test_the_papers_data_come_in_its_order_with_published_figures_beside_ours(
    results_text: str, evidence: str
) -> None:
    (nodes,) = rows_of(evidence, "nodes ")
    assert nodes == ["nodes", "83 (83) ✓", "284 (284) ✓"]
    assert "Table 2: 14 of 14 counts agree." in results_text
    social, git = (row for row in rows_of(results_text, "DyRep (Follow)") if len(row) == 6)
    assert (social[3][-14:], git[3][-14:]) == ("(11.0 ± 1.2) ✓", "(73.8 ± 5.0) ✓")
    assert (social[5][-15:-2], git[5][-15:-2]) == ("(0.59 ± 0.06)", "(0.22 ± 0.02)")
    assert re.match(r"\d+\.\d ± \d+\.\d \(", social[3])


def test_a_verdict_below_table_3_is_on_the_papers_models_alone(
    reproduction: Lake, changed_github: Lake
) -> None:
    text = paper_text(read_measured(reproduction), [], "evidence.md")
    assert (
        text.count(
            "No model of the paper beats the best predictor that learns nothing and knows no more: freq"
        )
        == 2
    )
    set_scores(changed_github, mar=1.0)
    text = paper_text(read_measured(changed_github), [], "evidence.md")
    assert "The best model of the paper (MAR 1.0) beats the best predictor that learns nothing and" in text


def test_a_verdict_passes_over_a_model_whose_rank_is_no_number(changed_github: Lake) -> None:
    change(changed_github, "link_prediction", mar="if(variant = 'dyrep', 'nan'::double, 2.0)")
    assert "(MAR 2.0) beats" in papers_verdict(github(changed_github))


def test_a_model_of_the_paper_is_not_held_against_what_knows_who_acted(changed_github: Lake) -> None:
    set_scores(changed_github, mar=2.0)
    change(changed_github, "baselines", mar="if(by_role, 1.0, 3.0)")
    assert papers_verdict(github(changed_github)).startswith("The best model of the paper (MAR 2.0) beats")


def test_the_page_has_one_interaction_of_table_4_and_its_evidence_every_one(
    results_text: str, evidence: str
) -> None:
    assert (results_text.count("| **Toy, bilinear** |"), results_text.count("| **concat** |")) == (2, 0)
    assert (evidence.count("| **bilinear** |"), evidence.count("| **concat** |")) == (2, 2)
    shown = [row for row in rows_of(results_text, "Follow |") if len(row) == 9]
    assert [row for row in rows_of(evidence, "Follow |") if len(row) == 9][::2] == shown


def test_baselines_stand_in_the_same_table(results_text: str, evidence: str) -> None:
    random = [row for row in rows_of(evidence, "random |") if len(row) == 6]
    assert [row[2] for row in random] == ["7.0"] * 2
    assert len(rows_of(results_text, "frequency |")) == 2
    assert rows_of(results_text, "random |") == []


@pytest.mark.parametrize(("mar", "hits", "missed"), [(70.8, 0.25, []), (70.9, 0.24, ["HITS@10", "MAR"])])
def test_a_cell_is_marked_by_one_published_std(
    changed_github: Lake, mar: float, hits: float, missed: list[str]
) -> None:
    set_scores(changed_github, mar=mar, hits_at_10=hits)
    model = "Toy, LDG (learned, sparse), bilinear, "
    wrong = [miss.where for miss in misses([github(changed_github)]) if miss.where.startswith(model)]
    assert sorted(where.removeprefix(model) for where in wrong) == missed


@pytest.mark.parametrize("hits", [0.24, 0.244])
def test_a_bound_is_the_decimal_number_that_the_published_ones_give(
    changed_github: Lake, hits: float
) -> None:
    """In binary .27 - .03 is more than .24."""
    set_scores(changed_github, hits_at_10=hits)
    text = paper_text([github(changed_github)], [], "evidence.md")
    (row,) = (row for row in rows_of(text, "LDG (learned, uniform) ") if len(row) == 6)
    assert row[5] == "0.24 ± 0.00 (0.27 ± 0.03) ✓"


@pytest.mark.parametrize(
    ("mar", "printed", "distance"),
    [
        (80.0, "80.0 ± 0.0", "9.2 beyond the bound; 3.6 published std from the published mean"),
        (70.84, "70.84 ± 0.00", "0.04 beyond the bound; 1.0 published std from the published mean"),
    ],
)
def test_a_miss_is_told_with_its_distance(
    changed_github: Lake, mar: float, printed: str, distance: str
) -> None:
    set_scores(changed_github, mar=mar)
    text = evidence_without_figures(read_measured(changed_github))
    (row,) = rows_of(text, f"Toy, LDG (learned, sparse), bilinear, MAR | {printed} | 67.3")
    assert row[3] == distance
    assert "Where published figures are not reached" in text


def test_an_auc_may_be_five_points_below_the_published_one(changed_github: Lake) -> None:
    for value, reached in (
        (0.81, 2),
        (0.80, 1),
        (0.79, 0),
    ):  # published: 85 and 86 in the end, 79 and 80 before
        change(changed_github, "attention_auc", auc=f"if(snapshot = 'final', {value}, 0.0)")
        assert reached_counts([github(changed_github)])["AUC (bilinear)"] == (reached, 4)


def test_settings_are_those_the_models_were_trained_with(changed: Lake) -> None:
    store_facts(changed, "github_2013", "dyrep-concat", 3, epochs=1)
    text = evidence_without_figures(read_measured(changed))
    assert rows_of(text, "epochs ") == [["epochs", "5"]]
    assert "**Not so: Toy, dyrep, concat: epochs 1.**" in text
    assert "16 of 38 trainings" in text
    assert "social_evolution dyrep_random-concat" in text


def test_models_of_an_earlier_event_table_are_not_on_the_page(changed: Lake) -> None:
    change(changed, "link_prediction", stale="dataset = 'github_2013'")
    assert [data.name for data in read_measured(changed)] == ["social_evolution"]


def test_a_session_is_told_with_its_machine() -> None:
    started = datetime(2026, 1, 2, 3, 4)
    here = Machine(2, "A processor", 8 * 2**30, "Linux x86_64", "3.11.9", {"torch": "2.13.0"})
    cut = Session(started, started + timedelta(minutes=30), False, "abc+", here, 2)
    whole = Session(
        started + timedelta(hours=1),
        started + timedelta(hours=2, minutes=15),
        True,
        None,
        here,
        2,
        (FinishedTraining("github_2013", "dyrep-concat", 60.0, resumed=True),),
    )
    text = machines_and_times([cut, whole])
    assert "| 2026-01-02 03:04 | 30 min, cut short | 0, 2 at a time | abc+ |" in text
    assert "| 1 h 15 min | 1, 2 at a time | – |" in text
    assert "In all 1 h 45 min." in text
    assert text.count("2 processors (A processor), 8 GB of memory, Linux x86_64, Python 3.11.9, torch") == 1
    assert "not recorded" in machines_and_times([])


def test_table_3_is_timed_apart(of_github: Measured) -> None:
    here = Machine(2, None, None, "Linux x86_64", "3.11.9", {})
    trained = [("dyrep-concat", 600.0), ("dyrep-bilinear", 900.0), ("dyrep_wide-concat", 50.0)]
    done = tuple(FinishedTraining("github_2013", name, seconds, resumed=False) for name, seconds in trained)
    started = datetime(2026, 1, 2)
    session = Session(started, started + timedelta(hours=1), True, None, here, 2, done)
    text = table_3_time([of_github], [session])
    assert "the 2 trainings of Table 3 took 12 min 30 s (25 min if" in text
    assert table_3_time([of_github], []) == ""


def test_a_bar_in_a_name_breaks_no_table() -> None:
    assert markdown_table(["a"], [["x|y\nz"]]).splitlines()[2] == "| x\\|y z |"


# --- evidence


def test_an_interval_is_that_of_the_t_distribution() -> None:
    """3.1824 is in every table of t."""
    row = Difference("", (1.0, 2.5, 0.5, 3.0))
    reach = 3.182446305284263 * (17 / 12 / 4) ** 0.5
    assert row.p == pytest.approx(0.0604815025720697)
    assert row.interval == pytest.approx((1.75 - reach, 1.75 + reach))


def test_differences_are_paired_by_seed_and_signed_for_the_claim() -> None:
    better, worse = {0: 1.0, 1: 2.0, 3: 9.0}, {1: 5.0, 0: 2.0, 2: 0.0}
    assert paired("", better, worse) == Difference("", (1.0, 3.0))
    assert paired("", better, worse, lower=False) == Difference("", (-1.0, -3.0))
    assert paired("", {0: 1.0}, {1: 1.0}) is None


FOR = Difference("for", (1.0, 1.1, 0.9))
AGAINST = Difference("against", (-1.0, -1.1, -0.9))
OPEN = Difference("open", (-1.0, 1.1, 0.3))
ALONE = Difference("one seed", (5.0,))
SLIGHTLY_AGAINST = Difference("slightly", (-1.0, -2.0, -1.6))  # p about 0.04: alone it counts, among many not


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], "not measured"),
        ([FOR], "holds"),
        ([FOR, FOR], "holds"),
        ([FOR, OPEN], "undecided"),
        ([FOR, ALONE], "undecided"),
        ([FOR, AGAINST], "does not hold"),
        ([SLIGHTLY_AGAINST], "does not hold"),
        ([SLIGHTLY_AGAINST, OPEN, OPEN], "undecided"),
        ([Difference("same", (0.0, 0.0))], "undecided"),
        ([Difference("sure", (2.0, 2.0))], "holds"),
    ],
)
def test_a_claim_is_decided_by_all_its_rows(rows: list[Difference], expected: str) -> None:
    assert claim_verdict(rows) == expected


def test_holm_goes_on_only_while_rows_are_decided() -> None:
    assert rows_against([OPEN, AGAINST, FOR]) == [AGAINST]
    assert rows_against([SLIGHTLY_AGAINST, AGAINST]) == [AGAINST, SLIGHTLY_AGAINST]
    assert rows_against([SLIGHTLY_AGAINST, OPEN]) == []


def test_a_claims_verdict_is_counted_on_the_page(changed: Lake) -> None:
    worse = "if(interaction = 'concat', 5.0, 0.0)"
    change(changed, "link_prediction", mar=f"40.0 + {worse} + 0.1 * seed * ({worse} + 1)")
    text = text_of(changed)
    (row,) = rows_of(text, "Bilinear beats concat in every row of Table 3 |")
    assert row[1:] == ["holds (2 of 2)", "holds (2 of 2)"]
    assert "**Toy: holds.** True of the mean in 2 of 2 rows; decided for it in 2, against it in 0.\\" in text


# --- hindsight and agreement


def test_the_cost_of_choosing_on_validation_is_seed_by_seed(changed_github: Lake) -> None:
    # The last epoch (2) is best on validation; seed 0 would have done better with epoch 1.
    test_mar = "case when epoch > 1 then 3.0 when seed = 0 then 1.5 else 4.0 end"
    change(changed_github, "training_curves", test_mar=f"if(test_mar is null, null, {test_mar})")
    data = github(changed_github)
    cost = hindsight(data, "dyrep", "bilinear")
    assert cost is not None
    assert (cost.chosen, cost.best, cost.epochs) == (3.0, pytest.approx((1.5 + 3 + 3) / 3), {2: 3})
    assert cost.cost == pytest.approx(0.5)
    assert hindsight(data, "dyrep_random", "concat") is None


@pytest.mark.parametrize(
    ("mar", "printed", "reaches"), [(70.84, "70.84", "✗"), (70.8, "70.8", "✓"), (70.76, "70.8", "✓")]
)
def test_the_test_best_epoch_is_held_against_its_bound_as_a_cell_is(
    changed_github: Lake, mar: float, printed: str, reaches: str
) -> None:
    change(changed_github, "training_curves", test_mar=f"if(test_mar is null, null, {mar})")
    (row,) = rows_of(hindsight_section(github(changed_github)), "LDG (learned, sparse) | bilinear")
    assert (row[4], row[7]) == (printed, reaches)


def test_edge_types_are_told_apart_by_which_is_picked(reproduction: Lake, evidence: str) -> None:
    data = github(reproduction)
    row = next(row for row in rows_of(evidence, "LDG (learned, sparse) | concat")[::-1] if len(row) == 7)
    final = data.auc.filter(
        pl.col("variant") == "ldg_learned_sparse",
        pl.col("interaction") == "concat",
        pl.col("relation") == "Follow",
        pl.col("snapshot") == "final",
        pl.col("attention") == "final",
    )
    for cell, rows in (
        (row[3], final.filter("picked")),
        (row[4], final.filter(~pl.col("picked"), pl.col("edge_type").is_not_null())),
        (row[5], final.filter(pl.col("edge_type").is_null())),
    ):
        percent = 100 * rows["auc"]
        assert cell == f"{percent.mean():.1f} ± {percent.std():.1f}"
    assert sum(int(seeds) for seeds in re.findall(r"\((\d)×\)", row[2])) == 3


def test_the_drawn_auc_ends_where_table_4_does(reproduction: Lake, of_github: Measured) -> None:
    data, table = of_github, read_event_table(reproduction.dataset("github_2013"))
    picked = data.auc.filter(
        pl.col("variant") == "ldg_learned_sparse",
        pl.col("interaction") == "bilinear",
        pl.col("seed") == 0,
        pl.col("relation") == "Follow",
        pl.col("snapshot") == "final",
        pl.col("attention") == "final",
        pl.col("picked"),
    ).row(0, named=True)
    attention = pl.read_parquet(
        reproduction.model("github_2013", "ldg_learned_sparse-bilinear") / "attention.parquet"
    ).filter(pl.col("seed") == 0, pl.col("edge_type") == picked["edge_type"])
    points = agreement_points(table, data.relations, attention)
    last = points.filter(pl.col("relation") == "Follow").row(-1, named=True)
    assert (last["auc"], last["share"]) == (100 * picked["auc"], 100)

"""The sample world from raw files to tables: all that is promised is there, and models reach their marks."""

import json
import re
import shlex
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pipeline.schemas import TRAINED, WAREHOUSE
from tests.whole_system import PATIENCE, ROOT, environment, run_ldg

# One worker runs the system once for all tests that look at it.
pytestmark = pytest.mark.xdist_group("sample")

# Of the paper's data there are none here, nothing is left out, and nobody is followed.
FOLLOWED = ("forecasts", "forecast_scores", "followed", "today", "track_record")
FILLED = [name for name in WAREHOUSE if name not in ("published_datasets", "left_out", *FOLLOWED)]
# What the tutorial asks for before there is anything to try, and what serves until somebody ends it.
BY_HAND = ("git clone", "make run", ".venv/bin/activate", "make dev")


@pytest.fixture
def warehouse(sample_home: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(sample_home / "warehouse.duckdb"), read_only=True)


@pytest.mark.parametrize("table", FILLED)
def test_a_promised_table_has_its_columns_and_rows(warehouse: duckdb.DuckDBPyConnection, table: str) -> None:
    rows = warehouse.table(table)
    assert rows.columns == WAREHOUSE[table].names
    assert rows.limit(1).fetchall()


def test_training_writes_the_promised_columns(sample_home: Path) -> None:
    folders = list((sample_home / "models").glob("*/*"))
    assert folders
    for folder in folders:
        for name, table in TRAINED.items():
            assert dict(pl.read_parquet_schema(folder / f"{name}.parquet")) == table.types, (folder, name)


def test_every_event_of_every_file_is_accounted_for(warehouse: duckdb.DuckDBPyConnection) -> None:
    wrong = "from gharchive_files where events <> kept + ignored + duplicates + quarantined"
    assert warehouse.sql(wrong).fetchall() == []
    statuses = dict(warehouse.sql("select status, count(*) from gharchive_files group by 1").fetchall())
    assert statuses["missing"] == 1
    assert statuses["damaged"] > 1
    (rows,) = warehouse.sql("select sum(kept) from gharchive_files").fetchall()[0]
    assert warehouse.sql("select count(*) from github_events").fetchall()[0][0] == rows


@pytest.mark.parametrize("dataset", ["github", "social_evolution"])
def test_both_models_beat_random_ranking_by_far(warehouse: duckdb.DuckDBPyConnection, dataset: str) -> None:
    ((random,),) = warehouse.execute(
        "select mar from baselines where dataset = ? and baseline = 'random'", [dataset]
    ).fetchall()
    mars = warehouse.execute(
        "select variant, interaction, avg(mar) from link_prediction where dataset = ? and split = 'test' "
        "group by all",
        [dataset],
    ).fetchall()
    assert len(mars) == 5
    assert {name: mar for name, how, mar in mars if how == "bilinear" and mar > 0.7 * random} == {}


def test_the_relational_event_model_beats_what_learns_nothing(warehouse: duckdb.DuckDBPyConnection) -> None:
    winners = "select dataset, predictor from leaderboard where beats_baselines order by dataset"
    assert warehouse.sql(winners).fetchall() == [
        ("github", "REM, history"),
        ("social_evolution", "REM, history"),
    ]


@pytest.mark.parametrize("dataset", ["github", "social_evolution"])
def test_learned_attention_finds_the_planted_graph(
    warehouse: duckdb.DuckDBPyConnection, dataset: str
) -> None:
    agreement = dict(
        warehouse.execute(
            """
            select attention, avg(auc) from attention_auc
            where dataset = ? and relation = 'planted' and variant = 'ldg_learned_sparse'
              and interaction = 'bilinear' and edge_type is not null
            group by 1
            """,
            [dataset],
        ).fetchall()
    )
    assert agreement["final"] >= 0.70
    assert agreement["initial"] == pytest.approx(0.5, abs=0.06)


def test_the_tables_and_where_everything_is_were_printed(sample_home: Path) -> None:
    printed = (sample_home / "first_run.txt").read_text()
    for words in ("Table 2", "Table 3", "Table 4", "warehouse.duckdb", "report/index.html", "make dev"):
        assert words in printed
    report = (sample_home / "report" / "index.html").read_text()
    for title in ("GitHub (simulated)", "Social Evolution (simulated)"):
        assert f"Table 3. Link prediction on {title}" in report
        assert f"Table 4. AUC (%) of the learned graph with known graphs, {title}" in report


def test_a_fresh_home_is_complete_and_in_sync_in_the_ui(sample_home: Path, tmp_path: Path) -> None:
    trainings = sorted(
        folder.relative_to(sample_home / "models") for folder in sample_home.glob("models/*/*")
    )
    of_trainings = "".join(
        f'm{number}: assetNodeOrError(assetKey: {{path: ["{training.parent}", "trained_models"]}}) '
        f'{{ ... on AssetNode {{ staleStatus(partition: "{training.name}") }} }} '
        for number, training in enumerate(trainings)
    )
    query = f"""{{
        assetNodes {{
            assetKey {{ path }} staleStatus assetMaterializations(limit: 1) {{ runId }}
            partitionStats {{ numMaterialized numPartitions }}
        }}
        {of_trainings}
    }}"""
    program, output = Path(sys.executable).with_name("dagster-graphql"), tmp_path / "answer.json"
    command = [str(program), "-w", "workspace.yaml", "-o", str(output), "-t", query]
    called(command, ROOT, environment(sample_home))
    answer = json.loads(output.read_text())["data"]
    nodes = {"/".join(node["assetKey"]["path"]): node for node in answer.pop("assetNodes")}
    statuses = {name: node["staleStatus"] for name, node in nodes.items()}
    assert statuses == dict.fromkeys(nodes, "FRESH")
    assert [node["staleStatus"] for node in answer.values()] == ["FRESH"] * len(trainings)
    never_made = {name for name, node in nodes.items() if not node["assetMaterializations"]}
    assert never_made == {"following/archive", "following/day"}, "this home follows nothing"
    counts = {name: node["partitionStats"] for name, node in nodes.items() if node["partitionStats"]}
    for name in ("gharchive_files", "github_events"):
        assert counts[name]["numMaterialized"] == counts[name]["numPartitions"] > 0
    filled = {name: count["numMaterialized"] for name, count in counts.items() if "trained" in name}
    assert filled == dict.fromkeys(("github/trained_models", "social_evolution/trained_models"), 5)


def test_the_commands_and_snippets_of_the_tutorial_run_in_their_order(
    sample_home: Path, tmp_path: Path
) -> None:
    """As a newcomer pastes them: in a folder with `data/sample`, all Python in one session."""
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sample").symlink_to(sample_home)
    settings = environment(tmp_path / "data", PYTHONPATH=str(ROOT))
    printed = ""
    for block in blocks(tutorial, "sh"):
        if not any(words in block for words in BY_HAND):
            printed += paste(block, tmp_path, settings)
    printed += called([sys.executable, "-c", "\n".join(blocks(tutorial, "python"))], tmp_path, settings)
    for words in (
        "next partners of isbek50, by DyRep",
        "next partners of ann",
        "isbek50",
        "a uniform forecast",
    ):
        assert words in printed


def test_the_five_lines_of_python_and_the_query_of_the_readme_run(
    sample_home: Path, warehouse: duckdb.DuckDBPyConnection, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ((python,), (query,)) = blocks(readme, "python"), blocks(readme, "sql")
    assert "data/sample/models" in python
    exec(python.replace("data/sample", str(sample_home)), {})
    printed = capsys.readouterr().out
    assert len(python.splitlines()) == 5
    assert "% within a day, expected in" in printed
    assert "ago" in printed
    answer = warehouse.sql(query)
    assert answer.columns == ["dataset", "predictor", "mar", "hits_at_10", "beats_baselines"]
    assert ("github", "REM, history") in [row[:2] for row in answer.fetchall()]


def test_the_figure_of_the_readme_is_one_that_a_run_draws(sample_home: Path) -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (figure,) = re.findall(r"cp data/sample/(\S+) docs/predictors\.svg", contributing)
    assert (sample_home / figure).read_bytes().startswith(b"<svg")


def paste(block: str, folder: Path, settings: dict[str, str]) -> str:
    """What a block of commands prints; what it exports is in the settings from then on.

    A shell takes those that are not `ldg`; that one, a line each, is forked: it would import for seconds.
    """
    if not re.search(r"^([A-Z_]+=\S+ )*ldg ", block, re.MULTILINE):
        return called(["sh", "-e", "-c", block], folder, settings)
    printed = ""
    for line in block.splitlines():
        words = shlex.split(line)
        variables = dict(word.split("=", 1) for word in takewhile(lambda word: "=" in word, words))
        command, *arguments = words[len(variables) :]
        if command == "export":
            settings |= dict(word.split("=", 1) for word in arguments)
        else:
            assert command == "ldg", line
            printed += run_ldg(*arguments, environment=settings | variables, folder=folder)
    return printed


def called(command: list[str], folder: Path, settings: dict[str, str]) -> str:
    """What a command prints; it must not fail."""
    done = subprocess.run(
        command, cwd=folder, env=settings, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def blocks(document: str, language: str) -> list[str]:
    """The code blocks of a document in a language."""
    return re.findall(rf"```{language}\n(.*?)```", document, re.DOTALL)

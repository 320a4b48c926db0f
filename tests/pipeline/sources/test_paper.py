"""The home of the paper's experiments: complete, pinned, and never another home's."""

from pathlib import Path

import pytest
from dotenv import dotenv_values

from pipeline.results.published import TABLE_3
from pipeline.settings import Settings, environment_lines
from pipeline.sources import paper
from pipeline.sources.paper import PaperError, is_the_papers, papers_environment, prepare_papers_home
from pipeline.sources.registry import registry
from pipeline.variants import variant_with_key, variants_for

ROOT = Path(__file__).parents[3]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Files named like the real ones."""
    for name in paper.GITHUB_FILES:
        path = tmp_path / "data" / "github_2013" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "data" / "social_evolution").mkdir()
    (tmp_path / "data" / "social_evolution" / "SocialEvolution.zip").write_text("zip")
    return tmp_path / "data"


@pytest.fixture
def paper_home(tmp_path: Path) -> Path:
    return tmp_path / "it's home"


def settings_of(home: Path) -> Settings:
    return Settings.from_environment(
        {name: text or "" for name, text in dotenv_values(home / ".env", interpolate=False).items()}
    )


def test_a_prepared_home_holds_the_data_and_the_papers_settings(data: Path, paper_home: Path) -> None:
    assert prepare_papers_home(data, paper_home, {})
    settings = settings_of(paper_home)
    assert (settings.seeds, settings.epochs, settings.batch, settings.learning_rate) == (10, 5, 200, 2e-4)
    assert settings.social_evolution == str(data / "social_evolution" / "SocialEvolution.zip")
    spec = next(spec for spec in registry(Settings(home=paper_home)) if spec.name == "github_2013")
    assert (spec.problem, spec.relations) == (None, ("Follow",))
    assert (paper_home / "own" / "github_2013" / "events.parquet").read_text() == "events.parquet"
    assert is_the_papers(paper_home)


def test_preparing_again_changes_nothing(data: Path, paper_home: Path) -> None:
    prepare_papers_home(data, paper_home, {})
    before = (paper_home / ".env").read_bytes()
    assert not prepare_papers_home(data, paper_home, {})
    assert (paper_home / ".env").read_bytes() == before


def test_every_training_is_a_variant_and_every_row_of_table_3_is_trained() -> None:
    relations = {spec.name: spec.relations for spec in registry(Settings(home=Path("nowhere")))}
    relations["github_2013"] = relations["github"]
    trained = paper.paper_trainings()
    assert len(trained) == len(set(trained)) == 38
    for dataset, variant in trained:
        assert variant_with_key(variant, variants_for(relations[dataset])).key == variant
    lanes = {"GitHub": "github_2013", "Social Evolution": "social_evolution"}
    for paper_data, variant, *_ in TABLE_3:
        for interaction in ("concat", "bilinear"):
            assert (lanes[paper_data], f"{variant}-{interaction}") in trained


def test_a_variable_of_the_shell_tries_training_settings_but_no_data_rule(
    data: Path, paper_home: Path
) -> None:
    tried = {"LDG_SEEDS": "1", "LDG_EPOCHS": "1", "LDG_SOCIAL_EVOLUTION_PROBABILITY": "0.1", "LDG_HOME": "x"}
    prepare_papers_home(data, paper_home, tried)
    settings = settings_of(paper_home)
    assert (settings.seeds, settings.epochs, settings.social_evolution_probability) == (1, 1, 0.8)
    assert not is_the_papers(paper_home)


def test_every_setting_that_decides_a_result_is_pinned(data: Path, paper_home: Path) -> None:
    prepare_papers_home(data, paper_home, {})
    names = {f"LDG_{name.upper()}" for name in Settings.model_fields}
    assert names - set(paper.FREE) <= set(dotenv_values(paper_home / ".env"))


def test_a_home_written_before_there_was_a_setting_is_still_the_papers(data: Path, paper_home: Path) -> None:
    prepare_papers_home(data, paper_home, {})
    path = paper_home / ".env"
    older = "".join(line for line in path.read_text().splitlines(True) if not line.startswith("LDG_GITHUB_"))
    path.write_text(older)
    assert not prepare_papers_home(data, paper_home, {})
    assert is_the_papers(paper_home)
    assert (papers_environment(paper_home) or {})["LDG_GITHUB_CORE"] == "no"
    path.write_text(older.replace("LDG_BATCH=200", "LDG_BATCH=100"))
    assert not is_the_papers(paper_home)


def test_where_work_is_done_and_shared_is_free_in_a_paper_home(data: Path, paper_home: Path) -> None:
    prepare_papers_home(data, paper_home, {})
    with (paper_home / ".env").open("a") as lines:
        lines.write("LDG_CLUSTER=tcp://host:8786\nLDG_STORAGE=s3://bucket\nAWS_REGION=eu-west-1\n")
    assert not prepare_papers_home(data, paper_home, {})
    assert not {"LDG_CLUSTER", "LDG_STORAGE"} & set(papers_environment(paper_home) or {})


@pytest.mark.parametrize("settings", ["LDG_SEEDS=3\n", "", "LDG_SOCIAL_EVOLUTION=elsewhere\n"])
def test_a_home_with_settings_of_its_own_is_refused_and_left_alone(
    data: Path, paper_home: Path, settings: str
) -> None:
    paper_home.mkdir()
    (paper_home / ".env").write_text(settings)
    with pytest.raises(PaperError, match=r"LDG_DATASETS is '' there, .* here.*another home"):
        prepare_papers_home(data, paper_home, {})
    assert [path.name for path in paper_home.iterdir()] == [".env"]
    assert (paper_home / ".env").read_text() == settings


def test_other_settings_than_those_of_the_home_are_refused(data: Path, paper_home: Path) -> None:
    prepare_papers_home(data, paper_home, {})
    with pytest.raises(PaperError, match="LDG_SEEDS is '10' there, '1' here"):
        prepare_papers_home(data, paper_home, {"LDG_SEEDS": "1"})
    assert is_the_papers(paper_home)


@pytest.mark.parametrize(
    "missing",
    ["github_2013/nodes.parquet", "github_2013/events.parquet", "social_evolution/SocialEvolution.zip"],
)
def test_data_without_a_file_is_refused_by_its_name(data: Path, paper_home: Path, missing: str) -> None:
    (data / missing).unlink()
    with pytest.raises(PaperError, match=missing):
        prepare_papers_home(data, paper_home, {})
    assert not paper_home.exists()


def test_the_documented_extract_is_the_one_that_is_used() -> None:
    document = (ROOT / "docs" / "your-own-data.md").read_text(encoding="utf-8")
    assert f"```toml\n{paper.GITHUB_TOML.read_text(encoding='utf-8')}```" in document


def test_settings_survive_the_way_through_a_file(paper_home: Path) -> None:
    settings = Settings(
        home=Path("it's $here ${HOME} #1"),
        social_evolution="it's \\ $here",
        github_max_nodes=5,
        keep_raw=False,
        variants=("a", "b"),
    )
    paper_home.mkdir()
    (paper_home / ".env").write_text(environment_lines(settings.environment()))
    assert settings_of(paper_home) == settings
    assert Settings.from_environment(Settings().environment()) == Settings()


def test_what_takes_no_part_in_the_experiments_is_not_pinned(data: Path, paper_home: Path) -> None:
    prepare_papers_home(data, paper_home, {})
    pinned = dotenv_values(paper_home / ".env")
    assert not [name for name in pinned if name.startswith("LDG_FOLLOW_") or name == "LDG_STORE"]

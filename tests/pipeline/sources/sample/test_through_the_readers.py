"""The sample world read as the real sources are: nothing is lost, and the planted graph can be recovered."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pipeline.event_table import EventTable, Split
from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.sources.gharchive.day import read_day
from pipeline.sources.gharchive.fetch import FetchSettings, fetch_day
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.subnetwork import find_subnetwork, subnetwork_table
from pipeline.sources.gharchive.subnetwork_rule import SubnetworkRule
from pipeline.sources.registry import registry
from pipeline.sources.sample import FIRST_DAY, LAST_DAY, SAMPLE_ENVIRONMENT, sample_paths
from pipeline.sources.social_evolution.events import SocialEvolutionRules, social_evolution_table
from pipeline.sources.social_evolution.files import fetch_social_evolution


@pytest.fixture(scope="module")
def read_world(tmp_path_factory: pytest.TempPathFactory, built_world: Path) -> Lake:
    """A lake into which every day of the sample world was read."""
    lake = Lake(tmp_path_factory.mktemp("lake"))
    rules = EventRules(associations=frozenset(SAMPLE_ENVIRONMENT["LDG_ASSOCIATIONS"].split(",")))
    source = FetchSettings(base=str(sample_paths(built_world).gharchive))
    for days in range((LAST_DAY - FIRST_DAY).days + 1):
        day = FIRST_DAY + timedelta(days=days)
        fetch_day(day, lake, source)
        read_day(day, lake, rules)
    return lake


def recovery(table: EventTable, planted_graph: Path) -> float:
    """AUC of how often a pair interacts before the test period against the planted graph."""
    names = table.nodes["name"].to_list()
    number = {name: node for node, name in enumerate(names)}
    often, planted = np.zeros((2, len(names), len(names)))
    before = table.events.filter((pl.col("split") != "test") & (pl.col("kind") == "communication"))
    for u, v in before.select("u", "v").iter_rows():
        often[u, v] += 1
        often[v, u] += 1
    for source, target in pl.read_parquet(planted_graph).iter_rows():
        if source in number and target in number:
            planted[number[source], number[target]] = 1
    pairs = np.triu_indices(len(names), 1)
    assert (often[pairs] > 0)[planted[pairs] > 0].mean() > 0.6, "few planted ties are idle"
    assert planted[pairs][often[pairs] > 0].mean() > 0.5, "pairs that interact are mostly planted"
    ranks = pl.Series(often[pairs]).rank("average").to_numpy()[planted[pairs] > 0]
    few = len(ranks)
    return float((ranks.mean() - (few + 1) / 2) / (len(pairs[0]) - few))


@pytest.mark.slow
def test_every_event_of_the_hour_files_is_accounted_for(read_world: Lake):
    account = pl.concat(
        [pl.read_parquet(path) for path in sorted(read_world.github_accounts.glob("*.parquet"))]
    )
    assert account.filter(pl.col("status") == "missing").height == 1
    sums = account.select(pl.col("events", "kept", "ignored", "duplicates", "quarantined").sum()).row(0)
    assert sums[0] == sum(sums[1:])
    assert sums[3] == 8 + 8  # repeated within a file, and in the next
    assert sums[4] == 4 + 3 + 3  # cut and glued, truncated last lines, runs of NUL bytes


@pytest.mark.slow
def test_the_archive_gives_a_network_whose_planted_graph_shows(read_world: Lake, built_world: Path):
    settings = Settings.from_environment(SAMPLE_ENVIRONMENT)
    rule = SubnetworkRule(
        settings.github_min_communications,
        settings.github_min_associations,
        settings.github_start,
        settings.github_end,
    )
    network = find_subnetwork(read_world.github_events, rule)
    planted_graph = Lake(built_world).known_graph("github")
    logins = set(network.accounts["login"])
    assert 55 <= len(logins) <= 70
    assert len(logins & set(pl.read_parquet(planted_graph)["source"])) >= 0.9 * len(logins)
    table = subnetwork_table(
        read_world.github_events, network, Split(settings.github_split, settings.github_time_zone)
    )
    assert recovery(table, planted_graph) > 0.85


def test_the_zip_gives_a_network_whose_planted_graph_shows(tmp_path: Path, built_world: Path):
    files = fetch_social_evolution(str(sample_paths(built_world).social_evolution), Lake(tmp_path), False)
    table = social_evolution_table(files, SocialEvolutionRules())
    assert recovery(table, Lake(built_world).known_graph("social_evolution")) > 0.85


def test_the_names_of_both_datasets_say_that_the_sample_world_is_simulated(tmp_path: Path, built_world: Path):
    places = sample_paths(built_world)
    settings = Settings(
        home=tmp_path, gharchive_url=str(places.gharchive), social_evolution=str(places.social_evolution)
    )
    fetch_social_evolution(settings.social_evolution, settings.lake, False)
    specs = {spec.name: spec for spec in registry(settings)}
    assert specs["github"].title == "GitHub (simulated)"
    assert specs["github"].description.startswith("Simulated data")
    table = specs["social_evolution"].build(settings)
    assert table.title == table.metadata["title"] == "Social Evolution (simulated)"
    assert table.metadata["description"].startswith("Simulated data about no real people")
    assert {spec.title for spec in registry(Settings(home=tmp_path))} == {"GitHub", "Social Evolution"}

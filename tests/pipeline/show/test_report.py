import base64
import html
import json
import shutil
import zlib
from collections import Counter
from datetime import date
from html.parser import HTMLParser

import duckdb
import networkx as nx
import numpy as np
import polars as pl
import pytest
from jinja2 import UndefinedError

from pipeline.event_table import read_event_table
from pipeline.lake import Lake, write_json, write_parquet
from pipeline.results.agreement import write_attention_auc
from pipeline.results.trained import TrainedVariant, current_variants, read_facts
from pipeline.results.warehouse import build_warehouse
from pipeline.show.communities import communication_graph, communities
from pipeline.show.part import part_of
from pipeline.show.report import templates, write_report
from pipeline.show.report.explorer import (
    EDGES_PER_VARIANT,
    FEWEST_PARTNERS,
    dataset_data,
    moment_label,
    strongest_pairs,
    variant_data,
)
from pipeline.show.report.layout import community_layout, layout
from pipeline.show.tables import Cell, Group, Line, PrintedTable, Section, printed_tables
from pipeline.sources.gharchive.account import account_path
from tests.pipeline.show.drawn import IN_A_PAGE
from tests.small_world import store_results

# To begin to draw takes seconds: one worker draws for all files that do.
pytestmark = pytest.mark.xdist_group("drawings")


class Page(HTMLParser):
    """Elements of a page with their attributes, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def two_results(hard_home, tmp_path_factory) -> Lake:
    lake = Lake(tmp_path_factory.mktemp("two") / "home")
    shutil.copytree(hard_home.home, lake.home)
    store_results(lake, "other", title="Other network", nodes=30, variants=["dyrep-concat"], seeds=1)
    build_warehouse(lake)
    return lake


def trained(lake: Lake, key: str) -> TrainedVariant:
    return next(one for one in current_variants(lake, "toy") if one.key == key)


@pytest.fixture(scope="module")
def plain_text(two_results) -> str:
    """The page without figures."""
    path = write_report(two_results)
    assert path == two_results.home / "report" / "index.html"
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def drawn_text(two_results, drawn_home, tmp_path_factory) -> str:
    """The page with the figures of one of its datasets."""
    lake = Lake(tmp_path_factory.mktemp("two_drawn") / "home")
    shutil.copytree(two_results.home, lake.home)
    shutil.copytree(drawn_home.home / "figures", lake.home / "figures")
    return write_report(lake).read_text(encoding="utf-8")


@pytest.fixture(params=["plain_text", pytest.param("drawn_text", marks=pytest.mark.slow)])
def report_text(request) -> str:
    return request.getfixturevalue(request.param)


def test_the_page_refers_to_nothing_outside_itself(report_text):
    page = Page(report_text)
    addresses = [
        attributes[name] or ""
        for _, attributes in page.elements
        for name in ("src", "href", "srcset", "action", "data", "poster")
        if name in attributes
    ]
    assert addresses
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert "@import" not in report_text
    assert "url(" not in report_text


def test_markup_in_names_and_titles_adds_no_element(report_text):
    page = Page(report_text)
    assert [attributes.get("type") for attributes in page.all("script")] == ["application/json", None]
    assert all(not name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_a_figure_is_an_image_which_runs_no_script(drawn_text):
    images = Page(drawn_text).all("img")
    assert len(images) == 6
    assert all(attributes["src"].startswith("data:image/svg+xml;base64,") for attributes in images)


def test_hostile_text_survives_as_data(report_text):
    data = json.loads(report_text.partition('id="explorer-data">')[2].partition("</script>")[0])
    assert data[1]["names"][0] == IN_A_PAGE
    assert data[1]["title"] == IN_A_PAGE


def test_the_policy_admits_only_the_pages_own_script_and_style(report_text):
    policy = next(a["content"] for a in Page(report_text).all("meta") if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 2


def test_every_image_has_a_description_and_every_field_a_label(report_text):
    page = Page(report_text)
    assert all(len(attributes["alt"]) > 40 for attributes in page.all("img"))
    assert page.all("html")[0]["lang"] == "en"
    assert {attributes["id"] for attributes in page.all("canvas") if attributes.get("aria-label")} == {
        "graph"
    }
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_tables_mark_the_best_values_and_say_what_no_learning_gives(report_text):
    assert 'class="best"' in report_text
    assert "No learning at all" in report_text
    assert (
        "No learned model beats the best predictor that learns nothing and knows no more: online"
        in report_text
    )
    assert "Table 2." in report_text
    assert "Table 3." in report_text
    assert "Table 4." in report_text


def test_the_learned_graph_stands_beside_what_counting_gives_and_the_planted_one_is_told_apart(
    two_results, tmp_path
):
    lake = Lake(tmp_path / "home")
    shutil.copytree(two_results.home, lake.home)
    names = read_event_table(lake.dataset("toy")).nodes["name"]
    ties = pl.DataFrame({"source": names[:-2], "target": names[2:]})
    write_parquet(ties, lake.known_graph("toy"))
    write_attention_auc(lake)
    build_warehouse(lake)
    with duckdb.connect(str(lake.warehouse), read_only=True) as warehouse:
        printed = next(
            table
            for table in printed_tables(warehouse)
            if table.key.startswith("table-4") and "owned" in table.title
        )
        ((learned, counted),) = warehouse.execute(
            "select final_sparse_mean, final_frequency from table_4 "
            "where dataset = 'toy' and relation = 'planted'"
        ).fetchall()
    assert f"planted (ground truth): learned {learned:.0f} %, counted {counted:.0f} %." in printed.notes[0]
    assert "known graphs better than counting" in printed.notes[0]
    assert "known only because the data are simulated" in printed.notes[-1]
    for line in printed.lines:
        for cells in line.groups:
            values = [(float(cell.ours.split()[0]), cell.best) for cell in cells if cell.ours is not None]
            assert not values or (max(values)[0], True) in values
            assert sum(best for _, best in values) <= 1


def test_columns_without_any_value_are_left_out():
    line = Line(("a",), ((Cell(None), Cell("1")), (Cell(None),), (Cell("2"), Cell("3"))))
    groups = (Group("one", ("x", "y")), Group("none"), Group("shared", ("x", "y")))
    table = PrintedTable("key", "title", ("of",), groups, (Section(None, (line,)),)).without_empty_columns()
    assert table.groups == (Group("one", ("y",)), Group("shared", ("x", "y")))
    assert table.lines[0].groups == ((Cell("1"),), (Cell("2"), Cell("3")))


def test_the_first_lines_name_every_dataset(report_text):
    lede = report_text.partition('class="lede"')[2].partition("</p>")[0]
    assert "Other network" in lede
    assert html.escape(IN_A_PAGE) in lede.replace("&#39;", "&#x27;").replace("&#34;", "&quot;")


def test_published_figures_stand_only_beside_the_papers_own_data(report_text):
    assert 'class="published"' not in report_text


def test_a_published_value_stands_below_ours_with_a_mark_where_it_is_reached():
    value = getattr(templates().get_template("table.html").module, "value")  # noqa: B009 - a macro, known to no type
    assert value(Cell("66.1 ± 2.0", "67.3 ± 3.5", reached=True, best=True)) == (
        '<td><strong class="best">66.1 ± 2.0</strong><span class="published">paper 67.3 ± 3.5 ✓'
        '<span class="visually-hidden"> reached</span></span></td>'
    )
    assert "✓" not in value(Cell("99.0", "67.3 ± 3.5", reached=False))
    assert "published" not in value(Cell("99.0"))
    assert "&lt;b&gt;" in value(Cell("<b>"))


def test_a_report_without_a_warehouse_says_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match="build the warehouse"):
        write_report(Lake(tmp_path))


def test_a_report_of_an_empty_lake_is_still_a_page(tmp_path):
    lake = Lake(tmp_path)
    build_warehouse(lake)
    text = write_report(lake).read_text(encoding="utf-8")
    assert "No dataset has been built yet" in text


@pytest.fixture(scope="module")
def outdated_text(tmp_path_factory) -> str:
    """The report of a home with a model of an earlier event table, results of a dataset that is gone, and a
    day whose account cannot be read.
    """
    lake = Lake(tmp_path_factory.mktemp("outdated"))
    store_results(lake, variants=["dyrep-concat"], seeds=1)
    folder = lake.model("toy", "dyrep-concat")
    write_json({**(read_facts(folder) or {}), "fingerprint": "earlier"}, folder / "model.json")
    results = lake.results / "link_prediction.parquet"
    rows = pl.read_parquet(results)
    write_parquet(pl.concat([rows, rows.with_columns(dataset=pl.lit("gone"))]), results)
    damaged = account_path(lake, date(2013, 1, 2))
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"PAR1, but not really")
    build_warehouse(lake)
    return write_report(lake).read_text(encoding="utf-8")


def test_results_that_the_tables_leave_out_are_named_with_the_reason(outdated_text):
    assert "the dataset is gone" in outdated_text


def test_an_account_that_cannot_be_read_is_named_without_a_number_of_rows(outdated_text):
    assert "<li>gharchive_files: github/date=2013-01-02.parquet cannot be read: " in outdated_text
    assert "<li>gone, link_prediction: 2 rows, the dataset is gone</li>" in outdated_text


def test_models_of_an_earlier_event_table_are_named_but_not_explored(outdated_text):
    assert "trained on an earlier event table" in outdated_text
    assert 'id="explorer-data">[]</script>' in outdated_text


def test_embedded_json_cannot_end_its_element_and_reads_back():
    value = {"name": "</script><!--", "other": "a & b \u2028"}
    text = templates().from_string("{{ value | tojson }}").render(value=value)
    assert "<" not in text
    assert json.loads(text) == value


def test_what_a_template_does_not_get_is_an_error_not_a_gap():
    with pytest.raises(UndefinedError, match="absent"):
        templates().from_string("{{ absent }}").render()


def test_packed_edges_and_predictions_unpack_to_what_was_stored(two_results):
    table = read_event_table(two_results.dataset("toy"))
    data = variant_data(trained(two_results, "ldg_learned_sparse-bilinear"), part_of(table))
    raw = zlib.decompress(base64.b64decode(data["packed"]))
    edges, many, nodes = sum(data["counts"]), data["predictions"], table.nodes.height
    assert len(raw) == 5 * edges + 4 * many + nodes
    u, v, partner, density = (
        np.frombuffer(raw, "<u2", n, at)
        for n, at in ((edges, 0), (edges, 2 * edges), (many, 4 * edges), (many, 4 * edges + 2 * many))
    )
    weight = np.frombuffer(raw, np.uint8, edges, 4 * edges + 4 * many)
    attention = pl.read_parquet(
        two_results.model("toy", "ldg_learned_sparse-bilinear") / "attention.parquet"
    ).filter(pl.col("seed") == 0)
    first = strongest_pairs(attention, nodes).filter(pl.col("snapshot") == 0)
    assert list(zip(u[: first.height], v[: first.height], strict=True)) == first.select("u", "v").rows()
    shown = (weight[: first.height] / 255) ** 2 * data["top"]
    assert np.allclose(shown, first["weight"].to_numpy(), atol=0.01)
    stored = pl.read_parquet(
        two_results.model("toy", "ldg_learned_sparse-bilinear") / "predictions.parquet"
    ).sort("node", "rank")
    assert partner.tolist() == stored["partner"].to_list()
    assert np.allclose(
        density / 65535 * data["topDensity"], stored["density"].to_numpy(), rtol=1e-3, atol=1e-4
    )
    assert not data["givesProbabilities"]


def test_of_a_large_network_the_most_active_nodes_are_shown_among_themselves(two_results):
    table = read_event_table(two_results.dataset("toy"))
    part = part_of(table, most=5)
    talk = table.events.filter(pl.col("split") != "test", pl.col("kind") == "communication")
    busy = Counter([*talk["u"], *talk["v"]])
    chosen = sorted(sorted(range(table.nodes.height), key=lambda node: (-busy[node], node))[:5])
    assert part.table.nodes["name"].to_list() == [table.nodes["name"][node] for node in chosen]
    among = table.events.filter(pl.col("u").is_in(chosen), pl.col("v").is_in(chosen))
    shown = part.table.events.select("u", "v").rows()
    assert [(chosen[u], chosen[v]) for u, v in shown] == among.select("u", "v").rows()
    assert part.size == f"5 most active of {table.nodes.height} nodes"
    data = dataset_data(part, [trained(two_results, "ldg_learned_sparse-bilinear")])
    assert (len(data["names"]), data["of"]) == (5, table.nodes.height)
    assert part_of(table).table is table


def test_every_node_with_attention_keeps_its_strongest_partner_however_many_snapshots():
    nodes, snapshots = 400, 80
    random = np.random.default_rng(3)
    attention = pl.DataFrame(
        {
            "snapshot": np.repeat(np.arange(snapshots), nodes * 5),
            "u": np.tile(np.repeat(np.arange(nodes), 5), snapshots),
            "v": random.integers(0, nodes, nodes * 5 * snapshots),
            "weight": random.random(nodes * 5 * snapshots),
        }
    ).filter(pl.col("u") != pl.col("v"))
    strongest = strongest_pairs(attention, nodes)
    assert strongest.height <= max(EDGES_PER_VARIANT, FEWEST_PARTNERS * nodes * snapshots)
    one = strongest.filter(pl.col("snapshot") == 7)
    assert set(one["u"]) | set(one["v"]) >= set(attention.filter(pl.col("snapshot") == 7)["u"])


def test_a_pair_is_the_mean_of_its_directions_summed_over_edge_types():
    attention = pl.DataFrame(
        {
            "snapshot": [0, 0, 0],
            "u": [0, 1, 0],
            "v": [1, 0, 1],
            "weight": [0.2, 0.4, 0.6],
            "edge_type": [0, 0, 1],
        }
    )
    assert strongest_pairs(attention, 2)["weight"].to_list() == pytest.approx([0.6])


def test_every_node_has_a_place_in_the_disc_and_always_the_same(two_results):
    table = read_event_table(two_results.dataset("toy"))
    graph = communication_graph(table)
    graph.remove_edges_from(list(graph.edges(0)))
    place = layout(graph)
    assert place.shape == (table.nodes.height, 2)
    assert np.isfinite(place).all()
    assert np.linalg.norm(place, axis=1).max() <= 1 + 1e-9
    assert (layout(graph) == place).all()


def test_communities_are_placed_apart_and_nodes_of_none_have_a_place_too():
    graph = nx.disjoint_union_all([nx.complete_graph(12), nx.complete_graph(9), nx.empty_graph(2)])
    graph.add_edge(0, 12)
    community = communities(graph)
    place = community_layout(graph, community)
    assert np.linalg.norm(place, axis=1).max() <= 1 + 1e-9
    first, second = (place[community == number] for number in (0, 1))
    apart = np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
    assert apart > 1.5 * max(
        np.linalg.norm(part - part.mean(axis=0), axis=1).mean() for part in (first, second)
    )
    assert (community_layout(graph, community) == place).all()


def test_moments_read_as_a_person_says_them(two_results):
    attention = pl.read_parquet(two_results.model("toy", "dyrep-bilinear") / "attention.parquet")
    moments = attention.select("label", "created_at").unique(maintain_order=True).rows()
    assert moment_label(*moments[0]) == "before the first event"
    assert moment_label("final", moments[1][1]).endswith("(end of training)")


def test_a_training_of_a_removed_variant_is_a_row_under_its_stored_name(tmp_path) -> None:
    lake = Lake(tmp_path / "home")
    store_results(lake, "toy", nodes=12, variants=["rem_attention-history"], seeds=1)
    build_warehouse(lake)
    text = write_report(lake).read_text(encoding="utf-8")
    assert "rem_attention, history: 1 seed" in text

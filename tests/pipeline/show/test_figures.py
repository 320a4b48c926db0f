import html
import json
import re
import shutil
import struct
import zlib
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pytest

from pipeline.event_table import read_event_table
from pipeline.lake import Lake, write_json, write_parquet
from pipeline.names import HAZARD
from pipeline.results.trained import TrainedVariant, current_variants, read_facts, showcase
from pipeline.schemas import CALIBRATION
from pipeline.show.communities import communities
from pipeline.show.figures import draw_figures, style
from pipeline.show.figures.adjacency import PIXELS, matrix_image, png, pooled
from pipeline.show.figures.bars import LEARNED, bar_rows, baseline_bars
from pipeline.show.figures.curves import POINTS_PER_CURVE, curves_figure, loss_points, mar_points
from pipeline.show.figures.embeddings import tsne
from pipeline.show.figures.reliability import reliability_diagram
from pipeline.show.figures.subgraphs import busiest_circle, pairs_among
from pipeline.show.labels import NO_LEARNING
from pipeline.variant_names import split_key
from tests.pipeline.show.drawn import DRAWN_VARIANTS, IN_A_PAGE
from tests.small_world import store_results

# To begin to draw takes seconds: one worker draws for all files that do.
pytestmark = pytest.mark.xdist_group("drawings")


@pytest.fixture(scope="module")
def figures(drawn_home: Lake) -> Path:
    """The folder of figures that nobody changes."""
    return drawn_home.home / "figures" / "toy"


def test_every_figure_of_the_paper_is_drawn_as_svg_and_png(figures):
    listed = json.loads((figures / "figures.json").read_text(encoding="utf-8"))
    assert [figure["name"] for figure in listed] == [
        "training_curves",
        "adjacency",
        "subgraphs",
        "embeddings",
        "baselines",
        "reliability",
    ]
    for figure in listed:
        assert (figures / f"{figure['name']}.svg").read_text(encoding="utf-8").startswith("<svg")
        assert (figures / f"{figure['name']}.png").read_bytes().startswith(b"\x89PNG")
        assert figure["title"]
        assert len(figure["description"]) > 40


def test_every_drawing_names_its_data(figures):
    shown = html.escape(IN_A_PAGE, quote=False)
    assert [
        path.name for path in figures.glob("*.svg") if shown not in path.read_text(encoding="utf-8")
    ] == []


def test_a_loss_term_that_a_model_does_not_have_has_no_panel(hard_home, tmp_path):
    lake = Lake(tmp_path / "home")
    shutil.copytree(hard_home.home, lake.home)
    dyrep = [key for key in DRAWN_VARIANTS if key.startswith("dyrep")]
    for key in dyrep:
        path = lake.model("toy", key) / "curves.parquet"
        write_parquet(pl.read_parquet(path).with_columns(loss_kl=pl.lit(0.0)), path)
    figure = curves_figure(current_variants(lake, "toy"), ["Follow", "Friend"])
    svg = style.drawn(figure)
    models = svg.count(">Loss: events<")
    assert models > svg.count(">Loss: KL<") == svg.count(">Loss: non-events<") - 1 > 0


def calibrated(lake: Lake, *observed: tuple[str, float, float]) -> None:
    """Have the stored forecasts of waiting times come out as said: horizon, predicted and observed share."""
    rows = [
        {"subject": subject, "split": "test", "predictor": HAZARD, "horizon": horizon, "forecasts": 10}
        | {"predicted": predicted, "observed": share}
        for subject in ("node", "pair")
        for horizon, predicted, share in observed
    ]
    path = lake.waiting_times("toy") / f"{CALIBRATION.name}.parquet"
    stored = pl.read_parquet(path)
    same = stored.head(1).drop(pl.DataFrame(rows).columns)
    write_parquet(pl.DataFrame(rows).join(same, how="cross").cast(stored.schema).select(stored.columns), path)


def test_reliability_leaves_out_a_horizon_within_which_all_came_and_zooms_to_where_points_are(
    hard_home, tmp_path
):
    lake = Lake(tmp_path / "home")
    shutil.copytree(hard_home.home, lake.home)
    table = read_event_table(lake.dataset("toy"))
    calibrated(lake, ("1 h", 0.03, 0.02), ("1 h", 0.12, 0.16), ("7 d", 0.6, 1.0), ("7 d", 0.99, 1.0))
    figure = reliability_diagram(lake, table)
    assert figure is not None
    svg = style.drawn(figure)
    assert "within 1 h" in svg
    assert "within 7 d" not in svg
    assert "Within 7 d 100% came in every group: not drawn." in figure.description
    assert "0.20" in svg
    assert ">1.0<" not in svg
    calibrated(lake, ("7 d", 0.6, 1.0), ("7 d", 0.99, 1.0))
    assert reliability_diagram(lake, table) is None


def test_drawing_leaves_no_temporary_file(figures):
    left = {path.suffix for path in figures.iterdir()}
    assert left == {".svg", ".png", ".json"}


def test_names_with_markup_stay_text_in_the_drawings(figures):
    together = "".join(path.read_text(encoding="utf-8") for path in figures.glob("*.svg"))
    assert "<script" not in together
    assert "&lt;script" in together
    assert "Zoë" in together


def test_drawing_the_same_results_twice_gives_the_same_bytes(drawn_home, figures, tmp_path):
    shutil.copytree(drawn_home.home, tmp_path / "home")
    again = draw_figures(Lake(tmp_path / "home"), "toy")
    assert len(again) == 6
    for figure in again:
        for path in (figure.svg, figure.png):
            assert path.read_bytes() == (figures / path.name).read_bytes()


def test_an_untrained_dataset_is_refused_with_what_to_do(tmp_path):
    lake = Lake(tmp_path)
    store_results(lake, variants=())
    with pytest.raises(FileNotFoundError, match="train one first"):
        draw_figures(lake, "toy")


def test_a_variant_without_attention_lacks_its_figures_and_earlier_ones_are_removed(tmp_path):
    lake = Lake(tmp_path)
    store_results(lake, variants=["gcn-concat"], seeds=1)
    for records in ("attention", "embeddings", "predictions"):
        path = lake.model("toy", "gcn-concat") / f"{records}.parquet"
        write_parquet(pl.read_parquet(path).clear(), path)
    folder = lake.home / "figures" / "toy"
    folder.mkdir(parents=True)
    (folder / "adjacency.svg").write_text("<svg/>")
    drawn = draw_figures(lake, "toy")
    assert [figure.name for figure in drawn] == ["training_curves", "baselines", "reliability"]
    assert {path for figure in drawn for path in (figure.svg, figure.png)} == {
        path for path in folder.iterdir() if path.suffix != ".json"
    }
    assert not (folder / "adjacency.svg").exists()


def test_a_variant_trained_on_an_earlier_event_table_is_left_out(tmp_path):
    lake = Lake(tmp_path)
    table_name = store_results(lake, variants=["dyrep-concat", "dyrep-bilinear"], seeds=1).name
    folder = lake.model(table_name, "dyrep-concat")
    write_json({**(read_facts(folder) or {}), "fingerprint": "earlier"}, folder / "model.json")
    assert [one.key for one in current_variants(lake, table_name)] == ["dyrep-bilinear"]


def test_curves_are_means_over_seeds_with_their_range_and_bounded_in_length():
    steps = 950
    curves = pl.DataFrame(
        {
            "seed": [0] * steps + [1] * steps,
            "step": [*range(1, steps + 1)] * 2,
            "epoch": [1] * (2 * steps),
            "loss_events": [1.0] * steps + [3.0] * steps,
            "loss_nonevents": [0.0] * (2 * steps),
            "loss_kl": [0.0] * (2 * steps),
            "mar": [None] * (steps - 1) + [10.0] + [None] * (steps - 1) + [20.0],
            "test_mar": [None] * (steps - 1) + [12.0] + [None] * (steps - 1) + [24.0],
        }
    )
    events = loss_points(curves).filter(pl.col("term") == "loss_events")
    assert events.height <= POINTS_PER_CURVE
    assert events.select("mean", "low", "high").unique().rows() == [(2.0, 1.0, 3.0)]
    assert mar_points(curves).rows() == [(1, "test", 18.0, 12.0, 24.0), (1, "validation", 15.0, 10.0, 20.0)]


def test_bars_hold_every_predictor_once_best_first(hard_home):
    rows = bar_rows(hard_home, read_event_table(hard_home.dataset("toy")))
    predictors = pl.read_parquet(hard_home.dataset("toy") / "baselines.parquet")
    assert rows["who"].n_unique() == rows.height == len(DRAWN_VARIANTS) + predictors.height
    assert rows.filter(pl.col("what") == LEARNED).height == len(DRAWN_VARIANTS)
    best = predictors.sort("mar")["baseline"][0].replace("_", " ")
    assert rows.filter(pl.col("what") == NO_LEARNING)["who"][0] == best
    assert rows["mar"].is_sorted()
    assert "associates, Follow" in rows["who"]


def test_the_caption_of_bars_has_the_digits_that_decide_which_is_best(hard_home, tmp_path):
    lake = Lake(tmp_path / "home")
    shutil.copytree(hard_home.home, lake.home)
    for name, mar in (("datasets/toy/baselines", 0.0593), ("results/link_prediction", 0.0842)):
        path = lake.home / f"{name}.parquet"
        write_parquet(pl.read_parquet(path).with_columns(mar=pl.lit(mar)), path)
    figure = baseline_bars(lake, read_event_table(lake.dataset("toy")))
    assert figure is not None
    assert "with MAR 0.06, the best learned model" in figure.description
    assert figure.description.endswith("with MAR 0.08.")


def decoded(picture: bytes) -> np.ndarray:
    """Pixels of a PNG of the plain kind that `png` writes."""
    width, height = struct.unpack(">II", picture[16:24])
    start = picture.index(b"IDAT")
    (length,) = struct.unpack(">I", picture[start - 4 : start])
    lines = np.frombuffer(zlib.decompress(picture[start + 4 : start + 4 + length]), np.uint8)
    return lines.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)


def test_a_picture_written_as_png_reads_back():
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    assert (decoded(png(picture)) == picture).all()


def test_a_matrix_larger_than_its_picture_loses_no_entry():
    matrix = np.zeros((2000, 2000))
    matrix[1234, 17] = 1.0
    small = pooled(matrix)
    assert small.shape == (PIXELS, PIXELS)
    assert small.sum() == 1.0


def test_an_empty_graph_is_a_picture_too():
    none = pl.DataFrame(schema={"u": pl.Int32, "v": pl.Int32, "weight": pl.Float64})
    assert matrix_image(none, np.arange(3), np.zeros(3, np.int64)).startswith("data:image/png;base64,")


def test_communities_are_numbered_by_size_and_the_same_every_time():
    graph = nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(6))
    numbers = communities(graph)
    assert numbers.tolist() == [1] * 4 + [0] * 6
    assert (communities(graph) == numbers).all()


def test_a_circle_grows_from_the_strongest_pair_along_ties():
    graph = nx.Graph()
    graph.add_nodes_from(range(50))
    graph.add_weighted_edges_from((a, b, 1.0) for a, b in pairwise(range(10)))
    graph.add_edge(3, 4, weight=9.0)
    assert busiest_circle(graph) == list(range(10))
    assert len(busiest_circle(nx.empty_graph(3))) == 3


def test_pairs_among_chosen_nodes_merge_directions():
    entries = pl.DataFrame({"u": [0, 1, 0, 2], "v": [1, 0, 2, 9], "weight": [0.2, 0.6, 0.1, 1.0]})
    assert pairs_among(entries, [0, 1, 2]).rows() == [(0, 1, 0.4), (0, 2, 0.1)]


def test_embeddings_of_very_few_nodes_are_still_placed():
    assert tsne(np.eye(5, 32, dtype=np.float32)).shape == (5, 2)


RELATIONS = ("CloseFriend", "Acquaintance")


def trained(key: str) -> TrainedVariant:
    return TrainedVariant(Path(key), "toy", *split_key(key), {})


@pytest.mark.parametrize(
    ("variant", "label"),
    [
        ("ldg_learned_sparse-bilinear", "LDG (learned, sparse), bilinear"),
        ("ldg_learned_sparse_freq-concat", "LDG (learned, sparse) + Freq, concat"),
        ("ldg_learned_sparse_one_pass-concat", "LDG (learned, sparse), one pass, concat"),
        ("dyrep-concat", "DyRep (CloseFriend), concat"),
        ("dyrep_acquaintance-concat", "DyRep (Acquaintance), concat"),
        ("dyrep_random-concat", "DyRep (random associations), concat"),
        ("dyrep_wide-concat", "DyRep, wider, concat"),
        ("gcn-bilinear", "GCN, bilinear"),
        ("brand_new-bilinear", "brand_new, bilinear"),
    ],
)
def test_variants_are_named_as_the_paper_prints_them(variant, label):
    assert trained(variant).label(RELATIONS) == label


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (["dyrep-concat", "ldg_learned_sparse-bilinear"], "ldg_learned_sparse-bilinear"),
        (["dyrep-concat", "ldg_learned_uniform-concat"], "ldg_learned_uniform-concat"),
        (["dyrep-concat"], "dyrep-concat"),
    ],
)
def test_the_showcase_is_the_learned_sparse_bilinear_graph_when_there_is_one(keys, shown):
    assert showcase([trained(key) for key in keys], RELATIONS).key == shown


def test_names_have_room_in_a_wider_typeface_than_ours(hard_home):
    """Labels of an axis end at its line; the longest must fit between that line and the drawing's edge."""
    figure = baseline_bars(hard_home, read_event_table(hard_home.dataset("toy")))
    assert figure is not None
    svg = style.drawn(figure)
    line = float(re.findall(r"translate\(([\d.]+),", svg)[0])
    longest = max(len(text) for text in re.findall(r'text-anchor="end"[^>]*>([^<]+)<', svg))
    assert longest > 20
    assert line >= style.LABEL_SIZE * style.WIDEST_LETTER * longest


def test_every_interaction_has_a_colour_of_its_own():
    colours = style.interaction_colours(["bilinear", "branching", "concat", "flat"])
    assert len(set(colours)) == 4
    assert colours[0] == style.INTERACTION_COLOURS["bilinear"]

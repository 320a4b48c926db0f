"""The page of the paper's results, written from a home's warehouse and trained models, never typed."""

from pathlib import Path

from pipeline.lake import Lake, write_text
from pipeline.runs import Session, read_sessions
from pipeline.show.results_page import (
    beyond_tables,
    circumstances,
    claims,
    figures,
    hindsight,
    printed_tables,
)
from pipeline.show.results_page.markdown import table
from pipeline.show.results_page.measured import Measured, read_measured
from pipeline.sources.paper import is_the_papers

HEAD = "<!-- Written by `ldg page`; change the code, not this page. -->\n"


def page_of(home: Path) -> Path:
    """Where a home's page belongs: in the documentation, or in the home if its settings are a trial's."""
    return Path("docs/results.md") if is_the_papers(home) else home / "page" / "results.md"


def write_results_page(lake: Lake, page: Path) -> None:
    """Write the page, and its figures in a folder of its name; the same results give the same bytes."""
    found = read_measured(lake)
    if not found:
        raise FileNotFoundError(f"no model is trained on {lake.home}: `ldg run` makes them")
    folder = page.with_suffix("")
    shown = {data.name: figures.store(figures.draw(lake, data), data, folder) for data in found}
    figures.remove_others(
        folder, {f"{name}_{shows}.svg" for name, drawings in shown.items() for shows in drawings}
    )
    write_text(page_text(found, read_sessions(lake), shown), page)


def page_text(found: list[Measured], sessions: list[Session], shown: dict[str, dict[str, str]]) -> str:
    """The whole page; `shown` is the Markdown of every figure, by dataset and what it shows."""
    parts = [
        HEAD,
        opening(found),
        "## How it was run\n",
        circumstances.completeness(found),
        circumstances.machine(sessions),
        circumstances.table_3_time(found, sessions),
        circumstances.settings(found),
        circumstances.training_times(found),
        "## Table 2: the data\n",
        printed_tables.statistics(found),
        nodes_note(found),
        *(part for data in found for part in predictions(data, shown[data.name])),
        *agreements(found, shown),
        "## Claims, decided by evidence\n",
        CLAIMS_NOTE,
        claims.section(found),
        "## Fig. 4: bilinear against wider concat\n",
        beyond_tables.wider_models(found),
        *(shown[data.name].get("curves", "") for data in found),
        *(part for data in found for part in association_graphs(data, shown[data.name])),
        *(part for data in found for part in never_seen(data)),
        "## What the choice of epoch costs\n",
        HINDSIGHT_NOTE,
        *(part for data in found for part in (f"### {data.title}\n", hindsight.section(data))),
        "## Cells that miss their bound\n",
        missed(found),
    ]
    return "\n".join(part for part in parts if part)


def opening(found: list[Measured]) -> str:
    """What the page is, and how many cells keep their bound."""
    kept = [[name, f"{n} of {of}"] for name, (n, of) in printed_tables.reached_counts(found).items() if of]
    return (
        "# The paper's results\n\n"
        "The tables and figures of *Learning Temporal Attention in Dynamic Graphs with Bilinear "
        "Interactions* (Knyazev, Augusta and Taylor), ours beside the published ones. Ours are mean ± std "
        "over seeds.\n\n"
        "✓: MAR at most one published std above the published mean, HITS@10 at most one below, AUC at most "
        f"{printed_tables.AUC_SLACK} points below. ✗: worse. The paper does not say of which interaction its "
        "AUCs are, so both are held against them.\n\n"
        + (table(["Cells", "that keep their bound"], kept) if kept else NOT_THE_PAPERS)
    )


NOT_THE_PAPERS = "The data of this home are not the paper's: no published figure belongs beside ours.\n"

CLAIMS_NOTE = (
    "Each row compares two of our own models, or a model and a predictor that learns nothing, seed by seed "
    "on the same test events, with a 95 % t interval of the mean difference. A claim *holds* when every "
    "row's interval speaks for it (where all must, no correction is needed), *does not hold* when a row is "
    "decided against it by Holm's correction over its rows, and is *undecided* otherwise.\n"
)

HINDSIGHT_NOTE = (
    "The epoch is chosen on validation data, seed by seed. Below, for comparison only and **never used** for "
    "any other number of this page, is test MAR after the epoch that is best on test data, and what not "
    "looking at it costs.\n"
)


def nodes_note(found: list[Measured]) -> str:
    """Why one count may differ from the published one."""
    differing = [
        data.title
        for data in found
        for row in data.table_2
        if row["statistic"] == "# nodes" and row["agrees"] is False
    ]
    return (
        f"The files of {', '.join(differing)} hold one subject more than the paper prints.\n"
        if differing
        else ""
    )


def predictions(data: Measured, shown: dict[str, str]) -> list[str]:
    """Table 3 of a dataset, with its figure."""
    return [f"## Table 3: {data.title}\n", shown.get("ranks", ""), printed_tables.predictions(data)]


def agreements(found: list[Measured], shown: dict[str, dict[str, str]]) -> list[str]:
    """Table 4 with the learned graphs."""
    parts = [
        "## Table 4: the learned graph beside known ones\n",
        "AUC in %, published in brackets; 50 is chance. One edge type stands for a model, picked per seed by "
        "the final graph of the dataset's own relation. Beside it is the AUC of counting a pair's training "
        "events, and its communications only.\n",
    ]
    for data in found:
        if data.table_4:
            parts += [f"### {data.title}\n", printed_tables.agreements(data)]
            parts += [f"AUC of each edge type with the final {data.own_relation} graph:\n"]
            parts += [beyond_tables.edge_types(data)]
            parts += [shown[data.name].get(shows, "") for shows in ("agreement", "adjacency")]
    return parts


def association_graphs(data: Measured, shown: dict[str, str]) -> list[str]:
    """Fig. 6 of a dataset: several association graphs to compare."""
    if len(claims.dyreps(data)) < 2:
        return []
    return [
        f"## Fig. 6: association graphs, {data.title}\n",
        beyond_tables.association_graphs(data),
        shown.get("associations", ""),
    ]


def never_seen(data: Measured) -> list[str]:
    """How models rank pairs with and without a past."""
    return [f"## Pairs never seen before: {data.title}\n", beyond_tables.seen_and_never_seen(data)]


def missed(found: list[Measured]) -> str:
    """The cells that are worse than published, with how far; the reasons are in the documentation."""
    rows = [[miss.where, miss.ours, miss.published, miss.distance] for miss in printed_tables.misses(found)]
    if not rows:
        return "None.\n"
    told = 'Reasons: `docs/model.md`, "Where published figures are not reached".\n\n'
    return told + table(["Cell", "ours", "published", "by how much"], rows, left=4)

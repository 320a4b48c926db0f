"""The page of the paper's results and its evidence, written from a home's results, never typed."""

from dataclasses import replace
from pathlib import Path

from pipeline.lake import Lake
from pipeline.names import FREQUENCY, MAR, baseline_label
from pipeline.runs import Session, read_sessions
from pipeline.show.labels import REACHED
from pipeline.show.results_page import (
    beyond,
    beyond_tables,
    bounds,
    circumstances,
    claims,
    figures,
    followed,
    hindsight,
)
from pipeline.show.results_page.markdown import laid_out, table
from pipeline.show.results_page.measured import Measured, read_measured
from pipeline.show.results_page.parts import read_parts, write_parts
from pipeline.show.tables import Line, best_against_counting, best_of, table_2
from pipeline.sources.paper import is_the_papers
from pipeline.variants import PAPER_INTERACTIONS

HEAD = "<!-- Written by `ldg page`; change the code, not this page. -->\n"
Shown = dict[str, dict[str, str]]  # the Markdown of every figure, by dataset and what it shows


def page_of(home: Path) -> Path:
    """Where a home's page belongs: in the documentation, or in the home if its settings are a trial's."""
    return Path("docs/results.md") if is_the_papers(home) else home / "page" / "results.md"


def evidence_of(page: Path) -> Path:
    """The page beside a page of results that holds its evidence."""
    return page.with_name(f"{page.stem}-evidence.md")


def write_results_page(lake: Lake, page: Path) -> None:
    """Write the page, its evidence beside it, and figures in a folder of its name.

    Both pages have two parts, on the paper's models and beyond them. A home that has trainings for one of
    them alone renews this part and leaves the other as it is, and a third, on following, always. The same
    results give the same bytes.
    """
    datasets = read_measured(lake)
    if not datasets:
        raise FileNotFoundError(f"no model is trained on {lake.home}: `ldg run` makes them")
    evidence = evidence_of(page)
    first, behind = read_parts(page), read_parts(evidence)
    if any(data.has_papers_models for data in datasets) or not first.papers:
        sessions, shown = read_sessions(lake), write_figures(lake, datasets, page.with_suffix(""))
        first = replace(first, papers=page_text(datasets, sessions, evidence.name))
        behind = replace(behind, papers=evidence_text(datasets, sessions, shown, page.name))
    if trained := beyond.trained(datasets):
        first = replace(first, beyond=beyond.section(trained, evidence.name))
        behind = replace(behind, beyond=beyond.evidence(trained))
    write_parts(first, page)
    write_parts(replace(behind, papers=behind.papers or evidence_head(page.name)), evidence)


def write_followed_part(text: str, page: Path) -> None:
    """Renew the third part of the page and of its evidence, and leave the others."""
    evidence = evidence_of(page)
    first, behind = read_parts(page), read_parts(evidence)
    write_parts(replace(first, followed=followed.in_short(text, evidence.name)), page)
    papers = behind.papers or evidence_head(page.name)
    write_parts(replace(behind, papers=papers, followed=followed.in_full(text)), evidence)


def write_figures(lake: Lake, datasets: list[Measured], folder: Path) -> Shown:
    """Draw every figure into the folder, where no other one stays."""
    shown = {data.name: figures.store(figures.draw(lake, data), data, folder) for data in datasets}
    figures.remove_others(
        folder, {f"{name}_{shows}.svg" for name, drawings in shown.items() for shows in drawings}
    )
    return shown


def page_text(datasets: list[Measured], sessions: list[Session], evidence: str) -> str:
    """The paper's part: what was reached, Tables 2 to 4 and the verdicts, in two screens."""
    parts = [
        HEAD,
        "# The paper's results\n",
        f"{INTRODUCTION} {scale(datasets)}\n",
        f"{circumstances.in_short(datasets, sessions).strip()} {statistics_in_short(datasets)} Every row, "
        f"interval, figure and circumstance is on the page of [evidence]({evidence}).\n",
        *(part for data in datasets for part in predictions_in_short(data)),
        *agreements_in_short(datasets, evidence),
        "## Claims, decided by evidence\n",
        "Where differences between our own runs, seed by seed, prove a claim it *holds*; in brackets: in how "
        "many rows it is true of the mean.\n",
        claims.glance(datasets),
    ]
    return "\n".join(part for part in parts if part)


INTRODUCTION = (
    "*Learning Temporal Attention in Dynamic Graphs with Bilinear Interactions* (Knyazev, Augusta, Taylor): "
    "ours as mean ± std over seeds, the published figure in brackets."
)


def scale(datasets: list[Measured]) -> str:
    """What the marks mean, and how many cells reach the published ones."""
    counts = [f"{name} {n} of {of}" for name, (n, of) in bounds.reached_counts(datasets).items() if of]
    if not counts:
        return NOT_THE_PAPERS
    return (
        f"✓: reached, that is {REACHED}. ✗: worse. Reached are: {', '.join(counts)}. The paper does not say "
        "of which interaction its AUCs are, so both are held against them."
    )


NOT_THE_PAPERS = "The data of this home are not the paper's: no published figure belongs beside ours."


def statistics_in_short(datasets: list[Measured]) -> str:
    """Whether the counts of Table 2 agree with the published ones."""
    rows = [(data.title, row) for data in datasets for row in data.table_2 if row["agrees"] is not None]
    if not rows:
        return ""
    agreeing = sum(row["agrees"] for _, row in rows)
    differing = [
        f"{title} has {row['value']:,} {row['statistic'].removeprefix('# ')}, published {row['published']:,}"
        for title, row in rows
        if not row["agrees"]
    ]
    return f"Table 2: {'; '.join([f'{agreeing} of {len(rows)} counts agree', *differing])}."


def predictions_in_short(data: Measured) -> list[str]:
    """Table 3 of a dataset: the paper's rows, and the two best-known predictors that learn nothing."""
    simple = {baseline_label(name) for name in (FREQUENCY, "online_recency")}

    def is_shown(line: Line) -> bool:
        printed = any(cell.published for group in line.groups for cell in group)
        return printed or data.paper is None or line.stub[0] in simple

    return [
        f"## Table 3: {data.title}\n",
        laid_out(data.printed_3, is_shown),
        papers_verdict(data),
    ]


def papers_verdict(data: Measured) -> str:
    """In a sentence whether a model of the paper beats what learns nothing; nothing where none is there.

    The second part has the models beyond the paper, so this one speaks of the paper's alone, none of which
    knows who acted.
    """
    cells = (row[f"{MAR.name}_{how}_mean"] for row in data.table_3 for how in PAPER_INTERACTIONS)
    best = best_of(MAR.lower_is_better, cells)
    counted = data.best_baseline(by_role=False)
    if best is None or counted is None:
        return ""
    return best_against_counting("model of the paper", best, counted) + "\n"


def agreements_in_short(datasets: list[Measured], evidence: str) -> list[str]:
    """Table 4 of all datasets as one, each with its first interaction; the evidence has every one."""
    shown = [data for data in datasets if data.table_4]
    if not shown:
        return []
    sections = [
        replace(section, title=f"{data.title}, {section.title}")
        for data in shown
        for section in data.printed_4.sections[:1]
    ]
    notes = " ".join(
        [*shown[0].printed_4.notes, f"Every interaction is on the page of [evidence]({evidence})."]
    )
    return ["## Table 4\n", laid_out(replace(shown[0].printed_4, sections=tuple(sections))), f"{notes}\n"]


def agreements(data: Measured) -> list[str]:
    """Table 4 of a dataset in full."""
    if not data.table_4:
        return []
    notes = [f"{note}\n" for note in data.printed_4.notes]
    return [f"## Table 4: {data.title}\n", laid_out(data.printed_4), *notes]


def evidence_text(datasets: list[Measured], sessions: list[Session], shown: Shown, page: str) -> str:
    """The page of evidence: how it was run, all rows, every difference behind a verdict, all figures."""
    titles = {data.name: data.title for data in datasets}
    parts = [
        evidence_head(page),
        "## How it was run\n",
        circumstances.completeness(datasets),
        circumstances.machine(sessions),
        circumstances.table_3_time(datasets, sessions),
        circumstances.settings(datasets),
        circumstances.training_times(datasets),
        "## Table 2: the data\n",
        laid_out(table_2([row for data in datasets for row in data.table_2], titles)),
        nodes_note(datasets),
        *(part for data in datasets for part in predictions(data, shown[data.name])),
        *(part for data in datasets for part in agreements(data)),
        *(part for data in datasets for part in learned_graphs(data, shown[data.name])),
        "## Claims\n",
        CLAIMS_NOTE,
        claims.section(datasets),
        "## Fig. 5: bilinear against wider concat\n",
        beyond_tables.wider_models(datasets),
        *(shown[data.name].get("curves", "") for data in datasets),
        *(part for data in datasets for part in association_graph_section(data, shown[data.name])),
        *(part for data in datasets for part in never_seen(data)),
        "## What the choice of epoch costs\n",
        HINDSIGHT_NOTE,
        *(part for data in datasets for part in (f"### {data.title}\n", hindsight.section(data))),
        "## Cells that miss their bound\n",
        missed(datasets),
    ]
    return "\n".join(part for part in parts if part)


def evidence_head(page: str) -> str:
    """What the page of evidence begins with."""
    return "\n".join(
        (
            HEAD,
            "# Evidence for the paper's results\n",
            f"What stands behind [the page of results]({page}).\n",
        )
    )


CLAIMS_NOTE = (
    "Each row compares two of our own models, or a model and a predictor that learns nothing, seed by seed "
    "on the same test events, with a 95 % t interval of the mean difference. A claim *holds* when every "
    "row's interval speaks for it (where all must, no correction is needed), *does not hold* when a row is "
    "decided against it by Holm's correction over its rows, and is *undecided* otherwise.\n"
)

HINDSIGHT_NOTE = (
    "The epoch is chosen on validation data, seed by seed. Below, for comparison only and **never used** for "
    "any other number, is test MAR after the epoch that is best on test data, and what not looking at it "
    "costs.\n"
)


def nodes_note(datasets: list[Measured]) -> str:
    """Why one count may differ from the published one."""
    differing = [
        data.title
        for data in datasets
        for row in data.table_2
        if row["statistic"] == "# nodes" and row["agrees"] is False
    ]
    return (
        f"The files of {', '.join(differing)} hold one subject more than the paper prints.\n"
        if differing
        else ""
    )


def predictions(data: Measured, shown: dict[str, str]) -> list[str]:
    """Table 3 of a dataset in full, with its figure."""
    return [f"## Table 3: {data.title}\n", shown.get("ranks", ""), laid_out(data.printed_3)]


def learned_graphs(data: Measured, shown: dict[str, str]) -> list[str]:
    """What stands behind Table 4 of a dataset: every edge type, and the learned graphs."""
    if not data.table_4:
        return []
    return [
        f"## The learned graph: {data.title}\n",
        "In Table 4 one edge type stands for a model, picked per seed by the final graph of the own "
        f"relation. AUC of each edge type with the final {data.own_relation} graph:\n",
        beyond_tables.edge_types(data),
        *(shown.get(shows, "") for shows in ("agreement", "adjacency")),
    ]


def association_graph_section(data: Measured, shown: dict[str, str]) -> list[str]:
    """Fig. 8 of a dataset: several association graphs to compare."""
    if len(claims.dyreps(data)) < 2:
        return []
    return [
        f"## Fig. 8: association graphs, {data.title}\n",
        beyond_tables.table_of_association_graphs(data),
        shown.get("associations", ""),
    ]


def never_seen(data: Measured) -> list[str]:
    """How models rank pairs with and without a past."""
    return [f"## Pairs never seen before: {data.title}\n", beyond_tables.seen_and_never_seen(data)]


def missed(datasets: list[Measured]) -> str:
    """The cells that are worse than published, with how far; the reasons are in the documentation."""
    rows = [[miss.where, miss.ours, miss.published, miss.distance] for miss in bounds.misses(datasets)]
    if not rows:
        return "None.\n"
    reasons = 'Reasons: `docs/model.md`, "Where published figures are not reached".\n\n'
    return reasons + table(["Cell", "ours", "published", "by how much"], rows, left=4)

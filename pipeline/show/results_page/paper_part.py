"""The first part of the results page: the paper's models, with summaries of Tables 2 to 4 and its claims."""

from dataclasses import replace

from pipeline.names import FREQUENCY, MAR, baseline_label
from pipeline.runs import Session
from pipeline.show.labels import REACHED
from pipeline.show.results_page.bounds import reached_counts
from pipeline.show.results_page.circumstances import circumstances_in_short
from pipeline.show.results_page.claims import claims_at_a_glance
from pipeline.show.results_page.markdown import markdown_of_printed
from pipeline.show.results_page.measured import Measured
from pipeline.show.results_page.parts import HEAD
from pipeline.show.tables import Line, best_against_counting, best_of
from pipeline.variants import PAPER_INTERACTIONS


def paper_text(datasets: list[Measured], sessions: list[Session], evidence: str) -> str:
    """Return the paper's part: summary, Tables 2 to 4 and the verdicts."""
    parts = [
        HEAD,
        "# The paper's results\n",
        f"{INTRODUCTION} {marks_and_counts(datasets)}\n",
        f"{circumstances_in_short(datasets, sessions).strip()} {table_2_in_short(datasets)} Every row, "
        f"interval, figure and circumstance is on the page of [evidence]({evidence}).\n",
        *(part for data in datasets for part in table_3_in_short(data)),
        *table_4_in_short(datasets, evidence),
        "## Claims, decided by evidence\n",
        "Where differences between our own runs, seed by seed, prove a claim it *holds*; in brackets: in how "
        "many rows it is true of the mean.\n",
        claims_at_a_glance(datasets),
    ]
    return "\n".join(part for part in parts if part)


INTRODUCTION = (
    "*Learning Temporal Attention in Dynamic Graphs with Bilinear Interactions* (Knyazev, Augusta, Taylor): "
    "ours as mean ± std over seeds, the published figure in brackets."
)


def marks_and_counts(datasets: list[Measured]) -> str:
    """Explain the marks and count the cells that reach the published ones."""
    counts = [f"{name} {n} of {of}" for name, (n, of) in reached_counts(datasets).items() if of]
    if not counts:
        return NOT_THE_PAPERS
    return (
        f"✓: reached, that is {REACHED}. ✗: worse. Reached are: {', '.join(counts)}. The paper does not say "
        "of which interaction its AUCs are, so both are held against them."
    )


NOT_THE_PAPERS = "The data of this home are not the paper's: no published figure belongs beside ours."


def table_2_in_short(datasets: list[Measured]) -> str:
    """Summarize the agreement of Table 2 with the published counts."""
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


def table_3_in_short(data: Measured) -> list[str]:
    """Return Table 3 of a dataset: the paper's rows, then frequency and the best baseline."""
    simple = {baseline_label(FREQUENCY)}
    if counted := data.best_baseline(by_role=False):
        simple.add(baseline_label(counted["baseline"], counted["relation"]))

    def is_shown(line: Line) -> bool:
        printed = any(cell.published for group in line.groups for cell in group)
        return printed or data.paper is None or line.stub[0] in simple

    return [
        f"## Table 3: {data.title}\n",
        markdown_of_printed(data.printed_3, is_shown),
        papers_verdict(data),
    ]


def papers_verdict(data: Measured) -> str:
    """Return a sentence on whether a model of the paper beats the best baseline; empty if unknown.

    Only the paper's models are considered; none is by role, so neither is the baseline.
    """
    cells = (row[f"{MAR.name}_{how}_mean"] for row in data.table_3 for how in PAPER_INTERACTIONS)
    best = best_of(MAR.lower_is_better, cells)
    counted = data.best_baseline(by_role=False)
    if best is None or counted is None:
        return ""
    return best_against_counting("model of the paper", best, counted) + "\n"


def table_4_in_short(datasets: list[Measured], evidence: str) -> list[str]:
    """Return Table 4 of all datasets as one, each with its first interaction only."""
    shown = [data for data in datasets if data.table_4]
    if not shown:
        return []
    sections = [
        replace(section, title=f"{data.title}, {section.title}")
        for data in shown
        for section in data.printed_4.sections[:1]
    ]
    notes = dict.fromkeys(note for data in shown for note in data.printed_4.notes)
    evidence_note = f"Every interaction is on the page of [evidence]({evidence})."
    return [
        "## Table 4\n",
        markdown_of_printed(replace(shown[0].printed_4, sections=tuple(sections))),
        f"{' '.join([*notes, evidence_note])}\n",
    ]

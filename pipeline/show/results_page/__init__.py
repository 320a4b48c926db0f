"""The page of the paper's results and its evidence, generated from a home's results."""

from dataclasses import replace
from pathlib import Path

from pipeline.lake import Lake
from pipeline.runs import read_sessions
from pipeline.show.results_page.beyond import beyond_evidence, beyond_section, datasets_with_rem
from pipeline.show.results_page.figures import write_page_figures
from pipeline.show.results_page.measured import read_measured
from pipeline.show.results_page.paper_evidence import evidence_head, paper_evidence
from pipeline.show.results_page.paper_part import paper_text
from pipeline.show.results_page.parts import read_parts, write_parts
from pipeline.show.results_page.places import evidence_of


def write_results_page(lake: Lake, page: Path) -> None:
    """Write the results page, its evidence page, and their figures in a folder of the page's name.

    Both pages have three parts: the paper's models, models beyond the paper, and following. A home updates
    the first two parts for which it has trainings and keeps the others. The same results give the same bytes.
    Raises FileNotFoundError without trained models.
    """
    datasets = read_measured(lake)
    if not datasets:
        raise FileNotFoundError(f"no model is trained on {lake.home}: `ldg run` makes them")
    evidence = evidence_of(page)
    first, behind = read_parts(page), read_parts(evidence)
    if any(data.has_papers_models for data in datasets) or not first.papers:
        sessions, shown = read_sessions(lake), write_page_figures(lake, datasets, page.with_suffix(""))
        first = replace(first, papers=paper_text(datasets, sessions, evidence.name))
        behind = replace(behind, papers=paper_evidence(datasets, sessions, shown, page.name))
    if trained := datasets_with_rem(datasets):
        first = replace(first, beyond=beyond_section(trained, evidence.name))
        behind = replace(behind, beyond=beyond_evidence(trained))
    write_parts(first, page)
    write_parts(replace(behind, papers=behind.papers or evidence_head(page.name)), evidence)

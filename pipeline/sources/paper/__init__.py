"""The paper's experiments as a home: its two data sets, its settings, every training behind its tables.

`prepare_papers_home(data, home, environment)` makes it; `is_the_papers(home)` checks that a home has the
paper's settings; `paper_trainings()` lists the trainings.
"""

from pipeline.sources.paper.experiments import paper_trainings
from pipeline.sources.paper.home import (
    FREE,
    GITHUB_FILES,
    GITHUB_TOML,
    PaperError,
    is_the_papers,
    papers_environment,
    prepare_papers_home,
)

__all__ = [
    "FREE",
    "GITHUB_FILES",
    "GITHUB_TOML",
    "PaperError",
    "is_the_papers",
    "paper_trainings",
    "papers_environment",
    "prepare_papers_home",
]

"""The paper's experiments as a home: its two data sets, its settings, every training behind its tables.

`prepare(data, home, environment)` makes it; `is_the_papers(home)` tells it from that of a trial;
`home_environment(home)` reads what is pinned there; `trainings()` lists what is trained.
"""

from pipeline.sources.paper.experiments import trainings
from pipeline.sources.paper.home import (
    FREE,
    GITHUB_FILES,
    GITHUB_TOML,
    PaperError,
    home_environment,
    is_the_papers,
    prepare,
)

__all__ = [
    "FREE",
    "GITHUB_FILES",
    "GITHUB_TOML",
    "PaperError",
    "home_environment",
    "is_the_papers",
    "prepare",
    "trainings",
]

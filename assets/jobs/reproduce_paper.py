"""The job `reproduce_paper`: the paper's experiments, by the launcher that `make reproduce` uses."""

import signal
import subprocess
import sys
from pathlib import Path

from dagster import Config, Failure, JobDefinition, OpExecutionContext, ResourceParam, job, op
from pydantic import Field

from assets.dagster_home import PROJECT
from pipeline.settings import Settings
from pipeline.sources.paper import is_the_papers, papers_environment

LONGEST_END = 60.0  # seconds in which the launcher keeps what is done


class PaperData(Config):
    """Where the paper's data are."""

    data: str = Field(
        "",
        description="The folder with github_2013 and social_evolution; may be left out where this home is "
        "that of the paper already.",
    )


@op
def reproduce(context: OpExecutionContext, config: PaperData, settings: ResourceParam[Settings]) -> None:
    """Make the paper's tables, figures and page on this home, as `ldg reproduce` does."""
    data = config.data or data_of_prepared_home(settings.home)
    command = [sys.executable, "-m", "assets", "--home", str(settings.home.resolve()), "reproduce", data]
    process = subprocess.Popen(  # noqa: S603 - this interpreter; a folder is an argument, not a command
        command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    last = ""
    try:
        for line in process.stdout:
            last = line.strip() or last
            context.log.info(line.rstrip())
        code = process.wait()
    finally:
        if process.poll() is None:  # the run was ended: the launcher ends, too, and keeps its checkpoints
            process.send_signal(signal.SIGINT)
            process.wait(LONGEST_END)
    if code:
        raise Failure(f"`ldg reproduce` ended with {code}: {last}")


def data_of_prepared_home(home: Path) -> str:
    """The folder that the job takes its data from: that of which the home was prepared, or an error."""
    if not is_the_papers(home):
        raise Failure(
            "This home is not that of the paper's experiments: name the folder with its data in the config "
            "(ops, reproduce, config, data), or start the UI on a home that `make reproduce` prepared."
        )
    source = (papers_environment(home) or {})["LDG_SOCIAL_EVOLUTION"]
    return str(Path(source).parents[1])


def reproduce_paper() -> JobDefinition:
    """The job."""

    @job(
        description="The paper's tables and figures from the paper's data, as `make reproduce` makes them: "
        "hours of training. Its runs are listed beside this one."
    )
    def reproduce_paper() -> None:
        reproduce()

    return reproduce_paper

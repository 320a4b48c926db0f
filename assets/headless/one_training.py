"""One training, in a process of its own that the headless run starts.

Its standard input is a pipe that its parent never writes to and holds open as long as it lives: when the pipe
ends, however the parent ended, so does this process. It also inherits the home's lock, so that no other
headless run starts before it is gone.
"""

import argparse
import os
import stat
import sys
from threading import Thread

import msgspec
from dagster import AssetKey, Definitions

from assets.headless.instance import instance_of
from assets.headless.side_by_side import STATE
from assets.headless.steps import Step, materialize
from assets.lanes.dataset import dataset_chain
from assets.settings_resource import settings_resource
from pipeline.progress import State, watched_by
from pipeline.settings import Settings
from pipeline.sources.registry import registry


def main() -> None:
    """Materialize one partition of a dataset's trained models; print what its checks warn of."""
    parser = argparse.ArgumentParser(
        prog="python -m assets.headless.one_training", description="One training of a headless run."
    )
    parser.add_argument("dataset")
    parser.add_argument("variant", help="for instance ldg_learned_sparse-bilinear")
    parser.add_argument("--tasks", type=int, default=1, help="into which its seeds are cut on a cluster")
    arguments = parser.parse_args()
    if not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        parser.error("is started by `python -m assets`, which holds the lock of the home")
    Thread(target=end_with_parent, daemon=True).start()
    settings = Settings.load()
    # Only this dataset's chain: what the whole system imports would take longer than a small training.
    (spec,) = (spec for spec in registry(settings) if spec.name == arguments.dataset)
    chain = Definitions(
        assets=dataset_chain(spec, settings), resources={"settings": settings_resource(settings)}
    )
    job = chain.resolve_implicit_global_asset_job_def()
    trained_models = AssetKey([arguments.dataset, "trained_models"])
    step = Step((trained_models,), arguments.variant, config={"tasks": arguments.tasks})
    status = 0
    try:
        with instance_of(settings) as instance, watched_by(tell):
            for warning in materialize(step, job, instance):
                print(warning)  # noqa: T201 - the parent shows it
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - the parent shows it
        status = 1
    # What training leaves behind makes DuckDB's bindings report themselves as leaked at a regular exit.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def tell(state: State) -> None:
    """Tell the parent how far the work is."""
    print(STATE + msgspec.json.encode(state).decode(), flush=True)  # noqa: T201 - the parent shows it


def end_with_parent() -> None:
    """Wait for the end of standard input, then end this process on the spot; checkpoints stay."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()

"""`python -m model.large`: compile the engine ahead of time into numba's cache on disk."""

from datetime import datetime

import numpy as np

from model.epochs import learn_batch
from model.identity import TrainingSettings
from model.large import rule
from model.run import new_run
from model.stream import Stream
from pipeline.variant_names import BILINEAR
from pipeline.variants import DYREP, Variant


def main() -> None:
    """Compile the engine by training on two events of four nodes, with the size threshold set to 0."""
    stream = Stream(
        name="compiling",
        fingerprint="",
        nodes=4,
        u=np.zeros(2, np.int64),
        v=np.ones(2, np.int64),
        k=np.arange(2),
        seconds=np.arange(2.0),
        start=datetime(2013, 1, 1),
        idx=np.arange(2),
        splits=(1, 2),
        associations=np.empty((0, 2), np.int64),
        features=None,
    )
    rule.LARGE = 0
    learn_batch(new_run(stream, Variant(DYREP, BILINEAR), TrainingSettings(seeds=(0,))), len(stream))


if __name__ == "__main__":
    main()

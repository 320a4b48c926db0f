"""Entry point of `python -m model.history`: compile the statistics before they are needed."""

from dataclasses import replace
from datetime import datetime
from itertools import product

import numpy as np

from model.history.events import Events
from model.history.own import OwnColumns
from model.history.reading import Pass
from model.stream import Stream


def main() -> None:
    """Compile the statistics: read and query a few events, with and without roles and own columns."""
    events = 4
    stream = Stream(
        name="compiling",
        fingerprint="",
        nodes=3,
        u=np.zeros(events, np.int64),
        v=np.ones(events, np.int64),
        k=np.ones(events, np.int64),
        seconds=np.arange(events, dtype=np.float64),
        start=datetime(2013, 1, 1),
        idx=np.arange(events),
        splits=(2, 3),
        associations=np.empty((0, 2), np.int64),
        features=None,
    )
    ties = np.array([[0, 1]])
    plain = Events(stream, ("event",), np.zeros(events, np.int64), ties, 0.0, 0.0)
    columns = OwnColumns(("amount",), ("price",), np.zeros((events, 1)), np.zeros((stream.nodes, 1)))
    for read, by_role in product((plain, replace(plain, own=columns)), (True, False)):
        reading = Pass(read, by_role=by_role)
        reading.read(events, np.array([2]), np.ones((1, 2, 2), np.int64))
        reading.ask(0, float(events))


if __name__ == "__main__":
    main()

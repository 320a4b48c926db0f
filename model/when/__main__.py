"""`python -m model.when`: compile the pass over waits before it is needed; done once, it takes no time."""

import numpy as np

from model.when.memory import remember
from pipeline.results.waits import waits_between


def main() -> None:
    """Follow a few waits."""
    waits = waits_between(np.array([0, 1, 0, 1]), np.arange(4.0), 4.0)
    remember(waits, waits.node[::-1].copy(), np.array([0, 1, 0, 1]), 2, 2, np.array([0.0, 1.0, 60.0]), 0.0)


if __name__ == "__main__":
    main()

"""Detection of events that are copies of events in another file, by the files' keys alone."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pipeline.sources.gharchive.reading import IGNORED, KEPT, QUARANTINED


@dataclass(frozen=True)
class Holding:
    """Identities, (2, events) each, of a file's readable events and of its quarantined ones."""

    read: np.ndarray
    unread: np.ndarray


@dataclass(frozen=True)
class Copies:
    """Events of a reading that belong to another file: rows of its two tables, number of ignored events."""

    kept: np.ndarray
    ignored: int
    quarantined: np.ndarray


def holding(keys: np.ndarray) -> Holding:
    """Split the keys of a reading into identities of readable and of quarantined events."""
    is_unread = keys[2] == QUARANTINED
    return Holding(keys[:2, ~is_unread], keys[:2, is_unread])


def copies_elsewhere(
    readings: Iterable[np.ndarray], before: list[Holding], after: list[Holding]
) -> list[Copies]:
    """Find, for the keys of each reading of a day in order, the events that belong to another file.

    An event belongs to the earliest file in which it is readable, or else to the earliest that has it.
    `before` and `after` are the files around the day. Readings may be loaded one by one: only their
    identities stay in memory.
    """
    holdings = list(before)
    rows_unread = []
    copies_read = []
    for keys in readings:
        fate, row = keys[2:]
        is_unread = fate == QUARANTINED
        held = _among(keys[:2, ~is_unread], [other.read for other in holdings])
        fate, row, row_unread = fate[~is_unread][held], row[~is_unread][held], row[is_unread]
        copies_read.append((row[fate == KEPT], int(np.count_nonzero(fate == IGNORED))))
        rows_unread.append(row_unread)
        holdings.append(holding(keys))
    read_anywhere = [other.read for other in (*holdings, *after)]
    copies = []
    read_and_unread = zip(copies_read, rows_unread, strict=True)
    for at, ((event_rows, ignored), unread_rows) in enumerate(read_and_unread, len(before)):
        earlier = [other.unread for other in holdings[:at]]
        held = _among(holdings[at].unread, [*read_anywhere, *earlier])
        copies.append(Copies(event_rows, ignored, unread_rows[held]))
    return copies


def _among(identities: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """Return one boolean per identity: whether any of the others contains it."""
    held = np.zeros(identities.shape[1], dtype=bool)
    for other in others:
        if other.shape[1] and len(held):
            at = np.minimum(np.searchsorted(other[0], identities[0]), other.shape[1] - 1)
            held |= (other[:, at] == identities).all(axis=0)
    return held

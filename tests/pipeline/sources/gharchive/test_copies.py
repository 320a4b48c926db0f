"""Which copy counts: held against the rule, written out plainly."""

import random

import numpy as np

from pipeline.sources.gharchive.copies import copies_elsewhere, holding
from pipeline.sources.gharchive.reading import IGNORED, KEPT, QUARANTINED


def keys_of(fates):
    """The keys of a file that holds events by number, each with its fate."""
    numbers = sorted(fates)
    rows = {fate: [number for number in numbers if fates[number] == fate] for fate in range(3)}
    at = [rows[fates[number]].index(number) for number in numbers]
    words = [numbers, [number * 7 for number in numbers], [fates[number] for number in numbers], at]
    return np.array(words, dtype=np.uint64).reshape(4, -1)


def owner(number, files):
    """The place of the file that an event belongs to."""
    holders = [at for at, fates in enumerate(files) if number in fates]
    readers = [at for at in holders if files[at][number] != QUARANTINED]
    return (readers or holders)[0]


def test_an_event_belongs_to_the_earliest_file_in_which_it_can_be_read():
    for seed in range(300):
        rng = random.Random(seed)
        files = [
            {
                number: rng.choice([KEPT, IGNORED, QUARANTINED])
                for number in rng.sample(range(12), rng.randrange(9))
            }
            for _ in range(6)
        ]
        keys = [keys_of(fates) for fates in files]
        copies = copies_elsewhere(iter(keys[1:-1]), [holding(keys[0])], [holding(keys[-1])])
        for at, copy in enumerate(copies, 1):
            elsewhere = [number for number in files[at] if owner(number, files) != at]
            # The day after is asked only about what could not be read.
            lost = {fate: sum(files[at][number] == fate for number in elsewhere) for fate in range(3)}
            assert (len(copy.kept), copy.ignored, len(copy.quarantined)) == tuple(lost.values()), seed
            by_row = sorted(number for number in files[at] if files[at][number] == KEPT)
            assert {by_row[int(row)] for row in copy.kept} <= set(elsewhere)


def test_nothing_is_a_copy_where_there_is_nothing():
    assert copies_elsewhere(iter([]), [], []) == []
    (copies,) = copies_elsewhere(iter([keys_of({})]), [], [])
    assert (len(copies.kept), copies.ignored, len(copies.quarantined)) == (0, 0, 0)

"""Events per account, counted in chunks ("stretches") and merged, with the memory of one stretch.

A stretch is a day, or several small ones in a row. There are two passes. The first counts every account's
events (`count_stretch`); `merge_counts` sums the stretches and selects the candidates that no rule removes.
The second counts only the candidates' events (`count_pairs`), with an event archived in several files counted
once. Copies of an event have the same time: if no other stretch has events of their hour, all copies are in
one. Events of shared hours, a few, are set aside, and `merge_pairs` counts them together.

Each task reads a stretch's files and writes its own output, so stretches can be counted anywhere and in any
order. Candidates are numbered by login: a pair of numbers takes eight bytes, two names forty.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from pipeline.lake import new_folder, replacing
from pipeline.sources.gharchive.database import copy_statement, database, literal_path, query_frame

STRETCH_BYTES = 100_000_000  # of Parquet: some two million events


@dataclass(frozen=True)
class Thresholds:
    """Exclusion rules, in this order: bot login, too few communications, too few associations."""

    bots: str
    communications: int
    associations: int

    @property
    def reasons(self) -> list[str]:
        """The rules in words."""
        return [
            "bot",
            f"fewer than {self.communications} communications",
            f"fewer than {self.associations} associations",
        ]

    @property
    def parameters(self) -> dict[str, object]:
        """The query parameters of `REASON`."""
        bot, few_communications, few_associations = self.reasons
        return {
            "bots": self.bots,
            "bot": bot,
            "min_communications": self.communications,
            "few_communications": few_communications,
            "min_associations": self.associations,
            "few_associations": few_associations,
        }


def stretches(days: Iterable[Sequence[Path]]) -> list[list[Path]]:
    """Group the files of days into stretches, each of one day or of `STRETCH_BYTES` at most."""
    parts: list[list[Path]] = []
    room = 0
    for files in days:
        size = sum(file.stat().st_size for file in files)
        if not parts or size > room:
            parts.append([])
            room = STRETCH_BYTES
        parts[-1] += files
        room -= size
    return parts


def count_stretch(files: Sequence[Path], counts: Path, threads: int | None) -> set[datetime]:
    """Write each account's counts in these files to `counts`; return the hours that have events."""
    with replacing(counts) as temporary, database(threads) as connection:
        paths = list(map(literal_path, files))
        connection.execute(copy_statement(COUNT_ACCOUNTS, temporary), {"files": paths})
        return {hour for (hour,) in connection.execute(HOURS, {"files": paths}).fetchall()}


def shared_hours(hours_of_stretches: Iterable[set[datetime]]) -> list[datetime]:
    """Return the hours in which more than one stretch has events, in order."""
    times = Counter(hour for hours in hours_of_stretches for hour in hours)
    return sorted(hour for hour, many in times.items() if many > 1)


def merge_counts(
    counts: Sequence[Path], thresholds: Thresholds, candidates: Path, threads: int | None
) -> dict[str, int]:
    """Sum stretches, write the numbered `candidates`, and return the number of accounts removed by rule."""
    parameters = {"counts": list(map(literal_path, counts)), **thresholds.parameters}
    with replacing(candidates) as temporary, database(threads) as connection:
        connection.execute(MERGE_COUNTS, parameters)
        connection.execute(copy_statement(CANDIDATES, temporary))
        return dict(connection.execute(REMOVED.format(table="merged")).fetchall())


def count_pairs(
    files: Sequence[Path], candidates: Path, shared: Sequence[datetime], folder: Path, threads: int | None
) -> None:
    """Write the counts of candidates in these files to `folder`, which must be new.

    `pairs.parquet` has u, v (null: not a candidate) and both counts; `logins.parquet` each candidate's latest
    spelling and its time. Events in `shared` hours are in neither, but uncounted in `aside.parquet`.
    """
    with new_folder(folder) as temporary, database(threads) as connection:
        paths = list(map(literal_path, files))
        connection.execute(CHOOSE_EVENTS, {"files": paths, "candidates": literal_path(candidates)})
        hours = {"hours": list(shared)}
        connection.execute(copy_statement(SET_ASIDE, temporary / "aside.parquet"), hours)
        connection.execute(f"DELETE FROM chosen WHERE {SHARED}", hours)  # noqa: S608 - own text
        connection.execute(copy_statement(COUNT_PAIRS, temporary / "pairs.parquet"))
        connection.execute(copy_statement(LOGINS, temporary / "logins.parquet"))


def merge_pairs(
    folders: Sequence[Path], candidates: Path, thresholds: Thresholds, threads: int | None
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    """Return the qualified accounts, the counts of their pairs, and the number of accounts removed by rule.

    The first has number, key, login and both counts, by number; the second u and v (numbers) and both counts.
    """
    with database(threads) as connection:
        for name in ("pairs", "logins", "aside"):
            parts = [literal_path(folder / f"{name}.parquet") for folder in folders]
            connection.execute(f"SET VARIABLE {name} = $parts", {"parts": parts})
        connection.execute("CREATE TABLE chosen AS SELECT DISTINCT * FROM read_parquet(getvariable('aside'))")
        connection.execute(MERGE_PAIRS)
        connection.execute(JUDGE, {"candidates": literal_path(candidates), **thresholds.parameters})
        removed = connection.execute(REMOVED.format(table="judged")).fetchall()
        return query_frame(connection, QUALIFIED), query_frame(connection, PAIRS_AMONG), dict(removed)


COUNT_ACCOUNTS = """
SELECT key, count_if(kind = 'communication') AS communications, count_if(kind = 'association') AS associations
FROM (
    SELECT lower(actor) AS key, CASE WHEN lower(actor) <> lower(counterpart) THEN kind END AS kind
    FROM read_parquet($files, hive_partitioning = false)
    WHERE actor IS NOT NULL
)
GROUP BY key
"""

HOURS = """
SELECT DISTINCT date_trunc('hour', created_at) FROM read_parquet($files, hive_partitioning = false)
"""

REASON = """
CASE
    WHEN regexp_full_match(key, $bots) THEN $bot
    WHEN communications < $min_communications THEN $few_communications
    WHEN associations < $min_associations THEN $few_associations
END
"""

# Removed accounts need no name.
MERGE_COUNTS = f"""
CREATE TABLE merged AS
SELECT CASE WHEN reason IS NULL THEN key END AS key, reason
FROM (
    SELECT key, {REASON} AS reason
    FROM (
        SELECT key, sum(communications) AS communications, sum(associations) AS associations
        FROM read_parquet($counts, hive_partitioning = false)
        GROUP BY key
    )
)
"""  # noqa: S608 - own text

CANDIDATES = """
SELECT (row_number() OVER (ORDER BY key) - 1)::UINTEGER AS number, key FROM merged WHERE reason IS NULL
"""

REMOVED = "SELECT reason, count(*) FROM {table} WHERE reason IS NOT NULL GROUP BY reason"

CHOOSE_EVENTS = """
CREATE TABLE chosen AS
WITH candidates AS (SELECT number, key FROM read_parquet($candidates, hive_partitioning = false))
SELECT events.*, other.number AS v
FROM (
    SELECT DISTINCT type, event_id, created_at, kind, actor, number AS u, lower(counterpart) AS counterpart
    FROM read_parquet($files, hive_partitioning = false)
    JOIN candidates ON lower(actor) = key
    WHERE lower(actor) <> lower(counterpart)
) events
LEFT JOIN candidates other ON other.key = events.counterpart
"""

SHARED = "list_contains($hours, date_trunc('hour', created_at))"

SET_ASIDE = f"SELECT * FROM chosen WHERE {SHARED}"  # noqa: S608 - own text

COUNT_PAIRS = """
SELECT u, v, count_if(kind = 'communication')::UINTEGER AS communications,
       count_if(kind = 'association')::UINTEGER AS associations
FROM chosen GROUP BY u, v
"""

LOGINS = "SELECT u, max({'at': created_at, 'login': actor}) AS spelled FROM chosen GROUP BY u"

MERGE_PAIRS = f"""
CREATE TABLE pairs AS
SELECT u, v, sum(communications)::UINTEGER AS communications, sum(associations)::UINTEGER AS associations
FROM (SELECT * FROM read_parquet(getvariable('pairs')) UNION ALL {COUNT_PAIRS})
GROUP BY u, v
"""  # noqa: S608 - own text

JUDGE = f"""
CREATE TABLE judged AS
SELECT number, key, communications, associations, {REASON} AS reason
FROM (
    SELECT number, key, coalesce(sum(communications), 0)::BIGINT AS communications,
           coalesce(sum(associations), 0)::BIGINT AS associations
    FROM read_parquet($candidates, hive_partitioning = false) LEFT JOIN pairs ON u = number
    GROUP BY number, key
)
"""  # noqa: S608 - own text

QUALIFIED = f"""
SELECT number, key, coalesce(spelled.login, key) AS login, communications, associations
FROM judged
LEFT JOIN (
    SELECT u, max(spelled) AS spelled
    FROM (SELECT * FROM read_parquet(getvariable('logins')) UNION ALL {LOGINS})
    GROUP BY u
) ON u = number
WHERE reason IS NULL
ORDER BY number
"""  # noqa: S608 - own text

PAIRS_AMONG = """
SELECT u, v, communications, associations FROM pairs
WHERE u IN (SELECT number FROM judged WHERE reason IS NULL)
  AND v IN (SELECT number FROM judged WHERE reason IS NULL)
"""

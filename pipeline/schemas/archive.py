"""Tables of the archive: hour files, their events, quarantined input, and the subnetwork's accounts."""

import polars as pl

from pipeline.schemas.columns import KIND
from pipeline.schemas.table import COUNT, SMALL, TEXT, TIME, Column, Table

GHARCHIVE_FILES = Table(
    "gharchive_files",
    "One row per hour file of the archive, with what became of its events.",
    (
        Column("file", TEXT, "name of the hour file"),
        Column("day", pl.Date, "the day in its name"),
        Column("hour", SMALL, "the hour in its name"),
        Column("status", TEXT, "`ok`, `missing`, `damaged` or `failed`"),
        Column("bytes", COUNT, "size of the file"),
        Column("etag", TEXT, "the archive's own hash"),
        Column(
            "events", COUNT, "what the file held: always `kept` + `ignored` + `duplicates` + `quarantined`"
        ),
        Column("kept", COUNT, "events of a type that counts"),
        Column("ignored", COUNT, "events of other types, and of accounts with themselves"),
        Column("duplicates", COUNT, "events that came before"),
        Column("quarantined", COUNT, "what could not be read"),
        Column("fetched_at", TIME, "when it was fetched (UTC)"),
    ),
)
GITHUB_EVENTS = Table(
    "github_events",
    "One row per normalized event of the archive (a view over Parquet).",
    (
        Column("event_id", TEXT, "the archive's id, or a stable hash where it has none"),
        Column("type", TEXT, "for instance Push"),
        KIND,
        Column("actor", TEXT, "login of the account that acted"),
        Column("actor_id", COUNT, "its number, where known"),
        Column("counterpart", TEXT, "login of the account it acted upon"),
        Column("repo", TEXT, "the repository"),
        Column("created_at", TIME, "when (UTC)"),
        Column("file", TEXT, "the hour file it came from"),
    ),
)
QUARANTINE = Table(
    "quarantine",
    "One row per piece of an hour file that could not be read (a view over Parquet).",
    (
        Column("file", TEXT, "name of the hour file"),
        Column("offset", COUNT, "where the piece begins, in bytes of the decompressed file"),
        Column("reason", TEXT, "why it could not be read"),
        Column("bytes", COUNT, "its length"),
        Column("excerpt", TEXT, "its beginning"),
    ),
)
SUBNETWORK = Table(
    "subnetwork",
    "One row per account of the archive's dense subnetwork, with what it started in the window.",
    (
        Column("login", TEXT, "the account, as it was last spelled"),
        Column("communications", COUNT, "communications it started"),
        Column("associations", COUNT, "associations it started"),
        Column("network_communications", COUNT, "those of its communications towards other members"),
        Column("network_associations", COUNT, "those of its associations towards other members"),
    ),
)

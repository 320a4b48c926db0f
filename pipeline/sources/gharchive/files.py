"""The note on an hour's file (`.known.json`), stored beside it, and the paths of both in the lake."""

import hashlib
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

import msgspec

from pipeline.lake import Lake, write_json
from pipeline.sources.gharchive.hours import file_name
from pipeline.sources.gharchive.inflate import MAGIC

Status = Literal["ok", "missing", "damaged", "failed"]


@dataclass(frozen=True)
class HourFile:
    """The note on an hour's file: `ok` (verified), `missing` for good, or `failed` for now."""

    day: date
    hour: int
    status: Status
    reason: str = ""
    bytes: int | None = None
    etag: str | None = None
    md5: str | None = None
    fetched_at: datetime | None = None  # naive UTC; for an absent file, the last request

    def __post_init__(self) -> None:
        if self.status == "ok" and (self.bytes is None or self.bytes < 0 or self.md5 is None):
            raise ValueError(f"{self.name} is ok, so its size and MD5 must be given")

    @property
    def name(self) -> str:
        """The file's name in the archive."""
        return file_name(self.day, self.hour)


note_decoder = msgspec.json.Decoder(HourFile)


def raw_folder(lake: Lake, day: date) -> Path:
    """Return the folder of a day's hour files."""
    return lake.gharchive_raw / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}"


def raw_path(lake: Lake, day: date, hour: int) -> Path:
    """Return the path of an hour's file."""
    return raw_folder(lake, day) / file_name(day, hour)


def smaller_path(lake: Lake, day: date, hour: int) -> Path:
    """Return the path beside an hour at which a replacement with fewer events is kept."""
    raw = raw_path(lake, day, hour)
    return raw.with_name(f"{raw.name}.smaller")


def knowledge_path(lake: Lake, day: date, hour: int) -> Path:
    """Return the path of the note on an hour's file."""
    return raw_folder(lake, day) / f"{file_name(day, hour)}.known.json"


def store_knowledge(lake: Lake, file: HourFile) -> None:
    """Store the note on an hour's file beside it."""
    values = asdict(file)
    values["day"] = file.day.isoformat()
    values["fetched_at"] = file.fetched_at.isoformat() if file.fetched_at else None
    write_json(values, knowledge_path(lake, file.day, file.hour))


def load_knowledge(lake: Lake, day: date, hour: int) -> HourFile | None:
    """Return the note on an hour's file, or None; for a file put there by hand, a new one (not stored).

    An unreadable note counts as absent. A file that does not begin as gzip is `failed`.
    """
    path, note = raw_path(lake, day, hour), stored_note(lake, day, hour)
    if not path.exists():
        return note
    facts = path.stat()
    changed = datetime.fromtimestamp(facts.st_mtime, UTC).replace(tzinfo=None)
    with path.open("rb") as file:
        begin = file.read(len(MAGIC))
    if begin != MAGIC:
        what = f"begins with {begin!r}, not gzip" if begin else "is empty"
        return HourFile(day, hour, "failed", f"the file in the lake {what}", fetched_at=changed)
    if note is not None and note.status == "ok":
        # A file newer than its note was put there by hand, or by a fetch killed before it wrote the note.
        if (
            note.bytes == facts.st_size
            and facts.st_mtime_ns <= knowledge_path(lake, day, hour).stat().st_mtime_ns
        ):
            return note
        digest = md5_of(path)
        return note if digest == note.md5 else replace(note, bytes=facts.st_size, md5=digest, etag=None)
    return HourFile(day, hour, "ok", bytes=facts.st_size, md5=md5_of(path), fetched_at=changed)


def stored_note(lake: Lake, day: date, hour: int) -> HourFile | None:
    """Read the note beside an hour's file; None if it is absent, malformed or about another hour."""
    try:
        file = note_decoder.decode(knowledge_path(lake, day, hour).read_bytes())
    except (FileNotFoundError, msgspec.MsgspecError, RecursionError):
        return None
    return file if (file.day, file.hour) == (day, hour) else None


def md5_of(path: Path) -> str:
    """Return the MD5 of a file in hexadecimal, as in the archive's ETags."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()

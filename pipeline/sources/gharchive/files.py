"""What is known of an hour's file, stored beside it, and where its parts are kept in the lake."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from pipeline.lake import Lake, write_json
from pipeline.sources.gharchive.hours import file_name

Status = Literal["ok", "missing", "damaged", "failed"]


@dataclass(frozen=True)
class HourFile:
    """What is known of an hour's file: `ok` (verified), `missing` for good, or `failed` for now."""

    day: date
    hour: int
    status: Status
    reason: str = ""
    bytes: int | None = None
    etag: str | None = None
    md5: str | None = None
    fetched_at: datetime | None = None  # naive UTC; of a file not had, when it was last asked for

    @property
    def name(self) -> str:
        """The file's name in the archive."""
        return file_name(self.day, self.hour)


def raw_folder(lake: Lake, day: date) -> Path:
    """Folder of one day's hour files."""
    return lake.gharchive_raw / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}"


def raw_path(lake: Lake, day: date, hour: int) -> Path:
    """Where an hour's file is kept."""
    return raw_folder(lake, day) / file_name(day, hour)


def knowledge_path(lake: Lake, day: date, hour: int) -> Path:
    """Where what is known of an hour's file is kept."""
    return raw_folder(lake, day) / f"{file_name(day, hour)}.known.json"


def store_knowledge(lake: Lake, file: HourFile) -> None:
    """Store what is known of an hour's file beside it."""
    values = asdict(file)
    values["day"] = file.day.isoformat()
    values["fetched_at"] = file.fetched_at.isoformat() if file.fetched_at else None
    write_json(values, knowledge_path(lake, file.day, file.hour))


def load_knowledge(lake: Lake, day: date, hour: int) -> HourFile | None:
    """What is known of an hour's file, or None; a file put there by hand is looked at and becomes known."""
    path, known = raw_path(lake, day, hour), knowledge_path(lake, day, hour)
    if known.exists():
        values = json.loads(known.read_text(encoding="utf-8"))
        fetched_at = values["fetched_at"]
        values |= {"day": day, "fetched_at": datetime.fromisoformat(fetched_at) if fetched_at else None}
        file = HourFile(**values)
        if file.status == "ok" and path.exists() and path.stat().st_size != file.bytes:
            return replace(file, bytes=path.stat().st_size, md5=md5_of(path), etag=None)
        if file.status == "ok" or not path.exists():
            return file
    if not path.exists():
        return None
    facts = path.stat()
    changed = datetime.fromtimestamp(facts.st_mtime, UTC).replace(tzinfo=None)
    return HourFile(day, hour, "ok", bytes=facts.st_size, md5=md5_of(path), fetched_at=changed)


def md5_of(path: Path) -> str:
    """MD5 of a file's bytes, as the archive's ETags have it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()

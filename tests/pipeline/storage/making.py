"""Homes that hold something to share, and what of it is in a home or in a bucket."""

from datetime import date
from pathlib import Path

from pipeline.storage.bucket import Bucket
from pipeline.storage.things import trained_model

DAY = date(2015, 1, 2)
MODEL = trained_model("github", "dyrep-bilinear")
FOLDER = "models/github/dyrep-bilinear"


def train(home: Path, text: str, files: tuple[str, ...] = ("weights.safetensors", "curves.parquet")) -> None:
    """A finished training as far as storage goes."""
    (home / FOLDER).mkdir(parents=True, exist_ok=True)
    for name in (*files, "model.json"):
        (home / FOLDER / name).write_text(f"{text} {name}")


def read(home: Path, day_of: date = DAY, text: str = "rows", parts: tuple[int, ...] = (0, 1)) -> None:
    """A day that was fetched and read, as far as storage goes."""
    raw = home / f"raw/gharchive/{day_of:%Y/%m/%d}"
    for path in (
        *(raw / f"{day_of}-{hour}.json.gz" for hour in parts),
        *(raw / f"{day_of}-{hour}.json.gz.known.json" for hour in parts),
        *(raw / f"readings/{hour}-aaaa/events.parquet" for hour in parts),
        *(home / f"events/github/date={day_of}/{hour:02d}.parquet" for hour in parts),
        home / f"accounts/github/date={day_of}.parquet",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text} {path.name}")


def contents(home: Path) -> dict[str, bytes]:
    """Every file of a home but what it remembers of the storage."""
    files = (path for path in home.rglob("*") if path.is_file())
    data_of = {path.relative_to(home).as_posix(): path.read_bytes() for path in files}
    return {path: data for path, data in data_of.items() if not path.startswith("storage/")}


def objects(bucket: Bucket) -> dict[str, bytes]:
    """Every object but the seals."""
    stored = {key: bucket.find(key) for key in bucket.list("") if not key.startswith("seals/")}
    return {key: one.data for key, one in stored.items() if one is not None}

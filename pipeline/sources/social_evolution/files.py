"""The five Social Evolution files as checked plain CSV, from a zip, a folder or a URL."""

import bz2
import csv
import gzip
import json
import tempfile
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from pipeline.lake import Lake, file_sha256, own_suffix, write_json
from pipeline.locks import hold
from pipeline.sources.download import (
    Arrival,
    DownloadError,
    DownloadSettings,
    Part,
    Sessions,
    TryAgainError,
    download,
)
from pipeline.sources.urls import address_of, check_url, is_url, shown_address

BY_HAND = "http://realitycommons.media.mit.edu/socialevolution.html"
REQUIRED_COLUMNS = {
    "Calls": ("user_id", "time_stamp", "dest_user_id_if_known"),
    "SMS": ("user_id", "time", "dest_user_id_if_known"),
    "Proximity": ("user_id", "remote_user_id_if_known", "time", "prob2"),
    "RelationshipsFromSurveys": ("id_a", "id_b", "relationship", "survey_date"),
    "Subjects": ("user_id", "year_school", "floor"),
}
CHUNK = 1 << 20
# A decompressed file larger than this, or one that grows by more than this factor, is taken for a bomb. The
# full Proximity file is a few hundred megabytes and such text compresses some twenty-fold.
LARGEST_FILE = 4 << 30
LARGEST_GROWTH = 200
DOWNLOADING = DownloadSettings(attempts=4, largest=LARGEST_FILE)
LONGEST_DOWNLOAD = 3600.0  # seconds to wait for another process that downloads


@dataclass(frozen=True)
class SocialEvolutionFiles:
    """The five files as plain CSV in one folder, and where they came from."""

    folder: Path
    source: str  # an address without user, password and query
    sha256: dict[str, str]
    address: str = ""  # digest of a download's URL, to recognize it

    def path(self, name: str) -> Path:
        """Return the path of the file called `name` in `REQUIRED_COLUMNS`."""
        return self.folder / f"{name}.csv"


def fetch_social_evolution(
    source: str,
    lake: Lake,
    terms_accepted: bool,
    log: Callable[[str], None] | None = None,
    settings: DownloadSettings = DOWNLOADING,
) -> SocialEvolutionFiles:
    """Bring the five files from `source` (a zip, a folder or a URL of a zip) into the lake as plain CSV.

    A URL is downloaded once, and only when the data's terms are accepted. Previous files stay until all five
    new files are found, unpacked and have their columns.
    """
    if not source.strip():
        raise ValueError(
            "no Social Evolution source is set (LDG_SOCIAL_EVOLUTION); it takes a zip, a folder or a URL of "
            f"a zip. The data can be had at {BY_HAND}"
        )
    folder = lake.social_evolution_raw
    if is_url(source):
        if not terms_accepted:
            raise PermissionError(
                f"Social Evolution is not downloaded: its terms are not accepted. Read them at {BY_HAND}; "
                "then set LDG_SOCIAL_EVOLUTION_TERMS_ACCEPTED=yes, or get the files there by hand and give "
                "their folder or zip"
            )
        check_url(source, "the Social Evolution source (LDG_SOCIAL_EVOLUTION)")
        stored = stored_files(folder)
        if stored is not None and stored.address == address_of(source):
            write_record_of_files(stored)
            return stored
        return fetch_url(source, lake, settings, log)
    path = Path(source).expanduser()
    if not path.exists():
        raise FileNotFoundError(
            f"Social Evolution source {shown_address(source)!r} (LDG_SOCIAL_EVOLUTION) does not exist; it "
            f"takes a zip, a folder or a URL. The data can be had at {BY_HAND}"
        )
    return keep(path, source, folder)


def read_social_evolution(lake: Lake) -> SocialEvolutionFiles:
    """Return the files of a finished fetch in the lake; raise if one is missing or changed."""
    stored = stored_files(lake.social_evolution_raw)
    if stored is None:
        raise FileNotFoundError(
            f"no complete Social Evolution files in {lake.social_evolution_raw}: "
            "build social_evolution_files again"
        )
    return stored


def stored_files(folder: Path) -> SocialEvolutionFiles | None:
    """Return the files that `source.json` in `folder` describes; None if one is missing or changed."""
    record = folder / "source.json"
    if not record.exists():
        return None
    values = json.loads(record.read_text(encoding="utf-8"))
    source = values["source"]
    address = values.get("address") or (address_of(source) if is_url(source) else "")
    files = SocialEvolutionFiles(folder, shown_address(source), values["sha256"], address)
    whole = all(
        files.path(name).exists() and file_sha256(files.path(name)) == files.sha256.get(name)
        for name in REQUIRED_COLUMNS
    )
    return files if whole else None


def fetch_url(
    url: str, lake: Lake, settings: DownloadSettings, log: Callable[[str], None] | None
) -> SocialEvolutionFiles:
    """Download the zip at `url` and keep its files; an error says how to proceed by hand."""
    trouble, folder = "", lake.social_evolution_raw
    lock = lake.lock("fetches", "social_evolution")
    with hold(lock, "Social Evolution is being downloaded", "a download", LONGEST_DOWNLOAD, log):
        part = Part(folder / "download.zip")
        try:
            download(url, part, Sessions(settings), ZipExaminer(part))
        except DownloadError as error:
            trouble = str(error)
            part.clear_unless_resumable()
        else:
            if log is not None:
                log(f"downloaded {part.size:,} bytes from {shown_address(url)}")
            try:
                return keep(part.path, url, folder)
            finally:
                part.clear()
    raise ConnectionError(
        f"Social Evolution could not be downloaded from {shown_address(url)}: {trouble}. Get it by hand at "
        f"{BY_HAND} and give its folder or zip"
    )


class ZipExaminer:
    """Acceptance check for a whole zip, recognized by the table of contents at its end."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def begin(self, hashed: bool) -> None:
        """Do nothing."""

    def feed(self, piece: bytes) -> None:
        """Do nothing: a zip can be checked only at its end."""

    def end(self, arrival: Arrival) -> None:
        """Raise `TryAgainError` unless the file is a whole zip."""
        if not zipfile.is_zipfile(self.part.path):
            with self.part.path.open("rb") as file:
                begin = file.read(20)
            raise TryAgainError(
                f"{arrival.bytes:,} bytes came that are not a whole zip and begin with {begin!r}"
            )


def keep(path: Path, source: str, folder: Path) -> SocialEvolutionFiles:
    """Unpack the five files beside `folder`'s own, check them, then replace the old ones."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".incoming-", suffix=own_suffix(), dir=folder) as scratch:
        with opened(path) as openers:
            for name, (where, size, opener) in openers.items():
                with opener() as packed:
                    unpack(packed, where, size, Path(scratch) / f"{name}.csv")
                check_header(Path(scratch) / f"{name}.csv", name, where)
        hashes = {name: file_sha256(Path(scratch) / f"{name}.csv") for name in REQUIRED_COLUMNS}
        for name in REQUIRED_COLUMNS:
            (Path(scratch) / f"{name}.csv").replace(folder / f"{name}.csv")
    address = address_of(source) if is_url(source) else ""
    files = SocialEvolutionFiles(folder, shown_address(source), hashes, address)
    write_record_of_files(files)
    return files


def write_record_of_files(files: SocialEvolutionFiles) -> None:
    """Write the files' origin and hashes to `source.json`, unless it is up to date."""
    record = files.folder / "source.json"
    values = {"source": files.source, "sha256": files.sha256}
    if files.address:
        values["address"] = files.address
    if not record.exists() or json.loads(record.read_text(encoding="utf-8")) != values:
        write_json(values, record)


# Of one file: where it is (for messages), its packed size in bytes, and how to open it.
Opener = tuple[str, int, Callable[[], IO[bytes]]]


@contextmanager
def opened(path: Path) -> Generator[dict[str, Opener]]:
    """Yield openers of the five files of a folder or a zip, in any subfolder."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        yield located({str(f): (str(f), f.stat().st_size, lambda f=f: f.open("rb")) for f in files}, path)
        return
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        with path.open("rb") as file:
            start = file.read(20)
        raise ValueError(
            f"{path} is not a zip (it begins with {start!r}); give a zip, a folder or a URL"
        ) from None
    with archive:
        members: dict[str, Opener] = {}
        for info in archive.infolist():
            name = info.filename.replace("\\", "/")
            if ".." in PurePosixPath(name).parts or name.startswith("/") or ":" in name.split("/")[0]:
                raise ValueError(
                    f"{path} holds {info.filename!r}, a name that leads outside: it is not opened"
                )
            if info.is_dir():
                continue
            where = f"{path}: {name}"
            if info.flag_bits & 1:
                raise ValueError(f"{where} is encrypted; unpack it by hand and give the folder")
            size = max(info.compress_size, 1)
            refuse_bomb(where, info.file_size, size)
            members[name] = (where, size, lambda info=info: archive.open(info))
        yield located(members, path)


def located(candidates: dict[str, Opener], path: Path) -> dict[str, Opener]:
    """Return the candidate for each of the five files, by name; raise if one is absent or ambiguous."""
    names = {name.lower(): name for name in REQUIRED_COLUMNS}
    openers: dict[str, Opener] = {}
    for name, opener in candidates.items():
        pure = PurePosixPath(name.replace("\\", "/"))
        if pure.name.startswith(".") or "__MACOSX" in pure.parts:
            continue
        stem = pure.name.lower().removesuffix(".bz2").removesuffix(".gz")
        file = names.get(stem.removesuffix(".csv")) if stem.endswith(".csv") else None
        if file is None:
            continue
        if file in openers:
            raise ValueError(f"{path} holds {file} twice ({openers[file][0]} and {opener[0]}); keep one")
        openers[file] = opener
    if missing := [name for name in REQUIRED_COLUMNS if name not in openers]:
        raise ValueError(
            f"{path} lacks {', '.join(f'{name}.csv' for name in missing)} (plain, .bz2 or .gz, in any "
            f"subfolder); the complete data can be had at {BY_HAND}"
        )
    return {name: openers[name] for name in REQUIRED_COLUMNS}


def unpack(packed: IO[bytes], where: str, size: int, path: Path) -> None:
    """Write `packed` to `path`, decompressed by the suffix of `where`; raise for a decompression bomb."""
    suffix = where.lower().rpartition(".")[2]
    try:
        with decompressed(packed, suffix) as plain, path.open("wb") as file:
            while chunk := plain.read(CHUNK):
                file.write(chunk)
                refuse_bomb(where, file.tell(), size)
    except (OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{where} is damaged: {error}") from error


def decompressed(packed: IO[bytes], suffix: str) -> IO[bytes]:
    """Return a reader of the plain bytes of a file whose name ends in `suffix`."""
    if suffix == "bz2":
        return cast("IO[bytes]", bz2.open(packed))
    return cast("IO[bytes]", gzip.open(packed)) if suffix == "gz" else packed


def refuse_bomb(where: str, plain: int, packed: int) -> None:
    """Raise if `plain` bytes are implausibly many for `packed` compressed ones."""
    if plain > LARGEST_FILE or plain > max(LARGEST_GROWTH * packed, 16 * CHUNK):
        raise ValueError(
            f"{where} unpacks to {plain:,} bytes or more from {packed:,}: taken for a bomb, not opened"
        )


def check_header(path: Path, name: str, where: str) -> None:
    """Raise unless the CSV at `path` has the columns of the file `name`, in either spelling, and a row."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.reader(file)
        header, first = next(rows, []), next(rows, None)
    if not any(header) or first is None:
        raise ValueError(f"{where} is empty" if not any(header) else f"{where} has a header but no rows")
    columns = [column_name(column) for column in header]
    if missing := [column for column in REQUIRED_COLUMNS[name] if column not in columns]:
        raise ValueError(f"{where} lacks the column {', '.join(missing)}; it has {', '.join(header)}")


def column_name(column: str) -> str:
    """Return one spelling for `user.id`, `user_id` and `User_ID`."""
    return column.removeprefix("\ufeff").strip().strip('"').lower().replace(".", "_")

"""A client of an S3-compatible bucket: reads, conditional writes, and readable error messages."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipeline.settings import SettingError, env_file_here, read_env_file, shell_variables
from pipeline.sources.urls import shown_address

# Variables of the AWS tools -> options of the client.
VARIABLES = {
    "AWS_DEFAULT_REGION": "region",
    "AWS_REGION": "region",
    "AWS_ENDPOINT_URL": "endpoint",
    "AWS_ENDPOINT_URL_S3": "endpoint",
    "AWS_ACCESS_KEY_ID": "access_key_id",
    "AWS_SECRET_ACCESS_KEY": "secret_access_key",
    "AWS_SESSION_TOKEN": "session_token",
}
LARGEST = 5 << 30  # bytes, S3's limit for one request; larger uploads cannot be conditional
SLOWEST = 256 << 10  # bytes per second; a slower transfer counts as stalled
CODE = re.compile(r"<Code>(\w+)</Code>")
STATUS = re.compile(r"status code: (\d+)")


class StorageError(OSError):
    """An unreachable storage, a refused request, or incomplete stored data."""


class ChangedError(StorageError):
    """A failed conditional write: another writer has changed the object."""


@dataclass(frozen=True)
class Object:
    """An object's bytes and its ETag, which identifies this version."""

    data: bytes
    etag: str


@dataclass(frozen=True)
class Bucket:
    """A client of the objects below `address`, for instance `s3://bucket/prefix`."""

    address: str
    options: dict[str, str] = field(repr=False)  # of the connection, including credentials
    patience: float = 30.0  # timeout of a request in seconds; longer for large objects
    tries: int = 4

    @classmethod
    def of(cls, address: str, home: Path, **more: Any) -> "Bucket":  # noqa: ANN401 - its other fields
        """Return the bucket at `address`, configured by AWS_… variables of the shell and `.env` files."""
        files = read_env_file(env_file_here()) | read_env_file(home / ".env")
        texts = {name: value.text for name, value in files.items()} | shell_variables()
        options = {option: texts[name] for name, option in VARIABLES.items() if texts.get(name)}
        return cls(address, options, **more)

    @property
    def where(self) -> str:
        """The address and the endpoint, for messages."""
        return f"{self.address} at {shown_address(self.options.get('endpoint', 'Amazon S3'))}"

    @cached_property
    def _stores(self) -> dict[float, Any]:
        return {}

    def _store(self, size: int = 0) -> Any:  # noqa: ANN401 - the library is an extra
        """Return a cached client with a timeout long enough to transfer `size` bytes."""
        try:
            from obstore.store import S3Store
        except ImportError:
            raise SettingError("LDG_STORAGE needs a client of S3: `make s3` installs it") from None
        seconds = self.patience
        while seconds < self.patience + size / SLOWEST:
            seconds *= 2
        if seconds not in self._stores:
            parts = urlsplit(self.address)
            self._stores[seconds] = S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                client_options={
                    "allow_http": self.options.get("endpoint", "").startswith("http://"),
                    "connect_timeout": timedelta(seconds=min(5.0, seconds)),
                    "timeout": timedelta(seconds=seconds),
                },
                retry_config={"max_retries": self.tries - 1, "retry_timeout": timedelta(seconds=seconds)},
                **{"region": "us-east-1", **self.options},
            )
        return self._stores[seconds]

    @contextmanager
    def _worded(self, key: str) -> Generator[None]:
        """Translate client errors, without the server's response, which may quote credentials."""
        from obstore import exceptions as client

        try:
            yield
        except client.NotModifiedError:
            raise
        except (client.AlreadyExistsError, client.PreconditionError):
            raise ChangedError(f"{key} in {self.where} was written by another") from None
        except (FileNotFoundError, client.BaseError) as error:
            text = str(error)
            code = (CODE.findall(text) or [""])[0]
            if isinstance(error, FileNotFoundError) and code != "NoSuchBucket":
                raise FileNotFoundError(f"there is no {key} in {self.where}") from None
            status = (STATUS.findall(text) or [""])[0]
            if code == "NoSuchBucket":
                raise StorageError(
                    f"there is no bucket {urlsplit(self.address).netloc} at "
                    f"{shown_address(self.options.get('endpoint', 'Amazon S3'))}: LDG_STORAGE names it"
                ) from None
            if status in {"401", "403"}:
                raise StorageError(
                    f"{self.where} (LDG_STORAGE) refuses the credentials of AWS_ACCESS_KEY_ID "
                    f"({code or status})"
                ) from None
            reason = code or (f"status {status}" if status else "no answer")
            raise StorageError(
                f"{self.where} (LDG_STORAGE, AWS_ENDPOINT_URL) cannot be reached: {reason}. Nothing here is "
                "lost: what is not published yet is published the next time"
            ) from None

    def find(self, key: str, unless: str = "", size: int = 0) -> Object | None:
        """Return an object of about `size` bytes, or None if it is absent or still has the ETag `unless`."""
        import obstore
        from obstore.exceptions import NotModifiedError

        try:
            with self._worded(key):
                options: Any = {"if_none_match": unless} if unless else {}
                answer = obstore.get(self._store(size), key, options=options)
                return Object(bytes(answer.bytes()), answer.meta["e_tag"] or "")
        except (FileNotFoundError, NotModifiedError):
            return None

    def version(self, key: str) -> str | None:
        """Return the ETag of an object, or None if it is absent."""
        import obstore

        try:
            with self._worded(key):
                return obstore.head(self._store(), key)["e_tag"]
        except FileNotFoundError:
            return None

    def put(self, key: str, data: bytes, instead_of: str | None) -> str:
        """Write an object and return its ETag, if the stored ETag is `instead_of` (None: if it is absent).

        Raise ChangedError if another writer was faster, StorageError for more than `LARGEST` bytes.
        """
        import obstore

        if len(data) > LARGEST:
            raise StorageError(f"{key} has {len(data):,} bytes; storage takes {LARGEST:,} at most")
        mode: Any = "create" if instead_of is None else {"e_tag": instead_of}
        with self._worded(key):
            answer = obstore.put(self._store(len(data)), key, data, mode=mode, use_multipart=False)
        return answer["e_tag"] or ""

    def delete(self, keys: list[str]) -> None:
        """Delete objects; absent ones are ignored."""
        import obstore

        if keys:
            with self._worded(keys[0]):
                obstore.delete(self._store(), keys)

    def list(self, folder: str) -> dict[str, str]:
        """Return the keys of the objects below a folder, with their ETags."""
        import obstore

        with self._worded(folder):
            return {
                entry["path"]: entry["e_tag"] or ""
                for page in obstore.list(self._store(), folder)
                for entry in page
            }

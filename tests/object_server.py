"""A real S3-compatible server for tests: moto's, in a process of its own, whose conditional writes refuse."""

import itertools
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests

from pipeline.storage.bucket import Bucket
from pipeline.storage.share import Storage
from tests.ports import free_port
from tests.whole_system import wait_for

KEY, SECRET = "a-key-of-tests", "a-secret-of-tests"  # what no line of any log may hold
# One request at a time: a condition is looked at and the object written before the next one's turn.
SERVE = """
import sys
from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import run_simple
run_simple("127.0.0.1", int(sys.argv[1]), create_backend_app("s3"), threaded=False)
"""


@dataclass
class ObjectServer:
    """A server on this machine; each test has a bucket of its own."""

    endpoint: str
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def variables(self) -> dict[str, str]:
        """What a process needs to reach it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def new_bucket(self) -> str:
        """The address of an empty bucket."""
        name = f"bucket-{next(self.numbers)}"
        assert requests.put(f"{self.endpoint}/{name}", timeout=30).ok
        return f"s3://{name}/shared"

    def bucket(self, address: str) -> Bucket:
        options = {"endpoint": self.endpoint, "access_key_id": KEY, "secret_access_key": SECRET}
        return Bucket(address, options)

    def storage(self, address: str, home: Path, silence: float = 0.3) -> Storage:
        """A home's storage that gives up a silent writer soon."""
        return Storage(home, self.bucket(address), silence=silence)


@contextmanager
def running_object_server(log: Path) -> Generator[ObjectServer]:
    """A server that ends with the tests."""
    port = free_port()
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(port)], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        wait_for(lambda: "Running on" in log.read_text(), process, patience=120)
        yield ObjectServer(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()

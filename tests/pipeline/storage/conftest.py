"""What every test of storage may ask for."""

from pathlib import Path

import pytest

from pipeline.storage.share import Storage
from tests.object_server import ObjectServer


@pytest.fixture
def address(object_server: ObjectServer) -> str:
    return object_server.new_bucket()


@pytest.fixture
def homes(object_server: ObjectServer, address: str, tmp_path: Path) -> tuple[Storage, Storage]:
    """Two homes that share a storage."""
    one, other = tmp_path / "one", tmp_path / "other"
    return object_server.storage(address, one), object_server.storage(address, other)

"""How a bucket is reached: by the shell, then the home's `.env`, then `./.env`, in the UI as elsewhere."""

from pathlib import Path

import pytest

from pipeline.settings import shell_to_remember
from pipeline.storage.bucket import Bucket


@pytest.mark.parametrize("in_the_ui", [False, True])
def test_variables_of_the_client_come_in_the_order_of_every_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_the_ui: bool
) -> None:
    names = ("AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".env").write_text("".join(f"{name}=here\n" for name in names))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".env").write_text("AWS_REGION=home\nAWS_ACCESS_KEY_ID=home\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_REGION", "shell")
    if in_the_ui:
        for name, text in (*shell_to_remember().items(), *((name, "here") for name in names[1:])):
            monkeypatch.setenv(name, text)  # the last as Dagster does, from ./.env
    options = Bucket.of("s3://bucket", tmp_path / "home").options
    assert [options[option] for option in ("region", "access_key_id", "endpoint")] == [
        "shell",
        "home",
        "here",
    ]

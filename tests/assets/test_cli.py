"""`ldg` as a person meets it: help at once, errors as a sentence, exit codes that mean something."""

import http.server
import re
import shutil
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import psutil
import pytest

from model import TrainingSettings, load, train
from pipeline.lake import Lake
from pipeline.locks import hold
from pipeline.results.dataset_stats import write_dataset_stats
from pipeline.results.warehouse import build_warehouse
from pipeline.variants import variant_with_key, variants_for
from tests.command import ldg, ldg_process
from tests.ports import free_port
from tests.small_world import store_table
from tests.whole_system import PATIENCE, ROOT, environment

COMMANDS = (
    "dev",
    "doctor",
    "export",
    "list",
    "page",
    "predict",
    "report",
    "reproduce",
    "run",
    "sample",
    "train",
)


class NothingThere(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_error(404)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002
        """A test's output is no place for a log."""


@pytest.fixture(scope="module")
def office_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a trained variant and a warehouse, in a folder whose name is hard on a shell."""
    home = tmp_path_factory.mktemp("office") / "my $HOME, it's"
    lake = Lake(home)
    table = store_table(lake, "office", title="Toy\a", seed=1)
    settings = TrainingSettings(seeds=(0,), epochs=1)
    variant = variant_with_key("dyrep-concat", variants_for(table.metadata["relations"]))
    train(lake.dataset("office"), variant, settings, lake.model("office", variant.key))
    write_dataset_stats(lake)
    build_warehouse(lake)
    return home


@pytest.fixture
def silent_archive() -> Iterator[str]:
    """A server that answers every question with 404, named with secrets."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), NothingThere)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://user:secret@127.0.0.1:{server.server_port}/archive?key=secret"
    server.shutdown()
    server.server_close()


def test_help_names_every_command_and_starts_nothing(tmp_path: Path) -> None:
    done = ldg_process("--help", folder=tmp_path)
    assert done.returncode == 0
    assert all(f"\n  {command} " in done.stdout for command in COMMANDS)
    assert "130 interrupted" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_of_its_own(command: str, tmp_path: Path) -> None:
    done = ldg(command, "--help", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage:")
    assert list(tmp_path.iterdir()) == []


def test_help_loads_no_heavy_library() -> None:
    script = (
        "import sys\nfrom assets.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "sys.exit(bool({'dagster', 'torch', 'polars', 'pydantic'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_only_becomes_a_process_of_dagster_does_not_load_it_first(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom assets.cli import main\n"
        "os.execv = lambda *_: sys.exit(3 if 'dagster' in sys.modules else 4)\n"
        "main(['serve', 'daemon'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment(tmp_path), capture_output=True, check=False
    )
    assert done.returncode == 4, done.stderr


@pytest.mark.parametrize("service", ["dev", "serve web", "serve code"])
def test_a_port_in_use_is_one_sentence_before_anything_starts(service: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = ldg(*service.split(), "--port", port, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"Error: port {port} of 127.0.0.1 cannot be served (it is in use): end the program that uses it, or "
        "name another port with --port\n"
    )
    assert not (tmp_path / "data" / "dagster").exists()


@pytest.mark.parametrize("service", ["dev", "serve daemon"])
def test_a_second_daemon_of_a_home_is_refused_with_who_runs_the_first(service: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path / "data")
    with hold(lake.lock("daemon"), "", "ldg dev"):
        done = ldg(
            *service.split(), *(["--port", str(free_port())] if service == "dev" else []), folder=tmp_path
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"Error: the daemon of data is run by process \d+ \(ldg dev\) since .*\n", done.stderr
    )
    assert not (lake.home / "dagster").exists()


def test_the_services_of_dev_end_with_it_when_it_is_killed() -> None:
    script = (
        "import time\nfrom assets.cli.dev import process_group\n"
        "with process_group() as start:\n"
        "    print(start(['sleep', '600']).pid, flush=True)\n"
        "    time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        service = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    service.wait(PATIENCE)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"LDG_SEEDS": "many"}, "LDG_SEEDS is 'many' in the shell; it takes a whole number, 1 or more"),
        ({"LDG_GITHUB_START": "soon"}, "LDG_GITHUB_START is 'soon' in the shell; it takes a date"),
        ({"LDG_LEARNING_RATE": "-1"}, "LDG_LEARNING_RATE is '-1' in the shell; it takes a number, above 0"),
        ({"LDG_SEED": "3"}, "did you mean LDG_SEEDS?"),
        ({"LDG_HOME": "file"}, "LDG_HOME is 'file', where nothing can be written (it is a file)"),
        ({"LDG_HOME": "home?x"}, "home?x has ? in its path, which databases read as something else"),
    ],
)
def test_a_wrong_setting_is_one_sentence(settings: dict[str, str], sentence: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = ldg(folder=tmp_path, **settings)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr


@pytest.mark.parametrize("command", ["dev", "run", "sample"])
def test_every_command_that_works_refuses_a_wrong_setting(command: str, tmp_path: Path) -> None:
    done = ldg(command, folder=tmp_path, LDG_SEEDS="many")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: LDG_SEEDS is 'many'")
    assert list(tmp_path.iterdir()) == []


def test_the_code_location_names_the_wrong_setting_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LDG_SEEDS", "many")
    code_location = find_spec("assets.definitions")
    assert code_location is not None
    assert code_location.loader is not None
    with pytest.raises(ValueError, match="LDG_SEEDS") as error:
        code_location.loader.exec_module(module_from_spec(code_location))
    shown = "".join(traceback.format_exception(error.value))
    assert shown.splitlines()[-1].endswith(
        "LDG_SEEDS is 'many' in the shell; it takes a whole number, 1 or more"
    )
    assert "ValidationError" not in shown


@pytest.mark.slow
def test_a_dataset_that_is_not_there_is_wrong_input(tmp_path: Path) -> None:
    done = ldg("--home", tmp_path / "home", "run", LDG_DATASETS="gitub")
    assert done.returncode == 2, done.stderr
    assert "LDG_DATASETS names gitub" in done.stderr
    assert "did you mean github?" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--datasets", "github,gitub"), "--datasets names gitub; the datasets of this home are github"),
        (("--variants", "dyrap"), "did you mean dyrep?"),
        (("--seeds", "many"), "LDG_SEEDS is 'many' in --seeds; it takes a whole number, 1 or more"),
        (
            ("--variants", "rem", "--epochs", "3"),
            "LDG_EPOCHS is '3' in --epochs, but it reaches only the paper's models (DyRep, LDG), not rem-",
        ),
    ],
)
def test_an_option_of_a_run_is_checked_as_its_setting_and_named(
    tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    for more in ((), ("--dry-run",)):
        done = ldg("--home", tmp_path, "run", *options, *more, LDG_SEEDS="2", LDG_DATASETS="github")
        assert done.returncode == 2
        assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_setting_that_reaches_no_chosen_model_is_refused_or_told_of(tmp_path: Path) -> None:
    done = ldg("--home", tmp_path, "run", "--dry-run", LDG_VARIANTS="rem_flat,rem", LDG_BATCH="50")
    assert done.returncode == 2
    assert "LDG_BATCH is '50' in the shell" in done.stderr
    assert "not rem-history, rem_flat-history: leave it out" in done.stderr
    used = ldg("--home", tmp_path, "run", "--dry-run", LDG_VARIANTS="rem,dyrep", LDG_BATCH="50")
    assert (used.returncode, used.stderr) == (0, "")
    (tmp_path / ".env").write_text("LDG_LEARNING_RATE=0.001\n")
    told = ldg("--home", tmp_path, "run", "--dry-run", "--variants", "rem")
    assert told.returncode == 0
    assert told.stderr.startswith(
        f"Warning: LDG_LEARNING_RATE is '0.001' in {tmp_path / '.env'}, line 1, but it"
    )


def test_a_misspelled_model_that_follows_is_wrong_input(tmp_path: Path) -> None:
    done = ldg("--home", tmp_path, "follow", LDG_FOLLOW_VARIANTS="ram")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: LDG_FOLLOW_VARIANTS names ram; those that follow are rem,")
    assert done.stderr.endswith("did you mean rem?\n")


def test_the_version_is_told() -> None:
    done = ldg("--version")
    assert (done.returncode, done.stdout) == (0, f"ldg {metadata.version('latent-dynamic-graphs')}\n")


@pytest.mark.slow
def test_datasets_variants_and_nodes_are_listed_by_name(office_home: Path) -> None:
    done = ldg("--home", office_home, "list")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "  event table     none yet: `ldg run --datasets github` makes it" in lines
    office = lines[lines.index("office") :]
    assert office[1].startswith("  event table     300 events of ")
    assert office[2] == "  trained         dyrep-concat"
    nodes = ldg("--home", office_home, "list", "office", "NODE 1*")
    names = [line.split(maxsplit=1) for line in nodes.stdout.splitlines()]
    assert ["1", "node 1"] in names
    assert all(name.startswith("node 1") for _, name in names)
    for arguments, sentence in (
        (("offise",), "did you mean office?"),
        (("office", "nobody*"), "no node of office has a name that fits 'nobody*'"),
    ):
        wrong = ldg("--home", office_home, "list", *arguments)
        assert wrong.returncode == 2
        assert sentence in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("gitub", "dyrep-concat"), "there is no dataset 'gitub' here; there are github"),
        (("github", "dyrep"), "github has no variant 'dyrep'; it has dyrep-concat"),
        (("github", "rem-histori"), "did you mean rem-history?"),
        (("github", "rem_attention-history"), "rem_attention-history was removed in 0.4"),
        (("github", "rem-history", "--epochs", "2"), "LDG_EPOCHS is '2' in --epochs, but it reaches only"),
        (("github", "dyrep-concat"), "github has no event table yet"),
    ],
)
def test_training_asks_for_what_is_there(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = ldg("--home", tmp_path, "train", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_migration_of_run_history_is_refused_with_what_a_new_store_keeps(tmp_path: Path) -> None:
    done = ldg("--home", tmp_path, "store", "migrate")
    assert done.returncode == 2
    assert "a PostgreSQL store keeps new runs only" in done.stderr


@pytest.mark.slow
def test_the_likeliest_partners_are_printed_with_names(office_home: Path) -> None:
    done = ldg("--home", office_home, "predict", "office", "node 0", "--top", "3")
    assert done.returncode == 0, done.stderr
    title, *lines = done.stdout.splitlines()
    assert title == "Toy\\u0007: next partners of node 0, by DyRep (Follow), concat"
    prediction = load(Lake(office_home).model("office", "dyrep-concat")).predict("node 0", top=3)
    assert lines == str(prediction).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere", "0"), "there is no event table of 'nowhere'"),
        (("office", "nobody"), "node takes the name of a node of 'office', not 'nobody'"),
        (
            ("office", "0", "--variant", "gcn-concat"),
            "gcn-concat is not trained on office; trained: dyrep-concat",
        ),
    ],
)
def test_what_cannot_be_predicted_is_wrong_input(
    office_home: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = ldg("--home", office_home, "predict", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr


@pytest.mark.slow
def test_a_dataset_is_exported_and_one_that_is_not_there_is_wrong_input(
    office_home: Path, tmp_path: Path
) -> None:
    done = ldg("--home", office_home, "export", "office", "--format", "csv", "--to", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Toy\\u0007: 300 events")
    assert (tmp_path / "out" / "edges.csv").exists()
    again = ldg("--home", office_home, "export", "office", "--format", "csv", "--to", tmp_path / "out")
    (tmp_path / "file").write_text("in the way")
    below = tmp_path / "file" / "below"
    refused = ldg("--home", office_home, "export", "office", "--format", "csv", "--to", below)
    assert refused.returncode == 2
    assert f"--to is '{below}', where nothing can be written" in refused.stderr
    nowhere = ldg("--home", office_home, "export", "nowhere", "--format", "pyg", "--to", tmp_path / "other")
    assert again.returncode == nowhere.returncode == 2
    assert "there is no event table of 'nowhere'" in nowhere.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_the_report_is_written_from_what_is_there(office_home: Path) -> None:
    done = ldg("--home", office_home, "report")
    assert done.returncode == 0, done.stderr
    assert Lake(office_home).report.exists()


@pytest.mark.slow
def test_reading_from_a_home_that_is_not_there_makes_none(tmp_path: Path) -> None:
    for command in (("report",), ("page",), ("predict", "office", "0"), ("doctor",)):
        done = ldg("--home", tmp_path / "none", *command, LDG_GHARCHIVE_URL=str(tmp_path))
        assert done.returncode == (0 if command == ("doctor",) else 2), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_says_what_is_set_and_from_where_without_secrets(
    tmp_path: Path, silent_archive: str
) -> None:
    home = tmp_path / "it's [here]"
    home.mkdir()
    (home / ".env").write_text(f"LDG_EPOCHS=2\nLDG_GHARCHIVE_URL='{silent_archive}'\n")
    done = ldg("--home", home, "doctor", LDG_SEEDS="3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "LDG_SEEDS=3  (the shell)" in done.stdout
    assert f"LDG_EPOCHS=2  ({home / '.env'}, line 1)" in done.stdout
    assert "LDG_BATCH=200  (default)" in done.stdout
    assert "/archive answers with status 404" in done.stdout
    assert "secret" not in done.stdout + done.stderr


def test_the_doctor_names_what_cannot_be_reached(tmp_path: Path) -> None:
    done = ldg(
        *("--home", tmp_path, "doctor"),
        LDG_GHARCHIVE_URL="http://127.0.0.1:9/",
        LDG_SOCIAL_EVOLUTION=str(tmp_path / "gone.zip"),
        LDG_GITHUB_END="2999-12-31",
    )
    assert done.returncode == 1
    assert "127.0.0.1:9/ cannot be reached" in done.stdout
    assert "gone.zip is not there; LDG_SOCIAL_EVOLUTION names it" in done.stdout
    assert "LDG_GITHUB_END is 2999-12-31, which is still to come" in done.stdout


@pytest.mark.slow
def test_the_sample_world_takes_no_home_that_holds_something_else(office_home: Path) -> None:
    before = sorted(office_home.rglob("*"))
    done = ldg("--home", office_home, "sample")
    assert done.returncode == 2
    assert "a home of its own" in done.stderr
    assert sorted(office_home.rglob("*")) == before


def test_data_without_its_files_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    done = ldg("--home", tmp_path / "home", "reproduce", tmp_path / "data")
    assert done.returncode == 2
    assert "events.parquet" in done.stderr
    done = ldg("--home", tmp_path / "home", "reproduce", tmp_path / "nowhere")
    assert done.returncode == 2


@pytest.mark.slow
def test_reproducing_pins_the_settings_and_says_so(tmp_path: Path) -> None:
    data, home = tmp_path / "data", tmp_path / "a home"
    for name in ("events.parquet", "follows_2011_2012.parquet", "nodes.parquet"):
        (data / "github_2013").mkdir(parents=True, exist_ok=True)
        (data / "github_2013" / name).write_text("no table")
    (data / "social_evolution").mkdir()
    (data / "social_evolution" / "SocialEvolution.zip").write_text("no zip")
    done = ldg_process(
        *("--home", home, "reproduce", data), LDG_SEEDS="1", LDG_SOCIAL_EVOLUTION_PROBABILITY="0.1"
    )
    assert done.returncode == 1  # these are no real files
    assert f"Settings are pinned in {home / '.env'}" in done.stdout
    assert "LDG_SOCIAL_EVOLUTION_PROBABILITY of the shell is set aside: it stays '0.8'" in done.stdout
    assert "LDG_SEEDS of the shell" not in done.stdout
    assert "LDG_SEEDS=1\n" in (home / ".env").read_text()
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_failure_shows_its_traceback_when_asked(office_home: Path, tmp_path: Path) -> None:
    office_home = Path(shutil.copytree(office_home, tmp_path / "damaged"))
    (office_home / "datasets" / "office" / "events.parquet").write_text("damaged")
    plain, traced = (
        ldg(*more, "--home", office_home, "predict", "office", "0") for more in ((), ("--traceback",))
    )
    assert plain.returncode == traced.returncode == 1
    assert "Traceback" not in plain.stderr
    assert "half replaced" in plain.stderr
    assert "Traceback" in traced.stderr

import polars as pl
import pytest

from pipeline.schemas import GHARCHIVE_FILES
from pipeline.sources.gharchive import checks
from pipeline.sources.gharchive.normalize import EventRules
from pipeline.sources.gharchive.reading import read_file
from tests.pipeline.sources.gharchive.making import lines, modern, store

NAME = "2015-01-01-0.json.gz"


@pytest.fixture
def read(tmp_path):
    return read_file(store(tmp_path / NAME, lines([modern(1), modern(2)]) + b"{cut"), NAME, EventRules())


def account(**changes):
    values = {
        "file": NAME,
        "status": "ok",
        "events": 10,
        "kept": 4,
        "ignored": 3,
        "duplicates": 2,
        "quarantined": 1,
    }
    values |= changes
    return pl.DataFrame(
        [{name: values.get(name) for name in GHARCHIVE_FILES.names}], schema=GHARCHIVE_FILES.types
    )


def test_a_sum_that_holds_has_no_fault():
    assert checks.unbalanced_files(account()) == []
    assert checks.unbalanced_files(account(kept=5)) == [NAME]


def test_the_share_quarantined_is_of_all_events():
    assert checks.quarantined_share(account()) == 0.1
    assert checks.quarantined_share(account(events=0, quarantined=0)) == 0.0


def test_tables_as_promised_have_no_fault(read):
    assert checks.event_faults(read.events) == []
    assert checks.quarantine_faults(read.quarantine) == []
    assert checks.account_faults(account()) == []


def test_a_table_unlike_the_promise_is_told(read):
    assert checks.event_faults(read.events.drop("repo")) == ["repo is missing"]
    assert checks.event_faults(read.events.with_columns(extra=1)) == ["extra is not promised"]
    assert checks.event_faults(read.events.with_columns(actor_id=pl.lit("7"))) == [
        "actor_id is String, not Int64"
    ]
    assert checks.event_faults(read.events.with_columns(actor=pl.lit("BOB"))) == [
        "2 rows are self-interactions"
    ]
    assert checks.event_faults(read.events.with_columns(kind=pl.lit("other"))) == ["kind has ['other']"]
    gap = read.events.with_columns(actor=pl.lit(None, pl.String))
    assert checks.event_faults(gap) == ["actor is null in 2 rows"]
    assert checks.account_faults(account(status="fine")) == ["status has ['fine']"]

"""The registry, and one's own events through a TOML: the documented examples, every mistake told apart."""

import gzip
import re
import shutil
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from pipeline.event_table import EventTable, check_event_table, write_event_table
from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.sources.own.dataset_toml import OwnDataError
from pipeline.sources.registry import registry
from pipeline.sources.source import DatasetSpec

DOCUMENT = Path(__file__).parents[3] / "docs" / "your-own-data.md"


@pytest.mark.parametrize(
    ("associations", "relations"),
    [
        (("FollowEvent",), ("Follow",)),
        (("MemberEvent", "FollowEvent"), ("Follow", "Member")),
        (("MemberEvent",), ("Member",)),
    ],
)
def test_the_relations_of_github_are_its_associations(
    associations: tuple[str, ...], relations: tuple[str, ...]
) -> None:
    github = registry(Settings(home=Path("nowhere"), associations=associations))[0]
    assert (github.name, github.relations) == ("github", relations)


def blocks(language: str) -> list[str]:
    """The documentation's code blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


MAILS, FRIENDS, *_ = blocks("csv")
OFFICE, *_, EXTRACT = blocks("toml")


def own(lake: Lake, name: str, toml: str = OFFICE, mails: str = MAILS) -> Path:
    """The office of the documentation under a name, with changes."""
    folder = lake.own / name
    folder.mkdir(parents=True)
    (folder / "dataset.toml").write_text(toml, encoding="utf-8")
    (folder / "mails.csv").write_text(mails, encoding="utf-8")
    (folder / "friends.csv").write_text(FRIENDS, encoding="utf-8")
    return folder


def datasets(lake: Lake) -> list[DatasetSpec]:
    return registry(Settings(home=lake.home))


def spec_of(lake: Lake, name: str) -> DatasetSpec:
    (spec,) = [spec for spec in datasets(lake) if spec.name == name]
    return spec


def build_own(spec: DatasetSpec) -> EventTable:
    """The table, whatever the settings: those of one's own data are in the TOML."""
    return spec.build(Settings())


def built(lake: Lake, toml: str = OFFICE, mails: str = MAILS) -> EventTable:
    own(lake, "office", toml, mails)
    return build_own(spec_of(lake, "office"))


def test_the_documented_example_gives_what_the_document_says(lake):
    table = built(lake)
    assert table.metadata["stats"] == {
        "nodes": 4,
        "initial_associations": 2,
        "final_associations": 4,
        "train_communications": 5,
        "train_associations": 2,
        "test_communications": 2,
        "test_associations": 0,
    }
    assert table.metadata["dropped"] == {"events: self-loop": 1}
    assert table.nodes["name"].to_list() == ["ann", "bob", "cat", "dan"]
    assert check_event_table(table) == []


def test_the_real_extract_gives_exactly_the_published_counts(real_data, lake):
    folder = lake.own / "github_2013"
    folder.mkdir(parents=True)
    for file in (real_data / "github_2013").glob("*.parquet"):
        shutil.copyfile(file, folder / file.name)
    (folder / "dataset.toml").write_text(EXTRACT, encoding="utf-8")
    table = build_own(spec_of(lake, "github_2013"))
    assert table.metadata["stats"] == {
        "nodes": 284,
        "initial_associations": 149,
        "final_associations": 710,
        "train_communications": 10_604,
        "train_associations": 1_040,
        "test_communications": 8_667,
        "test_associations": 415,
    }
    assert table.associations["snapshot"].value_counts().sort("snapshot").rows() == [
        ("final", 1_420),
        ("initial", 298),
    ]
    assert table.metadata["relations"] == ["Follow"]
    assert table.nodes["name"].is_sorted()


def test_the_papers_datasets_are_always_there(lake):
    github, social = datasets(lake)
    assert (github.name, github.relations, github.problem) == ("github", ("Follow",), None)
    assert (social.name, social.relations[0], len(social.relations)) == ("social_evolution", "CloseFriend", 5)


def test_the_relations_set_for_social_evolution_come_first(lake):
    settings = Settings(home=lake.home, social_evolution_relations=("PoliticalDiscussant",))
    assert registry(settings)[1].relations[0] == "PoliticalDiscussant"


def test_each_own_folder_is_a_dataset(lake):
    own(lake, "office")
    own(lake, "annex")
    (lake.own / "not_yet").mkdir()
    assert [spec.name for spec in datasets(lake)] == ["github", "social_evolution", "annex", "office"]
    spec = spec_of(lake, "office")
    assert (spec.title, spec.relations, spec.problem) == ("The office", ("befriended",), None)


def test_a_broken_toml_keeps_its_lane_and_stops_no_other(lake):
    own(lake, "broken", toml="title = ")
    own(lake, "office")
    spec = spec_of(lake, "broken")
    assert spec.problem is not None
    assert "broken/dataset.toml is not TOML" in spec.problem
    with pytest.raises(OwnDataError, match="is not TOML"):
        build_own(spec)
    assert build_own(spec_of(lake, "office")).nodes.height == 4


def test_a_toml_that_is_a_folder_stops_no_other_lane(lake):
    (lake.own / "odd" / "dataset.toml").mkdir(parents=True)
    own(lake, "office")
    assert [spec.problem is None for spec in datasets(lake)] == [True, True, False, True]


def test_a_corrected_toml_counts_without_a_reload(lake):
    folder = own(lake, "office", toml="title = ")
    spec = spec_of(lake, "office")
    (folder / "dataset.toml").write_text(OFFICE, encoding="utf-8")
    assert build_own(spec).nodes.height == 4


@pytest.mark.parametrize("name", ["My Office", "2024", "github", "über", "a-b"])
def test_a_folder_whose_name_cannot_be_a_dataset_gets_a_lane_that_says_so(name, lake):
    own(lake, name)
    names = [spec.name for spec in datasets(lake)]
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", each) for each in names)
    with pytest.raises(OwnDataError, match="lower-case letters, digits and _"):
        build_own(datasets(lake)[-1])


def test_names_that_become_alike_stay_apart(lake):
    for name in ("a b", "a-b", "own_a_b"):
        own(lake, name)
    assert len({spec.name for spec in datasets(lake)}) == 5
    assert spec_of(lake, "own_a_b").problem is None


MISTAKES = {
    "unknown key": (
        'source = "from"',
        'sorce = "from"',
        r"\[events\] sorce is not known; allowed here: file, source",
    ),
    "unknown section": ("[kinds]", "[kind]", r"dataset.toml: kind is not known; allowed here: title"),
    "no such column": (
        'source = "from"',
        'source = "who"',
        r"\[events\] source is 'who', a column that mails.csv does",
    ),
    "no such file": ("mails.csv", "letters.csv", r"\[events\] file is 'letters.csv', but there is no file"),
    "unknown format": (
        "mails.csv",
        "mails.xlsx",
        r"\[events\] file is 'mails.xlsx'; it takes a file ending in .csv",
    ),
    "not a text": ('source = "from"', "source = 3", r"\[events\] source is 3; it takes a text"),
    "no file": ('file = "mails.csv"\n', "", r"\[events\] file is missing; it takes a text"),
    "unknown zone": ("Europe/Vienna", "Vienna", r"\[events\] time_zone is 'Vienna'; it takes a zone's name"),
    "quoted date": (
        "2024-04-01",
        '"2024-04-01"',
        r"\[split\] test_start is '2024-04-01'; it takes a day or a time",
    ),
    "date with offset": (
        "2024-04-01",
        "2024-04-01T00:00:00Z",
        r"\[split\] test_start .* without quotes and offset",
    ),
    "no split": ("test_start = 2024-04-01\n", "", r"\[split\] test_start is missing"),
    "split past the end": ("2024-04-01", "2025-04-01", r"dataset.toml: .*no test event"),
    "split before the start": ("2024-04-01", "2023-04-01", r"dataset.toml: .*no training event"),
    "kinds not a list": (
        '["befriended"]',
        '"befriended"',
        r"\[kinds\] association is 'befriended'; it takes a list",
    ),
    "kinds without types": ('type = "what"\n', "", r"\[events\] type is missing; \[kinds\] needs"),
    "a kind nobody is": ('["befriended"]', '["married"]', r"\[kinds\] names 'married', which no event is"),
    "a type of no kind": (
        '["befriended"]',
        '["befriended"]\ncommunication = []',
        r"\[kinds\] does not name 'mail'; the types in mails.csv: befriended, mail",
    ),
    "a type of both kinds": (
        '["befriended"]',
        '["befriended"]\ncommunication = ["befriended"]',
        r"\[kinds\] communication repeats \['befriended'\]",
    ),
    "unknown final": (
        "[associations]",
        '[associations]\nfinal = "last"',
        r"\[associations\] final is 'last'; it takes",
    ),
    "wrong count": (
        "[associations]",
        "[associations]\nentries_per_association = 3",
        r"\[associations\] entries_per_association is 3; it takes 1 or 2",
    ),
    "graph without file": (
        'initial = { file = "friends.csv" }',
        'initial = { source = "source" }',
        r"\[associations.initial\] file is missing",
    ),
    "graph not a table": (
        'initial = { file = "friends.csv" }',
        'initial = "friends.csv"',
        r"it takes a table",
    ),
    "format that does not fit": (
        'type = "what"',
        'type = "what"\ntime_format = "%d.%m.%Y"',
        r"mails.csv row 1: sent is '2024-01-08 09:00:00', not a time in the time_format '%d.%m.%Y'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_toml_is_told_by_file_key_and_what_is_allowed(mistake, lake):
    right, wrong, message = MISTAKES[mistake]
    assert right in OFFICE
    with pytest.raises(OwnDataError, match=message) as error:
        built(lake, toml=OFFICE.replace(right, wrong))
    assert "dataset.toml" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "2024-01-15 11:00:00",
            "2024-02-30 11:00:00",
            r"mails.csv row 3: sent is '2024-02-30 11:00:00', not a time",
        ),
        ("2024-01-15 11:00:00", "", r"mails.csv row 3: sent is None, not a time"),
        # The clocks of Vienna skip this hour.
        ("2024-03-28 17:00:00", "2024-03-31 02:30:00", r"mails.csv row 8: .*zone Europe/Vienna"),
        (MAILS, "", r"mails.csv cannot be read"),
        (MAILS, "from,to,sent,what\n", r"mails.csv has no rows"),
        (",mail\n", ",\n", r"column 'what' \(\[events\] type\) has empty values"),
    ],
)
def test_malformed_events_are_told_by_row(right, wrong, message, lake):
    with pytest.raises(OwnDataError, match=message):
        built(lake, mails=MAILS.replace(right, wrong))


def test_a_mistake_leaves_the_table_built_before(lake):
    folder = own(lake, "office")
    spec = spec_of(lake, "office")
    write_event_table(build_own(spec), lake.dataset("office"))
    before = {path: path.read_bytes() for path in lake.dataset("office").iterdir()}
    (folder / "mails.csv").write_text("nonsense", encoding="utf-8")
    with pytest.raises(OwnDataError):
        write_event_table(build_own(spec), lake.dataset("office"))
    assert {path: path.read_bytes() for path in lake.dataset("office").iterdir()} == before


def test_a_file_that_is_not_parquet_is_told(lake):
    folder = own(lake, "office", toml=OFFICE.replace("mails.csv", "mails.parquet"))
    (folder / "mails.parquet").write_text("from,to", encoding="utf-8")
    with pytest.raises(OwnDataError, match=r"mails.parquet cannot be read \(\[events\] file"):
        build_own(spec_of(lake, "office"))


def test_compressed_csv_is_read_too(lake):
    folder = own(lake, "office", toml=OFFICE.replace("mails.csv", "mails.csv.gz"))
    (folder / "mails.csv.gz").write_bytes(gzip.compress(MAILS.encode()))
    assert build_own(spec_of(lake, "office")).events.height == 9


def test_rows_without_a_name_are_counted(lake):
    table = built(lake, mails=MAILS + ",bob,2024-01-09 09:00:00,mail\n")
    assert table.metadata["dropped"] == {"events: a name is missing": 1, "events: self-loop": 1}


def test_times_are_utc_whatever_way_they_are_written(lake):
    moment = datetime(2024, 1, 8, 8)
    header, first, *rest = MAILS.splitlines()
    for place, written in enumerate(
        ["2024-01-08 09:00:00", "2024-01-08T09:00", "2024-01-08T08:00:00Z", "2024-01-08T13:30:00.000+05:30"]
    ):
        mails = "\n".join([header, first.replace("2024-01-08 09:00:00", written), *rest])
        own(lake, f"office{place}", mails=mails)
        assert build_own(spec_of(lake, f"office{place}")).events["created_at"][0] == moment


@pytest.mark.parametrize(
    ("time_format", "dtype", "factor"),
    [
        ("unix_s", pl.Int64, 1),
        ("unix_s", pl.Float64, 1),
        ("unix_ms", pl.Int64, 1000),
        ("unix_us", pl.Int64, 10**6),
    ],
)
def test_numbers_are_times_when_the_unit_is_said(time_format, dtype, factor, lake):
    seconds = pl.Series([1_704_700_800, 1_704_700_801, 1_712_000_000])
    frame = pl.DataFrame({"source": [1, 2, 3], "target": [2, 3, 1], "time": (seconds * factor).cast(dtype)})
    toml = '[events]\nfile = "e.parquet"\n[split]\ntest_start = 2024-04-01\n'
    folder = own(lake, "numbers", toml=toml)
    frame.write_parquet(folder / "e.parquet")
    with pytest.raises(OwnDataError, match="for numbers time_format takes unix_s, unix_ms, unix_us"):
        build_own(spec_of(lake, "numbers"))
    toml = toml.replace("[split]", f'time_format = "{time_format}"\n[split]')
    (folder / "dataset.toml").write_text(toml, encoding="utf-8")
    table = build_own(spec_of(lake, "numbers"))
    assert table.events["created_at"][0] == datetime(2024, 1, 8, 8)
    assert table.nodes["name"].to_list() == ["1", "2", "3"]
    assert table.metadata["relations"] == ["Association"]


def test_a_node_list_gives_the_order_and_leaves_others_out(lake):
    folder = own(lake, "office", toml=OFFICE + '\n[nodes]\nfile = "people.csv"\nname = "who"\n')
    (folder / "people.csv").write_text("who\nzoe\ncat\nann\nbob\n", encoding="utf-8")
    own_graph = FRIENDS + "ann,eve\n"
    (folder / "friends.csv").write_text(own_graph, encoding="utf-8")
    with pytest.raises(OwnDataError, match="no test event"):
        build_own(spec_of(lake, "office"))
    (folder / "mails.csv").write_text(MAILS + "cat,bob,2024-04-05 10:00:00,mail\n", encoding="utf-8")
    table = build_own(spec_of(lake, "office"))
    assert table.nodes["name"].to_list() == ["zoe", "cat", "ann", "bob"]
    assert table.metadata["dropped"] == {
        "events: self-loop": 1,
        "events: someone outside the node list": 4,
        "initial associations: someone outside the node list": 1,
    }


def test_graphs_of_several_relations_are_kept_apart(lake):
    graph = '{ file = "graph.csv", relation = "kind" }'
    folder = own(lake, "office", toml=OFFICE.replace('{ file = "friends.csv" }', f"{graph}\nfinal = {graph}"))
    (folder / "graph.csv").write_text(
        "source,target,kind\nann,bob,befriended\ndan,cat,family\n", encoding="utf-8"
    )
    table = build_own(spec_of(lake, "office"))
    assert table.metadata["relations"] == ["befriended", "family"]
    assert (
        table.metadata["stats"]["initial_associations"] == table.metadata["stats"]["final_associations"] == 1
    )

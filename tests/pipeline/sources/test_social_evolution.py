"""Social Evolution: the five files from anywhere, the paper's rules, a clear word on whatever is wrong."""

import bz2
import gzip
import hashlib
import shutil
import struct
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from pipeline.event_table import EventTable, check_event_table, write_event_table
from pipeline.lake import Lake
from pipeline.sources.social_evolution.events import SocialEvolutionRules, social_evolution_table
from pipeline.sources.social_evolution.files import fetch_social_evolution, read_social_evolution
from pipeline.sources.social_evolution.relations import RELATIONS

FILES = {
    "Calls": """"user_id","time_stamp","duration","dest_user_id_if_known","dest_phone_hash"
3,2008-10-02 22:04:28,15,,"0"
2,2008-10-03 10:00:00,-1,1,"0"
2,2008-10-03 10:00:00,-1,1,"0"
1,2008-09-11 00:00:00,60,2,"0"
1,2008-09-10 23:59:59,60,2,"0"
1,2009-04-30 23:59:59,60,10,"0"
1,2009-05-01 00:00:00,60,2,"0"
1,2009-07-01 00:00:00,60,2,"0"
3,2008-12-01 08:00:00,5,3,"0"
""",
    "SMS": """"user.id","time","incoming","dest.user.id.if.known","dest.phone.hash"
10,2008-11-05 09:00:00,0,3,"0"
10,2008-11-05 09:00:00,1,3,"0"
3,2009-06-30 23:59:59,1,10,"\udcff\udcfe"
""",
    "Proximity": """"user.id","remote.user.id.if.known","time","prob2"
1,2,2008-12-24 18:00:00,0.81
1,3,2008-12-24 18:00:00,0.8
1,10,2008-12-24 18:00:00,
2,10,2008-12-24 18:00:00,1
2,10,2008-12-24 18:00:00,0.95
""",
    "RelationshipsFromSurveys": """"id.A","id.B","relationship","survey.date"
1,2,"CloseFriend","2008-09-09"
2,1,"CloseFriend","2008-09-09"
3,1,"CloseFriend","2008-09-09"
2,2,"CloseFriend","2008-09-09"
1,2,"SocializeTwicePerWeek","2008-09-09"
1,10,"CloseFriend","2008-12-13"
3,1,"CloseFriend","2008-12-13"
3,10,"PoliticalDiscussant","2008-12-13"
10,1,"CloseFriend","2009-04-17"
2,1,"CloseFriend","2009-04-17"
2,3,"CloseFriend","2009-05-18"
1,2,"CloseFriend","2009-05-18"
""",
    "Subjects": """"user_id","year_school","floor"
1,"Freshman","f1"
10,"",""
2,"Senior","f2"
3,"Freshman",
""",
}


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def folder_of(path: Path, **changes: str) -> Path:
    """The five files in a folder, some replaced."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in (FILES | changes).items():
        (path / f"{name}.csv").write_bytes(encoded(text))
    return path


def zip_of(path: Path, extra: dict[str, bytes] | None = None, **changes: str) -> Path:
    """The five files in one zip, some replaced, and more beside them."""
    members = {f"{name}.csv": encoded(text) for name, text in (FILES | changes).items()} | (extra or {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def table_of(source: Path, lake: Lake, rules: SocialEvolutionRules | None = None) -> EventTable:
    fetch_social_evolution(str(source), lake, terms_accepted=False)
    return social_evolution_table(read_social_evolution(lake), rules or SocialEvolutionRules())


@pytest.fixture(scope="module")
def built_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the five files became an event table; nobody changes it."""
    folder = tmp_path_factory.mktemp("social_evolution")
    lake = Lake(folder / "home")
    write_event_table(table_of(folder_of(folder / "source"), lake), lake.dataset("social_evolution"))
    return lake.home


@pytest.fixture(scope="module")
def social_table(built_home: Path) -> EventTable:
    """The event table of the five files; nobody changes it."""
    return social_evolution_table(read_social_evolution(Lake(built_home)), SocialEvolutionRules())


def named(table: EventTable) -> list[tuple]:
    """The events by the subjects' own numbers."""
    names = dict(table.nodes.select("node", "name").iter_rows())
    return [
        (names[u], names[v], type_, created_at, split)
        for u, v, type_, created_at, split in table.events.select(
            "u", "v", "type", "created_at", "split"
        ).iter_rows()
    ]


def test_rows_become_events_by_the_papers_rules(social_table):
    assert named(social_table) == [
        ("1", "2", "Call", datetime(2008, 9, 11), "train"),
        ("2", "1", "Call", datetime(2008, 10, 3, 10), "train"),
        ("10", "3", "SMS", datetime(2008, 11, 5, 9), "train"),
        ("1", "10", "CloseFriend", datetime(2008, 12, 13), "train"),
        ("1", "2", "Proximity", datetime(2008, 12, 24, 18), "train"),
        ("2", "10", "Proximity", datetime(2008, 12, 24, 18), "train"),
        ("1", "2", "CloseFriend", datetime(2009, 4, 17), "validation"),
        ("1", "10", "Call", datetime(2009, 4, 30, 23, 59, 59), "validation"),
        ("1", "2", "Call", datetime(2009, 5, 1), "test"),
        ("2", "3", "CloseFriend", datetime(2009, 5, 18), "test"),
        ("3", "10", "SMS", datetime(2009, 6, 30, 23, 59, 59), "test"),
    ]


def test_every_row_is_an_event_or_counted_as_dropped(social_table):
    events = social_table.events.filter(pl.col("kind") == "communication").height
    rows = sum(FILES[name].count("\n") - 1 for name in ("Calls", "SMS", "Proximity"))
    assert events + sum(social_table.metadata["dropped"].values()) == rows
    assert social_table.metadata["dropped"] == {
        "Calls: an id is missing": 1,
        "Calls: exact duplicate": 1,
        "Calls: outside the dates": 2,
        "Calls: self-loop": 1,
        "SMS: exact duplicate": 1,
        "Proximity: exact duplicate": 1,
        "Proximity: not probable enough": 2,
    }


def test_subjects_are_nodes_in_the_order_of_their_numbers_with_one_hot_year_and_floor(social_table):
    assert social_table.nodes["name"].to_list() == ["1", "2", "3", "10"]
    # No answer, Freshman, Senior; no answer, f1, f2.
    assert social_table.nodes["features"].to_list() == [
        [0, 1, 0, 0, 1, 0],
        [0, 0, 1, 0, 0, 1],
        [0, 1, 0, 1, 0, 0],
        [1, 0, 0, 1, 0, 0],
    ]


def test_graphs_are_symmetric_surveys_with_self_reports_on_the_diagonal(social_table):
    def entries(relation: str, snapshot: str) -> list[tuple]:
        chosen = (pl.col("relation") == relation) & (pl.col("snapshot") == snapshot)
        return social_table.associations.filter(chosen).select("u", "v").rows()

    assert entries("CloseFriend", "initial") == [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]
    assert entries("CloseFriend", "final") == [(0, 1), (0, 3), (1, 0), (3, 0)]
    assert entries("SocializeTwicePerWeek", "initial") == [(0, 1), (1, 0)]
    assert social_table.metadata["relations"][0] == "CloseFriend"


def test_a_tie_that_dissolved_can_form_again(social_table):
    formed = social_table.association_events.filter((pl.col("u") == 0) & (pl.col("v") == 1))
    assert formed.rows() == [("CloseFriend", 0, 1, datetime(2009, 4, 17))]


def test_other_relations_are_kept_without_being_events(social_table):
    assert "PoliticalDiscussant" in set(social_table.association_events["relation"])
    assert "PoliticalDiscussant" not in set(social_table.events["type"])


def test_any_relations_can_be_the_associations(tmp_path, lake):
    rules = SocialEvolutionRules(relations=("PoliticalDiscussant", "CloseFriend"))
    table = table_of(folder_of(tmp_path / "source"), lake, rules)
    assert table.events.filter(pl.col("kind") == "association")["type"].value_counts().sort(
        "type"
    ).rows() == [
        ("CloseFriend", 3),
        ("PoliticalDiscussant", 1),
    ]
    assert table.metadata["own_relations"] == ["PoliticalDiscussant", "CloseFriend"]


def test_threshold_and_dates_are_settings(tmp_path, lake):
    rules = SocialEvolutionRules(
        min_probability=0.0, start=date(2008, 12, 1), test_start=date(2009, 1, 1), end=date(2009, 5, 1)
    )
    table = table_of(folder_of(tmp_path / "source"), lake, rules)
    assert table.events.filter(pl.col("type") == "Proximity").height == 3
    assert named(table)[-1][:4] == ("1", "10", "Call", datetime(2009, 4, 30, 23, 59, 59))


def underscored(text: str) -> str:
    header, _, rest = text.partition("\n")
    return header.replace(".", "_").replace('"', "") + "\r\n" + rest.replace("\n", "\r\n")


@pytest.mark.parametrize("form", ["zip", "nested zip", "bz2", "gz", "subfolders", "other spelling"])
def test_every_form_of_the_source_gives_the_same_table(form, tmp_path, social_table):
    source = tmp_path / "again"
    if form == "zip":
        source = zip_of(tmp_path / "a.zip")
    elif form == "nested zip":
        with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
            for name, text in FILES.items():
                archive.writestr(f"deep/er/{name.lower()}.csv.bz2", bz2.compress(encoded(text)))
            archive.writestr("__MACOSX/deep/er/._Calls.csv", b"\0")
        source = tmp_path / "b.zip"
    elif form in ("bz2", "gz"):
        source.mkdir()
        pack: Callable[[bytes], bytes] = bz2.compress if form == "bz2" else gzip.compress
        for name, text in FILES.items():
            (source / f"{name}.csv.{form}").write_bytes(pack(encoded(text)))
    elif form == "subfolders":
        for place, (name, text) in enumerate(FILES.items()):
            (source / str(place)).mkdir(parents=True)
            (source / str(place) / f"{name}.csv").write_bytes(encoded(text))
    else:
        folder_of(source, **{name: underscored(text) for name, text in FILES.items()})
    again = table_of(source, Lake(tmp_path / "other"))
    assert again.events.equals(social_table.events)
    assert again.associations.equals(social_table.associations)
    assert again.nodes.equals(social_table.nodes)


def folder_without(path: Path, name: str) -> Path:
    """Four of the five files."""
    (folder_of(path) / name).unlink()
    return path


def folder_with(path: Path, name: str, content: bytes) -> Path:
    """What is in the folder, or the five files, and one more."""
    return written((path if path.exists() else folder_of(path)) / name, content).parent


def with_text(name: str, old: str, new: str) -> Callable[[Path], Path]:
    """The five files in a folder, `new` for `old` in one of them."""
    return lambda path: folder_of(path, **{name: FILES[name].replace(old, new)})


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def zip_of_others(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "something else")
    return path


def lying_zip(path: Path) -> Path:
    """A zip that understates the unpacked size of its first member."""
    zip_of(path, Calls=FILES["Calls"] + "\n" * (20 << 20))
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = content.index(signature) + offset
        content[at : at + 4] = struct.pack("<I", 100)
    path.write_bytes(bytes(content))
    return path


BROKEN: dict[str, tuple[Callable[[Path], Path], str]] = {
    "missing column": (
        with_text("Calls", "time_stamp", "stamp"),
        r"Calls.csv lacks the column time_stamp; it has user_id, stamp",
    ),
    "missing file": (
        lambda path: folder_without(path, "SMS.csv"),
        r"lacks SMS.csv .*socialevolution.html",
    ),
    "a file twice": (
        lambda path: folder_with(path, "calls.csv.bz2", b""),
        r"holds Calls twice",
    ),
    "empty file": (lambda path: folder_of(path, SMS=""), r"SMS.csv is empty"),
    "header only": (
        lambda path: folder_of(path, SMS=FILES["SMS"].splitlines()[0] + "\n"),
        r"SMS.csv has a header but no rows",
    ),
    "impossible date": (
        with_text("Calls", "2008-10-03 10", "2008-13-03 10"),
        r"Calls.csv line 3: time_stamp is 2008-13-03 10:00:00, not a time",
    ),
    "no date": (
        with_text("Calls", "2008-10-02 22:04:28", ""),
        r"Calls.csv line 2: time_stamp is empty, not a time",
    ),
    "id that is not a number": (
        with_text("SMS", ",0,3,", ",0,three,"),
        r"SMS.csv line 2: dest_user_id_if_known is three, not a number",
    ),
    "probability that is not a number": (
        with_text("Proximity", "0.95", "likely"),
        r"Proximity.csv line 6: prob2 is likely, not a probability",
    ),
    "survey of an unknown relation": (
        with_text("RelationshipsFromSurveys", "PoliticalDiscussant", "Rival"),
        r"RelationshipsFromSurveys.csv line 9: relationship is Rival, not one of CloseFriend",
    ),
    "survey on an impossible day": (
        with_text("RelationshipsFromSurveys", "2008-12-13", "2008-02-30"),
        r"line 7: survey_date is 2008-02-30, not a day",
    ),
    "a quote left open": (
        lambda path: folder_of(path, SMS=FILES["SMS"] + '1,2008-12-01 10:00:00,0,2,"0\n' + "1,,,,\n" * 9),
        r"SMS.csv is not well-formed CSV",
    ),
    "a row cut short": (
        lambda path: folder_of(path, SMS=FILES["SMS"] + "1,2008-12"),
        r"SMS.csv line 5: time is 2008-12, not a time",
    ),
    "stranger": (
        with_text("Subjects", "10,", "11,"),
        r"'10' has events or associations but is not in the node list",
    ),
    "not a zip": (
        lambda path: written(path, b"<html>no such page</html>"),
        r"is not a zip \(it begins with b'<html>no such page",
    ),
    "another zip": (zip_of_others, r"lacks Calls.csv, SMS.csv, Proximity.csv"),
    "names that lead outside": (
        lambda path: zip_of(path, extra={"../Calls.csv": b"x"}),
        r"holds '../Calls.csv', a name that leads outside",
    ),
    "absolute names": (lambda path: zip_of(path, extra={"/etc/x.csv": b"x"}), r"leads outside"),
    "bomb": (lambda path: zip_of(path, SMS="\0" * (20 << 20)), r"SMS.csv unpacks to .* taken for a bomb"),
    "bomb that lies about its size": (
        lying_zip,
        r"Calls.csv (unpacks to .* bomb|is damaged)",
    ),
    "bomb within": (
        lambda path: folder_with(
            folder_without(path, "Calls.csv"), "Calls.csv.bz2", bz2.compress(b"\0" * (20 << 20))
        ),
        r"Calls.csv.bz2 unpacks to .* taken for a bomb",
    ),
    "truncated bz2": (
        lambda path: folder_with(
            folder_without(path, "Calls.csv"), "Calls.csv.bz2", bz2.compress(encoded(FILES["Calls"]))[:-9]
        ),
        r"Calls.csv.bz2 is damaged",
    ),
    "nothing there": (
        lambda path: path,
        r"\(LDG_SOCIAL_EVOLUTION\) does not exist; it takes a zip, a folder or a URL",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_malformed_input_gets_a_clear_error_and_leaves_earlier_results(case, tmp_path, lake, built_home):
    make, message = BROKEN[case]
    shutil.copytree(built_home, lake.home)
    before = digest(lake.home)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        table_of(make(tmp_path / "bad"), lake)
    after = digest(lake.home)
    datasets = {path: hash_ for path, hash_ in before.items() if "datasets" in path.parts}
    assert datasets.items() <= after.items()
    # A file that cannot be unpacked or lacks a column does not even replace the files fetched before.
    assert before == after or "line" in message or "node list" in message or "well-formed" in message
    assert not [path for path in after if ".incoming" in str(path)]


def digest(folder: Path) -> dict[Path, str]:
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()
    }


def test_a_window_that_ends_before_the_first_survey_names_its_setting(tmp_path, lake):
    rules = SocialEvolutionRules(start=date(2000, 1, 1), test_start=date(2000, 2, 1), end=date(2000, 3, 1))
    with pytest.raises(ValueError, match=r"no survey before 2000-03-01 \(LDG_SOCIAL_EVOLUTION_END\)"):
        table_of(folder_of(tmp_path / "source"), lake, rules)


def test_without_a_source_it_is_said_what_to_set(lake):
    with pytest.raises(ValueError, match=r"no Social Evolution source is set \(LDG_SOCIAL_EVOLUTION\)"):
        fetch_social_evolution("", lake, terms_accepted=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_probability": 1.5}, "min_probability"),
        ({"relations": ("Friend",)}, "relations"),
        ({"relations": ()}, "relations"),
        ({"test_start": date(2010, 1, 1)}, "must follow one another"),
    ],
)
def test_impossible_rules_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        SocialEvolutionRules(**settings)


def test_the_real_files_give_exactly_the_published_counts(real_data, lake):
    table = table_of(real_data / "social_evolution" / "SocialEvolution.zip", lake)
    assert table.metadata["stats"] == {
        "nodes": 84,
        "initial_associations": 575,
        "final_associations": 708,
        "train_communications": 43_469,
        "train_associations": 365,
        "test_communications": 10_462,
        "test_associations": 73,
    }
    counts = table.events.group_by(pl.col("split") == "test", "type").len().sort("split", "type")
    assert [count for _, _, count in counts.iter_rows()] == [8_186, 365, 30_989, 4_294, 1_080, 73, 9_094, 288]
    assert check_event_table(table) == []


@pytest.mark.parametrize("relation", RELATIONS)
def test_each_real_relation_agrees_with_a_count_by_hand(relation, real_data, lake):
    rules = SocialEvolutionRules(relations=(relation,))
    table = table_of(real_data / "social_evolution" / "SocialEvolution.zip", lake, rules)
    with zipfile.ZipFile(real_data / "social_evolution" / "SocialEvolution.zip") as archive:
        lines = archive.read("SocialEvolution/RelationshipsFromSurveys.csv").decode().splitlines()[1:]
    surveys: dict[str, set[frozenset[str]]] = {}
    for line in lines:
        a, b, answer, day = line.replace('"', "").split(",")
        surveys.setdefault(day, set())
        if answer == relation:
            surveys[day].add(frozenset((a, b)))
    first, *_, last, test = sorted(surveys)
    entries = {day: sum(len(pair) for pair in pairs) for day, pairs in surveys.items()}
    formed: dict[bool, int] = {False: 0, True: 0}
    days = sorted(surveys)
    for before, now in pairwise(days):
        formed[now == test] += sum(len(pair) == 2 for pair in surveys[now] - surveys[before])
    stats = table.metadata["stats"]
    assert (stats["initial_associations"], stats["final_associations"]) == (entries[first], entries[last])
    assert (stats["train_associations"], stats["test_associations"]) == (formed[False], formed[True])

import json
from datetime import UTC, datetime

import msgspec
import pytest

from pipeline.sources.gharchive.event import decoder
from pipeline.sources.gharchive.identity import event_identities, event_identity
from pipeline.sources.gharchive.normalize import EventRules, microseconds, resolve
from pipeline.sources.gharchive.salvage import salvaged_event
from tests.pipeline.sources.gharchive.making import line, modern, second


def parse(text):
    event = salvaged_event(text)
    assert event is not None
    return event


def row(event):
    return resolve(parse(line(event)))


def at(*moment):
    return int(datetime(*moment, tzinfo=UTC).timestamp() * 1e6)


def early(type_, payload, **more):
    return {
        "repo": {"id": 1, "url": "", "name": "bob/tool"},
        "type": type_,
        "public": True,
        "created_at": "2011-02-12T00:00:33Z",
        "payload": payload,
        "actor": {"id": 7, "login": "ann"},
        "id": "1127195797",
    } | more


def test_the_first_shape_names_actor_and_repository_at_the_top():
    assert row(early("WatchEvent", {"actor": "x", "repo": "y/z"})) == (
        "ann", 7, "bob", "bob/tool", at(2011, 2, 12, 0, 0, 33),
    )  # fmt: skip


def test_the_first_shape_falls_back_to_its_payload():
    lost = early("PushEvent", {"actor": "ann", "repo": "bob/tool"}, actor={"url": ""}, repo={"name": "/"})
    assert row(lost)[:4] == ("ann", None, "bob", "bob/tool")


def test_a_follow_goes_to_its_target_and_has_no_repository():
    follow = early("FollowEvent", {"target": {"login": "cid"}}, repo={"name": "/"})
    assert row(follow)[:4] == ("ann", 7, "cid", None)
    second_shape = second("FollowEvent", payload={"target": {"login": "cid"}}, url="https://github.com/cid")
    del second_shape["repository"]
    assert row(second_shape) == ("ann", None, "cid", None, at(2013, 2, 15, 8, 0, 39))


@pytest.mark.parametrize("member", ["cid", {"login": "cid", "id": 3}])
def test_a_member_is_a_string_at_first_and_an_object_later(member):
    assert row(modern(1, "MemberEvent", payload={"member": member}))[:4] == ("ann", 7, "cid", "bob/tool")


def test_the_second_shape_names_owner_and_name_apart():
    assert row(second())[:4] == ("ann", None, "bob", "bob/tool")


def test_an_empty_owner_is_read_from_the_url():
    assert row(second(owner=""))[:4] == ("ann", None, "bob", "bob/tool")


def test_an_empty_owner_of_a_fork_stays_unknown_because_the_url_is_the_new_fork():
    assert row(second("ForkEvent", owner="", url="https://github.com/ann/tool")) == "no repository owner"


@pytest.mark.parametrize("url", ["https://github.com//tool", "https://gist.github.com/1/2", "http://[", None])
def test_an_empty_owner_without_a_telling_url_stays_unknown(url):
    assert row(second(owner="", url=url)) == "no repository owner"


def test_slash_dates_of_2012_are_times():
    assert microseconds("2012/03/18 00:00:05 -0700") == at(2012, 3, 18, 7, 0, 5)


@pytest.mark.parametrize(
    "time", ["", "yesterday", "2015-01-01", "2015-01-01T00:00:00", "2015-13-01T00:00:00Z"]
)
def test_what_is_not_a_time_with_a_zone_is_told(time):
    assert row(modern(1, created_at=time)) == "created_at is not a time"


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (modern(1, actor=None), "no actor"),
        (modern(1) | {"actor": {}}, "no actor"),
        (modern(1) | {"actor": None}, "no actor"),
        (modern(1) | {"actor": [1]}, "no actor"),
        (modern(1) | {"repo": {}}, "no repository owner"),
        (modern(1) | {"repo": None}, "no repository owner"),
        (modern(1, repo="tool"), "no repository owner"),
        (modern(1, repo="/tool"), "no repository owner"),
        (second(actor=None), "no actor"),
        (modern(1, created_at=None), "no created_at"),
        (modern(1, "FollowEvent", payload={"target": 5}), "no payload.target"),
        (modern(1, "FollowEvent", payload=None), "no payload.target"),
        (modern(1, "MemberEvent", payload=[1]), "no payload.member"),
    ],
)
def test_what_cannot_be_resolved_has_a_reason(event, reason):
    assert row(event) == reason


def test_payload_fields_of_any_form_do_not_matter_where_none_is_needed():
    for payload in (
        {"issue": 5},
        {"issue": {"id": 5}},
        {"forkee": {"owner": {"login": "x"}}},
        None,
        [],
        "odd",
    ):
        assert row(modern(1, "IssuesEvent", payload=payload))[2] == "bob"
    bare = modern(1)
    del bare["payload"]
    assert row(bare)[2] == "bob"


def test_a_login_that_is_not_utf8_is_not_made_up():
    broken = line(modern(1, actor="ann")).replace(b'"ann"', b'"a\xffn"')
    assert resolve(parse(broken)) == "actor or counterpart is not UTF-8"
    surrogate = line(modern(1)).replace(b'"ann"', b'"a\\ud83dn"')
    assert resolve(parse(surrogate)) == "actor or counterpart is not UTF-8"


def test_identity_is_type_id_and_time():
    same = event_identity(parse(line(modern(1))))
    assert event_identity(parse(line(modern(1, actor="cid", payload={})))) == same
    for other in (modern(2), modern(1, "WatchEvent"), modern(1, created_at="2015-01-01T00:00:02Z")):
        assert event_identity(parse(line(other))) != same


def test_identities_at_once_are_those_one_by_one():
    plain = [
        parse(line(modern(number, type_))) for number in (7, 10**17) for type_ in ("PushEvent", "GistEvent")
    ]
    odd = [parse(line(modern(1) | {"id": id_})) for id_ in ("07", "7\n8", "x", "", 7, 0, str(10**18), None)]
    for events in (plain, [*plain, *odd], odd, [parse(line(second())), *plain], []):
        assert event_identities(events) == b"".join(map(event_identity, events))
    assert (
        len({event_identity(event) for event in [*plain, *odd]}) == len(plain) + len(odd) - 2
    )  # "" is None, 7 is "7"


def test_identity_without_an_id_is_all_that_is_said():
    same = event_identity(parse(line(second())))
    assert event_identity(parse(line(second()))) == same
    others = [
        second("WatchEvent"),
        second(actor="cid"),
        second(url="https://github.com/bob/tool/compare/x"),
        second(created_at="2013-02-15T00:00:40-08:00"),
        second(payload={"size": 2}),
    ]
    for other in others:
        assert event_identity(parse(line(other))) != same


def test_strict_and_loose_reading_agree():
    for event in (modern(1), second(), early("FollowEvent", {"target": {"login": "cid"}})):
        text = line(event)
        strict = decoder.decode(text)
        loose = parse(text[:-1] + b',"odd":NaN}')
        with pytest.raises(msgspec.DecodeError):
            decoder.decode(text[:-1] + b',"odd":NaN}')
        assert resolve(loose) == resolve(strict)
        assert json.loads(bytes(loose.payload)) == json.loads(bytes(strict.payload))


def test_rules_name_what_they_take():
    with pytest.raises(ValueError, match=r"communications has types without a counterpart: \['GistEvent'\]"):
        EventRules(communications=frozenset({"GistEvent"}))
    with pytest.raises(ValueError, match="a type has one kind"):
        EventRules(communications=frozenset({"FollowEvent"}))
    assert (
        EventRules(associations=frozenset({"FollowEvent", "MemberEvent"})).kinds["MemberEvent"]
        == "association"
    )

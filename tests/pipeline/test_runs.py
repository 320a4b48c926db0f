"""Sessions add up, and come back as they were written."""

from pathlib import Path

from pipeline.lake import Lake
from pipeline.runs import FinishedTraining, SessionRecord, read_sessions


def test_a_home_where_nothing_ran_has_no_sessions(tmp_path: Path) -> None:
    assert read_sessions(Lake(tmp_path)) == []


def test_a_killed_session_stays_beside_the_one_that_went_on(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    killed = SessionRecord(lake, side_by_side=2)
    trained = FinishedTraining("github", "dyrep-concat", seconds=12.5, resumed=False)
    killed.note(trained)
    following = SessionRecord(lake, side_by_side=1)
    following.note(finished=True)
    first, second = read_sessions(lake)
    assert (first, second) == (killed.session, following.session)
    assert first.trainings == (trained,)
    assert not first.finished
    assert second.finished
    assert first.started <= first.ended <= second.started <= second.ended
    assert first.machine.processors >= 1
    assert first.machine.packages["torch"]

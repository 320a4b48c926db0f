"""Paths of the files of a followed archive. A day's record is written last and marks the day as complete."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pipeline.lake import Lake


@dataclass(frozen=True)
class FollowingFiles:
    """Paths below `$LDG_HOME/following`; people are named by the day on which they were chosen."""

    root: Path

    @classmethod
    def of(cls, lake: Lake) -> "FollowingFiles":
        """Return the paths of a lake."""
        return cls(lake.following)

    def people(self, chosen_on: date) -> Path:
        """Return the file of the people chosen and the reasons; a JSON file beside it says how."""
        return self.root / "choices" / f"{chosen_on}.parquet"

    def events(self, chosen_on: date, day: date) -> Path:
        """Return the file of the events among these people on a day."""
        return self.root / "events" / str(chosen_on) / f"date={day}.parquet"

    def lane(self, variant: str, chosen_on: date) -> Path:
        """Return the folder of a model's snapshots, one folder per day; the last `LATE_DAYS` are kept."""
        return self.root / "models" / variant / str(chosen_on)

    def snapshot(self, variant: str, chosen_on: date, day: date) -> Path:
        """Return the folder of the model's snapshot at the end of a day."""
        return self.lane(variant, chosen_on) / str(day)

    def training(self, variant: str, chosen_on: date) -> Path:
        """Return the file of the facts of the model's training."""
        return self.root / "trainings" / f"{chosen_on}-{variant}.json"

    def forecasts(self, day: date) -> Path:
        """Return the file of the forecasts made as of the end of a day."""
        return self.root / "forecasts" / f"date={day}.parquet"

    def scores(self, day: date) -> Path:
        """Return the file of a day's scores of the forecasts made the day before."""
        return self.root / "scores" / f"date={day}.parquet"

    def record(self, day: date) -> Path:
        """Return the file of a day's record, which is written last."""
        return self.root / "days" / f"{day}.json"


def files_of_day(day: date) -> list[str]:
    """List the glob patterns of everything made on a day, below `$LDG_HOME/following`; its record is last.

    That includes the people chosen on that day, with their events and models.
    """
    of_people = [f"choices/{day}.*", f"events/{day}", f"models/*/{day}", f"trainings/{day}-*.json"]
    of_day = ["forecasts/date={}.parquet", "scores/date={}.parquet", "events/*/date={}.*", "models/*/*/{}"]
    return [*of_people, *(pattern.format(day) for pattern in of_day), f"days/{day}.json"]

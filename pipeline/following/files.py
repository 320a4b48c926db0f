"""Where the files of a followed archive are. A day's record is written last: with it the day is whole."""

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
        """Those of a lake."""
        return cls(lake.following)

    def people(self, chosen_on: date) -> Path:
        """Who was chosen, and why; beside it a JSON file with how."""
        return self.root / "choices" / f"{chosen_on}.parquet"

    def events(self, chosen_on: date, day: date) -> Path:
        """What these people did among themselves on a day."""
        return self.root / "events" / str(chosen_on) / f"date={day}.parquet"

    def lane(self, variant: str, chosen_on: date) -> Path:
        """The snapshots of a model of these people, one folder per day; those of `LATE_DAYS` are kept."""
        return self.root / "models" / variant / str(chosen_on)

    def snapshot(self, variant: str, chosen_on: date, day: date) -> Path:
        """The model as it was left at the end of a day."""
        return self.lane(variant, chosen_on) / str(day)

    def training(self, variant: str, chosen_on: date) -> Path:
        """How the model was trained from the window's start."""
        return self.root / "trainings" / f"{chosen_on}-{variant}.json"

    def forecasts(self, day: date) -> Path:
        """The forecasts made as of the end of a day."""
        return self.root / "forecasts" / f"date={day}.parquet"

    def scores(self, day: date) -> Path:
        """How the forecasts of the day before did on a day."""
        return self.root / "scores" / f"date={day}.parquet"

    def record(self, day: date) -> Path:
        """What a day was made from and what it left; written last."""
        return self.root / "days" / f"{day}.json"


def files_of_day(day: date) -> list[str]:
    """List the glob patterns of everything made on a day, below `$LDG_HOME/following`; its record is last.

    That includes the people chosen on that day, with their events and models.
    """
    of_people = [f"choices/{day}.*", f"events/{day}", f"models/*/{day}", f"trainings/{day}-*.json"]
    of_day = ["forecasts/date={}.parquet", "scores/date={}.parquet", "events/*/date={}.*", "models/*/*/{}"]
    return [*of_people, *(pattern.format(day) for pattern in of_day), f"days/{day}.json"]

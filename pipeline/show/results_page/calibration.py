"""Waiting-time forecasts on the results pages: scores and calibration."""

from math import sqrt

import polars as pl

from pipeline.show.labels import NONE, count, number
from pipeline.show.results_page.markdown import markdown_table
from pipeline.show.results_page.measured import Measured
from pipeline.show.tables import Row

SUBJECTS = ("node", "pair")
NEAR = 0.03  # largest deviation from the observed share that counts as reliable
LEAST_SPREAD = 1e-6  # variance floor for forecasts of 0 or 1


def calibration_section(data: Measured) -> str:
    """Return waiting-time scores and the calibration of "an event within a day"; empty without forecasts."""
    if data.waits.is_empty():
        return ""
    return "\n".join(
        (
            "When the next event comes ([how](when.md)), forecast in test by what was learned before it:\n",
            wait_scores_table(data.waits.to_dicts()),
            "An event within a day, by tenths of what was forecast: the mean forecast → the share that came, "
            "± the standard error of as many independent ones; in brackets, how many.\n",
            calibration_by_tenth(data.calibration),
            " ".join(
                calibration_in_words(subject, of_subject(data.calibration, subject)) for subject in SUBJECTS
            )
            + "\n",
        )
    )


def calibration_in_short(data: Measured) -> str:
    """Summarize the gain over baselines and the number of calibrated tenths; empty without forecasts."""
    rows = data.waits.to_dicts()
    if not rows:
        return ""
    gains = " and ".join(f"{row['subject']}s {gain(row)}" for row in rows)
    tenths = " and ".join(
        f"{sum(off(row) <= NEAR for row in tenths)} of {len(tenths)} tenths of {subject}s"
        for subject in SUBJECTS
        if (tenths := of_subject(data.calibration, subject))
    )
    return (
        f"[When](when.md) the next event comes: {gains} nats gained over the best that learns nothing; an "
        f"event within a day is within {NEAR} of the forecast in {tenths}."
    )


def gain(row: Row) -> str:
    """Format the log-score gain over the best baseline, in nats."""
    return NONE if row["gain"] is None else f"{row['gain']:+.2f}"


def wait_scores_table(rows: list[Row]) -> str:
    """Return a table of waiting-time scores, a row per subject."""
    headings = ["Subject", "waits", "gain, nats ↑", "PIT distance ↓", "Brier 1 d ↓", "skill over frequency ↑"]
    return markdown_table(
        headings,
        [
            [
                row["subject"],
                f"{row['waits']:,} and {row['open_waits']:,} open",
                gain(row),
                number(row["pit_distance"], 3),
                number(row["brier_1d"], 4),
                number(row["brier_skill_1d"], 2),
            ]
            for row in rows
        ],
    )


def calibration_by_tenth(calibration: pl.DataFrame) -> str:
    """Return a table with a row for each tenth that has forecasts and a column per subject."""
    rows = []
    for tenth in calibration["tenth"].unique().sort():
        of_tenth = {row["subject"]: row for row in calibration.filter(pl.col("tenth") == tenth).to_dicts()}
        cells = [tenth_cell(of_tenth[subject]) if subject in of_tenth else NONE for subject in SUBJECTS]
        rows.append([f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}", *cells])
    return markdown_table(["Forecast", *SUBJECTS], rows)


def tenth_cell(row: Row) -> str:
    """Format forecast and observed share of one tenth."""
    return f"{row['predicted']:.3f} → {row['observed']:.3f} ± {noise(row):.3f} ({row['forecasts']:,})"


def noise(row: Row) -> float:
    """Compute the standard error of the observed share if the forecasts are right and independent."""
    return sqrt(max(row["predicted"] * (1 - row["predicted"]), LEAST_SPREAD) / row["forecasts"])


def off(row: Row) -> float:
    """Return the distance between forecast and observed share."""
    return abs(row["predicted"] - row["observed"])


def of_subject(calibration: pl.DataFrame, subject: str) -> list[Row]:
    """Return the tenths of one subject."""
    return calibration.filter(pl.col("subject") == subject).sort("tenth").to_dicts()


def calibration_in_words(subject: str, rows: list[Row]) -> str:
    """Summarize the number of calibrated tenths and the largest deviation."""
    near = sum(off(row) <= NEAR for row in rows)
    text = f"{subject.capitalize()}s: within {NEAR} in {near} of {len(rows)} tenths"
    if near == len(rows):
        return f"{text}."
    worst = max(rows, key=off)
    return (
        f"{text}, off by {off(worst):.3f} at most, which is {off(worst) / noise(worst):.1f} standard errors "
        f"with {count(worst['forecasts'], 'forecast')}."
    )

"""A small dataset of one's own: mails of five people in an office."""

from pathlib import Path

from pipeline.lake import Lake

NAMES = ("ann", "bob", "cat", "dan", "eve")


def write_office(home: Path) -> None:
    """The dataset `office` of a home, as its user would write it."""
    folder = Lake(home).own / "office"
    folder.mkdir(parents=True)
    mails = [
        f"{NAMES[n % 5]},{NAMES[(n + 1 + n % 3) % 5]},2024-{1 + n // 28:02}-{1 + n % 28:02}"
        for n in range(112)
    ]
    (folder / "mails.csv").write_text("from,to,sent\n" + "\n".join(mails) + "\n")
    (folder / "dataset.toml").write_text(
        'title = "The office"\n[events]\nfile = "mails.csv"\nsource = "from"\ntarget = "to"\ntime = "sent"\n'
        'time_zone = "UTC"\n[split]\ntest_start = 2024-04-01\ntime_zone = "UTC"\n'
    )

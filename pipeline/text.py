"""Text formatting for people: escaped control characters, shortened values, numbers and durations."""

import difflib
import re
from collections.abc import Iterable

# Control characters, line separators, bidirectional controls, surrogates and noncharacters. XML forbids most
# of them; HTML, terminals and editors interpret or drop the rest.
FORBIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
)
IN_A_DOCUMENT = re.compile(f"[{FORBIDDEN}]")
IN_A_NAME = re.compile(f"[{FORBIDDEN}\t\n\r]")
MARKUP = re.compile(r"[\\\[\]<]")  # links, images, HTML, and the backslash, which would undo an escape
LONGEST_VALUE = 200  # characters of a value in a message
MOST_DECIMALS = 17  # closer numbers print as equal


def printable(name: str) -> str:
    """Return `name` on one line, forbidden characters escaped as in JSON: a NUL becomes `\\u0000`."""
    return IN_A_NAME.sub(character_code, name)


def printable_document(text: str) -> str:
    """Return `text` with forbidden characters escaped as in JSON; line breaks and tabs stay."""
    return IN_A_DOCUMENT.sub(character_code, text)


def escape_markdown(text: str) -> str:
    """Escape links, images and HTML in a text from data, so that Markdown shows them literally."""
    return MARKUP.sub(r"\\\g<0>", text)


def shortened(value: object) -> str:
    """Return `repr(value)`, cut to `LONGEST_VALUE` characters."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        return f"too large a value ({type(value).__name__})"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean NAME?` for the known name nearest to a misspelled one, or an empty string."""
    nearest = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {printable(nearest[0])}?" if nearest else ""


def character_code(match: re.Match[str]) -> str:
    """Return the JSON escape of a matched character."""
    return f"\\u{ord(match[0]):04x}"


def told_apart(one: float, other: float, decimals: int) -> tuple[str, str]:
    """Format two numbers with `decimals` or, if unequal ones would print alike, up to `MOST_DECIMALS`."""
    texts = (f"{one:.{decimals}f}", f"{other:.{decimals}f}")
    if texts[0] != texts[1] or one == other or decimals >= MOST_DECIMALS:
        return texts
    return told_apart(one, other, decimals + 1)


def duration(seconds: float) -> str:
    """Format a duration in one or two units: `45 s`, `3 min 20 s`, `1 h 42 min`."""
    whole = round(max(seconds, 0))
    if whole < 60:
        return f"{whole} s"
    large, small, units = (
        (*divmod(whole, 60), ("min", "s")) if whole < 3600 else (*divmod(round(whole / 60), 60), ("h", "min"))
    )
    return f"{large} {units[0]}" + (f" {small} {units[1]}" if small else "")

"""Retries with exponential backoff within a run, for failures that may be temporary."""

from dagster import AssetExecutionContext, RetryRequested

from pipeline.settings import Settings
from pipeline.text import duration

RETRIES = 2


def retry_later(context: AssetExecutionContext, settings: Settings, reason: str) -> None:
    """Raise RetryRequested with a wait of LDG_RETRY_SECONDS, then twice that; return if no retry is due."""
    wait = settings.retry_seconds * 2**context.retry_number
    if not wait or context.retry_number >= RETRIES:
        return
    context.log.warning(f"{reason}: try {context.retry_number + 2} of {RETRIES + 1} in {duration(wait)}.")
    raise RetryRequested(max_retries=RETRIES, seconds_to_wait=wait)

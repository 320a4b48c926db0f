"""Source asset of the Social Evolution lane."""

import polars as pl
from dagster import AssetExecutionContext, MaterializeResult, ResourceParam, asset

from assets.metadata import shown
from assets.versions import version_of_facts
from pipeline.settings import Settings
from pipeline.sources.social_evolution.files import fetch_social_evolution


@asset(group_name="social_evolution", kinds={"csv", "zip"})
def social_evolution_files(
    context: AssetExecutionContext, settings: ResourceParam[Settings]
) -> MaterializeResult:
    """Fetch calls, SMS, proximity, surveys and subjects as MIT distributes them: a zip, a folder or a URL."""
    files = fetch_social_evolution(
        settings.social_evolution,
        settings.lake,
        terms_accepted=settings.social_evolution_terms_accepted,
        log=context.log.info,
    )
    rows = [{"file": name, "bytes": files.path(name).stat().st_size} for name in files.sha256]
    return MaterializeResult(
        metadata=shown(pl.DataFrame(rows), source=files.source), data_version=version_of_facts(files.sha256)
    )

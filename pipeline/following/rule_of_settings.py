"""How the settings ask to follow."""

from pipeline.following.rule import FollowRule
from pipeline.settings import SettingError, Settings


def follow_rule(settings: Settings) -> FollowRule:
    """How the settings ask to follow."""
    try:
        return FollowRule(
            days=settings.follow_days,
            nodes=settings.follow_nodes,
            accounts=settings.follow_accounts,
            organizations=settings.follow_organizations,
            reselect=settings.follow_reselect,
            variants=settings.follow_variants,
        )
    except ValueError as error:
        raise SettingError(str(error)) from None

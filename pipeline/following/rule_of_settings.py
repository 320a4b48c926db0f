"""The rule of following that the settings define."""

from pipeline.following.rule import FollowRule, model_that_follows
from pipeline.settings import SettingError, Settings


def follow_rule(settings: Settings) -> FollowRule:
    """Return the rule that the settings define; raise SettingError if it is invalid."""
    try:
        # Not checked by FollowRule: a stored rule may name models that can no longer follow.
        for name in settings.follow_variants:
            model_that_follows(name)
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

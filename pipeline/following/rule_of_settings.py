"""How the settings ask to follow."""

from pipeline.following.rule import FollowRule, model_that_follows
from pipeline.settings import SettingError, Settings


def follow_rule(settings: Settings) -> FollowRule:
    """How the settings ask to follow."""
    try:
        # Not checked by FollowRule: a home may have stored a rule with models that followed once.
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

"""Names of the steps in the asset chain of every dataset: the last part of their asset keys."""

EVENT_TABLE, NO_LEARN_BASELINES, WAITING_TIMES = "event_table", "no_learn_baselines", "waiting_times"
TRAINED_MODELS, RENEWED_MODELS = "trained_models", "renewed_models"
MADE_TOGETHER = (EVENT_TABLE, NO_LEARN_BASELINES)  # built within minutes, before any training

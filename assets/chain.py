"""The chain that every dataset has: the names of its steps, which are the last part of their asset's key."""

EVENT_TABLE, NO_LEARN_BASELINES, WAITING_TIMES = "event_table", "no_learn_baselines", "waiting_times"
TRAINED_MODELS, RENEWED_MODELS = "trained_models", "renewed_models"
MADE_TOGETHER = (EVENT_TABLE, NO_LEARN_BASELINES)  # within minutes, and before anything is learned

"""Training parameters of the paper, the defaults of settings and trainings."""

SEEDS = 10  # per variant
EPOCHS = 5
BATCH = 200  # events
LEARNING_RATE = 2e-4
# Not configurable.
NON_EVENTS = 5  # sampled nodes for u, and as many for v
TEMPERATURE = 0.5  # of Gumbel-softmax

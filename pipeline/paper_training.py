"""How the paper trains its models: what settings and trainings take where nothing else is asked for."""

SEEDS = 10  # how many times each variant is trained
EPOCHS = 5
BATCH = 200  # events
LEARNING_RATE = 2e-4
# No setting changes these.
NON_EVENTS = 5  # sampled nodes for u, and as many for v
TEMPERATURE = 0.5  # of Gumbel-softmax

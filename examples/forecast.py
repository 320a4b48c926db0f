"""From an event table to a forecast, cell by cell (open it as a notebook, or run it as it is).

It uses the sample world that `make run` builds in `data/sample`; any other event table will do.
"""

# %% What there is: an event table, and a folder for what is learned from it
from pathlib import Path

import polars as pl

from model import TrainingSettings, load, train

dataset = Path("data/sample/datasets/github")
folder = Path("data/sample/examples/dyrep-bilinear")

# %% Train one variant; a finished training is not repeated, a killed one goes on
settings = TrainingSettings(seeds=(0,), epochs=2)
summary = train(dataset, "dyrep-bilinear", settings, folder, log=print)
print(f"{summary['parameters']:,} parameters, epoch {summary['chosen_epoch']['0']} was chosen")

# %% Who is likely to interact next with the busiest node, right after the last event?
events = pl.read_parquet(dataset / "events.parquet")
busiest = events["u"].mode()[0]
model = load(folder, dataset)
print(f"after the last event, {model.names[busiest]} meets")
print(model.predict(model.names[busiest], top=5))

# %% And what would the model have said just before the last event, knowing what it knew then?
last = events.row(-1, named=True)
source, target = model.names[last["u"]], model.names[last["v"]]
partners = model.predict(source, at=last["created_at"], top=len(model.names)).frame()
rank = partners["partner"].to_list().index(target) + 1
print(f"{last['created_at']}: {source} met {target}, number {rank} of {partners.height} by probability")

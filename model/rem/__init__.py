"""A neural relational-event model: predicts who acts on whom next from statistics of the past."""

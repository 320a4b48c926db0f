"""A neural relational-event model: who acts on whom next, from the statistics of the past."""

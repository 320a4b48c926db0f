"""Events with the same past and another future, to show that nothing looks ahead."""

from dataclasses import replace

import numpy as np

from model.history.events import Events


def with_other_future(events: Events, position: int) -> Events:
    """`events`, but those behind `position` go the other way round and happen later."""
    stream = events.stream
    later = np.arange(len(stream)) > position
    return replace(
        events,
        stream=replace(
            stream,
            u=np.where(later, stream.v, stream.u),
            v=np.where(later, stream.u, stream.v),
            seconds=stream.seconds + np.where(later, 1e6, 0.0),
        ),
    )

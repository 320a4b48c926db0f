"""The client's side: orders sent to a cluster's workers, what they tell on the way, and what they return."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from uuid import uuid4

import msgspec
from distributed import Client, Future, KilledWorker
from distributed.client import FutureCancelledError

from pipeline.cluster.software import Software
from pipeline.cluster.task import ClusterError, Log, Made, Task
from pipeline.cluster.worker import TOPIC, News, Order, perform_order
from pipeline.lake import Lake, temporary_name
from pipeline.progress import State, announce, pass_on
from pipeline.storage.share import bring_things

SECONDS_TO_CONNECT = 10.0
SECONDS_BETWEEN_LOOKS = 1.0  # at who is there, while nothing is heard
SECONDS_TO_CLOSE = 2.0


def run_there(
    tasks: Iterable[Task[Made]], lake: Lake, address: str, log: Log | None
) -> Iterator[tuple[Task[Made], Made]]:
    """`run_tasks` on the cluster whose scheduler is at `address`."""
    with connected(address) as client, marked(lake) as mark:
        yield from Session(client, address, lake, mark, log).run(iter(tasks))


def capacity(address: str) -> int:
    """How many tasks a cluster does at a time; at least one: workers may be on their way."""
    with connected(address) as client:
        return max(1, sum(client.nthreads().values()))


@contextmanager
def connected(address: str) -> Generator[Client]:
    """A client of the scheduler at `address`."""
    try:
        client = Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except OSError as error:
        raise ClusterError(
            f"no scheduler answers at {address} (LDG_CLUSTER): start it with `ldg scheduler`, or leave "
            f"LDG_CLUSTER empty to work on this machine ({error})"
        ) from None
    try:
        yield client
    finally:
        client.close(timeout=SECONDS_TO_CLOSE)


@contextmanager
def marked(lake: Lake) -> Generator[str]:
    """Put a file into the home by which workers see that theirs is the same; yields its name."""
    lake.home.mkdir(parents=True, exist_ok=True)
    mark = temporary_name(lake.home / f"cluster-{uuid4().hex}")
    mark.touch()
    try:
        yield mark.name
    finally:
        mark.unlink(missing_ok=True)


@dataclass
class Session:
    """The orders of one run of tasks; all that happens to them arrives in one queue."""

    client: Client
    address: str
    lake: Lake
    mark: str
    log: Log | None
    heard: SimpleQueue[News | str] = field(default_factory=SimpleQueue)  # news, or the key of one that ended
    orders: dict[str, tuple[Task, Future]] = field(default_factory=dict)
    states: dict[str, dict[str, State]] = field(default_factory=dict)  # by key and label: what is shown

    def run(self, tasks: Iterator[Task[Made]]) -> Iterator[tuple[Task[Made], Made]]:
        """Keep every worker busy until all is done."""
        self.client.subscribe_topic(TOPIC, self.hear)
        lonely = False
        try:
            while True:
                workers = self.workers()
                while len(self.orders) < max(workers, 1) and (task := next(tasks, None)) is not None:
                    self.send(task)
                if not self.orders:
                    return
                if lonely != (not workers):
                    lonely = not workers
                    self.say_lonely(lonely)
                try:
                    item = self.heard.get(timeout=SECONDS_BETWEEN_LOOKS)
                except Empty:
                    continue
                if isinstance(item, str):
                    task, future = self.orders.pop(item)
                    self.forget_states(item)
                    yield task, self.outcome(task, future)
                elif item.key in self.orders:
                    self.tell(item)
        finally:
            with suppress(Exception):  # of a scheduler that is gone
                self.client.cancel([future for _, future in self.orders.values()])
            for key in list(self.orders):
                self.forget_states(key)

    def workers(self) -> int:
        """How many tasks the cluster does at a time, now."""
        try:
            return sum(self.client.nthreads().values())
        except (OSError, TimeoutError, FutureCancelledError):
            raise self.gone() from None

    def send(self, task: Task) -> None:
        """Order a task; whoever of the workers is free takes it."""
        key = f"{task.name}-{uuid4().hex}"
        order = Order(key, task, self.lake, self.mark, Software.here())
        future = self.client.submit(perform_order, order, key=key, pure=False)
        self.orders[key] = task, future
        future.add_done_callback(lambda ended: self.heard.put(ended.key))

    def hear(self, event: tuple[float, dict]) -> None:
        """An event of any order of any client, in the client's own thread."""
        self.heard.put(msgspec.convert(event[1], News))

    def tell(self, news: News) -> None:
        """Pass on what a worker told."""
        if news.line and self.log is not None:
            self.log(news.line)
        if (state := news.state) is not None:
            shown = self.states.setdefault(news.key, {})
            if state.ended:
                shown.pop(state.label, None)
            else:
                shown[state.label] = state
            pass_on(state)

    def forget_states(self, key: str) -> None:
        """Nothing of this order is at work any more, whether or not its worker could say so."""
        for state in self.states.pop(key, {}).values():
            pass_on(replace(state, ended=True))

    def say_lonely(self, lonely: bool) -> None:
        """Say that there is no worker, until there is one."""
        line = f"no worker at {self.address} yet: `ldg worker {self.address}` starts one"
        announce(line, ended=not lonely)
        if lonely and self.log is not None:
            self.log(line)

    def outcome(self, task: Task[Made], future: Future) -> Made:
        """What a task returned, or its error; what it made elsewhere is brought."""
        is_done = future.status == "finished"  # then an error is none of its own: the answer was on its way
        try:
            made = future.result()
        except KilledWorker as killed:
            raise ClusterError(
                f"{task.name}: {killed.allowed_failures + 1} workers in a row ended while they did it, the "
                f"last one at {killed.last_worker.address}; perhaps memory ran out: what the workers print "
                "says why. Fewer of them on a machine leave each more memory (`ldg worker --processes`)"
            ) from None
        except (FutureCancelledError, OSError) as error:
            if is_done or isinstance(error, FutureCancelledError):
                raise self.gone() from None
            raise
        bring_things(self.lake, *task.makes, log=self.log)
        return made

    def gone(self) -> ClusterError:
        """The scheduler does not answer any more."""
        return ClusterError(
            f"the scheduler at {self.address} (LDG_CLUSTER) is gone. What is finished stays in the home: "
            "start it again with `ldg scheduler`, then its workers, and the same command goes on from there"
        )

"""The cluster client: submits orders to workers, relays their logs and progress, and yields results."""

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
SECONDS_BETWEEN_LOOKS = 1.0  # at the number of workers, while the queue is empty
SECONDS_TO_CLOSE = 2.0


def run_there(
    tasks: Iterable[Task[Made]], lake: Lake, address: str, log: Log | None
) -> Iterator[tuple[Task[Made], Made]]:
    """Run tasks as `run_tasks` does, on the cluster whose scheduler is at `address`."""
    with connected(address) as client, marked(lake) as mark:
        yield from Session(client, address, lake, mark, log).run(iter(tasks))


def capacity(address: str) -> int:
    """Return the number of tasks a cluster runs concurrently; at least 1: workers may still be starting."""
    with connected(address) as client:
        return max(1, sum(client.nthreads().values()))


@contextmanager
def connected(address: str) -> Generator[Client]:
    """Yield a client of the scheduler at `address`; raise ClusterError if it does not answer."""
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
    """Yield the name of a temporary file in the home, by which workers detect that they share it."""
    lake.home.mkdir(parents=True, exist_ok=True)
    mark = temporary_name(lake.home / f"cluster-{uuid4().hex}")
    mark.touch()
    try:
        yield mark.name
    finally:
        mark.unlink(missing_ok=True)


@dataclass
class Session:
    """The orders of one run of tasks, with one queue for all their events."""

    client: Client
    address: str
    lake: Lake
    mark: str
    log: Log | None
    heard: SimpleQueue[News | str] = field(default_factory=SimpleQueue)  # news, or a finished order's key
    orders: dict[str, tuple[Task, Future]] = field(default_factory=dict)
    states: dict[str, dict[str, State]] = field(default_factory=dict)  # progress shown, by key and label

    def run(self, tasks: Iterator[Task[Made]]) -> Iterator[tuple[Task[Made], Made]]:
        """Yield each task with its result as it finishes; submit as many at a time as the cluster runs."""
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
            with suppress(Exception):  # the scheduler may be gone
                self.client.cancel([future for _, future in self.orders.values()])
            for key in list(self.orders):
                self.forget_states(key)

    def workers(self) -> int:
        """Return the number of tasks the cluster can run concurrently now."""
        try:
            return sum(self.client.nthreads().values())
        except (OSError, TimeoutError, FutureCancelledError):
            raise self.gone() from None

    def send(self, task: Task) -> None:
        """Submit a task to the scheduler."""
        key = f"{task.name}-{uuid4().hex}"
        order = Order(key, task, self.lake, self.mark, Software.here())
        future = self.client.submit(perform_order, order, key=key, pure=False)
        self.orders[key] = task, future
        future.add_done_callback(lambda ended: self.heard.put(ended.key))

    def hear(self, event: tuple[float, dict]) -> None:
        """Queue a worker's event (of any client's order); called in the Dask client's thread."""
        self.heard.put(msgspec.convert(event[1], News))

    def tell(self, news: News) -> None:
        """Log a worker's line and forward its progress to the watcher."""
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
        """End all progress lines of an order, even if its worker did not."""
        for state in self.states.pop(key, {}).values():
            pass_on(replace(state, ended=True))

    def say_lonely(self, lonely: bool) -> None:
        """Show and log that the cluster has no workers, or remove that status line."""
        line = f"no worker at {self.address} yet: `ldg worker {self.address}` starts one"
        announce(line, ended=not lonely)
        if lonely and self.log is not None:
            self.log(line)

    def outcome(self, task: Task[Made], future: Future) -> Made:
        """Return a task's result, or raise its error; download what it made in another home."""
        is_done = future.status == "finished"  # then an error is of the connection, not of the task
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
        """Return the error for a scheduler that stopped answering."""
        return ClusterError(
            f"the scheduler at {self.address} (LDG_CLUSTER) is gone. What is finished stays in the home: "
            "start it again with `ldg scheduler`, then its workers, and the same command goes on from there"
        )

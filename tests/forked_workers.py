"""Workers of the tests, forked as other processes of tests are (`tests.forks`): each would import for long.

They fork from the same process themselves, so that the imports are done once for all of them.
"""

import os
import sys
from collections.abc import Sequence

from execnet import gateway_io
from execnet.gateway_base import ExecModel, Popen2IO

from assets.forks import fork_from_the_same
from assets.headless.apart import Descriptor
from tests.forks import FORKS


class ForkedWorker(Popen2IO):
    """A worker and the pipes to it, in the place of execnet's, which starts another Python."""

    def __init__(self, _command: Sequence[str], execmodel: ExecModel) -> None:
        their_input, commands = os.pipe()
        answers, their_output = os.pipe()
        super().__init__(os.fdopen(commands, "wb"), os.fdopen(answers, "rb"), execmodel)
        self.process = FORKS.Process(
            target=become_worker, args=(Descriptor(their_input), Descriptor(their_output))
        )
        self.process.start()
        os.close(their_input)
        os.close(their_output)

    def wait(self) -> int | None:
        """Wait for its end."""
        self.process.join()
        return self.process.exitcode

    def kill(self) -> None:
        """Kill -9."""
        self.process.kill()


def become_worker(commands: Descriptor, answers: Descriptor) -> None:
    """Go on as a Python that execnet has started."""
    for descriptor, standard in ((commands, 0), (answers, 1)):
        os.dup2(descriptor.number, standard)
        os.close(descriptor.number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for as long as this process lives
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    fork_from_the_same()
    exec(gateway_io.popen_bootstrapline)


def fork_workers() -> None:
    """Let xdist's workers be forks."""
    vars(gateway_io)["Popen2IOMaster"] = ForkedWorker

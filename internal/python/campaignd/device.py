"""A device as an instrument of campaignd: you write what is particular to yours, the rest is here.

    from campaignd.device import Device

    class Mixer(Device):
        def describe(self):
            return {"name": "acme/mixer", "identity": "M2, serial 0042", "simulated": False}

        def measure(self, parameters):
            value = ...  # the only place that moves anything
            return {"objective": {"name": "conductivity", "value": value, "unit": "mS/cm"}}

    if __name__ == "__main__":
        Mixer().run()

A device that goes on by itself, whoever listens, is followed instead of waited for: write `submit`,
`poll` and, where it can be asked, `find` in place of `measure`. Then a crash costs nothing.

The rest is what keeps a pump from moving twice: a command is in the ledger, on disk, before it is acted
on, and so is its outcome before anybody hears of it. docs/process-instrument.md has the protocol.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .device_server import Job, Server

__all__ = [
    "CannotStop", "Cancelled", "Command", "Deferred", "Device", "Ended", "Failed", "Infeasible", "Outcome", "Sign",
    "Unknown", "done",
]  # fmt: skip

Object: TypeAlias = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Command:
    """What the device is to do, under an ID that is unique for ever.

    In a procedure it is an act of a stage, which gives the quantities `gives`, or none. An act that is
    for several experiments has no `parameters`: each of its `experiments` has them, with the fields
    `experiment` and `position`. Only a device with `batches` is sent one.
    """

    id: str
    parameters: dict[str, Any]
    campaign: str = ""
    experiment: str = ""
    replicate: int = 1
    handle: str | None = None  # the device's own name of the run, where it is known
    drawn: Sequence[Object] = ()  # the parts of the campaign's stocks that it uses up
    act: str = ""
    stage: str = ""
    batch: str = ""
    gives: Sequence[str] = ()
    experiments: Sequence[Object] = ()

    def labels(self, stock: str) -> list[str]:
        """The labels that it is given of a stock: tips to take, wells to fill. No other command has them."""
        return [label for part in self.drawn if part["stock"] == stock for label in part.get("labels", ())]


@dataclasses.dataclass(frozen=True)
class Sign:
    """How far a run is. `next_by` is within how many seconds the next sign is to come."""

    fraction: float | None = None
    text: str = ""
    next_by: float | None = None
    handle: str | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a command ended: `measured`, `done` (an act of a procedure), or what the exceptions below say."""

    status: str
    measurement: Object | None = None
    cause: str = ""
    files: Sequence[str | Object] = ()
    gave: Sequence[Object] = ()  # by an act that is for several experiments: see done


class Ended(Exception):
    """How a command ended, where it was not measured. Any other exception is Unknown."""

    status = "unknown"

    def __init__(
        self, cause: object, quantities: Sequence[Object] = (), files: Sequence[str | Object] = ()
    ) -> None:
        super().__init__(cause)
        given = {"quantities": list(quantities)} if quantities else None
        self.outcome = Outcome(self.status, given, str(cause), files)


class Failed(Ended):
    """It took place, or was tried, and gave nothing usable; `quantities`: what was measured all the same."""

    status = "failed"


class Infeasible(Ended):
    """The composition, and others like it, cannot be made or measured."""

    status = "infeasible"


class Deferred(Ended):
    """Nothing took place, for a reason that has nothing to do with the composition: ask again later."""

    status = "deferred"


class Cancelled(Ended):
    """Nothing took place, and that is the end of it."""

    status = "cancelled"


class Unknown(Ended):
    """Nobody can tell what the device has done: a person looks."""


def done(gave: Mapping[str, Object | Ended | None] | None = None) -> Outcome:
    """An act of a procedure is done. `gave`: for each of its experiments a measurement, Failed or Infeasible."""
    parts = []
    for experiment, part in (gave or {}).items():
        if isinstance(part, Ended):
            told: Object = {"status": part.status, "cause": part.outcome.cause}
        else:
            told = {} if part is None else {"measurement": part}
        parts.append({"experiment": experiment, **told})
    return Outcome("done", gave=parts)


class CannotStop(Exception):
    """Raised by `stop`: it has begun, and the device cannot stop it."""


class Device:
    """Override `measure`, or `submit` and `poll`; the rest where your device has more to say.

    Functions do as well: `Device(describe=f, measure=g).run()`.
    """

    every = 1.0
    """Seconds between two polls of a run."""

    batches = False
    """Whether it performs acts for several experiments together, and ends them with `done`."""

    settings: Object = {}
    """The instrument's `settings` of the campaign file; set by the handshake, before anything is asked."""

    campaign: Object = {}
    """The whole handshake: the campaign's name, parameters, objective and quantities."""

    _program: Server | None = None

    def __init__(self, **functions: Callable[..., Any]) -> None:
        for name, function in functions.items():
            if name not in _OVERRIDABLE:
                raise TypeError(f"a device has no {name}: it has {', '.join(sorted(_OVERRIDABLE))}")
            setattr(self, name, function)

    def describe(self) -> Object:
        """What the device is; without effect. Deferred: it is off, ask again later.

        `capacity` is how many commands it works on at once: so many threads call the methods below.
        """
        return {"name": type(self).__name__, "simulated": False}

    def reach(self) -> None:
        """Asked before each command. Any exception: the device is not ready, and nothing has moved."""

    def measure(self, parameters: dict[str, Any]) -> Object | Outcome | None:
        """Act, and return the measurement. Called at most once for a command.

        `self.command` has the rest of it. None: an act that measures nothing is done.
        """
        raise NotImplementedError

    def submit(self, command: Command) -> str | None:
        """Have the device begin, and return its name of the run. Called at most once for a command.

        Give the device `command.id` where it takes a name from outside; None stands for that. After
        an exception that does not say what happened, `find` is asked.
        """
        raise NotImplementedError

    def find(self, command: Command) -> str | None:
        """The device's name of the run of this command, or None: there is none, and none can begin any more.

        Asked where a submit was cut short, by an error or a crash. `command.handle` is what submit
        returned, where that is known. None is a promise: a submit that still lies in a queue
        would be a second act. Unknown: the device cannot tell. Any other exception is tried again.
        """
        if command.handle is None:
            raise Unknown("it was cut short, and the device cannot be asked whether it has begun")
        return command.handle

    def poll(self, handle: str) -> Sign | Outcome | Object | None:
        """How far a run is (a Sign, or None), or how it ended (an Outcome, a measurement, an exception Ended).

        Any other exception says that the device could not be asked: it is asked again, ever more
        slowly, and the silence is campaignd's to judge (`stall_after`, `give_up_after`).
        """
        raise NotImplementedError

    def stop(self, handle: str | None) -> None:
        """Stop a run; poll, or measure, then tells how it ended. Raise CannotStop where it cannot be stopped."""
        raise CannotStop("this device cannot stop what it has begun")

    def safe(self, reason: str) -> None:
        """Bring the device to a state in which nothing moves, flows or heats; return once it is there.

        For an abort. It comes in a thread of its own, at any time, during `measure` or `poll`, and again.
        campaignd calls the command off at the same time. Any exception: it is asked again.
        """
        raise NotImplementedError

    def acted(self, command: Command) -> None:
        """Adds a line to the record of acts, which `campaignd instrument check --acts` counts.

        Called just before measure or submit. It is better where the device's own side writes
        it: override this with nothing then.
        """
        if "CAMPAIGND_ACTS" in os.environ:
            with open(os.environ["CAMPAIGND_ACTS"], "a", encoding="utf-8") as record:
                record.write(command.id + "\n")

    def keeps(self) -> bool:
        """Whether the ledger is durable and complete, so that what it does not know has not begun.

        It is for who installs the device to say: `settings: {ledger: durable}`. Its disk keeps what was
        synced, it is the device's only one, and nobody deletes it or puts an older copy back.
        """
        return bool(self.settings.get("ledger") == "durable")

    @property
    def command(self) -> Command:
        """The command that this thread works on."""
        return self._job().command

    @property
    def called_off(self) -> bool:
        """Whether the command of this thread was called off: a measure that can stop looks here."""
        return self._job().off.is_set()

    def _job(self) -> Job:
        job: Job | None = getattr(self._doing, "job", None)
        if job is None:
            raise RuntimeError("this thread works on no command: ask in that of measure, and hand it on")
        return job

    def sign(
        self,
        fraction: float | None = None,
        text: str = "",
        next_by: float | None = None,
        handle: str | None = None,
        command: Command | None = None,
    ) -> None:
        """Say how far it is, as often as you like. Other threads than that of measure name the command."""
        if self._program is not None:
            of = self.command if command is None else command
            self._program.signal(of.id, Sign(fraction, text, next_by, handle))

    def run(self, ledger: str | os.PathLike[str] | None = None) -> None:
        """Answer campaignd until the input ends, finish what is under way, and end.

        The ledger is a folder: this device's, and the same in every run. By default the program's first
        argument, or the script's name with `.ledger`, in the folder of the campaign file.
        """
        try:
            from .device_ledger import Ledger
            from .device_server import Server
        except ImportError:  # fcntl, on Windows
            sys.exit("two runs of this program could act on one command without file locks: use Linux or macOS")
        if has(self, "measure") == has(self, "submit") or has(self, "submit") != has(self, "poll"):
            sys.exit(f"{type(self).__name__}: write measure, or submit and poll")
        named = ledger or (sys.argv[1] if len(sys.argv) > 1 else Path(sys.argv[0]).stem + ".ledger")
        self._doing = threading.local()
        self._program = Server(self, Ledger(Path(named).absolute()))
        self._program.serve()


_OVERRIDABLE = {
    "describe", "reach", "measure", "submit", "find", "poll", "stop", "safe", "acted", "keeps",
}  # fmt: skip


def has(device: Device, name: str) -> bool:
    return name in vars(device) or getattr(type(device), name) is not getattr(Device, name)

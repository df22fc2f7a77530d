"""The process protocol for a `Device`: requests are read one after the other, commands performed side by side."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import math
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from .device import (
    Cancelled, CannotStop, Command, Deferred, Device, Ended, Failed, Infeasible, Object, Outcome, Sign, Unknown, has,
)  # fmt: skip
from .device_ledger import Entry, Ledger, Refused, lock, to_json

MAX_LINE = 1 << 20  # of the protocol


class Job:
    """A command that this run of the program performs."""

    def __init__(self, entry: Entry, command: Command, resumed: bool) -> None:
        self.entry = entry
        self.command = command
        self.resumed = resumed
        self.working = False  # it has its slot
        self.off = threading.Event()  # it was called off
        self.wake = threading.Event()  # something is to be done before the next poll
        self.named = threading.Event()  # the device has a name of it, or will not have one soon
        self.over = threading.Event()
        self.outcome: Object | None = None
        self.awaits: list[Any] = []  # the requests that wait for its outcome
        self.cancels: list[Any] = []  # those that wait for it to be stopped


def _line(command: Command) -> Object:
    """A command as the ledger has it: the handle has a line of its own."""
    return {k: v for k, v in dataclasses.asdict(command).items() if k != "handle"}


class HandedOver(Exception):
    """A later run of the program follows the device from here on."""


class Remarks:
    """Standard error, whose reader may be gone: a library that prints must not end an experiment by that."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Server:
    """One life of the program: requests are read one after the other, commands performed side by side."""

    def __init__(self, device: Device, ledger: Ledger) -> None:
        self.device = device
        self.ledger = ledger
        self.follows = has(device, "submit")  # the device goes on by itself, and can be asked after a crash
        self.description: Object | None = None
        self.intake = False  # this instance is the one that accepts commands
        self.ended = False  # no more input comes
        self.ending = False  # nothing more is taken up
        self.busy = 0
        self.jobs: dict[str, Job] = {}
        self.threads: list[threading.Thread] = []
        self.lock = threading.RLock()
        self.slots = threading.Condition()
        self.writing = threading.Lock()
        self.out = -1

    def serve(self) -> None:
        """The order at the end matters: nothing more is taken up, the next run may read, jobs finish."""
        # Libraries print, and children read. Neither may reach the protocol.
        source, self.out = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        sys.stdout = sys.stderr = Remarks(sys.stderr)
        # A thread reads, since a signal cannot end a read, and must not end what stands in the ledger half-way.
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.no_more(lines))
        threading.Thread(target=self.read, args=(source, lines), daemon=True).start()
        while (line := lines.get()) is not None:
            if line.strip():
                self.answer(line)
        with self.lock:
            self.ending = True
        self.ledger.hand_over()
        with self.slots:
            self.slots.notify_all()
        for job in list(self.jobs.values()):
            job.wake.set()
        for thread in self.threads:
            thread.join()

    def no_more(self, lines: queue.SimpleQueue[bytes | None]) -> None:
        self.ended = True
        lines.put(None)

    def read(self, source: int, lines: queue.SimpleQueue[bytes | None]) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(source, 1 << 16):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    lines.put(line)
        lines.put(rest)
        self.no_more(lines)

    def say(self, reply: Object) -> None:
        """Writes a reply. If campaignd is gone, the ledger holds what matters."""
        try:
            line = to_json(reply)
        except (ValueError, TypeError) as e:
            line = to_json({"id": reply.get("id"), "error": f"the reply cannot be written as JSON: {e}"})
        data = memoryview(line + b"\n")
        with self.writing, contextlib.suppress(OSError):
            while data:
                data = data[os.write(self.out, data) :]

    def signal(self, command: str, sign: Sign) -> None:
        """Sends a sign. One that cannot be written tells at least that the device lives."""
        fields: dict[str, Any] = {}
        try:
            if sign.handle is not None:
                fields["handle"] = str(sign.handle)
            if sign.text:
                fields["text"] = str(sign.text)
            if sign.fraction is not None and math.isfinite(sign.fraction):
                fields["fraction"] = float(sign.fraction)
            if sign.next_by is not None:
                fields["next_by"] = f"{float(sign.next_by):.3f}s"
        except (ValueError, TypeError):
            print(f"{command}: {sign} cannot be told", file=sys.stderr)
        self.say({"command": command, "sign": fields})

    def answer(self, line: bytes) -> None:
        try:
            request = json.loads(line)
            op, id = request["op"], request["id"]
        except (ValueError, KeyError, TypeError) as e:
            self.say({"error": f"a line is not a request: {e}: {line[:200]!r}"})
            return
        self.later(id, self.reply, op, request)

    def later(self, id: Any, what: Callable[..., Object | None], *given: Any) -> None:
        """Answers a request with what it returns; None where others answer it."""
        reply: Object | None
        try:
            reply = what(*given)
        except Refused as e:
            reply = {"refused": str(e)}
        except Exception as e:
            traceback.print_exc()
            reply = {"error": f"{type(e).__name__}: {e}"}
        if reply is not None:
            self.say({"id": id, **reply})

    def reply(self, op: str, request: dict[str, Any]) -> Object | None:
        """The reply to a request; None where it comes later."""
        if op == "handshake":
            if request.get("protocol") != 1:
                return {"error": f"campaignd speaks version {request.get('protocol')} of the protocol, this program 1"}
            self.device.campaign = request
            self.device.settings = request.get("settings") or {}
            self.take_over(wait=False)
            durable = {"ledger": "durable"} if not self.ledger.fresh and self.device.keeps() else {}
            can = {"recover": True, "finishes": True, "voids": True, "signs": True, "batches": self.device.batches}
            return {"protocol": 1, **can, "safe": has(self.device, "safe"), **durable}
        if op == "describe":
            try:
                self.description = self.device.describe()
            except Deferred as e:
                return {"later": str(e)}
            return {"description": self.description}
        if op == "safe" and has(self.device, "safe"):  # past all that is being asked
            self.aside(self.later, request["id"], self.safe, str(request.get("reason", "")))
            return None
        if op not in ("start", "await", "cancel", "recover"):
            return {"error": f"the protocol has no operation {op}"}
        if not self.take_over(wait=True):
            return {"error": "an earlier run of the program still reads commands"}
        fields = {f.name for f in dataclasses.fields(Command)}
        given = {k: v for k, v in request["command"].items() if k in fields}
        command = Command(**{"parameters": None, **given, "handle": given.get("handle") or None})
        if op == "start":
            return self.start(command)
        with self.lock:
            if (other := self.other(command)) is None:
                answer = {"await": self.wait, "cancel": self.cancel, "recover": self.recover}[op]
                return answer(command, request["id"])
        if op == "await":
            return {"outcome": {"status": "unknown", "cause": other}}
        return {"fate": "unknown"} if op == "recover" else {"error": other}

    def safe(self, reason: str) -> Object:
        self.device.safe(reason)
        return {"ok": True}

    def take_over(self, wait: bool) -> bool:
        """Makes this instance the one that accepts commands: from then on a command that is not in the
        ledger was never accepted. An earlier one stops accepting as soon as its input has ended."""
        while not self.intake:
            self.intake = lock(self.ledger.intake)
            if self.intake or self.ended or not wait:
                break
            time.sleep(0.02)
        return self.intake

    def capacity(self) -> int:
        if self.description is None:
            self.description = self.device.describe()
        return self.description.get("capacity") or 1

    def start(self, command: Command) -> Object:
        """One that the ledger has is confirmed and not performed again."""
        with self.lock:
            entry = self.ledger.read(command.id)
            if entry is not None:
                entry.close()
                if (other := self.other(command)) is not None:
                    return {"error": other}
                return {"ok": True, **({"handle": entry.handle} if entry.handle else {})}
            self.capacity()  # it is described
            if command.experiments and not self.device.batches:
                raise Refused("it takes one experiment at a time")
            points = [x["parameters"] for x in command.experiments] or [command.parameters]
            if faults := [f for point in points for f in outside(self.description or {}, point)]:
                raise Refused("; ".join(faults))
            entry = self.ledger.claim(_line(command))
            if entry is None:
                return {"ok": True}
            job = self.perform(entry, command, resumed=False)
        if self.follows:  # the device's name of it comes with the answer, where it is quick
            job.named.wait(0.25)
        return {"ok": True, **({"handle": job.command.handle} if job.command.handle else {})}

    def other(self, command: Command) -> str | None:
        """An ID stands for one experiment for ever: an old copy of the campaign's store asks for another."""
        entry = self.ledger.read(command.id)
        if entry is None:
            return None
        entry.close()
        there, asks = (
            (c.get("parameters"), list(c.get("experiments") or ())) for c in (entry.command or {}, vars(command))
        )
        if asks == (None, []) or there == (None, []) or there == asks:
            return None
        known = there[0] or there[1]
        return f"the ledger {self.ledger.folder} has {command.id} with other parameters: {known}"

    def look(self, command: Command) -> tuple[Job | None, Object | None, str]:
        """The state of a command: its job, its outcome, its fate. Under the lock.

        One that an earlier run has left half done is followed again from here, where the device goes on by
        itself: a request about it shows that it matters. One that the ledger does not have and whose
        handle is known has begun: the ledger is gone, and the device is asked by it.
        """
        job = self.jobs.get(command.id)
        if job is not None:
            if job.outcome is None:
                return job, None, "running"
            return job, job.outcome, "unknown" if job.outcome["status"] == "unknown" else "finished"
        entry = self.ledger.read(command.id)
        if entry is None:
            if not command.handle:
                return None, None, "not started"
            return self.found(command)
        kept = False
        try:
            resumes = self.follows and not self.ending
            free = lock(entry.fd, shared=not resumes)
            entry.load(command.id)  # anew: it may have been finished in between
            if entry.outcome is not None:
                return None, entry.outcome, "finished"
            if not free:
                return None, None, "running"  # by an earlier run
            if not resumes:
                return None, None, "unknown"
            command = dataclasses.replace(command, handle=entry.handle or command.handle)
            kept = True
            return self.perform(entry, command, resumed=True), None, "running"
        finally:
            if not kept:
                entry.close()

    def found(self, command: Command) -> tuple[Job | None, Object | None, str]:
        """Follows a run that the device has and the ledger does not."""
        if not self.follows or self.ending:
            return None, None, "unknown"
        entry = self.ledger.claim(_line(command))
        if entry is None:
            return None, None, "running"  # another was quicker
        return self.perform(entry, command, resumed=True), None, "running"

    def wait(self, command: Command, id: Any) -> Object | None:
        job, outcome, fate = self.look(command)
        if outcome is not None:
            return {"outcome": outcome}
        if job is not None:
            job.awaits.append(id)
            return None
        if fate == "running":  # by an earlier run, which is seen by its lock and its file alone
            self.aside(self.later, id, self.wait_elsewhere, command, id)
            return None
        if fate == "not started":
            return {"error": f"command {command.id} was never started"}
        return {"outcome": {"status": "unknown", "cause": "the program ended while the experiment was under way"}}

    def wait_elsewhere(self, command: Command, id: Any) -> Object | None:
        while True:
            with self.lock:
                if self.look(command)[2] != "running" or command.id in self.jobs:
                    return self.wait(command, id)
            time.sleep(0.05)

    def recover(self, command: Command, id: Any) -> Object | None:
        fate = self.look(command)[2]
        if fate == "not started" and has(self.device, "find"):
            self.aside(self.later, id, self.recover_by_asking, command)
            return None
        return {"fate": fate}

    def recover_by_asking(self, command: Command) -> Object | None:
        """The ledger does not have it. It may be gone, and the device know better."""
        try:
            handle = self.device.find(command)
        except Exception as e:
            print(f"{command.id} is not in the ledger, and the device does not tell: {e!r}", file=sys.stderr)
            handle = None
        with self.lock:
            if handle is not None and self.look(command)[2] == "not started":
                self.found(dataclasses.replace(command, handle=handle))
            return {"fate": self.look(command)[2]}

    def cancel(self, command: Command, id: Any) -> Object | None:
        """A command that was never started is void from now on: no start of it acts, in this run or a later one."""
        job, _, fate = self.look(command)
        if fate == "not started":
            void = {"status": "cancelled", "cause": "it was called off before it was started"}
            entry = self.ledger.claim(_line(command), void)
            if entry is None:
                return {"error": "it has been started meanwhile"}
            entry.close()
            return {"ok": True}
        if job is None and fate == "running":
            return {"error": f"command {command.id} is performed by an earlier run of the program"}
        if job is None or job.outcome is not None:
            return {"ok": True}
        job.cancels.append(id)
        with self.slots:
            job.off.set()
            self.slots.notify_all()
        if self.follows:  # its thread stops it before the next poll
            job.wake.set()
        else:
            self.aside(self.stop_measuring, job)
        return None

    def stop_measuring(self, job: Job) -> None:
        self.device._doing.job = job
        if job.working and has(self.device, "stop"):
            self.stop(job)
        job.over.wait(0.25)  # measure may look at called_off
        self.answer_cancels(job, {"ok": True})

    def stop(self, job: Job) -> None:
        try:
            self.device.stop(job.command.handle)
            reply: Object = {"ok": True}
        except CannotStop as e:
            reply = {"error": str(e), "cannot": True}
        except Exception as e:
            traceback.print_exc()
            reply = {"error": f"{type(e).__name__}: {e}"}
        self.answer_cancels(job, reply)

    def answer_cancels(self, job: Job, reply: Object) -> None:
        with self.lock:
            waiting, job.cancels = job.cancels, []
        for id in waiting:
            self.say({"id": id, **reply})

    def aside(self, what: Callable[..., None], *given: Any) -> threading.Thread:
        thread = threading.Thread(target=what, args=given, daemon=True)
        thread.start()
        return thread

    def perform(self, entry: Entry, command: Command, resumed: bool) -> Job:
        """Has the command of an entry whose lock is held performed. Under the lock."""
        job = self.jobs[command.id] = Job(entry, command, resumed)
        self.threads.append(self.aside(self.work, job))
        return job

    def work(self, job: Job) -> None:
        self.device._doing.job = job
        try:
            outcome = self.outcome(job)
        except HandedOver:
            job.entry.close()
            return
        self.finish(job, outcome)

    def finish(self, job: Job, outcome: Outcome) -> None:
        """The outcome is kept before it is sent: campaignd must not know of one that a crash could take back."""
        try:  # as it is read again
            line = json.loads(to_json({k: v for k, v in vars(outcome).items() if v}))
        except Exception as e:
            line = {"status": "failed", "cause": f"the instrument's result cannot be used: {e}: {outcome}"}
        if outcome.status != "unknown":  # the lack of a line says that already
            try:
                job.entry.append(line)
            except OSError as e:  # a result that is told and not kept is better than a lost one
                print(f"the outcome of command {job.command.id} cannot be kept in the ledger: {e}", file=sys.stderr)
        with self.lock:
            job.outcome = self.fit(line)
            waiting, job.awaits = job.awaits, []
        job.named.set()
        job.over.set()
        job.entry.close()
        for id in waiting:
            self.say({"id": id, "outcome": job.outcome})
        self.answer_cancels(job, {"ok": True})

    def fit(self, line: dict[str, Any]) -> Object:
        """Shortens an outcome to the longest line of the protocol; the ledger has the rest."""
        if len(to_json(line)) > MAX_LINE - 4096 and "further" in (line.get("measurement") or {}):
            measurement = {k: v for k, v in line["measurement"].items() if k != "further"}
            print(f"a result is longer than a line of the protocol; {self.ledger.folder} has it", file=sys.stderr)
            return {**line, "measurement": measurement}
        return line

    def outcome(self, job: Job) -> Outcome:
        """Waits for a slot and performs the command; what does not say how it ended is unknown."""
        began = datetime.datetime.now(datetime.timezone.utc)
        try:
            with self.slot(job):
                result = self.follow(job) if self.follows else self.measure(job)
            if result is None and job.command.act:
                result = Outcome("done")
            elif not isinstance(result, Outcome):
                result = Outcome("measured", dict(result or {}))
        except Ended as e:
            return e.outcome
        except HandedOver:
            raise
        except BaseException as e:
            traceback.print_exc()
            return Outcome("unknown", cause=f"{type(e).__name__}: {e}")
        if result.status != "measured":
            return result
        # A stage may be sent a part of the composition.
        made = {} if job.command.act else {"actual": job.command.parameters}
        measurement = {**made, **(result.measurement or {})}
        measurement.setdefault("ended", datetime.datetime.now(datetime.timezone.utc))
        if not job.resumed:
            measurement.setdefault("began", began)
        if identity := (self.description or {}).get("identity"):
            measurement.setdefault("identity", identity)
        return dataclasses.replace(result, measurement=measurement)

    @contextlib.contextmanager
    def slot(self, job: Job) -> Iterator[None]:
        """As many at once as the device can; what it has begun already waits for nothing."""
        with self.slots:
            while not job.resumed and self.busy >= self.capacity() and not job.off.is_set():
                if self.follows and self.ending:  # a later run of the program may be in charge by then
                    raise Deferred("its turn had not come when the program ended")
                job.named.set()  # not soon
                self.slots.wait()
            if job.off.is_set() and not job.resumed:
                raise Cancelled("it was cancelled before it began")
            job.working = True
            self.busy += 1
        try:
            yield
        finally:
            with self.slots:
                self.busy -= 1
                self.slots.notify_all()

    def begin(self, job: Job) -> None:
        try:
            self.device.reach()
        except Ended:
            raise
        except Exception as e:
            raise Deferred(f"the device cannot be reached: {type(e).__name__}: {e}") from e
        if job.off.is_set():
            raise Cancelled("it was cancelled before it began")
        self.device.acted(job.command)

    def measure(self, job: Job) -> Object | Outcome | None:
        self.begin(job)
        self.signal(job.command.id, Sign())
        return self.device.measure(dict(job.command.parameters or {}))

    def follow(self, job: Job) -> Object | Outcome:
        """Has the device begin, or finds what it has begun, and asks until it has ended."""
        handle = self.find(job, "") if job.resumed else self.submit(job)
        try:
            job.entry.append({"handle": handle})
        except OSError as e:  # the log will have it
            print(f"the handle {handle} of {job.command.id} cannot be kept in the ledger: {e}", file=sys.stderr)
        job.command = dataclasses.replace(job.command, handle=handle)
        job.named.set()
        self.signal(job.command.id, Sign(handle=handle))
        failures = 0
        while True:
            if job.cancels:
                self.stop(job)
            try:
                result = self.device.poll(handle)
                failures = 0
            except Ended:
                raise
            except Exception as e:
                failures = self.not_asked(job, e, failures)
                continue
            if isinstance(result, Sign):
                self.signal(job.command.id, result)
            elif result is not None:
                return result
            self.pause(job, self.device.every)

    def submit(self, job: Job) -> str:
        self.begin(job)
        try:
            handle = self.device.submit(job.command)
        except (Failed, Infeasible, Deferred, Cancelled):
            raise
        except Exception as e:  # its fate is open
            traceback.print_exc()
            return self.find(job, f"{type(e).__name__}: {e}")
        return job.command.id if handle is None else str(handle)

    def find(self, job: Job, cause: str) -> str:
        """Asks the device for the run of a command whose submit was cut short."""
        failures = 0
        while True:
            try:
                handle = self.device.find(job.command)
                break
            except Unknown as e:
                raise Unknown(f"{cause}; {e}" if cause else str(e)) from e
            except Ended:
                raise
            except Exception as e:
                failures = self.not_asked(job, e, failures)
        if handle is not None:
            return str(handle)
        if job.command.handle is not None:
            raise Unknown(f"it had begun as {job.command.handle}, and the device does not know that any more")
        raise Deferred("the device has no run of it" + (f": {cause}" if cause else ""))

    def not_asked(self, job: Job, e: Exception, failures: int) -> int:
        print(f"{job.command.id}: the device cannot be asked: {type(e).__name__}: {e}", file=sys.stderr)
        self.pause(job, min(60.0, self.device.every * 2**failures))
        return min(failures + 1, 16)

    def pause(self, job: Job, seconds: float) -> None:
        """Waits, unless something is to be done. At the end of the input the device is followed on, so that
        the result is kept though nobody comes, until a later run of the program is there to follow it."""
        ends = time.monotonic() + seconds
        while not job.wake.is_set() and (left := ends - time.monotonic()) > 0:
            job.wake.wait(min(left, 1.0) if self.ending else left)
            if self.ending:
                self.hand_over()
        job.wake.clear()

    def hand_over(self) -> None:
        try:
            intake = os.open(self.ledger.folder / "intake.lock", os.O_RDWR)
        except FileNotFoundError:  # the ledger is gone, and what this run learns with it
            raise HandedOver from None
        try:
            if not lock(intake):
                raise HandedOver
        finally:
            os.close(intake)


def outside(description: Object, parameters: Mapping[str, Any]) -> list[str]:
    """Why the device must not be given the composition. campaignd looks, too: a limit that one side
    alone knew would be found by the device, when the sample is in it."""
    faults = [f"{n} is {x}" for n, x in parameters.items() if isinstance(x, float) and not math.isfinite(x)]
    specs: Sequence[Object] = description.get("parameters") or ()
    names = {spec["name"] for spec in specs}
    faults += [f"the instrument has no parameter {n}" for n in parameters if specs and n not in names]
    for spec in specs:
        name, value = spec["name"], parameters.get(spec["name"])
        low, high, categories = spec.get("min"), spec.get("max"), spec.get("categories")
        # Far below what any device can dose, and above what conversions between units lose.
        slack = 1e-9 * max(abs(low or 0), abs(high or 0))
        if value is None:
            faults.append(f"{name} is missing")
        elif categories:
            if value not in categories:
                faults.append(f"{name} = {value} is not one of {list(categories)}")
        elif not isinstance(value, (int, float)):
            faults.append(f"{name} = {value!r} is not a number")
        elif low is not None and value < low - slack:
            faults.append(f"{name} = {value:g} is below the instrument's limit of {low:g}")
        elif high is not None and value > high + slack:
            faults.append(f"{name} = {value:g} is above the instrument's limit of {high:g}")
    return faults

"""What keeps a device from acting twice: the record of its commands on disk, as the Go SDK keeps it."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import sys
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

Object: TypeAlias = Mapping[str, Any]


class Refused(Exception):
    """A start that was not acted on and never will be."""


def lock(fd: int, shared: bool = False) -> bool:
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def to_json(value: object) -> bytes:
    def plain(x: Any) -> Any:
        if isinstance(x, datetime.datetime):
            return x.isoformat()
        if hasattr(x, "tolist"):  # numpy's numbers
            return x.tolist()
        raise TypeError(f"{x!r} is no value of JSON")

    return json.dumps(value, allow_nan=False, ensure_ascii=False, default=plain).encode()


_locked: set[int] = set()
"""The descriptors that hold locks."""


def _forget() -> None:
    """A fork of this process would hold the locks after it, and a later run of the program wait for it."""
    for fd in _locked:
        with contextlib.suppress(OSError):
            os.close(fd)
    _locked.clear()


os.register_at_fork(after_in_child=_forget)


class Entry:
    """A command in the ledger: a file with a line for the command, for its handle, and for its outcome.

    Who performs it holds the lock on its file from before the first line until after the last. So the
    file tells everything: empty, never started; locked, being performed; with an outcome, finished;
    else begun by a process that died. A line without its end was cut off by a crash and does not count.
    """

    def __init__(self, path: Path, flags: int = 0) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | flags, 0o666)
        _locked.add(self.fd)

    def load(self, id: str) -> None:
        """Reads it anew. Damage is not taken for "never started": the pump might move twice."""
        self.command: Object | None = None
        self.handle: str | None = None
        self.outcome: Object | None = None
        data = self.path.read_bytes()
        self.size = data.rfind(b"\n") + 1
        for number, line in enumerate(data[: self.size].splitlines()):
            try:
                entry = json.loads(line)
                if number == 0 and entry["id"] == id:
                    self.command = entry
                elif number and "handle" in entry:
                    self.handle = entry["handle"]
                elif number and "status" in entry:
                    self.outcome = entry
                else:
                    raise ValueError("it is not of this command")
            except (ValueError, KeyError, TypeError) as e:
                raise ValueError(f"{self.path} is damaged in line {number + 1}: {e}") from e

    def append(self, *entries: Object) -> None:
        """On disk when it returns, all of them or none if it is killed."""
        lines = b"".join(to_json(e) + b"\n" for e in entries)
        os.ftruncate(self.fd, self.size)  # what a crash left of a line
        if os.pwrite(self.fd, lines, self.size) != len(lines):
            raise OSError("the disk is full")
        os.fsync(self.fd)
        self.size += len(lines)

    def close(self) -> None:
        _locked.discard(self.fd)
        os.close(self.fd)


class Ledger:
    """A folder with a file for each command, and the lock of who reads commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fresh = not folder.exists()  # what was before is not known
        folder.mkdir(parents=True, exist_ok=True)
        sync(folder.parent)
        self.intake = os.open(folder / "intake.lock", os.O_RDWR | os.O_CREAT, 0o666)
        _locked.add(self.intake)
        if self.fresh:
            print(f"a new ledger begins: {folder} - what was done before is not known here", file=sys.stderr)

    def hand_over(self) -> None:
        """Lets the next run of the program read commands."""
        _locked.discard(self.intake)
        os.close(self.intake)

    def path(self, id: str) -> Path:
        return self.folder / (urllib.parse.quote(id, safe="$&+=:@") + ".jsonl")

    def read(self, id: str) -> Entry | None:
        """The entry of a command that was begun, which the caller closes."""
        try:
            entry = Entry(self.path(id))
        except FileNotFoundError:
            return None
        try:
            entry.load(id)
        except BaseException:
            entry.close()
            raise
        if entry.command is None:
            entry.close()
            return None
        return entry

    def claim(self, command: Object, *outcome: Object) -> Entry | None:
        """Writes a command, which the caller performs. None: it was there before."""
        path = self.path(command["id"])
        try:
            entry = Entry(path, os.O_CREAT)
        except OSError as e:
            raise Refused(f"it cannot be written to the ledger: {e}") from e
        kept = False
        try:
            # Nobody acts without the lock, and nobody acts on a command that another holder has begun.
            free = lock(entry.fd)
            entry.load(command["id"])
            if entry.command is not None:
                return None
            if not free:
                raise OSError("its file in the ledger is held by another, who may still begin it")
            try:
                entry.append(command, *outcome)
                sync(self.folder)
            except OSError as e:
                path.unlink()
                sync(self.folder)
                raise Refused(f"it cannot be written to the ledger: {e}") from e
            entry.command, kept = command, True
            return entry
        finally:
            if not kept:
                entry.close()

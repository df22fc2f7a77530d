"""A server of one's own, that ends with the program that started it.

>>> with campaignd.local(folder) as lab:
...     lab.version() != ""
True
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path
from types import TracebackType
from typing import IO

from .client import Client
from .program import program

STARTS_WITHIN = 60
"""For how many seconds a server may open the stores of its folder."""


class NotServed(RuntimeError):
    """The folder is not served, with the words of the program that refused."""


class Local(Client):
    """A folder that is served on this machine, on a free port.

    The server ends with close, with the `with` that it is used in, or with this Python, however that
    ends. All that was acknowledged is in the folder, and the next server goes on with it. Where the
    folder is served already, by another notebook or a terminal, that server is used and left
    running; should it end meanwhile, one is started in its place, at the same address.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        token: str | None = None,
        patience: float = 60,
        timeout: float = 60,
    ) -> None:
        self.folder = Path(folder if folder is not None else ".").resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._starting = threading.RLock()
        self._server: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None
        self._closed = False
        url = self._start("127.0.0.1:0")
        atexit.register(self.close)
        super().__init__(url, token, patience=patience, timeout=timeout)

    def __repr__(self) -> str:
        return f"local({str(self.folder)!r}) at {self.url}"

    def __enter__(self) -> Local:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def own(self) -> bool:
        """Whether the server was started by this object; another one's is left running."""
        return self._server is not None

    def close(self) -> None:
        """End the server, if it was started here. What is under way at an instrument goes on."""
        with self._starting:
            self._closed = True
            self._end()
        atexit.unregister(self.close)

    def _end(self) -> None:
        """End the server that was started here: it does when its standard input does."""
        server, self._server = self._server, None
        if server and server.stdin:
            server.stdin.close()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        if self._words:
            self._words.close()
            self._words = None

    def _unanswered(self) -> None:
        """Start the server anew where it has gone: killed, or ended by who had started it."""
        with self._starting:
            if self._closed:
                raise NotServed(f"{self.folder} is served no more: it was closed")
            if self._server and self._server.poll() is None:
                return
            if self._server is None and _answering(self.folder):
                return
            self._end()
            try:
                where = self._start(urllib.parse.urlsplit(self.url).netloc)
            except NotServed:
                where = self._start("127.0.0.1:0")
            self.url = where

    def _start(self, address: str) -> str:
        """Start a server, or find the one that serves the folder already. One that is just ending
        is waited for."""
        deadline = time.monotonic() + STARTS_WITHIN
        while True:
            try:
                return self._try(address, deadline)
            except NotServed as refused:
                if "another process holds" not in str(refused):
                    raise
                if url := _await(self.folder):
                    return url
                if time.monotonic() > deadline:
                    raise NotServed(
                        f"{refused}; ask who started it for the address, and use Client(URL)"
                    ) from None

    def _try(self, address: str, deadline: float) -> str:
        arguments = [program(), "serve", str(self.folder), "--listen", address, "--while-attended"]
        words = tempfile.TemporaryFile()
        # A session of its own: interrupting a cell is none of the server's business.
        server = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=words,
            stderr=words,
            start_new_session=True,
        )
        while server.poll() is None and time.monotonic() < deadline:
            if url := _announced(self.folder, server.pid):
                self._server, self._words = server, words
                return url
            time.sleep(0.05)
        late = server.poll() is None
        server.kill()
        if server.stdin:
            server.stdin.close()
        server.wait()
        with words:
            words.seek(0)
            said = words.read().decode(errors="replace").strip().removeprefix("campaignd: ")
        after = f" after {STARTS_WITHIN} s" if late else ""
        raise NotServed(f"{self.folder} is not served{after}: {said}")


def local(
    folder: str | os.PathLike[str] | None = None,
    *,
    token: str | None = None,
    patience: float = 60,
    timeout: float = 60,
) -> Local:
    """Serve a folder, by default this one, for as long as this Python runs: see [Local]."""
    return Local(folder, token=token, patience=patience, timeout=timeout)


def _announced(folder: Path, pid: int | None = None) -> str | None:
    """Where the folder is served, as the server wrote down: by this process, where one is named."""
    try:
        said = json.loads((folder / ".campaignd" / "serving.json").read_text(encoding="utf-8"))
        url, by = str(said["url"]), int(said["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return url if pid in (None, by) else None


def _answering(folder: Path) -> str | None:
    """Where the folder is served by somebody who answers: who was killed leaves the note behind."""
    url = _announced(folder)
    parts = urllib.parse.urlsplit(url or "")
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 443), 2):
            return url
    except OSError:
        return None


def _await(folder: Path) -> str | None:
    """The same, where somebody may be about to write it down."""
    for _ in range(60):
        if url := _answering(folder):
            return url
        time.sleep(0.05)
    return None

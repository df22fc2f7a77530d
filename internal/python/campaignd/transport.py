"""How the package speaks to a server: requests, repeats, and what is refused."""

from __future__ import annotations

import contextvars
import http.client
import ipaddress
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

JSON = dict[str, Any]

SILENT = 5
"""For how many seconds something is waited for before that is said."""


@dataclass(frozen=True)
class Remedy:
    """Something that can be done about a problem."""

    text: str = ""
    action: str = ""
    subject: str = ""
    ways: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with what was sent: with a line of a campaign file, say."""

    message: str
    field: str = ""
    line: int = 0
    column: int = 0
    remedy: str = ""


class Problem(Exception):
    """What the server refuses, or cannot do.

    `code` is for programs: invalid, not_possible, not_found, conflict, not_now, gone, no_campaign,
    unavailable, uncertain (it may be recorded or not: look before you send it again), damaged,
    unsupported, interrupted, internal.
    """

    def __init__(self, status: int, answer: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(answer.get("code", "internal"))
        self.title = str(answer.get("title", ""))
        self.detail = str(answer.get("detail", ""))
        self.subject = str(answer.get("subject", ""))
        self.remedies = [
            Remedy(
                r.get("text", ""),
                r.get("action", ""),
                r.get("subject", ""),
                tuple(r.get("ways") or ()),
            )
            for r in answer.get("remedies") or ()
        ]
        self.faults = [
            Fault(
                f["message"],
                f.get("field", ""),
                f.get("line", 0),
                f.get("column", 0),
                f.get("remedy", ""),
            )
            for f in answer.get("faults") or ()
        ]
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{self.code}: {self.detail}"]
        for fault in self.faults:
            place = f"line {fault.line}: " if fault.line else ""
            remedy = f" ({fault.remedy})" if fault.remedy else ""
            lines.append(f"  {place}{fault.field}: {fault.message}{remedy}")
        for remedy_ in self.remedies:
            action = f"[{remedy_.action} {remedy_.subject}".rstrip() + "]" if remedy_.action else ""
            lines.append("  " + " ".join(w for w in (remedy_.text, action) if w))
        return "\n".join(lines)

    def at(self, faults: list[Fault]) -> Problem:
        """The same problem with its faults named otherwise: as the caller wrote what was sent."""
        self.faults = faults
        self.args = (self._text(),)
        return self


class GivenUp(Exception):
    """A wait that another thread has ended, for a task that was cancelled."""


given_up: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar(
    "given_up", default=None
)
"""Set where somebody may end the waits of this thread: see [campaignd.aio]."""


def pause(seconds: float) -> None:
    """Sleep, unless the one who waits has given up."""
    event = given_up.get()
    if event is None:
        time.sleep(seconds)
    elif event.wait(seconds):
        raise GivenUp


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token goes nowhere else."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Connection:
    """A server's address, and the way to it.

    Requests that get no answer are sent again, for `patience` seconds; those that record something
    carry an Idempotency-Key, so that none is carried out twice.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        patience: float,
        timeout: float,
    ) -> None:
        self.url = url.rstrip("/")
        self.patience = patience
        self.timeout = timeout
        self._token = token if token is not None else os.environ.get("CAMPAIGND_TOKEN", "")
        self._opener = urllib.request.build_opener(_NoRedirects)
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not an address such as https://lab.example.org")
        if self._token and parts.scheme == "http" and not _loopback(parts.hostname):
            raise ValueError("everybody on the way could read the token: use https")

    def _unanswered(self) -> None:
        """Called before a request is sent again. A server of one's own can be started anew."""

    def _pages(self, path: str, name: str, query: JSON | None = None) -> Iterator[JSON]:
        """The elements of a list that comes in pages."""
        query = dict(query or {}, limit=1000)
        while True:
            page = self._json("GET", path, query)
            yield from page[name]
            if not page.get("next"):
                return
            query["cursor"] = page["next"]

    def _json(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: bytes | Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> JSON:
        """Send a request and read the JSON that is answered."""
        answer: JSON = json.loads(self._send(method, path, query, body, content_type, timeout))
        return answer

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: bytes | Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> bytes:
        """Send a request, again where no answer comes, and return the answer's bytes."""
        request = self._request(method, path, query, body, content_type)
        retry = Retry(self)
        while True:
            try:
                with self._open(request, timeout or self.timeout) as answer:
                    return answer.read()
            except (Problem, OSError, http.client.HTTPException) as error:
                retry.after(error)

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: bytes | Mapping[str, Any] | None,
        content_type: str,
    ) -> urllib.request.Request:
        url = self.url + "/api/v1" + path
        if query:
            url += "?" + urllib.parse.urlencode(query, doseq=True)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, allow_nan=False).encode()
        headers = {"Accept": "*/*"}
        if body is not None:
            headers["Content-Type"] = content_type
        if method != "GET":
            headers["Idempotency-Key"] = uuid.uuid4().hex
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        return urllib.request.Request(url, body, headers, method=method)

    def _open(self, request: urllib.request.Request, timeout: float) -> IO[bytes]:
        try:
            answer: IO[bytes] = self._opener.open(request, timeout=timeout)
            return answer
        except urllib.error.HTTPError as refused:
            with refused:
                text = refused.read()
            try:
                problem = json.loads(text)
            except ValueError:
                problem = {"detail": f"{refused.code} {refused.reason}"}
            raise Problem(refused.code, problem) from None


class Retry:
    """When a request is sent again, and for how long."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.said = False
        self.again()

    def again(self) -> None:
        """Count from now: the server has just answered."""
        self.began, self.next = time.monotonic(), 0.1

    def after(self, error: Exception) -> None:
        """Wait before the next try, or raise what the last one met."""
        late = time.monotonic() - self.began > self.connection.patience
        if isinstance(error, Problem):
            # What is only just opened, or closing, is there in a moment; nothing was done.
            if error.status not in (502, 503, 504) or late:
                raise error
        elif late:
            url = self.connection.url
            raise ConnectionError(f"no server answers at {url}: {error}") from error
        else:
            self.connection._unanswered()
        self._say()
        pause(self.next)
        self.next = min(2 * self.next, 2)

    def _say(self) -> None:
        """Say that it takes long, once."""
        if self.said or time.monotonic() - self.began < SILENT:
            return
        self.said = True
        url, most = self.connection.url, self.connection.patience
        print(f"no server answers at {url} yet; it is tried for {most:g} s", file=sys.stderr)


def sent(stream: IO[bytes]) -> Iterator[tuple[int, JSON]]:
    """The events of a stream of server-sent events, with their sequences."""
    sequence, data = 0, ""
    for raw in stream:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("id:"):
            sequence = int(line[3:])
        elif line.startswith("data:"):
            data += line[5:]
        elif not line and data:
            yield sequence, json.loads(data)
            data = ""


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

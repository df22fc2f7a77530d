"""A client of `campaignd serve` in one file, with nothing but Python's standard library.

    from campaignd import Client

    campaign = Client("http://127.0.0.1:7070").begin("bench.yaml")
    while (experiment := campaign.ask()) is not None:
        campaign.tell(experiment, measure(experiment.parameters))

Copy it beside your script. It needs Python 3.9. What the server refuses is a Problem, with a code and what can be done
about it. Requests that get no answer are sent again, for `patience` seconds; those that record something carry an
Idempotency-Key, so that none is carried out twice.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Union

__all__ = ["Campaign", "Client", "Experiment", "Fault", "Problem", "Remedy"]

Value = Union[float, str]  # noqa: UP007 (evaluated, and Python 3.9 has no other way)
"""The value of a parameter: a number, or the name of a category."""

JSON = dict[str, Any]

Source = Union[str, "os.PathLike[str]", Mapping[str, Any]]  # noqa: UP007
"""A campaign file: its path, its text, or a mapping with its keys."""


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

    `code` is for programs: invalid, not_possible, not_found, conflict, not_now, gone, no_campaign, unavailable,
    uncertain (it may be recorded or not: look before you send it again), damaged, unsupported, interrupted, internal.
    """

    def __init__(self, status: int, answer: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(answer.get("code", "internal"))
        self.title = str(answer.get("title", ""))
        self.detail = str(answer.get("detail", ""))
        self.subject = str(answer.get("subject", ""))
        self.remedies = [
            Remedy(r.get("text", ""), r.get("action", ""), r.get("subject", ""), tuple(r.get("ways") or ()))
            for r in answer.get("remedies") or ()
        ]
        self.faults = [
            Fault(f["message"], f.get("field", ""), f.get("line", 0), f.get("column", 0), f.get("remedy", ""))
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
            words = [remedy_.text, *([f"[{remedy_.action} {remedy_.subject}".rstrip() + "]"] if remedy_.action else [])]
            lines.append("  " + " ".join(w for w in words if w))
        return "\n".join(lines)


@dataclass(frozen=True)
class Experiment:
    """An experiment that the campaign asks for."""

    id: str
    parameters: dict[str, Value]
    replicate: int = 1
    reason: str = ""
    prediction: JSON | None = None
    """What the model expects of it: mean, sd and unit; None where no model chose it."""
    outcomes: list[JSON] = field(default_factory=list)
    """What the models expect of each quantity, where decisions rest on several: quantity, mean, sd and unit."""
    raw: JSON = field(default_factory=dict, repr=False, compare=False)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token goes nowhere else."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Client:
    """A server.

    `token` says who you are where it has accounts; without one, the environment's CAMPAIGND_TOKEN does. `patience` is
    for how many seconds a server that does not answer is tried again: it may be restarting.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:7070", token: str | None = None, *, patience: float = 60, timeout: float = 60
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

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def campaigns(self) -> list[JSON]:
        """The campaigns of the server, in the order of their names."""
        return list(self._pages("/campaigns", "campaigns"))

    def campaign(self, name: str) -> Campaign:
        """The campaign of a name; NAME@STORE where several stores have one."""
        return Campaign(self, name)

    def begin(self, source: Source, *, run: bool = True, seed: int | None = None) -> Campaign:
        """Begin the campaign of a file, of a text in the file's language, or of a mapping with the file's keys.

        With run=False it waits to be run: earlier measurements can be imported before."""
        text = _text(source)
        query: JSON = {"run": str(run).lower()}
        if seed is not None:
            query["seed"] = seed
        answer = self._json("POST", "/campaigns", query, text.encode(), "application/yaml")
        return Campaign(self, str(answer["campaign"]))

    def validate(self, source: Source) -> JSON:
        """What a campaign file means. A Problem has its faults."""
        return self._json("POST", "/validate", None, _text(source).encode(), "application/yaml")

    def questions(self, *, campaign: str | None = None, expert: str | None = None) -> list[JSON]:
        """The open questions of all campaigns, or of one, or to one expert."""
        query = {k: v for k, v in (("campaign", campaign), ("expert", expert)) if v is not None}
        return list(self._json("GET", "/questions", query)["questions"])

    def methods(self) -> list[JSON]:
        """The policies that have a name."""
        return list(self._json("GET", "/methods")["methods"])

    # What follows speaks to the server.

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
        began, pause = time.monotonic(), 0.1
        while True:
            try:
                with self._open(request, timeout or self.timeout) as answer:
                    return answer.read()
            except Problem as problem:
                # What is only just opened, or closing, is there in a moment; nothing was done.
                if problem.status != 503 or time.monotonic() - began > self.patience:
                    raise
            except (OSError, http.client.HTTPException) as error:
                if time.monotonic() - began > self.patience:
                    raise ConnectionError(f"no server answers at {self.url}: {error}") from error
            time.sleep(pause)
            pause = min(2 * pause, 2)

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


class Campaign:
    """A campaign of a server."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self._path = "/campaigns/" + urllib.parse.quote(name, safe="@")

    def __repr__(self) -> str:
        return f"Campaign({self.client.url!r}, {self.name!r})"

    # Closing the loop.

    def ask(self, wait: float | None = None) -> Experiment | None:
        """The experiment to run next, once there is one; None when the campaign has ended.

        Until its result is told, it is the same one. Where the campaign waits for somebody's answer, or is paused, so
        does ask: for `wait` seconds, then it raises TimeoutError; without, as long as it takes."""
        experiments = self.ask_all(wait)
        return experiments[0] if experiments else None

    def ask_all(self, wait: float | None = None) -> list[Experiment]:
        """All experiments that may be run at the same time; none when the campaign has ended."""
        began = time.monotonic()
        while True:
            answer = self.suggest()
            if answer.get("stopped"):
                return []
            if answer.get("experiment"):
                return [_experiment(x) for x in (answer["experiment"], *answer["further"])]
            if wait is not None and time.monotonic() - began >= wait:
                raise TimeoutError(f"{self.name} waits for {answer.get('waiting_for') or 'somebody'}")
            time.sleep(0.5)

    def suggest(self) -> JSON:
        """What the campaign asks for now: an experiment, questions, and what it waits for."""
        return self.client._json("POST", self._path + "/suggest", timeout=330)

    def tell(
        self,
        experiment: Experiment | str | None = None,
        value: float | None = None,
        *,
        sd: float | None = None,
        unit: str | None = None,
        actual: Mapping[str, Value] | None = None,
        parameters: Mapping[str, Value] | None = None,
        failed: str | None = None,
        infeasible: str | None = None,
        again: str | None = None,
        further: Mapping[str, float] | Sequence[Mapping[str, Any]] | None = None,
        quantities: Mapping[str, float] | Sequence[Mapping[str, Any]] | None = None,
        missing: Mapping[str, str] | None = None,
        later: bool = False,
        anyway: bool = False,
    ) -> list[JSON]:
        """Tell the result of an experiment, or why there is none; returns the events that were recorded.

        `parameters` instead of an experiment are those of one's own. `actual` is what was really made. `failed`,
        `infeasible` (it cannot be made) and `again` (nothing took place) say why there is no value; `quantities`
        with `failed` are those that were measured all the same. `further` are
        other quantities by their names, or as {"name", "value", "unit", "sd"}; `quantities` those that the campaign
        declares, in its units, and `missing` says by name why there is none of one. Those that arrive later are
        given in the same way, of an experiment that was measured; `later` says that it has ended, and gives all later."""
        return self._record(
            "tell",
            experiment=experiment.id if isinstance(experiment, Experiment) else experiment,
            value=None if value is None else float(value),
            sd=None if sd is None else float(sd),
            unit=unit,
            actual=_point(actual),
            parameters=_point(parameters),
            failed=failed,
            infeasible=infeasible,
            again=again,
            further=_quantities(further),
            quantities=_quantities(quantities),
            missing=None if missing is None else [{"name": n, "reason": why} for n, why in missing.items()],
            later=later or None,
            anyway=anyway or None,
        )

    def answer(
        self,
        question: str,
        answer: str | Mapping[str, Value] | Sequence[str] | Sequence[float | None],
        comment: str = "",
        saw: str | None = None,
    ) -> list[JSON]:
        """Answer a question, first or otherwise than before.

        With `saw`, the "source" of the question as it was read ("" where it had no answer), an answer that another one
        has come before is kept beside it (question.contested) instead of replacing it.

        A text is an answer in words (accept, reject, unsure, exclude, A, B); a list of texts an order, the best first;
        a list of numbers an estimate for each composition, None for what one cannot tell; a mapping a composition."""
        body: JSON = {"comment": comment} if comment else {}
        if saw is not None:
            body["saw"] = saw
        if isinstance(answer, str):
            body["answer"] = answer
        elif isinstance(answer, Mapping) and any(isinstance(x, (list, tuple)) for x in answer.values()):
            body["columns"] = {name: [None if x is None else float(x) for x in column] for name, column in answer.items()}
        elif isinstance(answer, Mapping):
            body["point"] = _point(answer)
        elif answer and all(isinstance(x, str) for x in answer):
            body["order"] = list(answer)
        else:
            body["estimates"] = [None if x is None else float(x) for x in answer]
        path = f"/questions/{urllib.parse.quote(self.name, safe='@')}/{urllib.parse.quote(question, safe='')}"
        return list(self.client._json("POST", path, None, body)["recorded"])

    # Looking into it.

    def status(self) -> JSON:
        """How the campaign stands: what `campaignd status --json` prints."""
        return self.client._json("GET", self._path)

    def experiments(self) -> list[JSON]:
        """The experiments as flat rows, as pandas.DataFrame takes them: parameters, value, status and more."""
        return list(self.client._pages(self._path + "/rows", "rows"))

    def front(self) -> list[JSON]:
        """The compositions on the front of a trade-off, as flat rows for pandas.DataFrame: the experiment, parameters, of each
        quantity what is believed (NAME) with its standard deviation (NAME_sd) and what was measured (NAME_measured), on_front and
        feasible, which are probabilities, and the share that it alone holds. Empty before there are models, and of other campaigns."""
        rows = []
        for m in (self.status().get("tradeoff") or {}).get("members", []):
            row = {"experiment": m["experiment"], **m["parameters"]}
            for q in m["quantities"]:
                row |= {q["quantity"]: q["mean"], q["quantity"] + "_sd": q["sd"], q["quantity"] + "_measured": q.get("measured")}
            row |= {"on_front": m["on_front"], "feasible": m.get("feasible", {}).get("probability"), "share": m["share"]}
            rows.append(row)
        return rows

    def questions(self, *, status: str | None = None) -> list[JSON]:
        """The questions with their answers, of a status ("asked", "answered", …) or all."""
        return list(self.client._pages(self._path + "/questions", "questions", {"status": status} if status else None))

    def events(self, follow: bool = False, after: int = 0) -> Iterator[JSON]:
        """The events after a sequence of the campaign, as CloudEvents.

        With follow it goes on with further ones as they happen, also across restarts of the server, and never ends by
        itself: break out of it."""
        if not follow:
            text = self.client._send("GET", self._path + "/events", {"after": after})
            for line in text.splitlines():
                yield json.loads(line)
            return
        began, pause = time.monotonic(), 0.1
        while True:
            request = self.client._request("GET", self._path + "/events", None, None, "")
            request.add_header("Accept", "text/event-stream")
            if after:
                request.add_header("Last-Event-ID", str(after))
            try:
                with self.client._open(request, self.client.timeout) as stream:
                    for sequence, event in _sent(stream):
                        after = sequence
                        yield event
                        began, pause = time.monotonic(), 0.1
            except Problem as problem:
                if problem.status != 503 or time.monotonic() - began > self.client.patience:
                    raise
            except (OSError, http.client.HTTPException) as error:
                if time.monotonic() - began > self.client.patience:
                    raise ConnectionError(f"no server answers at {self.client.url}: {error}") from error
            else:
                began = time.monotonic()  # the server ended it in order
            time.sleep(pause)
            pause = min(2 * pause, 2)

    def explain(self, what: str) -> JSON:
        """What led to a decision d12, or to an experiment or question, and what followed."""
        return self.client._json("GET", f"{self._path}/decisions/{urllib.parse.quote(what, safe='')}")

    def what_if(self, decision: str, *, definition: Source | None = None, **otherwise: Any) -> JSON:
        """What would have been otherwise from a decision d12 on: `campaignd whatif --json`, with its caveats.

        `otherwise` is method=…, without=… (an expert), experiments=…, require=["viscosity <= 4"],
        without_constraints=["viscosity <= 5"], worst={"conductivity": 8}, weight={"conductivity": 3}, maximize=… or minimize=…
        (a quantity or a formula); `definition` a changed campaign file. It waits until that is worked out; nothing is recorded.
        """
        body = {name: what for name, what in otherwise.items() if what is not None}
        if definition is not None:
            body["definition"] = _text(definition)
        at = f"{self._path}/decisions/{urllib.parse.quote(decision, safe='')}/what-if"
        run = self.client._json("POST", at, None, body)
        while run["state"] in ("waiting", "running"):
            run = self.client._json("GET", f"{self._path}/what-ifs/{run['id']}", {"wait": 30})
        if run["state"] != "done":
            raise Problem(422, run.get("problem") or {"detail": f"it was {run['state']}"})
        return {**run["answer"], "caveats": run["caveats"]}

    def predict(self, points: Sequence[Mapping[str, Value]]) -> list[JSON]:
        """What the models expect of compositions; `quantities` of each quantity, where there are several."""
        body = {"points": [_point(p) for p in points]}
        return list(self.client._json("POST", self._path + "/predict", None, body)["predictions"])

    def diagnosis(self) -> JSON:
        """How far the model and the experts can be trusted."""
        return self.client._json("GET", self._path + "/diagnosis")

    def export(self) -> str:
        """The experiments as CSV."""
        return self.client._send("GET", self._path + "/export").decode()

    def report(self) -> str:
        """The report, a page of HTML."""
        return self.client._send("GET", self._path + "/report").decode()

    def definition(self) -> str:
        """The campaign file, as it was sent last."""
        return self.client._send("GET", self._path + "/definition").decode()

    # Steering it. Each returns the events that were recorded.

    def pause(self, reason: str = "") -> list[JSON]:
        """Begin nothing new until it is resumed."""
        return self._record("pause", reason=reason or None)

    def resume(self, reason: str = "") -> list[JSON]:
        """End a pause."""
        return self._record("resume", reason=reason or None)

    def stop(self, reason: str = "") -> list[JSON]:
        """End the campaign for good."""
        return self._record("stop", reason=reason or None)

    def note(self, text: str, about: str = "") -> list[JSON]:
        """Add a remark to the record, about an experiment, question or decision."""
        return self._record("note", text=text, about=about or None)

    # Files: spectra, traces, photos.

    def attach(
        self,
        file: str | os.PathLike[str] | bytes,
        experiment: Experiment | str | None = None,
        *,
        name: str = "",
        media_type: str = "",
        quantity: str = "",
        comment: str = "",
    ) -> list[JSON]:
        """Keep a file with an experiment, or with the campaign; returns the events that were recorded.

        `file` is a path, the bytes themselves (then give a `name`), or the URI of a file that stays where it is."""
        said: JSON = {"media_type": media_type, "quantity": quantity, "comment": comment}
        said["experiment"] = experiment.id if isinstance(experiment, Experiment) else experiment
        said = {k: v for k, v in said.items() if v}
        if isinstance(file, str) and "://" in file:
            said["name"] = name or os.path.basename(urllib.parse.urlsplit(file).path) or file
            return self._record("attach-uri", uri=file, **said)
        if isinstance(file, bytes):
            content = file
        else:
            with open(file, "rb") as f:
                content = f.read()
            name = name or os.path.basename(os.fspath(file))
        said["name"] = name
        answer = self.client._json("POST", self._path + "/files", said, content, "application/octet-stream")
        return list(answer["recorded"])

    def files(self, experiment: Experiment | str | None = None) -> list[JSON]:
        """The files of the campaign, or of an experiment, without those that were withdrawn."""
        of = experiment.id if isinstance(experiment, Experiment) else experiment
        all_ = self.client._pages(self._path + "/files", "files", {"experiment": of} if of else None)
        return [f for f in all_ if not f.get("withdrawn")]

    def read_file(self, file: str) -> bytes:
        """The bytes of a file f3, compared with the hash in the record."""
        listed = {f["id"]: f for f in self.client._pages(self._path + "/files", "files")}
        content = self.client._send("GET", f"{self._path}/files/{urllib.parse.quote(file, safe='')}")
        if "sha256:" + hashlib.sha256(content).hexdigest() != listed[file]["digest"]:
            raise ValueError(f"{file} is not what was attached")
        return content

    def withdraw(self, file: str, reason: str) -> list[JSON]:
        """Take out a file that was attached by mistake."""
        return self._record("withdraw-file", file=file, reason=reason)

    def resolve(self, experiment: str, resolution: str, reason: str = "", **more: Any) -> list[JSON]:
        """Settle an experiment whose fate is unknown: measured (with value=…), failed, infeasible, not-performed."""
        return self._record("resolve", experiment=experiment, resolution=resolution, reason=reason or None, **more)

    def correct(self, experiment: str, reason: str, **how: Any) -> list[JSON]:
        """Say that an experiment ended otherwise: value=…, quantities=…, outcome=…, actual=…, exclude=True."""
        if "quantities" in how:
            how["quantities"] = _quantities(how["quantities"])
        return self._record("correct", experiment=experiment, reason=reason, **how)

    def amend(self, source: Source, reason: str = "") -> list[JSON]:
        """Make a campaign file that of the campaign, where it allows the changes."""
        query = {"reason": reason} if reason else None
        answer = self.client._json("PUT", self._path + "/definition", query, _text(source).encode(), "application/yaml")
        return list(answer["recorded"] or ())

    def import_csv(self, table: Any, *, again: bool = False, anyway: bool = False, preview: bool = False) -> JSON:
        """Take over measurements from the text of a CSV file, or from a pandas or polars DataFrame: all rows or none."""
        if hasattr(table, "to_csv"):  # pandas
            table = table.to_csv(index=False)
        elif hasattr(table, "write_csv"):  # polars
            table = table.write_csv()
        if not isinstance(table, str):
            raise TypeError(f"import_csv takes the text of a CSV file or a DataFrame, and this is a {type(table).__name__}")
        flags = (("again", again), ("anyway", anyway), ("preview", preview))
        query = {name: "true" for name, on in flags if on}
        return self.client._json("POST", self._path + "/import/csv", query, table.encode(), "text/csv")

    def run(self) -> None:
        """Have the server run it, now and after restarts, until it has ended."""
        self.client._json("POST", self._path + "/run")

    def halt(self) -> None:
        """Have the server no longer run it; it can be run again."""
        self.client._json("POST", self._path + "/halt")

    def _record(self, what: str, **parts: Any) -> list[JSON]:
        body = {name: part for name, part in parts.items() if part is not None}
        return list(self.client._json("POST", f"{self._path}/{what}", None, body)["recorded"])


def _experiment(x: JSON) -> Experiment:
    return Experiment(
        x["id"], x["parameters"], x.get("replicate", 1), x.get("reason", ""), x.get("prediction"),
        list(x.get("outcomes") or ()), x,
    )


def _text(source: Source) -> str:
    """A campaign file's text: JSON is YAML, too."""
    if isinstance(source, Mapping):
        return json.dumps(source) + "\n"
    text = os.fspath(source)
    if "\n" not in text:
        with open(text, encoding="utf-8") as file:
            text = file.read()
    return text


def _quantities(given: Mapping[str, float] | Sequence[Mapping[str, Any]] | None) -> list[JSON] | None:
    if isinstance(given, Mapping):
        return [{"name": name, "value": float(x)} for name, x in given.items()]
    return None if given is None else [dict(q) for q in given]


def _point(point: Mapping[str, Value] | None) -> dict[str, Value] | None:
    """A composition as JSON: numbers of other libraries become Python's."""
    if point is None:
        return None
    return {name: x if isinstance(x, str) else float(x) for name, x in point.items()}


def _sent(stream: IO[bytes]) -> Iterator[tuple[int, JSON]]:
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

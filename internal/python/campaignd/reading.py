"""Looking into a campaign."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

from . import card, frames
from .definition import Source, text_of
from .results import Audit, Best, Bests, Diagnosis, Explanation, Imagined
from .steering import point
from .transport import JSON, Problem, Retry, sent

if TYPE_CHECKING:
    from pandas import DataFrame

    from .client import Client

MOST = 1000
"""So many compositions one request predicts."""


class Reading:
    """What can be read of a campaign. Parameters stand in the order of its file."""

    client: Client
    name: str
    _path: str
    _defined: JSON | None = None

    @property
    def url(self) -> str:
        """Its page in the browser."""
        return self.client.url + self._path

    def status(self) -> JSON:
        """How the campaign stands: what `campaignd status --json` prints."""
        return self.client._json("GET", self._path)

    def defined(self) -> JSON:
        """What the campaign is, with every default written out: parameters, quantities and all
        else, as the schema `definition` says.

        >>> [p["name"] for p in campaign.defined()["parameters"]]
        ['x', 'salt']
        """
        if self._defined is None:
            self._defined = self.client._json("GET", self._path + "/defined")
        return self._defined

    def definition(self) -> str:
        """The campaign file, as it was sent last."""
        return self.client._send("GET", self._path + "/definition").decode()

    def _in_order(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """A composition in the order of the file; objects of the API are alphabetical."""
        names = [p["name"] for p in self.defined()["parameters"]]
        if not set(parameters) <= set(names):  # somebody has amended it
            self._defined = None
            names = [p["name"] for p in self.defined()["parameters"]]
        order = {name: i for i, name in enumerate(names)}
        return dict(sorted(parameters.items(), key=lambda item: order.get(item[0], len(order))))

    def experiments(self) -> list[JSON]:
        """The experiments as flat rows: parameters, value, status and more."""
        return list(self.client._pages(self._path + "/rows", "rows"))

    def acts(self, experiment: Any = None, *, batch: str | None = None) -> list[JSON]:
        """The acts of a procedure: those for an experiment, those of a batch, or all."""
        asked = {"experiment": getattr(experiment, "id", experiment), "batch": batch}
        query = {name: what for name, what in asked.items() if what is not None}
        return list(self.client._pages(self._path + "/acts", "acts", query))

    def course(self) -> JSON:
        """How the campaign went, as charts draw it: of each experiment its values and the best so
        far of what is sought, of those that keep the constraints on outcomes."""
        return self.client._json("GET", self._path + "/course")

    def frame(self) -> DataFrame:
        """The experiments as a DataFrame, with their identifiers as the index.

        >>> campaign.tell(campaign.ask(), 2.5)[0]["type"]
        'campaignd.experiment.measured'
        >>> float(campaign.frame().loc["e1", "flow"])
        2.5
        """
        return frames.of_rows(self.experiments(), "experiment")

    def best(self) -> Bests:
        """The best composition, twice: as measured, and as the model believes.

        >>> campaign.tell(campaign.ask(), 2.5)[0]["subject"]
        'e1'
        >>> campaign.best().measured.value
        2.5
        """
        status = self.status()

        def one(best: JSON | None, value: str) -> Best | None:
            if not best:
                return None
            at, unit = self._in_order(best["parameters"]), best.get("unit", "")
            return Best(best["experiment"], at, best[value], best.get("sd"), unit)

        def outside(o: JSON) -> Best:
            value = o["values"][0]
            at = self._in_order(o["parameters"])
            return Best(o["experiment"], at, value["value"], value.get("sd"), value.get("unit", ""))

        why = "a trade-off has a front: campaign.front()" if status.get("tradeoff") else ""
        return Bests(
            one(status["best_measured"], "value"),
            one(status["best_by_model"], "mean"),
            why or str(status.get("no_model") or ""),
            tuple(outside(o) for o in status.get("outside") or () if len(o.get("values") or ()) == 1),
        )

    def front_rows(self) -> list[JSON]:
        """The compositions on the front of a trade-off, as flat rows: the experiment, parameters,
        of each quantity what is believed (NAME) with its standard deviation (NAME_sd) and what was
        measured (NAME_measured), on_front and feasible, which are probabilities, and the share that
        it alone holds. Empty before there are models, and of other campaigns."""
        rows = []
        for m in (self.status().get("tradeoff") or {}).get("members", []):
            row = {"experiment": m["experiment"], **self._in_order(m["parameters"])}
            for q in m["quantities"]:
                name = q["quantity"]
                row |= {
                    name: q["mean"],
                    f"{name}_sd": q["sd"],
                    f"{name}_measured": q.get("measured"),
                }
            feasible = m.get("feasible", {}).get("probability")
            row |= {"on_front": m["on_front"], "feasible": feasible, "share": m["share"]}
            rows.append(row)
        return rows

    def front(self) -> DataFrame:
        """The front of a trade-off as a DataFrame, with experiments as the index: see
        [front_rows]."""
        return frames.of_rows(self.front_rows(), "experiment")

    def questions(self, *, status: str | None = None) -> list[JSON]:
        """The questions with their answers, of a status ("asked", "answered", …) or all."""
        query = {"status": status} if status else None
        return list(self.client._pages(self._path + "/questions", "questions", query))

    def events(self, follow: bool = False, after: int = 0) -> Iterator[JSON]:
        """The events after a sequence of the campaign, as CloudEvents.

        With follow it goes on with further ones as they happen, also across restarts of the server,
        and never ends by itself: break out of it."""
        if not follow:
            text = self.client._send("GET", self._path + "/events", {"after": after})
            for line in text.splitlines():
                yield json.loads(line)
            return
        retry = Retry(self.client)
        while True:
            request = self.client._request("GET", self._path + "/events", None, None, "")
            request.add_header("Accept", "text/event-stream")
            if after:
                request.add_header("Last-Event-ID", str(after))
            try:
                with self.client._open(request, self.client.timeout) as stream:
                    for sequence, event in sent(stream):
                        after = sequence
                        yield event
                        retry.again()
            except (Problem, OSError, http.client.HTTPException) as error:
                retry.after(error)
            else:
                retry.again()  # the server ended it in order

    def explain(self, what: Any) -> Explanation:
        """What led to a decision d12, or to an experiment or question, and what followed.

        >>> for value in (2.5, 2.6, 2.4, 2.7):
        ...     _ = campaign.tell(campaign.ask(), value)
        >>> campaign.explain(campaign.ask()).candidates[0]["name"]
        'unaided'
        """
        subject = urllib.parse.quote(getattr(what, "id", what), safe="")
        said = Explanation(self.client._json("GET", f"{self._path}/decisions/{subject}"))
        said.order = [p["name"] for p in self.defined()["parameters"]]
        return said

    def what_if(
        self, /, decision: str, *, definition: Source | None = None, **otherwise: Any
    ) -> Imagined:
        """What would have been otherwise from a decision d12 on, with its caveats.

        `otherwise` is method=…, without=… (an expert), experiments=…, require=["viscosity <= 4"],
        without_constraints=["viscosity <= 5"], worst={"conductivity": 8}, weight={"conductivity":
        3}, maximize=… or minimize=… (a quantity or a formula); `definition` a changed campaign
        file. It waits until that is worked out; nothing is recorded.
        """
        body = {name: what for name, what in otherwise.items() if what is not None}
        if definition is not None:
            body["definition"] = text_of(definition)
        at = f"{self._path}/decisions/{urllib.parse.quote(decision, safe='')}/what-if"
        run = self.client._json("POST", at, None, body)
        while run["state"] in ("waiting", "running"):
            run = self.client._json("GET", f"{self._path}/what-ifs/{run['id']}", {"wait": 30})
        if run["state"] != "done":
            raise Problem(422, run.get("problem") or {"detail": f"it was {run['state']}"})
        said = Imagined({**run["answer"], "caveats": run["caveats"]})
        said.order = [p["name"] for p in self.defined()["parameters"]]
        return said

    def audit(self, *, since: str | None = None, files: bool = False) -> Audit:
        """Check that nothing was changed, and make every decision again; waits for its end.

        `since` is the text of an earlier checkpoint, which the log must extend; with files=True the
        bytes of attached files are compared, too.

        >>> campaign.audit().passed
        True
        """
        body: JSON = {"files": files}
        if since is not None:
            body["since"] = [{"text": since}]
        run = self.client._json("POST", self._path + "/audits", None, body)
        while run["state"] == "running":
            run = self.client._json("GET", f"/audits/{run['id']}", {"wait": 30})
        if run["state"] != "done":
            raise Problem(500, run.get("problem") or {"detail": "the audit failed"})
        return Audit(run)

    @overload
    def predict(self, points: DataFrame) -> DataFrame: ...

    @overload
    def predict(self, points: Sequence[Mapping[str, float | str]]) -> list[JSON]: ...

    def predict(
        self, points: DataFrame | Sequence[Mapping[str, float | str]]
    ) -> DataFrame | list[JSON]:
        """What the models expect of compositions.

        Of a DataFrame with a column for each parameter the same, with NAME_mean and NAME_sd of each
        quantity behind them, and `feasible`, the probability that constraints on outcomes are kept,
        where there are any. Of a list of compositions what the API says of each.

        >>> for value in (2.5, 2.6, 2.4, 2.7):
        ...     _ = campaign.tell(campaign.ask(), value)
        >>> grid = pandas.DataFrame({"x": [0.1, 0.9], "salt": "LiFSI"})
        >>> campaign.predict(grid).columns.to_list()
        ['x', 'salt', 'flow_mean', 'flow_sd']
        """
        if frames.is_frame(points):
            at = frames.compositions(points, self.defined())
            objective = self.defined()["objective"]["name"]
            return frames.with_predictions(points, self._predicted(at), objective)
        return self._predicted(cast("Sequence[Mapping[str, float | str]]", points))

    def _predicted(self, points: Sequence[Mapping[str, float | str]]) -> list[JSON]:
        out: list[JSON] = []
        for first in range(0, len(points), MOST):
            body = {"points": [point(p) for p in points[first : first + MOST]]}
            out += self.client._json("POST", self._path + "/predict", None, body)["predictions"]
        return out

    def diagnose(self) -> Diagnosis:
        """How far the model and the experts can be trusted, and what to do about it."""
        return Diagnosis(self.client._json("GET", self._path + "/diagnosis"))

    diagnosis = diagnose

    def export(self) -> str:
        """The experiments as CSV."""
        return self.client._send("GET", self._path + "/export").decode()

    def report(self) -> str:
        """The report, a page of HTML."""
        return self.client._send("GET", self._path + "/report").decode()

    def _repr_html_(self) -> str:
        """The card that a notebook shows. A server that does not answer is not waited for."""
        patience, self.client.patience = self.client.patience, 0
        try:
            return card.of(self.url, self.status(), self.defined(), self.course())
        except (Problem, ConnectionError) as error:
            return card.absent(repr(self), str(error))
        finally:
            self.client.patience = patience

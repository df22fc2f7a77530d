"""A campaign: what to do next, and what came of it."""

from __future__ import annotations

import json
import sys
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from . import frames
from .reading import Reading
from .steering import Steering, point, quantities_as_json
from .transport import JSON, SILENT, Problem, pause

if TYPE_CHECKING:
    from pandas import DataFrame

    from .client import Client
    from .plots import Plots

Value = float | str
"""The value of a parameter: a number, or the name of a category."""


@dataclass(frozen=True)
class Experiment:
    """An experiment that the campaign asks for. Its parameters stand in the order of the file."""

    id: str
    parameters: dict[str, Value]
    replicate: int = 1
    reason: str = ""
    prediction: JSON | None = None
    """What the model expects of it: mean, sd and unit; None where no model chose it."""
    outcomes: list[JSON] = field(default_factory=list)
    """What the models expect of each quantity, where decisions rest on several: quantity, mean, sd
    and unit."""
    raw: JSON = field(default_factory=dict, repr=False, compare=False)


class Batch(list[Experiment]):
    """Experiments that may be run at the same time; a table in a notebook."""

    def frame(self) -> DataFrame:
        """A row for each, with its identifier as the index and a column for each parameter."""
        return frames.of_experiments(self)

    def _repr_html_(self) -> str:
        return frames.html(
            ["", *(self[0].parameters if self else ())],
            [[e.id, *e.parameters.values()] for e in self],
        )


class Told(list[JSON]):
    """The events that telling a table has recorded."""

    def __init__(self, recorded: Sequence[JSON], known: Sequence[str], open: Sequence[str]) -> None:
        super().__init__(recorded)
        self.known = list(known)
        """Experiments whose results were there already, with these values."""
        self.open = list(open)
        """Experiments of the table that have no value in it, and stay open."""

    def __repr__(self) -> str:
        told = [e.get("subject", "") for e in self]
        text = f"recorded: {', '.join(told) or 'nothing'}"
        text += f"; known already: {', '.join(self.known)}" if self.known else ""
        return text + (
            f"; without a value, still open: {', '.join(self.open)}" if self.open else ""
        )


class Campaign(Reading, Steering):
    """A campaign of a server. In a notebook it is shown as a card."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self._path = "/campaigns/" + urllib.parse.quote(name, safe="@")

    def __repr__(self) -> str:
        return f"Campaign({self.client.url!r}, {self.name!r})"

    @property
    def plot(self) -> Plots:
        """Its charts, by matplotlib: see [campaignd.plots]."""
        from .plots import Plots

        return Plots(self)

    @overload
    def ask(self, *, wait: float | None = None) -> Experiment | None: ...

    @overload
    def ask(self, n: int, *, wait: float | None = None) -> Batch: ...

    def ask(self, n: int | None = None, *, wait: float | None = None) -> Experiment | Batch | None:
        """The experiment to run next, once there is one; None when the campaign has ended.

        With `n` up to so many that may be run at the same time, as a [Batch], which is empty when
        the campaign has ended; near its end there may be fewer. The campaign file says how many it
        has open at once (`parallel`).

        Until a result is told, the same ones are asked for. Where the campaign waits for somebody's
        answer, or is paused, so does ask, and says so: for `wait` seconds, then it raises
        TimeoutError; without, as long as it takes.

        >>> experiment = campaign.ask()
        >>> list(experiment.parameters)
        ['x', 'salt']
        >>> campaign.ask(2).frame().columns.to_list()
        ['x', 'salt']
        """
        if n is None:
            experiments = self.ask_all(wait)
            return experiments[0] if experiments else None
        parallel = int(self.defined().get("parallel") or 1)
        if not 1 <= n <= parallel:
            raise ValueError(
                f"{self.name} has {parallel} open at once, and {n} were asked for: "
                f"begin it with parallel={max(n, 1)}, or amend its file"
            )
        return Batch(self.ask_all(wait)[:n])

    def ask_all(self, wait: float | None = None) -> Batch:
        """All experiments that may be run at the same time; none when the campaign has ended."""
        began, said = time.monotonic(), False
        while True:
            answer = self.suggest()
            if answer.get("stopped"):
                return Batch()
            if answer.get("experiment"):
                every = (answer["experiment"], *answer["further"])
                return Batch(self._experiment(x) for x in every)
            since = time.monotonic() - began
            whom = answer.get("waiting_for") or "somebody"
            if wait is not None and since >= wait:
                raise TimeoutError(f"{self.name} waits for {whom}")
            if since >= SILENT and not said:
                print(f"{self.name} waits for {whom}; interrupt to stop waiting", file=sys.stderr)
                said = True
            pause(0.5)

    def suggest(self) -> JSON:
        """What the campaign asks for now: an experiment, questions, and what it waits for."""
        return self.client._json("POST", self._path + "/suggest", timeout=330)

    @overload
    def tell(self, experiment: DataFrame, /) -> Told: ...

    @overload
    def tell(
        self,
        experiment: Experiment | str | None = None,
        value: float | str | None = None,
        *,
        sd: float | str | None = None,
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
    ) -> list[JSON]: ...

    def tell(
        self,
        experiment: Experiment | str | DataFrame | None = None,
        value: float | str | None = None,
        *,
        sd: float | str | None = None,
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
        """Tell the result of an experiment, or why there is none; returns the recorded events.

        `parameters` instead of an experiment are those of one's own. `actual` is what was really
        made. `failed`, `infeasible` (it cannot be made) and `again` (nothing took place) say why
        there is no value; `quantities` with `failed` are those that were measured all the same.
        `further` are other quantities by their names, or as {"name", "value", "unit", "sd"};
        `quantities` those that the campaign declares, in its units, and `missing` says by name why
        there is none of one. Those that arrive later are given in the same way, of an experiment
        that was measured; `later` says that it has ended, and gives all later.

        A DataFrame tells many at once: see docs/notebook.md. What the columns are is checked before
        anything is told. A result that was told before with the same values is not told again.

        >>> results = campaign.ask(2).frame()
        >>> results["flow"] = [2.5, float("nan")]
        >>> campaign.tell(results)
        recorded: e1; without a value, still open: e2
        >>> campaign.tell(results)
        recorded: nothing; known already: e1; without a value, still open: e2
        """
        if frames.is_frame(experiment):
            return self._tell_rows(experiment)
        return self._record(
            "tell",
            experiment=_id(experiment),
            value=_number("value", value),
            sd=_number("sd", sd),
            unit=unit,
            actual=point(actual),
            parameters=point(parameters),
            failed=failed,
            infeasible=infeasible,
            again=again,
            further=quantities_as_json(further),
            quantities=quantities_as_json(quantities),
            missing=missing and [{"name": n, "reason": why} for n, why in missing.items()],
            later=later or None,
            anyway=anyway or None,
        )

    def _tell_rows(self, table: Any) -> Told:
        """Tell the rows of a table, all or none. What can be seen here is checked before."""
        rows = frames.results(table, self.defined(), self.experiments())
        recorded: list[JSON] = []
        if rows.told:
            body = json.dumps([row.request for row in rows.told], allow_nan=False).encode()
            try:
                answer = self.client._json("POST", self._path + "/results", None, body)
                recorded = list(answer["recorded"])
            except Problem as problem:
                raise frames.by_rows(problem, rows.told) from None
        return Told(recorded, rows.known, rows.open)

    def answer(
        self,
        question: str,
        answer: str | Mapping[str, Value] | Sequence[str] | Sequence[float | None],
        comment: str = "",
        saw: str | None = None,
    ) -> list[JSON]:
        """Answer a question, first or otherwise than before.

        With `saw`, the "source" of the question as it was read ("" where it had no answer), an
        answer that another one has come before is kept beside it (question.contested) instead of
        replacing it.

        A text is an answer in words (accept, reject, unsure, exclude, A, B); a list of texts an
        order, the best first; a list of numbers an estimate for each composition, None for what one
        cannot tell; a mapping a composition."""
        body: JSON = {"comment": comment} if comment else {}
        if saw is not None:
            body["saw"] = saw
        if isinstance(answer, str):
            body["answer"] = answer
        elif isinstance(answer, Mapping):
            if any(isinstance(x, (list, tuple)) for x in answer.values()):
                body["columns"] = {name: _numbers(column) for name, column in answer.items()}
            else:
                body["point"] = point(answer)
        elif answer and all(isinstance(x, str) for x in answer):
            body["order"] = list(answer)
        else:
            body["estimates"] = _numbers(answer)
        campaign, asked = (
            urllib.parse.quote(x, safe=s) for x, s in ((self.name, "@"), (question, ""))
        )
        return list(
            self.client._json("POST", f"/questions/{campaign}/{asked}", None, body)["recorded"]
        )

    def _experiment(self, x: JSON) -> Experiment:
        return Experiment(
            x["id"],
            self._in_order(x["parameters"]),
            x.get("replicate", 1),
            x.get("reason", ""),
            x.get("prediction"),
            list(x.get("outcomes") or ()),
            x,
        )


def _id(experiment: Any) -> str | None:
    if experiment is None or isinstance(experiment, str):
        return experiment
    if isinstance(experiment, Experiment):
        return experiment.id
    raise TypeError(
        "tell takes an experiment, its identifier or a DataFrame, "
        f"and this is a {type(experiment).__name__}"
    )


def _number(what: str, given: float | str | None) -> float | None:
    """A number, of whatever library, or as a person writes it: "9,4"."""
    if given is None:
        return None
    read = frames.number(given)
    if read is None:
        raise ValueError(f"{what}: {frames.shown(given)} is not a number")
    return read


def _numbers(given: Any) -> list[float | None]:
    return [None if x is None else float(x) for x in given]

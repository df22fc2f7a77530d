"""Changing a campaign's course: each returns the events that were recorded."""

from __future__ import annotations

import hashlib
import os
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .definition import Source, as_written, defined, text_of
from .transport import JSON, Problem

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .campaign import Experiment
    from .client import Client
    from .schema import Keys


class Steering:
    """What of a campaign can be steered, corrected, attached and taken over."""

    client: Client
    name: str
    _path: str
    _defined: JSON | None = None

    def pause(self, reason: str = "") -> list[JSON]:
        """Begin nothing new until it is resumed."""
        return self._record("pause", reason=reason or None)

    def resume(self, reason: str = "") -> list[JSON]:
        """End a pause."""
        return self._record("resume", reason=reason or None)

    def stop(self, reason: str = "", *, now: bool = False) -> list[JSON]:
        """End the campaign for good. What is under way is awaited, or with now=True called off."""
        return self._record("stop", reason=reason or None, now=now or None)

    def abort(self, reason: str = "") -> list[JSON]:
        """Call everything off that is under way, and pause. The hardware's own stop is the safety
        device."""
        return self._record("abort", reason=reason or None)

    def cancel(
        self,
        experiments: Experiment | str,
        reason: str = "",
        *,
        end_program: bool = False,
        voided: str = "",
    ) -> list[JSON]:
        """Call experiments off, "e7" or "e1-e24": the instrument never begins them any more, and
        stops where it can. Where it does not answer, end_program=True ends its program, and
        voided="power" says that the device was without power."""
        return self._record(
            "cancel",
            experiment=getattr(experiments, "id", experiments),
            reason=reason or None,
            end_program=end_program or None,
            voided=voided or None,
        )

    def note(self, text: str, about: str = "") -> list[JSON]:
        """Add a remark to the record, about an experiment, question or decision."""
        return self._record("note", text=text, about=about or None)

    def exclude(
        self,
        where: Mapping[str, Mapping[str, Any] | Sequence[float | None] | str] | None = None,
        reason: str = "",
        *,
        about: Experiment | str | None = None,
        near: Mapping[str, float | str] | None = None,
    ) -> list[JSON]:
        """Suggest nothing any more where all of this holds, with the reason.

        Of a number (least, greatest), None for an end that is open; of a category its name.
        In place of a box `about` names an experiment or a question, and `near` a composition, whose
        neighborhood is excluded. What is recorded names the exclusion, for [allow].

        >>> excluded = campaign.exclude({"x": (0.9, None), "salt": "LiFSI"}, "it gels")[0]
        >>> campaign.allow(excluded["data"]["exclusion"])[0]["type"]
        'campaignd.region.allowed'
        """
        if not reason:
            raise TypeError('say why, as in exclude({"ec": (40, None)}, "it gels"): it is recorded')
        region = where and {parameter: _side(side) for parameter, side in where.items()}
        subject = getattr(about, "id", about)
        return self._record(
            "exclude", region=region, reason=reason, about=subject, point=point(near)
        )

    def allow(self, exclusion: str, reason: str = "") -> list[JSON]:
        """Take an exclusion back, by the identifier that its event has."""
        return self._record("allow", exclusion=exclusion, reason=reason or None)

    def amend(
        self, source: Source | None = None, /, reason: str = "", **keys: Unpack[Keys]
    ) -> list[JSON]:
        """Make a campaign file that of the campaign, where it allows the changes."""
        given = defined(source, keys)
        query = {"reason": reason} if reason else None
        text = text_of(given).encode()
        self._defined = None
        path = self._path + "/definition"
        try:
            answer = self.client._json("PUT", path, query, text, "application/yaml")
        except Problem as problem:
            raise as_written(problem, given) from None
        return list(answer["recorded"] or ())

    def resolve(
        self,
        /,
        experiment: str = "",
        resolution: str = "",
        reason: str = "",
        *,
        table: Any = None,
        **more: Any,
    ) -> list[JSON]:
        """Settle an experiment whose fate is unknown: measured (with value=…), failed, infeasible,
        not-performed.

        A table settles each as its row says: the text of a CSV file or a DataFrame, with the
        columns experiment and outcome, or those of a result. Then experiment and resolution are of
        those that it leaves alone, if any: resolve("e1-e24", "not-performed", table=frame).
        """
        if table is None:
            return self._record(
                "resolve",
                experiment=experiment,
                resolution=resolution,
                reason=reason or None,
                **more,
            )
        given = {"experiments": experiment, "resolution": resolution, "reason": reason, **more}
        query = {n: "true" if x is True else str(x) for n, x in given.items() if x}
        path = self._path + "/resolutions/csv"
        text = as_csv(table, "resolve")
        answer = self.client._json("POST", path, query, text.encode(), "text/csv")
        return list(answer["recorded"] or ())

    def correct(self, /, experiment: str, reason: str, **how: Any) -> list[JSON]:
        """Say that an experiment ended otherwise: value=…, quantities=…, outcome=…, actual=…,
        exclude=True."""
        if not isinstance(reason, str):
            raise TypeError(
                f"the reason is a text, and not {reason!r}; what is right goes by name: "
                f'correct({experiment!r}, "why", value={reason!r})'
            )
        if "quantities" in how:
            how["quantities"] = quantities_as_json(how["quantities"])
        return self._record("correct", experiment=experiment, reason=reason, **how)

    def run(self) -> None:
        """Have the server run it, now and after restarts, until it has ended."""
        self.client._json("POST", self._path + "/run")

    def halt(self) -> None:
        """Have the server no longer run it; it can be run again."""
        self.client._json("POST", self._path + "/halt")

    def import_csv(
        self,
        table: Any,
        *,
        again: bool = False,
        once: bool = False,
        anyway: bool = False,
        preview: bool = False,
    ) -> JSON:
        """Take over measurements from the text of a CSV file, or from a pandas or polars DataFrame:
        all rows or none, outside the budget. With once=True rows that are there are left out.

        >>> earlier = pandas.DataFrame({"x": [0.2], "salt": ["LiFSI"], "flow": [1.25]})
        >>> len(campaign.import_csv(earlier)["rows"])
        1
        """
        text = as_csv(table, "import_csv")
        flags = (("again", again), ("once", once), ("anyway", anyway), ("preview", preview))
        query = {name: "true" for name, on in flags if on}
        path = self._path + "/import/csv"
        return self.client._json("POST", path, query, text.encode(), "text/csv")

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
        """Keep a file with an experiment, or with the campaign; returns the recorded events.

        `file` is a path, the bytes themselves (then give a `name`), or the URI of a file that stays
        where it is."""
        said: JSON = {"media_type": media_type, "quantity": quantity, "comment": comment}
        said["experiment"] = getattr(experiment, "id", experiment)
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
        answer = self.client._json(
            "POST", self._path + "/files", said, content, "application/octet-stream"
        )
        return list(answer["recorded"])

    def files(self, experiment: Experiment | str | None = None) -> list[JSON]:
        """The files of the campaign, or of an experiment, without those that were withdrawn."""
        of = getattr(experiment, "id", experiment)
        query = {"experiment": of} if of else None
        every = self.client._pages(self._path + "/files", "files", query)
        return [f for f in every if not f.get("withdrawn")]

    def read_file(self, file: str) -> bytes:
        """The bytes of a file f3, compared with the hash in the record."""
        listed = {f["id"]: f for f in self.client._pages(self._path + "/files", "files")}
        content = self.client._send(
            "GET", f"{self._path}/files/{urllib.parse.quote(file, safe='')}"
        )
        if "sha256:" + hashlib.sha256(content).hexdigest() != listed[file]["digest"]:
            raise ValueError(f"{file} is not what was attached")
        return content

    def withdraw(self, file: str, reason: str) -> list[JSON]:
        """Take out a file that was attached by mistake."""
        return self._record("withdraw-file", file=file, reason=reason)

    # Stocks: what experiments use up.

    def count(
        self, stock: str, what: str | float, *, lot: str = "", reason: str = ""
    ) -> list[JSON]:
        """Say what there is of a stock: the labels that are there ("A1-H12", or "none"), or the
        amount with its unit ("1800 mL"; a number alone is in the stock's unit)."""
        status = self.client._json("GET", self._path)
        units = {s["name"]: s.get("unit", "") for s in status.get("stocks", [])}
        said = counted(what, units.get(stock, ""), lot, reason)
        return self._record("stocks", stock=stock, **said)

    def _record(self, what: str, **parts: Any) -> list[JSON]:
        body = {name: part for name, part in parts.items() if part is not None}
        return list(self.client._json("POST", f"{self._path}/{what}", None, body)["recorded"])


def counted(what: str | float, unit: str, lot: str, reason: str) -> dict[str, Any]:
    """The body of a count, of a stock in a unit, or of labels."""
    said: dict[str, Any] = {"labels": what}
    if unit:
        said = {"amount": what if isinstance(what, str) else f"{float(what)!r} {unit}"}
    return said | {k: v for k, v in (("lot", lot), ("reason", reason)) if v}


def _float(name: str, x: Any) -> float:
    if isinstance(x, str) and "_" in x:  # Python reads 12_5 as 125
        raise ValueError(f"{name}: {x!r} is not a number")
    return float(x)


def as_csv(table: Any, of: str) -> str:
    """A table as the text of a CSV file: that text, or a pandas or polars DataFrame."""
    if hasattr(table, "to_csv"):  # pandas
        table = table.to_csv(index=False)
    elif hasattr(table, "write_csv"):  # polars
        table = table.write_csv()
    if not isinstance(table, str):
        raise TypeError(
            f"{of} takes the text of a CSV file or a DataFrame, "
            f"and this is a {type(table).__name__}"
        )
    return table


def quantities_as_json(
    given: Mapping[str, float] | Sequence[Mapping[str, Any]] | None,
) -> list[JSON] | None:
    """Quantities by their names, or with more of each."""
    if isinstance(given, Mapping):
        return [{"name": name, "value": _float(name, x)} for name, x in given.items()]
    return None if given is None else [dict(q) for q in given]


def point(of: Mapping[str, float | str] | None) -> dict[str, float | str] | None:
    """A composition as JSON: numbers of other libraries become Python's."""
    if of is None:
        return None
    return {name: x if isinstance(x, str) else float(x) for name, x in of.items()}


def _side(side: Mapping[str, Any] | Sequence[float | None] | str) -> JSON:
    if isinstance(side, str):
        return {"is": side}
    if isinstance(side, Mapping):
        return dict(side)
    low, high = side
    ends = (("min", low), ("max", high))
    return {name: float(end) for name, end in ends if end is not None}

"""DataFrames in and out, in the file's order of columns."""

from __future__ import annotations

import difflib
import html as escaping
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

from .extras import extra
from .parts import unknown
from .transport import JSON, Fault, Problem

if TYPE_CHECKING:
    from pandas import DataFrame


def pandas(what: str) -> Any:
    return extra("pandas", "pandas", what)


def is_frame(value: object) -> TypeGuard[DataFrame]:
    """Whether something is a table of pandas, without importing it."""
    return hasattr(value, "columns") and hasattr(value, "itertuples")


class TableRefused(ValueError):
    """A table that is not told, with its rows and columns that are wrong. Nothing was recorded."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = list(faults)
        more = f"\n  … and {len(faults) - 20} more" if len(faults) > 20 else ""
        super().__init__("nothing was told:\n  " + "\n  ".join(faults[:20]) + more)


def of_experiments(experiments: Iterable[Any]) -> DataFrame:
    """What is asked for: a row for each, a column for each parameter."""
    every = list(experiments)
    index = pandas("a DataFrame").Index([e.id for e in every], name="experiment")
    frame: DataFrame = pandas("a DataFrame").DataFrame([e.parameters for e in every], index=index)
    return frame


def of_rows(rows: Sequence[Mapping[str, Any]], index: str = "") -> DataFrame:
    """Flat rows; None becomes NaN in columns of numbers."""
    frame: DataFrame = pandas("a DataFrame").DataFrame(list(rows))
    if index and index in frame.columns:
        frame = frame.set_index(index)
    return frame


def compositions(frame: DataFrame, defined: JSON) -> list[dict[str, Any]]:
    """The compositions of a table's rows: its columns that are parameters."""
    names = [p["name"] for p in defined["parameters"]]
    faults = [
        unknown("the campaign", name, names).replace("keyword", "parameter")
        for name in map(str, frame.columns)
        if name not in names and not frame.columns.size > len(names)
    ]
    faults += [f'column "{name}" is missing' for name in names if name not in frame.columns]
    if faults:
        raise TableRefused(faults)
    numeric = {p["name"] for p in defined["parameters"] if not p.get("categories")}
    out = []
    for place, row in _rows(frame):
        at = {}
        for name in names:
            value = number(row[name]) if name in numeric else row[name]
            if value is None or empty(value):
                faults.append(f"{place}, column {name}: {shown(row[name])} is no value")
            at[name] = value
        out.append(at)
    if faults:
        raise TableRefused(faults)
    return out


def with_predictions(frame: DataFrame, predictions: Sequence[JSON], objective: str) -> DataFrame:
    """The table with NAME_mean and NAME_sd of each quantity behind its columns, and the probability
    that constraints on outcomes are kept."""
    columns: dict[str, list[float]] = {}

    def put(i: int, column: str, value: float | None) -> None:
        cells = columns.setdefault(column, [math.nan] * len(predictions))
        if value is not None:
            cells[i] = value

    for i, p in enumerate(predictions):
        for q in p.get("quantities") or [{"quantity": objective, **p}]:
            put(i, f"{q['quantity']}_mean", q.get("mean"))
            put(i, f"{q['quantity']}_sd", q.get("sd"))
        if "value" in p:  # of the formula, or all that is sought together
            put(i, f"{objective}_mean", p["value"].get("mean"))
            put(i, f"{objective}_sd", p["value"].get("sd"))
        if "feasible" in p:
            put(i, "feasible", p["feasible"]["probability"])
    out: DataFrame = frame.assign(**columns)
    return out


# Results.


@dataclass
class Row:
    """A result as the API takes it, and where it stands in the table."""

    place: str
    request: JSON


@dataclass
class Results:
    """What of a table is to be told, what is known, and what has no value yet."""

    told: list[Row] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


def by_rows(problem: Problem, rows: Sequence[Row]) -> Problem:
    """A refusal whose faults name the rows of the table in place of those that were sent."""
    faults = []
    for fault in problem.faults:
        index = re.match(r"\[(\d+)\](.*)", fault.field)
        place = rows[int(index[1])].place + index[2] if index else fault.field
        faults.append(Fault(fault.message, place, 0, 0, fault.remedy))
    return problem.at(faults)


REASONS = ("failed", "infeasible", "again")


def results(table: DataFrame, defined: JSON, recorded: Sequence[JSON]) -> Results:
    """Read the results in a table, all of it before any is told.

    `recorded` are the rows of the campaign. Each row of the table names an experiment, in a column
    "experiment" or as the index. A cell that is empty (NaN, None, "") is missing and never zero.
    """
    reading = _Reading(table, defined, recorded)
    faults = reading.columns()
    if faults:
        raise TableRefused(faults)
    out, seen = Results(), dict[str, str]()
    table = reading.table.reset_index() if reading.by_index else reading.table
    for place, row in _rows(table):
        try:
            experiment = reading.experiment(row)
            if experiment in seen:
                raise ValueError(f"{experiment} is in {seen[experiment]}, too")
            seen[experiment] = place
            request = reading.request(row, experiment)
        except ValueError as error:
            faults.append(f"{place}, {error}")
            continue
        if request is None:
            out.open.append(experiment)
        elif reading.known(request, faults, place):
            out.known.append(experiment)
        else:
            out.told.append(Row(place, request))
    if faults:
        raise TableRefused(faults)
    return out


class _Reading:
    """Reads the rows of one table."""

    def __init__(self, table: DataFrame, defined: JSON, recorded: Sequence[JSON]) -> None:
        self.table = table
        self.recorded = {str(r["experiment"]): r for r in recorded if "experiment" in r}
        self.parameters = {p["name"]: p for p in defined["parameters"]}
        declared = [q for q in defined.get("quantities") or () if not q.get("from")]
        self.computed = {q["name"] for q in defined.get("quantities") or () if q.get("from")}
        self.several = bool(defined.get("quantities"))
        self.objective = objective = defined["objective"]["name"]
        self.quantities = [q["name"] for q in declared] if self.several else [objective]
        self.by_index = "experiment" not in table.columns

    def columns(self) -> list[str]:
        """What is wrong with the columns."""
        names = [str(c) for c in self.table.columns]
        faults = [
            f'column "{n}" is there twice' for n in dict.fromkeys(names) if names.count(n) > 1
        ]
        index = self.table.index
        if self.by_index and index.name != "experiment":
            if any(str(label) in self.recorded for label in index):
                self.table = self.table.rename_axis("experiment")
            else:
                faults.append(
                    'no column "experiment", and the index names none: which experiment each row is '
                    "of must stand there, as ask(n).frame() has it; measurements of one's own are "
                    "taken over by import_csv"
                )
        # What stands in every row of the campaign may stand in a table, too: frame() filled in.
        known = {"experiment", "unit", "sd", "replicate", *REASONS, *self.quantities, "value"}
        known |= {f"{kind}_{q}" for q in self.quantities for kind in ("sd", "unit")}
        known |= {*self.parameters, *(f"{p}_actual" for p in self.parameters)}
        known |= {column for row in self.recorded.values() for column in row} - self.computed
        for name in names:
            if name in self.computed:
                faults.append(
                    f'column "{name}": it follows from the composition, and is not told; '
                    f'drop(columns="{name}") leaves it out'
                )
            elif name not in known and not name.startswith("further_"):
                near = difflib.get_close_matches(name, [*self.quantities, *sorted(known)], 1)
                meant = (
                    f'did you mean "{near[0]}"?' if near else f"it has {listed(self.quantities)}"
                )
                faults.append(
                    f'column "{name}": the campaign has no such quantity ({meant}); further_{name} '
                    f'keeps it without a model, drop(columns="{name}") leaves it out'
                )
        if not faults and not any(
            n in self.table.columns for n in (*self.quantities, "value", *REASONS)
        ):
            faults.append(f"no column has a result: {', '.join(self.quantities)}, or failed")
        return faults

    def experiment(self, row: Mapping[str, Any]) -> str:
        of = row["experiment"]
        if empty(of):
            raise ValueError("column experiment: it is empty")
        if str(of) not in self.recorded:
            raise ValueError(f"column experiment: the campaign has no {of}")
        return str(of)

    def request(self, row: Mapping[str, Any], experiment: str) -> JSON | None:
        """The row as a request; None where it has no result."""
        asked = self.recorded[experiment]
        request: JSON = {"experiment": experiment}
        for name, parameter in self.parameters.items():
            self._same(row, name, parameter, asked)
        for reason in REASONS:
            why = row.get(reason)
            if why is not None and not empty(why) and why is not False:
                if not isinstance(why, str):
                    raise ValueError(
                        f"column {reason}: {shown(why)} is no reason; write why, in words"
                    )
                request[reason] = why
        values = self._values(row)
        if values and self.several:
            request["quantities"] = values
        elif values:
            only = values[0]
            request |= {k: only[k] for k in ("value", "unit", "sd") if k in only}
        if actual := self._actual(row, asked):
            request["actual"] = actual
        further = [
            {"name": str(c).removeprefix("further_"), "value": cell(row, str(c))}
            for c in row
            if str(c).startswith("further_") and not empty(row[c])
        ]
        if further:
            request["further"] = further
        reasons = [r for r in REASONS if r in request]
        if not values and not reasons:
            return None
        if len(reasons) > 1 or (reasons and values and (reasons != ["failed"] or not self.several)):
            raise ValueError(
                f"columns {', '.join([*reasons, *(v['name'] for v in values)])}: "
                "either there is a result, or one reason why there is none"
            )
        return request

    def _values(self, row: Mapping[str, Any]) -> list[JSON]:
        out = []
        for name in self.quantities:
            column = name if name in row or self.several else "value"
            if column not in row or empty(row[column]):
                for with_it in (f"sd_{name}",):
                    if with_it in row and not empty(row[with_it]):
                        raise ValueError(
                            f"column {with_it}: there is no {name} that it could be of"
                        )
                continue
            q: JSON = {"name": name, "value": cell(row, column)}
            for kind in ("sd", "unit"):
                given = f"{kind}_{name}" if f"{kind}_{name}" in row else kind
                # Of several quantities, plain sd and unit are those of the objective, as in exports.
                if given == kind and self.several and name != self.objective:
                    continue
                if given in row and not empty(row[given]):
                    q[kind] = cell(row, given) if kind == "sd" else str(row[given])
            out.append(q)
        return out

    def _same(self, row: Mapping[str, Any], name: str, parameter: JSON, asked: JSON) -> None:
        """Refuse a row whose parameters are those of another experiment: tables get out of step."""
        if name not in row or empty(row[name]):
            return
        if parameter.get("categories"):
            same = str(row[name]) == asked[name]
        else:
            values = parameter.get("values") or (parameter["min"], parameter["max"])
            same = abs(cell(row, name) - asked[name]) <= (max(values) - min(values)) / 1000
        if not same:
            raise ValueError(
                f"column {name}: {shown(row[name])} is not {shown(asked[name])}, which was asked for "
                f"as {asked['experiment']}; what was really made belongs in {name}_actual"
            )

    def _actual(self, row: Mapping[str, Any], asked: JSON) -> JSON:
        given: JSON = {}
        for name, parameter in self.parameters.items():
            column = f"{name}_actual"
            if column in row and not empty(row[column]):
                if parameter.get("categories"):
                    given[name] = str(row[column])
                else:
                    given[name] = cell(row, column)
        if given:
            given = {name: given.get(name, asked[name]) for name in self.parameters}
        return given

    def known(self, request: JSON, faults: list[str], place: str) -> bool:
        """Whether the campaign has this result already; another result is a fault."""
        e = request["experiment"]
        there = self.recorded[e]
        if there["status"] in ("requested", "dispatched", "started", "unresolved", "deferred"):
            return False
        if any(reason in request for reason in REASONS):
            same = there["status"] in ("failed", "infeasible", "cancelled")
            differs = "a reason"
        else:
            told = request.get("quantities") or [{"name": self.quantities[0], **request}]
            absent = [q for q in told if there.get(q["name"]) is None]
            if absent and there["status"] == "measured" and self.several:
                return False  # what arrives later
            other = [q for q in told if there.get(q["name"]) != q["value"]]
            same, differs = not other, ", ".join(q["name"] for q in other)
        if not same:
            faults.append(
                f"{place}, column {differs}: {e} is {there['status']} already, with another result; "
                f'campaign.correct("{e}", reason, …) changes it'
            )
        return same


def _rows(table: DataFrame) -> Iterable[tuple[str, dict[str, Any]]]:
    names = [str(c) for c in table.columns]
    for i, cells in enumerate(table.itertuples(index=False, name=None)):
        yield f"row {i + 1}", dict(zip(names, cells, strict=True))


def cell(row: Mapping[str, Any], column: str) -> float:
    """The number in a cell."""
    value = number(row[column])
    if value is None:
        raise ValueError(f"column {column}: {shown(row[column])} is not a number")
    return value


_TWO_READINGS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}$")


def number(value: Any) -> float | None:
    """A number, also where it is a text, with a decimal comma or a point; None where it is none.

    "1,234" may be two numbers, and is none.

    >>> number("9,4"), number(" 2.5 "), number("1,234"), number("2.5 mS"), number("12_5")
    (9.4, 2.5, None, None, None)
    """
    if isinstance(value, str):
        text = value.strip().replace("−", "-")
        if "_" in text:  # Python reads 12_5 as 125
            return None
        if "," in text and ("." in text or text.count(",") > 1 or _TWO_READINGS.match(text)):
            return None
        value = text.replace(",", ".")
    if isinstance(value, bool):
        return None
    try:
        read = float(value)
    except (TypeError, ValueError):
        return None
    return read if math.isfinite(read) else None


def empty(value: Any) -> bool:
    """Whether a cell has nothing in it: NaN, None, pandas' NA, a text of blanks."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)


def listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def shown(value: Any) -> str:
    """A cell as it is written in a message."""
    return (
        f'"{value}"'
        if isinstance(value, str)
        else f"{value:.6g}"
        if isinstance(value, float)
        else str(value)
    )


def html(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table for notebooks, escaped, with numbers to six digits."""

    def line(cells: Sequence[Any], tag: str) -> str:
        texts = (escaping.escape(x if isinstance(x, str) else shown(x)) for x in cells)
        return "<tr>" + "".join(f"<{tag}>{t}</{tag}>" for t in texts) + "</tr>"

    body = "".join(line(r, "td") for r in rows)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"

"""A campaign file as a person writes it in Python, and what is wrong with one in their words.

>>> from campaignd import Definition, Maximize, Number
>>> Definition(
...     name="electrolyte",
...     parameters=[Number("ec", 0, 50, unit="wt%")],
...     objective=Maximize("conductivity", unit="mS/cm"),
...     budget={"experiments": 25},
...     instrument="manual",
... ).as_file()["objective"]
{'name': 'conductivity', 'goal': 'maximize', 'unit': 'mS/cm'}
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .parts import Part, plain
from .schema import Category, Definition, Desire, Parameter
from .transport import Fault, Problem

Source = str | os.PathLike[str] | Mapping[str, Any] | Definition
"""A campaign file: its path, its text, a mapping with its keys, or a [Definition]."""


class Number(Parameter):
    """A parameter that is any number between two bounds.

    >>> Number("ec", 0, 50, unit="wt%").as_file()
    {'name': 'ec', 'unit': 'wt%', 'min': 0, 'max': 50}
    """

    def __init__(
        self,
        name: str,
        min: float,
        max: float,
        *,
        unit: str | None = None,
        description: str | None = None,
    ) -> None:
        super().__init__(name=name, min=min, max=max, unit=unit, description=description)


class Discrete(Parameter):
    """A parameter that is one of some numbers, whole numbers among them.

    >>> Discrete("layers", range(1, 4)).as_file()
    {'name': 'layers', 'values': [1, 2, 3]}
    """

    def __init__(
        self,
        name: str,
        values: Sequence[float],
        *,
        unit: str | None = None,
        description: str | None = None,
    ) -> None:
        super().__init__(name=name, values=list(values), unit=unit, description=description)


class Categorical(Parameter):
    """A parameter that is one of some names; a mapping gives each its descriptors.

    >>> Categorical("solvent", {"EC": {"eps": 90}, "DMC": {"eps": 3}}).as_file()["categories"][0]
    {'name': 'EC', 'descriptors': {'eps': 90}}
    """

    def __init__(
        self,
        name: str,
        categories: Sequence[Category | Mapping[str, Any] | str]
        | Mapping[str, Mapping[str, float]],
        *,
        description: str | None = None,
    ) -> None:
        if isinstance(categories, Mapping):
            described = [Category(name=c, descriptors=d) for c, d in categories.items()]
            super().__init__(name=name, categories=described, description=description)
        else:
            super().__init__(name=name, categories=list(categories), description=description)


class Sought(Part):
    """What a campaign seeks: see [Maximize], [Minimize], [Tradeoff], [Desirability]."""

    def __init__(self, **keys: Any) -> None:
        self._keys = {key: value for key, value in keys.items() if value is not None}

    def as_file(self) -> Any:
        """What the file has under objective."""
        return plain(self._keys)

    def __repr__(self) -> str:
        keys = ", ".join(f"{k}={v!r}" for k, v in self._keys.items())
        return f"{type(self).__name__}({keys})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sought) and self._keys == other._keys


class _Goal(Sought):
    goal = ""

    def __init__(
        self,
        of: str,
        *,
        unit: str | None = None,
        noise: float | str | None = None,
        min: float | None = None,
        max: float | None = None,
        worst: float | None = None,
    ) -> None:
        about = {"unit": unit, "noise": noise, "min": min, "max": max}
        if any(x is not None for x in about.values()):
            super().__init__(name=of, goal=self.goal, **about, worst=worst)
        else:
            super().__init__(**{self.goal: of}, worst=worst)


class Maximize(_Goal):
    """Seeks the greatest value of a quantity, or of a formula of those that are declared.

    `unit`, `noise` (the sd of one measurement, or "2%" of each), `min` and `max` (outside of them a
    value counts as missing) say what the quantity is, where it is not declared under quantities.
    `worst` is for one of a [Tradeoff]: what is worse is of no interest.

    >>> Maximize("conductivity / sqrt(viscosity)").as_file()
    {'maximize': 'conductivity / sqrt(viscosity)'}
    """

    goal = "maximize"


class Minimize(_Goal):
    """Seeks the least value of a quantity, or of a formula: see [Maximize].

    >>> Minimize("impurity", unit="%").as_file()
    {'name': 'impurity', 'goal': 'minimize', 'unit': '%'}
    """

    goal = "minimize"


class Tradeoff(Sought):
    """Seeks the front of two to four quantities.

    >>> Tradeoff(Maximize("conductivity", worst=6), Minimize("viscosity")).as_file()["tradeoff"]
    [{'maximize': 'conductivity', 'worst': 6}, {'minimize': 'viscosity'}]
    """

    def __init__(self, *aims: Sought | Mapping[str, Any]) -> None:
        super().__init__(tradeoff=list(aims))


class Desirability(Sought):
    """Seeks the weighted geometric mean of what several quantities are worth.

    >>> Desirability(Desire(quantity="ph", from_=5, best=[6.8, 7.2], to=9)).as_file()
    {'desirability': [{'quantity': 'ph', 'from': 5, 'to': 9, 'best': [6.8, 7.2]}]}
    """

    def __init__(self, *desires: Desire | Mapping[str, Any]) -> None:
        super().__init__(desirability=list(desires))


def defined(source: Source | None, keys: Mapping[str, Any]) -> Source:
    """The campaign that is meant: a source, or keywords."""
    if source is not None and keys:
        raise TypeError(f"give a campaign file or its keys, and not both ({', '.join(keys)})")
    if source is not None:
        return source
    if not keys:
        raise TypeError("there is no campaign: give a file, a mapping, a Definition or keywords")
    return Definition(**keys)


def text_of(source: Source) -> str:
    """A campaign file's text: JSON is YAML, too."""
    if isinstance(source, (Mapping, Part)):
        return json.dumps(plain(source), ensure_ascii=False) + "\n"
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(
            "a campaign file is a path, a text, a mapping or a Definition, "
            f"and this is a {type(source).__name__}"
        )
    text = os.fspath(source)
    if "\n" not in text:
        with open(text, encoding=_encoding(text)) as file:
            text = file.read()
    return text


def _encoding(path: str) -> str:
    """How an editor has written a text: those of Windows begin it with a mark."""
    with open(path, "rb") as file:
        marked = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
    return "utf-16" if marked else "utf-8-sig"


_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")


def as_written(problem: Problem, source: Source) -> Problem:
    """A problem whose faults name what was written in Python in place of lines of the text that
    was made of it: parameters[1] becomes parameters[1] "salt"."""
    if not isinstance(source, (Mapping, Part)):
        return problem
    whole = plain(source)
    return problem.at(
        [Fault(f.message, _place(whole, f.field), 0, 0, f.remedy) for f in problem.faults]
    )


def _place(whole: Any, field: str) -> str:
    """Where a fault is, with the names of list elements that have one."""
    text, at = "", whole
    for step in _STEP.findall(field):
        if step.startswith("["):
            index = int(step[1:-1])
            listed = isinstance(at, list) and index < len(at)
            at = at[index] if listed else None
            name = at.get("name") if isinstance(at, dict) else at if isinstance(at, str) else None
            text += step + (f' "{name}"' if isinstance(name, str) else "")
        else:
            at = at.get(step) if isinstance(at, dict) else None
            text += ("." if text and not text.endswith('"') else ": " if text else "") + step
    return text or field

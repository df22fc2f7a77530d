"""What the dataclasses of a campaign file share: see [campaignd.schema], which is generated."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as part
else:

    def part(**options: Any) -> Callable[[type], type]:
        """A dataclass that says which keyword was meant."""

        def make(of: type) -> type:
            made = dataclasses.dataclass(repr=False, **options)(of)
            init = made.__init__
            known = [f.name for f in dataclasses.fields(made)]

            @functools.wraps(init)
            def checked(self: Any, *args: Any, **keys: Any) -> None:
                for key in keys:
                    if key not in known:
                        raise TypeError(unknown(of.__name__, key, known))
                init(self, *args, **keys)

            made.__init__ = checked
            return made

        return make


__all__ = ["Part", "part", "plain", "unknown"]


def unknown(what: str, key: str, known: Sequence[str]) -> str:
    """Says that there is no such keyword, and which one was probably meant."""
    close = difflib.get_close_matches(key, known, 1) or difflib.get_close_matches(
        key + "_", known, 1
    )
    meant = f'did you mean "{close[0]}"?' if close else "there are " + ", ".join(known)
    return f'{what} has no keyword "{key}" ({meant})'


class Part:
    """A part of a campaign file. What is None is left to campaignd's defaults."""

    def _given(self) -> Iterator[tuple[str, str, Any]]:
        """The fields that were given: name, key in the file, value."""
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if value is not None:
                yield f.name, f.metadata.get("key", f.name), value

    def as_file(self) -> Any:
        """The part as the file has it: of mappings, lists, texts and numbers."""
        return {key: plain(value, key) for _, key, value in self._given()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, _, v in self._given())})"


T = TypeVar("T")


def plain(value: Any, place: str = "") -> Any:
    """What a campaign file can hold of a value: numbers of other libraries become Python's."""
    if isinstance(value, Part):
        return value.as_file()
    if isinstance(value, Mapping):
        return {str(k): plain(v, f"{place}.{k}" if place else str(k)) for k, v in value.items()}
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # numpy and pandas: arrays, and their numbers
        return plain(value.tolist(), place)
    if isinstance(value, (list, tuple)):
        return [plain(v, f"{place}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, (int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{place}: {value} is no number for a campaign file")
        return value
    raise TypeError(f"{place}: a {type(value).__name__} has no place in a campaign file")

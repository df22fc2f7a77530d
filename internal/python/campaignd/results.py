"""What is read of a campaign, as objects that a notebook shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from . import frames
from .transport import JSON


@dataclass(frozen=True)
class Best:
    """The best composition, measured or by the model."""

    experiment: str
    parameters: dict[str, float | str]
    value: float
    """What was measured; by the model, what it believes of it."""
    sd: float | None
    unit: str = ""

    def __str__(self) -> str:
        within = f" ± {self.sd:.3g}" if self.sd is not None else ""
        unit = f" {self.unit}" if self.unit else ""
        at = ", ".join(f"{n} {frames.shown(x)}" for n, x in self.parameters.items())
        return f"{self.value:.6g}{within}{unit} in {self.experiment} ({at})"


@dataclass(frozen=True)
class Bests:
    """Both bests: the greatest measurement may be the luckiest noise, the model's may be wrong.

    Each is None where there is none: before anything is measured, and of a trade-off, which has a
    front in their place.
    """

    measured: Best | None
    by_model: Best | None
    why: str = ""
    """Why there is none by the model."""
    outside: tuple[Best, ...] = ()
    """What would be better, and lies outside the space as it is now: it is compared with nothing."""

    def __repr__(self) -> str:
        none = self.why or "none"
        measured = self.measured or (none if "front()" in none else "none yet")
        text = f"measured: {measured}\nby the model: {self.by_model or none}"
        return "\n".join([text, *(f"better, but outside: {o}" for o in self.outside)])


class Shown(dict[str, Any]):
    """What the API says, with its keys; a notebook shows what is to be read of it."""

    def _repr_html_(self) -> str:
        return f'<div style="{CARD}">{self._html()}</div>'

    def _html(self) -> str:
        return escape(repr(self))


CARD = "font-family:system-ui,sans-serif;line-height:1.45;max-width:46rem;padding:.2rem 0"
"""Colors are those of the notebook, so that dark and light ones show it."""

FAINT = "opacity:.7"


class Explanation(Shown):
    """What led to a decision, and what followed."""

    order: list[str] = []

    @property
    def reason(self) -> str:
        """Why, in words."""
        return str(self["decision"].get("reason", ""))

    @property
    def candidates(self) -> list[JSON]:
        """The compositions that were weighed, with what was expected of each."""
        return list(self["decision"].get("candidates") or ())

    def __repr__(self) -> str:
        d = self["decision"]
        return (
            f"{d['decision']}: {d.get('action', '')} {d.get('chosen', '')}. {self.reason}".strip()
        )

    def _html(self) -> str:
        d = self["decision"]
        policy = ", ".join(
            f"{part} {d['policy'][part]}"
            for part in ("next", "trust", "handover", "duel")
            if d.get("policy", {}).get(part, "none") not in ("none", "never")
        )
        text = f"<b>{escape(str(d['decision']))}</b> {escape(str(self.reason))}"
        text += f'<div style="{FAINT}">{escape(policy)}, {escape(str(self.get("time", "")))}</div>'
        names = self.order or sorted(
            {n for c in self.candidates for n in c.get("parameters") or ()}
        )
        rows = []
        for c in self.candidates:
            p = c.get("prediction") or {}
            expected = f"{p['mean']:.4g} ± {p['sd']:.2g} {p.get('unit', '')}" if p else "–"
            chosen = "→ " if c.get("name") == d.get("chosen") else ""
            at = [(c.get("parameters") or {}).get(n, "") for n in names]
            rows.append([chosen + str(c.get("name", "")), *at, expected])
        if rows:
            text += frames.html(["candidate", *names, "expected"], rows)
        followed = ", ".join(
            f"{e['type'].removeprefix('campaignd.')} {e.get('subject', '')}"
            for e in self.get("followed") or ()
        )
        return text + (f'<div style="{FAINT}">then: {escape(followed)}</div>' if followed else "")


class Imagined(Shown):
    """What would have been otherwise, with its caveats."""

    order: list[str] = []

    def __repr__(self) -> str:
        return "\n".join([f"from {self.get('decision', '')}: {self._course()}", *self["caveats"]])

    def _names(self) -> list[str]:
        then = self.get("next") or self.get("really_next") or {}
        return self.order or list(then.get("parameters") or ())

    def _course(self) -> str:
        then, really = (self.get(k) or {} for k in ("next", "really_next"))
        said = [
            f"{who} {x['experiment']} at "
            + ", ".join(f"{n} {frames.shown(x['parameters'][n])}" for n in self._names())
            for who, x in (("imagined", then), ("really", really))
            if x.get("experiment")
        ]
        return "; ".join(said) or "it would have asked, or ended"

    def _html(self) -> str:
        caveats = "".join(f"<li>{escape(str(c))}</li>" for c in self["caveats"])
        text = f"<b>What if, from {escape(str(self.get('decision', '')))}</b>"
        names = self._names()
        rows = []
        for what, key in (("imagined", "next"), ("really", "really_next")):
            x = self.get(key) or {}
            if x.get("experiment"):
                value = x.get("value")
                shown = "–" if value is None else f"{value:.4g}"
                rows.append([what, *((x.get("parameters") or {}).get(n, "") for n in names), shown])
        return text + frames.html(["", *names, "value"], rows) + f"<ul>{caveats}</ul>"


class Diagnosis(Shown):
    """How far the model and the experts can be trusted."""

    @property
    def verdict(self) -> str:
        """good, doubtful, bad or untested, for programs."""
        return str(self["verdict"])

    def __repr__(self) -> str:
        found = [
            f"- {f['title']}: {f['text']} {f.get('next', '')}".rstrip() for f in self["findings"]
        ]
        return "\n".join([str(self["headline"]), *found])

    def _html(self) -> str:
        found = "".join(
            f"<li><b>{escape(f['title'])}</b>: {escape(f['text'])} {escape(f.get('next', ''))}</li>"
            for f in self["findings"]
        )
        return f"<b>{escape(str(self['headline']))}</b><ul>{found}</ul>"


class Audit(Shown):
    """What an audit of the campaign's store has found."""

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the store."""
        return bool(self.get("passed"))

    @property
    def checkpoint(self) -> str:
        """What the log held, in a few lines, to be kept elsewhere: a later audit is held to it."""
        return str((self.get("audit") or {}).get("checkpoint", ""))

    @property
    def faults(self) -> list[str]:
        """What speaks against it."""
        a = self.get("audit") or {}
        found = [f"{m['subject']}: {m['problem']}" for m in a.get("mismatches") or ()]
        return [*map(str, a.get("faults") or ()), *found]

    def __repr__(self) -> str:
        a: Mapping[str, Any] = self.get("audit") or {}
        said = "passed" if self.passed else "did not pass"
        text = (
            f"The audit {said}: {a.get('events', 0)} events, {a.get('reproduced', 0)} of "
            f"{a.get('decisions', 0)} decisions and {a.get('fits_reproduced', 0)} of "
            f"{a.get('fits', 0)} fits made again."
        )
        return "\n".join([text, *(f"- {fault}" for fault in self.faults)])

    def _html(self) -> str:
        first, *rest = repr(self).split("\n")
        faults = "".join(f"<li>{escape(fault.removeprefix('- '))}</li>" for fault in rest)
        text = f"<b>{escape(first)}</b>" + (f"<ul>{faults}</ul>" if faults else "")
        if self.checkpoint:
            text += f'<details style="{FAINT}"><summary>checkpoint, to be kept elsewhere</summary>'
            text += f"<pre>{escape(self.checkpoint)}</pre></details>"
        return text

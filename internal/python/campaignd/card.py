"""A campaign in a notebook: where it stands, in one card that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .frames import shown
from .results import CARD, FAINT
from .transport import JSON

WIDTH, HEIGHT, EDGE = 320, 90, 6
FILLED, HOLLOW = 'fill="currentColor"', 'fill="none" stroke="currentColor"'


def of(url: str, status: JSON, defined: JSON, course: JSON) -> str:
    """The card of a campaign. Everything in it that people wrote is escaped."""
    names = [p["name"] for p in defined["parameters"]]
    what = f"{status['experiments']} of {status['budget']} experiments"
    parts = [
        f'<b><a href="{escape(url, quote=True)}" style="color:inherit">{escape(status["campaign"])}'
        f"</a></b> {escape(status['status'])}, {escape(what)}",
        *(f"<div>{line}</div>" for line in _bests(status, names)),
        *(f"<div>{escape(line)}</div>" for line in _waits(status)),
        _curve(status, defined, course),
        f'<div style="{FAINT}">{escape((status.get("model") or {}).get("headline", ""))}</div>',
    ]
    return f'<div style="{CARD}">{"".join(parts)}</div>'


def absent(campaign: str, why: str) -> str:
    """The card where the server says nothing."""
    return f'<div style="{CARD}"><b>{escape(campaign)}</b><div>{escape(why)}</div></div>'


def _bests(status: JSON, names: Sequence[str]) -> list[str]:
    out = []
    measured, model = status.get("best_measured"), status.get("best_by_model")
    if measured:
        out.append(_best("best measured", measured, measured["value"], None, names))
    if model:
        out.append(_best("best by the model", model, model["mean"], model["sd"], names))
    for o in status.get("outside") or ():
        values = ", ".join(f"{v['value']:.5g} {v.get('unit', '')}".strip() for v in o.get("values") or ())
        out.append(escape(f"not compared, outside: {o['experiment']} {values} ({o['why']})"))
    if front := status.get("tradeoff"):
        n = len(front.get("members") or ())
        seeks = ", ".join(f"{o['goal']} {o['quantity']}" for o in front["objectives"])
        out.append(f"front: {n} composition{'' if n == 1 else 's'} ({escape(seeks)})")
    return out


def _best(
    what: str, best: Mapping[str, Any], value: float, sd: float | None, names: Sequence[str]
) -> str:
    at = ", ".join(f"{n} {shown(best['parameters'][n])}" for n in names if n in best["parameters"])
    within = "" if sd is None else f" ± {sd:.2g}"
    unit = best.get("unit", "")
    text = f"{what} <b>{value:.5g}{within} {escape(unit)}</b> in {escape(best['experiment'])}"
    return text + f' <span style="{FAINT}">{escape(at)}</span>'


def _waits(status: JSON) -> list[str]:
    """What somebody has to do, in the order in which it helps."""
    out = [str(line) for line in status.get("needs_person") or ()]
    waiting = (status.get("run") or {}).get("waiting_for")
    if waiting:
        out.append(f"waits for {waiting}")
    if status.get("run") is None and status["status"] not in ("completed", "stopped"):
        out.append("nothing runs it: campaign.run()")
    if status.get("stopped"):
        out.append(f"ended: {status['stopped']}")
    return out


def _curve(status: JSON, defined: JSON, course: JSON) -> str:
    """The values in their order and the best so far, of what keeps the constraints on outcomes; of
    a trade-off the hypervolume of its front. Hollow is what breaks a constraint. Lines have the
    color of the text."""
    front = status.get("tradeoff") or {}
    best: list[float | None]
    if front.get("curve"):
        values = [float(c["hypervolume"]) for c in front["curve"]]
        best, breaks, what = [*values], [False] * len(values), "hypervolume of the front"
    else:
        name = defined["objective"]["name"]
        k = next((k for k, q in enumerate(course["quantities"]) if q["name"] == name), None)
        if k is None:
            return ""
        counted = [x for x in course["experiments"] if x["counts"] and x["values"][k] is not None]
        values = [float(x["values"][k]) for x in counted]
        best = [x["best"][k] if x.get("best") else None for x in counted]
        breaks = [x.get("keeps_constraints") == "no" for x in counted]
        what = f"{name}, and the best so far"
        if any(breaks):
            none = all(b is None for b in best)
            what += ", which nothing is yet" if none else " of what keeps the constraints"
    if len(values) < 2:
        return ""
    low, high = min(values), max(values)

    def at(i: int, value: float) -> tuple[float, float]:
        x = EDGE + (WIDTH - 2 * EDGE) * i / (len(values) - 1)
        y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (value - low) / ((high - low) or 1)
        return round(x, 1), round(y, 1)

    dots = "".join(
        f'<circle cx="{x}" cy="{y}" r="2.5" {HOLLOW if breaks[i] else FILLED} opacity=".55"/>'
        for i, (x, y) in enumerate(at(i, v) for i, v in enumerate(values))
    )
    steps: list[str] = []
    for i, value in enumerate(best):
        if value is None:
            continue
        x, y = at(i, value)
        steps.append(f"H{x}V{y}" if steps else f"M{x},{y}")
    label = f"{what}: from {low:.4g} to {high:.4g}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="{escape(label, quote=True)}" style="display:block;max-width:100%">'
        f'{dots}<path d="{"".join(steps)}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
        f'<div style="{FAINT};font-size:.85em">{escape(label)}</div>'
    )

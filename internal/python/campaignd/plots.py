"""A campaign's charts, by matplotlib: what chemists restyle, and what goes into a paper as PDF.

Each returns matplotlib's Figure. All data are the server's; nothing is modelled here.

    >>> figure = campaign.plot.course()
    >>> figure.axes[0].get_ylabel()
    'flow (mL/s)'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .extras import extra
from .transport import JSON

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .campaign import Campaign


class Plots:
    """What `campaign.plot` has."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign

    def course(self) -> Figure:
        """What was measured, in its order, with the best so far of what keeps the constraints on
        outcomes; of several quantities a panel each. Hollow is what breaks one; crosses are
        experiments without a value."""
        rows, goals = self._campaign.experiments(), self._goals()
        course = self._campaign.course()
        places = {q["name"]: k for k, q in enumerate(course["quantities"])}
        figure, panels = _panels(len(goals), columns=1)
        for axes, (name, goal) in zip(panels, goals.items(), strict=True):
            counted = [(i + 1, r) for i, r in enumerate(rows) if _counts(r, name)]
            column = "sd" if len(goals) == 1 else f"sd_{name}"
            for label, breaks, face in (
                ("measured", False, "C0"),
                ("breaks a constraint on outcomes", True, "none"),
            ):
                part = [
                    (n, r) for n, r in counted if (r.get("keeps_constraints") == "no") is breaks
                ]
                sd = [r.get(column) or 0 for _, r in part]
                if not part and breaks:
                    continue
                axes.errorbar(
                    [n for n, _ in part],
                    [r[name] for _, r in part],
                    yerr=sd if any(sd) else None,
                    fmt="o",
                    ms=4,
                    mfc=face,
                    color="C3" if breaks else "C0",
                    label=label,
                )
            y = [r[name] for _, r in counted]
            lost = [i + 1 for i, r in enumerate(rows) if r["status"] in ("failed", "infeasible")]
            if lost and y:
                axes.plot(lost, [min(y)] * len(lost), "x", color="C3", label="no value")
            line = _best_so_far(course, places.get(name)) if goal else []
            if line:
                axes.step(*zip(*line, strict=True), where="post", color="C0", label="best so far")
            axes.set_ylabel(self._label(name))
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.legend()
        panels[-1].set_xlabel("experiment")
        return figure

    def slices(self, at: Mapping[str, float | str] | None = None, *, points: int = 41) -> Figure:
        """What the models expect along each parameter through a composition: by default the best by
        the model, or of a trade-off its compromise. The band is two standard deviations wide to
        either side; dotted is what the campaign could not ask for."""
        at = dict(at or self._middle())
        names, quantities = [p["name"] for p in self._parameters()], list(self._modelled(at))
        figure, panels = _panels(len(names) * len(quantities), columns=len(names), share=True)
        for i, parameter in enumerate(self._parameters()):
            along = _along(parameter, points)
            predicted = self._campaign.predict([{**at, parameter["name"]: x} for x in along])
            for j, quantity in enumerate(quantities):
                axes = panels[j * len(names) + i]
                means, sds = zip(*(_of(p, quantity) for p in predicted), strict=True)
                if parameter.get("categories"):
                    axes.errorbar(along, means, yerr=[2 * s for s in sds], fmt="o")
                else:
                    low = [m - 2 * s for m, s in zip(means, sds, strict=True)]
                    high = [m + 2 * s for m, s in zip(means, sds, strict=True)]
                    outside = all(p.get("outside") for p in predicted)
                    axes.plot(along, means, ":" if outside else "-")
                    axes.fill_between(along, low, high, alpha=0.2)
                    axes.axvline(float(at[parameter["name"]]), lw=0.8, ls="--", color="gray")
                axes.set_xlabel(_with_unit(parameter["name"], parameter.get("unit", "")))
                axes.set_ylabel(self._label(quantity) if i == 0 else "")
        return figure

    def importance(self) -> Figure:
        """By how much the model's mean changes along each parameter, with its standard
        deviation."""
        d = self._campaign.diagnose()
        measured = list(reversed(d["parameters"] or ()))
        if not measured:
            raise ValueError(f"there is no model yet: {d['headline']}")
        figure, (axes,) = _panels(1)
        axes.barh(
            [p["name"] for p in measured],
            [p["effect"] for p in measured],
            xerr=[p["effect_sd"] for p in measured],
        )
        axes.set_xlabel("effect on " + _with_unit(d["objective"], d.get("unit", "")))
        return figure

    def front(self, x: str | None = None, y: str | None = None) -> Figure:
        """The front of a trade-off in two of its quantities, by default the first two: what is
        believed of each composition, those on the front in color."""
        tradeoff = self._campaign.status().get("tradeoff")
        if not tradeoff or not tradeoff.get("members"):
            raise ValueError(
                f"{self._campaign.name} has no front: "
                + ("there are no models yet" if tradeoff else "it seeks one value; see course()")
            )
        names = [o["quantity"] for o in tradeoff["objectives"]]
        x, y = x or names[0], y or next(n for n in names if n != (x or names[0]))
        figure, (axes,) = _panels(1)
        for key, label, color in (
            ("others", "behind it", "0.6"),
            ("members", "on the front", "C0"),
        ):
            members = tradeoff.get(key) or ()
            of = [{q["quantity"]: q for q in m["quantities"]} for m in members]
            axes.errorbar(
                [q[x]["mean"] for q in of],
                [q[y]["mean"] for q in of],
                xerr=[q[x]["sd"] for q in of],
                yerr=[q[y]["sd"] for q in of],
                fmt="o",
                ms=4,
                lw=0.8,
                color=color,
                label=label,
            )
            if key == "members":
                for m, q in zip(members, of, strict=True):
                    axes.annotate(
                        m["experiment"],
                        (q[x]["mean"], q[y]["mean"]),
                        xytext=(3, 3),
                        textcoords="offset points",
                        fontsize="small",
                    )
        axes.set_xlabel(self._label(x))
        axes.set_ylabel(self._label(y))
        axes.legend()
        return figure

    def map(
        self,
        x: str,
        y: str,
        quantity: str | None = None,
        *,
        at: Mapping[str, float | str] | None = None,
        points: int = 25,
    ) -> Figure:
        """What the model expects over two numeric parameters, the others as in `at`: by default in
        the best composition. Dots are experiments, wherever they lie in the others."""
        at = dict(at or self._middle())
        known = {p["name"]: p for p in self._parameters() if not p.get("categories")}
        for name in (x, y):
            if name not in known:
                raise ValueError(f"{name} is none of the numeric parameters: {', '.join(known)}")
        along_x, along_y = _along(known[x], points), _along(known[y], points)
        grid = [{**at, x: a, y: b} for b in along_y for a in along_x]
        predicted = self._campaign.predict(grid)
        quantity = quantity or next(iter(self._modelled(at)))
        means = [_of(p, quantity)[0] for p in predicted]
        table = [means[i : i + len(along_x)] for i in range(0, len(means), len(along_x))]
        figure, (axes,) = _panels(1)
        filled = axes.contourf(along_x, along_y, table, levels=12)
        figure.colorbar(filled, ax=axes, label=self._label(quantity))
        rows = [r for r in self._campaign.experiments() if r["status"] == "measured"]
        axes.plot([r[x] for r in rows], [r[y] for r in rows], "o", ms=4, mec="k", mfc="w")
        axes.set_xlabel(_with_unit(x, known[x].get("unit", "")))
        axes.set_ylabel(_with_unit(y, known[y].get("unit", "")))
        return figure

    def calibration(self) -> Figure:
        """What the model predicts of each composition without having seen it, against what was
        measured; of several quantities a panel each."""
        d = self._campaign.diagnose()
        every = [{"quantity": d["objective"], "leave_one_out": d.get("leave_one_out")}]
        every += [q for q in d.get("quantities") or () if q["quantity"] != d["objective"]]
        judged = [q for q in every if q.get("leave_one_out")]
        if not judged:
            raise ValueError(f"there is nothing to compare yet: {d['headline']}")
        figure, panels = _panels(len(judged), columns=len(judged))
        for axes, q in zip(panels, judged, strict=True):
            rows = q["leave_one_out"]["rows"]
            measured, predicted = [r["measured"] for r in rows], [r["predicted"] for r in rows]
            axes.errorbar(measured, predicted, yerr=[2 * r["sd"] for r in rows], fmt="o", ms=4)
            ends = [min(measured), max(measured)]
            axes.plot(ends, ends, lw=0.8, ls="--", color="gray")
            axes.set_xlabel("measured " + self._label(q["quantity"]))
            axes.set_ylabel("predicted without it")
        return figure

    # Of the definition.

    def _parameters(self) -> Sequence[JSON]:
        return list(self._campaign.defined()["parameters"])

    def _goals(self) -> dict[str, str]:
        """What is measured, in order, with its goal; "" where it has none."""
        d = self._campaign.defined()
        o = d["objective"]
        aims = {a["name"]: a["goal"] for a in o.get("tradeoff") or ()}
        declared = {q["name"]: "" for q in d.get("quantities") or () if not q.get("record")}
        if aims or o.get("preference"):
            return declared | aims
        return {o["name"]: o.get("goal", "maximize")} | {q: "" for q in declared if q != o["name"]}

    def _label(self, quantity: str) -> str:
        d = self._campaign.defined()
        units = {q["name"]: q.get("unit", "") for q in d.get("quantities") or ()}
        units.setdefault(d["objective"]["name"], d["objective"].get("unit", ""))
        return _with_unit(quantity, units.get(quantity, ""))

    def _middle(self) -> Mapping[str, float | str]:
        """The composition around which the models are shown."""
        status = self._campaign.status()
        best = status.get("best_by_model") or status.get("best_measured")
        if not best:
            best = (status.get("tradeoff") or {}).get("compromise")
        if not best:
            raise ValueError(f"{self._campaign.name} has no best composition yet: give one as at=")
        of: Mapping[str, float | str] = best["parameters"]
        return of

    def _modelled(self, at: Mapping[str, float | str]) -> Iterable[str]:
        (p,) = self._campaign.predict([at])
        if p.get("quantities"):
            return [q["quantity"] for q in p["quantities"]]
        return [self._campaign.defined()["objective"]["name"]]


def _panels(n: int, columns: int = 1, share: bool = False) -> tuple[Figure, list[Any]]:
    """Panels one after the other, those of a line with one scale of y where there are several.

    The figure is closed, which takes it from pyplot's own list: a notebook shows it once, as the
    value of its cell. It can be changed and saved all the same."""
    pyplot = extra("matplotlib.pyplot", "plots", "a chart")
    lines = -(-n // columns)
    figure: Figure
    figure, grid = pyplot.subplots(
        lines,
        columns,
        squeeze=False,
        sharey="row" if share else False,
        figsize=(max(4.8, 3.2 * columns), max(3.6, 2.6 * lines)),
        layout="constrained",
    )
    pyplot.close(figure)
    return figure, list(grid.flat)


def _best_so_far(course: JSON, place: int | None) -> list[tuple[int, float]]:
    """The best so far of a quantity, by the number of the experiment; it begins with the first that
    keeps the constraints on outcomes, as far as is known."""
    if place is None:
        return []
    return [
        (i + 1, x["best"][place])
        for i, x in enumerate(course["experiments"])
        if x.get("best") and x["best"][place] is not None
    ]


def _counts(row: Mapping[str, Any], name: str) -> bool:
    return isinstance(row.get(name), (int, float)) and not row.get("excluded")


def _along(parameter: JSON, points: int) -> list[Any]:
    if parameter.get("categories"):
        return [c if isinstance(c, str) else c["name"] for c in parameter["categories"]]
    if parameter.get("values"):
        return sorted(parameter["values"])
    low, high = parameter.get("min", 0), parameter["max"]
    return [low + (high - low) * i / (points - 1) for i in range(points)]


def _of(prediction: JSON, quantity: str) -> tuple[float, float]:
    for q in prediction.get("quantities") or ():
        if q["quantity"] == quantity:
            return q["mean"], q["sd"]
    return prediction["mean"], prediction["sd"]


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name

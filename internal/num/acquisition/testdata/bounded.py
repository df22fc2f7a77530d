"""Writes bounded.json: values and derivatives to 17 digits, computed with 60.

The objective is minimized. Needs mpmath.
"""
import json

from mpmath import diff, exp, inf, log, mp, mpf, ncdf, npdf, quad

mp.dps = 60


def between(mean, sd, lower, upper):
    """ln P(lower ≤ f ≤ upper)"""
    a, b = (lower - mean) / sd, (upper - mean) / sd
    if a > 0:
        a, b = -b, -a
    return log(ncdf(b) - ncdf(a))


def capped(mean, sd, best, least):
    """ln E[(best − f)⁺ 1{f ≥ least}]"""
    a, b = (best - mean) / sd, (least - mean) / sd
    h = lambda z: npdf(z) + z * ncdf(z)
    if b > 0:  # of the mirrored tail: nothing cancels beyond the 60 digits
        return log(sd * ((a - b) * ncdf(-b) - h(-b) + h(-a)))
    return log(sd * (h(a) - h(b) - (a - b) * ncdf(b)))


def case(f, *args):
    args = [mpf(a) for a in args]
    mean, sd, rest = args[0], args[1], args[2:]
    mp.dps = 60 + int(2 * max(abs(r - mean) / sd for r in rest if abs(r) != inf) ** 2 / 2.3) % 4000
    out = {
        "mean": float(mean), "sd": float(sd), "first": float(rest[0]), "second": float(rest[1]),
        "log": mp.nstr(f(mean, sd, *rest), 18),
        "byMean": mp.nstr(diff(lambda m: f(m, sd, *rest), mean), 18),
        "bySD": mp.nstr(diff(lambda s: f(mean, s, *rest), sd), 18),
    }
    mp.dps = 60
    return {k: float(v) for k, v in out.items()}


ends = [(-0.4, 0.5), (-0.5, 0.55), (0.3, 0.7), (-3, 2), (2, 9), (-9, -2), (5, 5.125), (-20.5, -20.0625), (-12, -11),
        (11, 12.5), (-1.0000001, -1), (30, 30.001), (-0.01, 8), (-8, 0.01), (0.01, 1.01), (-1.25, -0.5), (1, 30)]
settings = [(0.25, 1), (-3, 0.125), (100, 20)]
json.dump({
    "between": [case(between, m, s, m + a * s, m + b * s) for m, s in settings for a, b in ends],
    "capped": [case(capped, m, s, m + a * s, m + b * s) for m, s in settings for b, a in ends],
}, open("bounded.json", "w"), indent=0)

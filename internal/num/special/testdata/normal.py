"""The values of normal.json: φ, Φ, h(z) = φ + zΦ, the Mills ratio R and 1 − |z|R, with 400 digits."""

import json

from mpmath import erfc, exp, mp, mpf, pi, sqrt

mp.dps = 400


def density(x):
    return exp(-x * x / 2) / sqrt(2 * pi)


def below(x):
    return erfc(-x / sqrt(mpf(2))) / 2


rows = []
for at in (-1e4, -300.0, -37.0, -20.0, -9.0, -5.7, -5.6, -4.5, -3.0, -1.2, -0.67, -0.66, -0.2, 0.0, 0.1, 0.65, 0.67,
           1.5, 5.6, 5.7, 8.0, 20.0):
    z, x = mpf(at), mpf(-abs(at))
    rows.append({
        "z": at,
        "pdf": float(density(z)),
        "cdf": float(below(z)),
        "h": float(density(z) + z * below(z)),
        "ratio": float(below(x) / density(x)),
        "rest": float((density(x) + x * below(x)) / density(x)),
    })
print("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]")

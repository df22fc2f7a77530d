"""Writes gradients.json: noisy expected improvements of formulas under constraints, with their derivatives to
17 digits. Computed with 50 digits from the definition of the components, and differentiated numerically; only
the formulas' own derivatives are symbolic. Needs mpmath and sympy.
"""
import json

import sympy
from mpmath import diff, exp, log, mp, mpf, ncdf, npdf, sqrt

mp.dps = 50
a, b, c, p = sympy.symbols("a b c p")
z = [[0.52, 0.09, -0.3], [-0.6, -2.1, 1.2], [-1.84, 1.29, 0.4], [2.42, -0.21, -1.5],
     [0.97, 0.7, 0.05], [-1.14, -0.51, 0.8], [-0.18, 0.45, -0.7], [0.27, -1.14, 2.1]]
# Quantity b is modelled by its logarithm.
scales = [(8, 2, False), (1, 0.4, True), (-1, 0.5, False)]
models = [sympy.Symbol(n) for n in "uvw"]
inner = dict(zip((a, b, c), [sympy.exp(t + s * m) if l else t + s * m for m, (t, s, l) in
                             zip(models, [tuple(map(sympy.nsimplify, q[:2])) + q[2:] for q in scales])]))
epsilon = mpf(1) / 10


class Part:
    """A function of the quantities and the parameter, and whether its components are exact."""

    def __init__(self, g, exact=False):
        g = sympy.sympify(g).subs(inner)
        self.exact = exact
        args = models + [p]
        f = lambda e: sympy.lambdify(args, e, "mpmath")
        self.g = f(g)
        self.first = [f(g.diff(m)) for m in models]
        self.second = [f(g.diff(m, 2)) for m in models]

    def component(self, mean, sd, point, parameter):
        e = 1 if self.exact else epsilon
        q = list(mean) if self.exact else [m + sqrt(1 - epsilon**2) * s * mpf(t) for m, s, t in zip(mean, sd, point)]
        q.append(parameter)
        mu = self.g(*q) + e**2 / 2 * sum(s**2 * d(*q) for s, d in zip(sd, self.second))
        return mu, e * sqrt(sum((s * d(*q)) ** 2 for s, d in zip(sd, self.first)))


def acquisition(case, flat):
    """ln (1/N) Σ EI Π P"""
    members = len(case["best"])
    means = [flat[k * members:(k + 1) * members] for k in range(3)]
    sd, parameter = flat[3 * members:3 * members + 3], flat[-1]
    total = mpf(0)
    each = len(z) // members
    for i, point in enumerate(z):
        s = i // each
        mean = [m[s] for m in means]
        mu, sigma = case["objective"].component(mean, sd, point, parameter)
        gain = (mu - mpf(case["best"][s])) * (1 if case["maximize"] else -1)
        t = gain / sigma
        term = sigma * (npdf(t) + t * ncdf(t))
        for k in case["constraints"]:
            mu, sigma = k.component(mean, sd, point, parameter)
            term *= ncdf(-mu / sigma)
        total += term
    return log(total / len(z))


ratio = Part(a / sympy.sqrt(b))
tests = [
    dict(text="a/sqrt(b)", objective=ratio, maximize=True, best=[4.8], constraints=[], texts=[]),
    dict(text="a/sqrt(b)", objective=ratio, maximize=True, best=[4.8, 5], constraints=[Part(b - 3), Part(c + p, True)],
         texts=["b - 3", "c + p"]),
    dict(text="b*p - a/4", objective=Part(b * p - a / 4), maximize=False, best=[0.1, 0.2, 0, 0.3],
         constraints=[Part(a * b - 28)], texts=["a*b - 28"]),
    dict(text="p*a - 2*c", objective=Part(p * a - 2 * c, True), maximize=True, best=[9, 8], constraints=[Part(b - 3)], texts=["b - 3"]),
    dict(text="exp(-c)*a^2/(b + p)", objective=Part(sympy.exp(-c) * a**2 / (b + p)), maximize=True, best=[31, 33],
         constraints=[Part(c * b * b + 2)], texts=["c*b^2 + 2"]),
]
out = []
for case in tests:
    members = len(case["best"])
    flat = [mpf(round(0.3 * (k + 1) - 0.17 * s * (k - 1), 3)) for k in range(3) for s in range(members)]
    flat += [mpf(0.3), mpf(0.4), mpf(0.25), mpf(0.7)]
    by = [diff(lambda v, i=i: acquisition(case, flat[:i] + [v] + flat[i + 1:]), flat[i]) for i in range(len(flat))]
    out.append({
        "objective": case["text"], "maximize": case["maximize"], "constraints": case["texts"], "best": case["best"],
        "means": [[float(v) for v in flat[k * members:(k + 1) * members]] for k in range(3)],
        "sds": [float(v) for v in flat[-4:-1]], "parameter": float(flat[-1]),
        "value": float(acquisition(case, flat)),
        "byMeans": [[float(v) for v in by[k * members:(k + 1) * members]] for k in range(3)],
        "bySDs": [float(v) for v in by[-4:-1]], "byParameter": float(by[-1]),
    })
json.dump({"points": z, "scales": [dict(center=t, spread=s, log=l) for t, s, l in scales], "cases": out},
          open("gradients.json", "w"), indent=0)

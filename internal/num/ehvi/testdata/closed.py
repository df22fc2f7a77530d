"""Writes closed.json: ln EHVI and its derivatives, with 60 digits and more, in some minutes.

The objectives are maximized. The region beyond a front is cut by the grid of all coordinates, which needs no local
bounds. Needs mpmath.
"""
import itertools
import json
import random

from mpmath import erfc, exp, log, mp, mpf, pi, sqrt

ZERO = (mpf(0),) * 3


def below(x):
    return erfc(-x / sqrt(mpf(2))) / 2


def density(x):
    return exp(-x * x / 2) / sqrt(2 * pi)


def gain(t, mu, sd, cap):
    """E[(Y − t)⁺; Y ≤ cap], and its derivatives by mu and by sd"""
    a = (mu - t) / sd
    if cap is None:
        return sd * (density(a) + a * below(a)), below(a), density(a)
    if t >= cap:
        return ZERO
    b = (mu - cap) / sd
    h = lambda z: density(z) + z * below(z)
    w = (cap - t) / sd
    return (sd * (h(a) - h(b)) - (cap - t) * below(b), below(a) - below(b) - w * density(b),
            density(a) - density(b) + w * b * density(b))


def ehvi(front, reference, caps, mean, sd):
    m = range(len(reference))
    exact = lambda values: [None if v is None else mpf(v) for v in values]
    reference, caps, mean, sd = exact(reference), exact(caps), exact(mean), exact(sd)
    front = [p for p in map(exact, front) if all(p[k] > reference[k] for k in m)]
    corners = [sorted({reference[k]} | {p[k] for p in front}) for k in m]
    gains = [[gain(t, mean[k], sd[k], caps[k]) for t in corners[k]] + [ZERO] for k in m]
    total, by_mean, by_sd = mpf(0), [mpf(0)] * len(m), [mpf(0)] * len(m)
    for cell in itertools.product(*[range(len(c)) for c in corners]):
        if any(all(p[k] > corners[k][cell[k]] for k in m) for p in front):
            continue
        sides = [[a - b for a, b in zip(gains[k][cell[k]], gains[k][cell[k] + 1])] for k in m]
        product = mpf(1)
        for side in sides:
            product *= side[0]
        total += product
        for k in m:
            others = mpf(1)
            for j in m:
                if j != k:
                    others *= sides[j][0]
            by_mean[k] += others * sides[k][1]
            by_sd[k] += others * sides[k][2]
    return total, by_mean, by_sd


def rounded(x, digits=6):
    return float(f"%.{digits}g" % x)


def case(number):
    """Points that are close to each other, means near the front and far from it; None where digits would not do."""
    m = 1 + number % 4
    n = random.randint(0, 5 if m < 4 else 3)
    gap = [0.3, 1e-3, 1e-6, 1e-10][number // 4 % 4]
    center = [rounded(random.random()) for _ in range(m)]
    front = []
    for _ in range(n):
        front.append([center[k] + gap * rounded(random.uniform(-1, 1)) if random.random() < .7
                      else rounded(random.random()) for k in range(m)])
    reference = [rounded(random.uniform(-.3, -.05)) for _ in range(m)]
    caps = [None if random.random() < .55 else 1.0 + rounded(random.choice([0.3, 1e-4, 0.05, 2.])) for _ in range(m)]
    far = random.choice([0, 0, 1, 3, 8, 25, 60])
    sd = [rounded(random.choice([1e-6, 1e-3, 0.02, .2, .2, 1, 5])) for _ in range(m)]
    mean = [rounded(center[k] + sd[k] * random.uniform(-1.2, 1) * far, 9) for k in range(m)]
    digits = max(((mean[k] - t) / sd[k]) ** 2 / 4.6 + 40
                 for k in range(m) for t in [reference[k], caps[k] or reference[k]] + [p[k] for p in front])
    if digits >= 6000:
        return None
    mp.dps = int(60 + digits)
    total, by_mean, by_sd = ehvi(front, reference, caps, mean, sd)
    if total <= 0:
        return None
    return {"front": front, "reference": reference, "limits": caps, "mean": mean, "sd": sd, "log": float(log(total)),
            "dMean": [float(v / total) for v in by_mean], "dSD": [float(v / total) for v in by_sd]}


random.seed(7)
cases = []
while len(cases) < 72:
    c = case(len(cases))
    if c:
        cases.append(c)
with open("closed.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")

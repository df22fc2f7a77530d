"""Writes ramp.json: ln r of the smooth ramp with three derivatives, to 17 digits, computed with 1,500. Needs mpmath."""
import json

from mpmath import diff, exp, log, log1p, mp, mpf

mp.dps = 1500
tau = mpf(1) / 50


def log_ramp(u):
    softplus = lambda x: log1p(exp(x))
    return log(tau * (softplus(u / tau) - softplus((u - 1) / tau)))


at = [-30, -2.5, -0.75, -0.4, -0.1, -0.01, 0, 0.03, 0.5, 0.97, 1, 1.02, 1.4]
json.dump([{"u": u, "derivatives": [float(diff(log_ramp, mpf(u), n)) for n in range(4)]} for u in at],
          open("ramp.json", "w"), indent=0)

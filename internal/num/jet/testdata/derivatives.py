"""Writes derivatives.json: formulas of two random coordinates a, b and a fixed one p, with their derivatives
to 17 digits, computed symbolically and evaluated with 40. Needs sympy.
"""
import json

import sympy
from sympy import exp, log, sqrt

a, b, p = sympy.symbols("a b p")
x = (a, b, p)
weights = {a: sympy.Rational(9, 100), b: sympy.Rational(1, 4)}
formulas = {
    "a": a,
    "2*a - 0.5*b + p - 1": 2 * a - b / 2 + p - 1,
    "-(a - 1)^2 - 3 - b": -(a - 1) ** 2 - 3 - b,
    "a*b*p": a * b * p,
    "a/b": a / b,
    "a/(1 + exp(b))": a / (1 + exp(b)),
    "3/(a*b)": 3 / (a * b),
    "a/7": a / 7,
    "sqrt(a)*ln(b)/log10(p)": sqrt(a) * log(b) / (log(p) / log(10)),
    "a^3 + b^-0.5 + a^1 + a^0": a**3 + b ** sympy.Rational(-1, 2) + a + 1,
    "a^b": a**b,
    "(a*p)^(b/2)": (a * p) ** (b / 2),
    "2^(a*b)": 2 ** (a * b),
    "min(a*a, 3*b, 100)": a * a,
    "max(a*p, 0.1, b)": a * p,
    "abs(a - 10*b)": 10 * b - a,
    "abs(b*p)": b * p,
    "a < b ? a*b : a*p*p": a * p**2,
    "a*b >= p ? exp(a/b) : 2": 2,
    "exp(0.3*ln(a) + 0.7*ln(b)) - p*a": exp(3 * log(a) / 10 + 7 * log(b) / 10) - p * a,
    "(a*b - p)*(a/b + a*a)": (a * b - p) * (a / b + a**2),
    "(a*p + b^2)/(a*b*b + p)": (a * p + b**2) / (a * b**2 + p),
    "2 + a/49": 2 + a / 49,
    "a/9": a / 9,
    "(b*9)/(a*a*a)": 9 * b / a**3,
    "a^2 + b^3": a**2 + b**3,
    "1 - a*a*a*b*b + p/(a + b)": 1 - a**3 * b**2 + p / (a + b),
}
at = {a: sympy.Rational(11, 8), b: sympy.Rational(3, 4), p: sympy.Rational(9, 4)}


def number(e):
    return float(sympy.N(sympy.sympify(e).subs(at), 40))


def case(text, g):
    g = sympy.sympify(g)
    laplacian = sum(w * g.diff(k, 2) for k, w in weights.items())
    return {
        "formula": text,
        "value": number(g),
        "gradient": [number(g.diff(i)) for i in x],
        "hessian": [[number(g.diff(k).diff(i)) for i in x] for k in weights],
        "laplacian": number(laplacian),
        "laplacianGradient": [number(laplacian.diff(i)) for i in x],
    }


json.dump({
    "at": [float(at[i]) for i in x],
    "weights": [float(w) for w in weights.values()],
    "cases": [case(*c) for c in formulas.items()],
}, open("derivatives.json", "w"), indent=0)

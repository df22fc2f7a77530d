"""The sushi study of Sinaga et al. 2026, Fig. 2, from files of your own.

The data (Kamishima 2003, https://www.kamishima.net/sushi/) are for research and must not be
passed on, so they do not come with campaignd. Download and unpack sushi3-2016.zip, then

    python3 examples/sushi.py sushi3-2016
    campaignd simulate sushi.yaml --size quick

It reads two files and writes two into the current folder:

    sushi3.idata            a line for each of 100 sushi, columns divided by tabs: id, name, style,
                            major and minor group, oiliness, how often it is eaten, price,
                            how often it is sold
    sushi3b.5000.10.score   a line for each of 5,000 people, 100 scores divided by spaces:
                            0 to 4, more is better, -1 for a sushi that they did not rate

    sushi.csv               name, the four features from the fifth on, utility
    sushi.yaml              the study: rules and experts are those of studies/candy.yaml

A sushi's utility is that of Bradley and Terry's model, in logits: of two sushi that somebody
rated, the one with the higher score won; equal scores are half a win for each. The mean
of the 33 nearest sushi makes it a function of the features, as in the paper. Which 13 sushi
are the anchors there is not said; here they are those most often sold.
"""

import csv
import math
import os
import sys

FEATURES = ["oiliness", "eaten", "price", "sold"]  # columns 5 to 8 of sushi3.idata, from 0
ANCHORS = 13
NEIGHBORS = 33


def read(folder):
    with open(os.path.join(folder, "sushi3.idata"), encoding="utf-8", errors="replace") as f:
        items = [line.rstrip("\n").split("\t") for line in f if line.strip()]
    with open(os.path.join(folder, "sushi3b.5000.10.score"), encoding="utf-8") as f:
        scores = [[int(cell) for cell in line.split()] for line in f if line.strip()]
    for row in scores:
        if len(row) != len(items):
            sys.exit(f"a line of scores has {len(row)} of them, and there are {len(items)} sushi")
    return [item[1] for item in items], [[float(x) for x in item[5:9]] for item in items], scores


def utilities(scores, n):
    """Logits by the iteration of Hunter (2004), with half a draw against an average sushi."""
    wins, games = [0.5] * n, [[0] * n for _ in range(n)]
    for row in scores:
        rated = [i for i in range(n) if row[i] >= 0]
        for i in rated:
            for j in rated:
                if i != j:
                    games[i][j] += 1
                    wins[i] += 1 if row[i] > row[j] else 0.5 if row[i] == row[j] else 0
    strength = [1.0] * n
    for _ in range(500):
        new = []
        for i, s in enumerate(strength):
            expected = sum(g / (s + strength[j]) for j, g in enumerate(games[i]) if g)
            new.append(wins[i] / (expected + 1 / (s + 1)))
        change = max(abs(math.log(a / b)) for a, b in zip(new, strength))
        strength = new
        if change < 1e-9:
            break
    logits = [math.log(s) for s in strength]
    mean = sum(logits) / n
    return [u - mean for u in logits]


def study(features, rules):
    lines = [
        "name: sushi",
        "description: Every rule of comparisons on real preferences, 100 sushi (Sinaga et al. 2026, Fig. 2).",
        "",
        "seeds: {first: 1, count: 30}",
        "comparisons: 158 # the 8 initial ones included",
        "",
        "tasks:",
        "  - name: sushi",
        "    table: sushi.csv",
        f"    surrogate: {{neighbors: {NEIGHBORS}}}",
        "    parameters:",
    ]
    for j, name in enumerate(FEATURES):
        column = [f[j] for f in features]
        lines.append(f"      - {{name: {name}, min: {min(column)}, max: {max(column)}}}")
    lines += ["    objective: {name: utility, goal: maximize}", "    anchors:"]
    for f in sorted(features, key=lambda f: -f[-1])[:ANCHORS]:
        lines.append("      - {" + ", ".join(f"{name}: {x}" for name, x in zip(FEATURES, f)) + "}")
    return "\n".join(lines) + "\n\n" + rules


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python3 sushi.py FOLDER, the one with sushi3.idata and sushi3b.5000.10.score")
    names, features, scores = read(sys.argv[1])
    with open("sushi.csv", "w", newline="", encoding="utf-8") as f:
        table = csv.writer(f, lineterminator="\n")
        table.writerow(["name", *FEATURES, "utility"])
        for name, row, u in zip(names, features, utilities(scores, len(names))):
            table.writerow([name, *row, f"{u:.4f}"])
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "studies", "candy.yaml"), encoding="utf-8") as f:
        text = f.read()
    with open("sushi.yaml", "w", encoding="utf-8") as f:
        f.write(study(features, text[text.index("\npolicies:") + 1 :]))
    print("wrote sushi.csv and sushi.yaml")


main()

"""A method in fifteen lines: near the best so far, or anywhere. See docs/process-method.md."""
import json
import random
import sys

for line in sys.stdin:
    ask = json.loads(line)
    answer = {"id": ask["id"], "protocol": 1, "name": "rule of thumb", "version": "1", "deterministic": True}
    if ask["op"] == "propose":
        view, chance = ask["view"], random.Random(ask["seed"])
        sign = 1 if view["objective"]["goal"] == "maximize" else -1
        results = [x for x in view["experiments"] if "value" in x]
        best = max(results, key=lambda x: sign * x["value"], default=None)
        point, sd = {}, 0.3 * 0.9 ** len(results)
        for p in view["parameters"]:
            value = best["made"][p["name"]] + chance.gauss(0, sd) * (p["max"] - p["min"]) if best else chance.uniform(p["min"], p["max"])
            point[p["name"]] = min(max(value, p["min"]), p["max"])
        answer = {"id": ask["id"], "proposal": {"parameters": point, "reason": f"near {best['id']}" if best else "anywhere"}}
    print(json.dumps(answer), flush=True)

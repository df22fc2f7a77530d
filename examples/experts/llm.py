"""A language model in an expert's place: any endpoint that speaks OpenAI's chat completions.

It is asked what an expert would be asked, and is shown what was measured, in words and with units. What its answers are
worth the campaign learns from what is measured, as of any expert. The key comes from the environment variable that
settings.api_key_env names, is sent to the endpoint alone and is never recorded. See docs/process-method.md.
"""

import json
import os
import sys
import urllib.error
import urllib.request

SCHEMA = {
    "type": "object",
    "properties": {
        "base_url": {"type": "string", "pattern": "^https?://"},
        "model": {"type": "string", "minLength": 1},
        "api_key_env": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "timeout": {"type": "number", "exclusiveMinimum": 0},
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "about": {"type": "string", "maxLength": 4000},
        "most": {"type": "integer", "minimum": 1},
    },
    "required": ["base_url", "model"],
    "additionalProperties": False,
}

# What each form of question wants, and the JSON that answers it.
WANTED = {
    "label": ('Is option 0 worth an experiment?', '{"label": "accept"} or {"label": "reject"}'),
    "comparison": ("Order the options from the best to the worst.", '{"order": [indices, the best first]}'),
    "outcomes": ("Which outcomes are better? Order the options from the best to the worst.",
                 '{"order": [indices, the best first]}'),
    "pinpoint": ("Name the composition that should be measured next.", '{"point": {"PARAMETER": value, …}}'),
    "estimate": ("Say what value you expect of each option.", '{"estimates": [{"option": index, "value": number}, …]}'),
}


def unit(of):
    return f" {of['unit']}" if of.get("unit") else ""


def number(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def composition(parameters, point):
    return ", ".join(f"{p['name']} = {number(point[p['name']])}{unit(p)}" for p in parameters if p["name"] in point)


def space(question):
    for p in question["parameters"]:
        if p.get("categories"):
            about = "one of " + ", ".join(c["name"] for c in p["categories"])
        elif p.get("values"):
            about = "one of " + ", ".join(map(str, p["values"])) + unit(p)
        else:
            about = f"from {p['min']} to {p['max']}{unit(p)}"
        yield f"- {p['name']}: {about}" + (f" ({p['description']})" if p.get("description") else "")


def measured(question, view, most):
    """The last results, and the best of them all if it is not among them."""
    parameters, objective = question["parameters"], view["objective"]
    sign = -1 if objective["goal"] == "maximize" else 1
    results = view["experiments"]
    best = min((x for x in results if "value" in x), key=lambda x: sign * x["value"], default=None)
    shown = results[-most:]
    if best and best not in shown:
        shown = [best] + shown
    for x in shown:
        came = "; ".join(f"{q['name']} {number(q['value'])}{unit(q)}" for q in x.get("quantities", [])) or x["status"]
        yield f"- {x['id']}: {composition(parameters, x.get('made', x['parameters']))}: {came}" + (
            " (the best so far)" if x is best else "")


def option(question, i, o):
    text = f"- option {i}: {composition(question['parameters'], o['parameters'])}"
    if o.get("outcome"):
        text += ": " + ", ".join(f"{q['name']} {number(q['value'])}{unit(q)}" for q in o["outcome"]["quantities"])
    return text


def prompt(question, view, settings, refused):
    objective, form = question["objective"], question["form"]
    lines = [f"A laboratory wants to {objective['goal']} {objective['name']}{' in' + unit(objective) if unit(objective) else ''}."]
    if settings.get("about"):
        lines.append(settings["about"])
    lines += ["", "What is varied:", *space(question)]
    for c in view.get("constraints", []):
        bound = next(f"{word} {c[key]}" for key, word in
                     (("equals", "="), ("at_most", "<="), ("at_least", ">=")) if key in c)
        lines.append("- always: " + " + ".join(f"{k} {name}" for name, k in c["terms"].items()) + " " + bound)
    results = list(measured(question, view, settings.get("most", 30)))
    lines += ["", "What was measured so far:" if results else "Nothing was measured yet.", *results]
    if question.get("options"):
        lines += ["", "The options:", *(option(question, i, o) for i, o in enumerate(question["options"]))]
    scale = question.get("scale") or {}
    wanted, form_of_answer = WANTED[form]
    lines += ["", wanted]
    if scale.get("marks"):
        lines.append(f"Give marks from 1, the worst, to {scale['marks']}, the best.")
    elif scale.get("columns"):
        lines.append("Estimate each of these, and name it as \"quantity\" in each estimate: " +
                     ", ".join(c["quantity"] + unit(c) for c in scale["columns"]) + ".")
    elif form == "estimate":
        lines.append(f"Values are of {scale['quantity']}, as numbers{' in' + unit(scale) if unit(scale) else ''}.")
    for why in refused:
        lines.append(f"An answer before could not be used: {why}")
    lines += ["", f'Answer with JSON alone: {{"answer": {form_of_answer}, "comment": "why, in a sentence"}}. '
              'If you cannot tell, write {"answer": {}, "comment": "why"}: a guess that misleads costs experiments.']
    return "\n".join(lines)


def ask(text, settings):
    """What the model says; an exception where there is no answer."""
    request = urllib.request.Request(
        settings["base_url"].rstrip("/") + "/chat/completions",
        json.dumps({
            "model": settings["model"],
            "temperature": settings.get("temperature", 0),
            "messages": [
                {"role": "system", "content": "You are an expert who judges experiments. You answer with JSON alone."},
                {"role": "user", "content": text},
            ],
        }).encode(),
        {"Content-Type": "application/json"})
    key = os.environ.get(settings.get("api_key_env", "OPENAI_API_KEY"))
    if key:
        request.add_header("Authorization", "Bearer " + key)
    with urllib.request.urlopen(request, timeout=settings.get("timeout", 45)) as reply:
        choice = json.load(reply)["choices"][0]["message"]
    return choice.get("content") or "", choice.get("refusal") or ""


def read(content, refusal):
    """An answer and a comment: {} where the model refused, or said what is no answer."""
    if refusal:
        return {}, "it refused: " + refusal
    start, end = content.find("{"), content.rfind("}")
    try:
        said = json.loads(content[start:end + 1])
        answer, comment = said["answer"], said.get("comment", "")
        if isinstance(answer, dict) and isinstance(comment, str):
            return answer, comment
    except (ValueError, KeyError, TypeError):
        pass
    return {}, "what it said is no answer: " + content[:300]


def main():
    settings = {}
    for line in sys.stdin:
        request = json.loads(line)
        reply = {"id": request["id"]}
        if request["op"] == "handshake":
            settings = request["settings"]
            reply |= {"protocol": 1, "name": settings.get("model", "llm"), "settings_schema": SCHEMA}
        elif request["op"] == "answer":
            try:
                text = prompt(request["question"], request["view"], settings, request["refused"])
                answer, comment = read(*ask(text, settings))
                reply |= {"answer": answer, "comment": comment}
            except (OSError, ValueError, KeyError, IndexError, TypeError) as trouble:  # urllib's errors are OSErrors
                reply["error"] = f"the endpoint gave no answer: {type(trouble).__name__}: {trouble}"
        else:
            reply["error"] = "it answers questions alone"
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()

package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/chromedp/chromedp"
)

// editorScript are the hands of the test: what a person does in the editor, many times over.
const editorScript = `
window.hands = (() => {
  const area = document.querySelector("#source");
  const at = (path) => [...document.querySelectorAll("[data-path]")].find(e => e.dataset.path === JSON.stringify(path));
  const input = (path) => { const e = at(path); return e && e.querySelector(":scope > .line input, :scope > .line select:not(.form)"); };
  const wait = async (what, holds) => {
    for (let i = 0; i < 600; i++) {
      if (holds()) return;
      await new Promise(r => setTimeout(r, 20));
    }
    throw new Error(what);
  };
  const check = async (source) => (await fetch("/validate", {method: "POST", body: new URLSearchParams({source})})).json();
  const write = async (source) => {
    area.value = source;
    document.querySelector("#fields").replaceChildren();
    area.dispatchEvent(new Event("change"));
    await wait("the form is drawn", () => document.querySelector("#fields > *"));
  };
  const leaves = (value, path = []) => value !== null && typeof value === "object"
    ? Object.entries(value).flatMap(([key, v]) => leaves(v, [...path, Array.isArray(value) ? Number(key) : key]))
    : [[path, value]];
  const shown = (value) => value === true ? "yes" : value === false ? "no" : String(value ?? "");
  return {at, input, wait, check, write, leaves, shown, area};
})()`

// opened is a visitor with the editor open.
func opened(t *testing.T) *visitor {
	t.Helper()
	v := browse(t, house(t).url)
	v.open("/")
	v.logIn("ada")
	v.open("/new")
	v.until("the form is there", `!!document.querySelector("#fields [data-path]")`)
	v.do("hands", chromedp.Evaluate[chromedp.Void](editorScript))
	return v
}

// Law: the editor's form shows every value of every example file, in the place where the file
// has it; a value that is changed in the form and changed back leaves the file as it was, to
// the letter.
func TestEditorShowsEveryExample(t *testing.T) {
	t.Parallel()
	v := opened(t)
	files := must.Get(filepath.Glob("../../../examples/*.yaml"))(t)
	for _, file := range files {
		source := must.Get(os.ReadFile(file))(t)
		if !strings.Contains(string(source), "\nparameters:") {
			continue // the lab's own file
		}
		text, _ := json.Marshal(string(source))
		wrong := ask[[]string](v, `(async () => {
			const source = `+string(text)+`, wrong = [];
			await hands.write(source);
			const {tree} = await hands.check(source);
			for (const [path, value] of hands.leaves(tree)) {
				const input = hands.input(path);
				if (!input && path.includes("body")) continue; // what a device is sent is written in the file
				if (!input) { if (value !== null) wrong.push(path.join(".") + " has no field"); continue; }
				const says = input.matches("select") ? input.selectedOptions[0].textContent : input.value;
				if (says.trim() !== hands.shown(value).trim()) wrong.push(path.join(".") + " shows " + says);
			}
			const change = async (to) => {
				const before = hands.area.value, field = hands.input(["name"]);
				field.value = to;
				field.dispatchEvent(new Event("change"));
				await hands.wait("the file changes", () => hands.area.value !== before);
			};
			await change("another");
			if (!hands.area.value.includes("name: another\n")) wrong.push("the name is not changed");
			await change(tree.name);
			if (hands.area.value !== source) wrong.push("the file is not what it was:\n" + hands.area.value);
			return wrong;
		})()`, chromedp.EvalAwaitPromise)
		for _, w := range wrong {
			t.Errorf("%s: %s", filepath.Base(file), w)
		}
	}
}

// Law: whatever the schema knows can be written by the form: each mapping offers all of its
// keys, each choice all of its ways, to the bottom. A fault is said at its field. No barrier
// that axe knows stands in the way.
func TestEditorKnowsTheSchema(t *testing.T) {
	t.Parallel()
	v := opened(t)
	const source = "name: a\nparameters: [{name: x, min: 0, max: 1}]\nobjective: {maximize: y}\nbudget: {experiments: 5}\ninstrument: manual\n"
	text, _ := json.Marshal(source)
	found := ask[struct {
		Seen    int
		Missing []string
	}](v, `(async () => {
		const schema = await (await fetch("/new/schema.json")).json(), missing = [], done = new Set();
		let seen = 0;
		const part = (s) => s.$ref ? part(s.$ref.split("/").slice(1).reduce((at, step) => at[decodeURIComponent(step)], schema)) : s;
		const all = (s) => { const of = part(s); return (of.anyOf || [of]).map(part); };
		const within = (path, value) => path.reduceRight((inside, step) => typeof step === "number" ? [inside] : {[step]: inside}, value);
		// Each mapping that the schema knows, once, in a file that holds nothing else.
		const walk = async (s, path) => {
			for (const branch of all(s)) {
				if (branch.type === "array") await walk(branch.items, [...path, 0]);
				if (branch.additionalProperties && branch.additionalProperties !== true) await walk(branch.additionalProperties, [...path, "any"]);
				if (!branch.properties || done.has(JSON.stringify(branch))) continue;
				done.add(JSON.stringify(branch));
				const keys = Object.keys(branch.properties), value = {};
				(branch.required || []).concat(branch.maxProperties === 1 ? keys[0] : []).forEach(key => { value[key] = null; });
				await hands.write(JSON.stringify(within(path, value)));
				const box = path.length ? hands.at(path) : document.querySelector("#fields");
				if (!box) { missing.push(path.join(".") + ", which is not drawn"); continue; }
				const options = [...box.querySelectorAll("option")].map(o => o.value);
				for (const key of keys) {
					seen++;
					if (!options.includes(key) && !hands.at([...path, key])) missing.push([...path, key].join("."));
				}
				for (const key of keys) await walk(branch.properties[key], [...path, key]);
			}
		};
		await walk({properties: schema.properties, type: "object"}, []);
		await hands.write(`+string(text)+`);
		return {seen, missing};
	})()`, chromedp.EvalAwaitPromise)
	if len(found.Missing) > 0 || found.Seen < 280 {
		t.Errorf("of %d keys, the form lacks %v", found.Seen, found.Missing)
	}
	v.do("set a value that cannot be", chromedp.Evaluate[chromedp.Void](`(() => {
		const field = hands.input(["parameters", 0, "max"]);
		field.value = "-1";
		field.dispatchEvent(new Event("change"));
	})()`))
	v.until("the fault stands at its field",
		`hands.at(["parameters", 0, "max"]).querySelector(".fault").textContent.includes("less than min 0")`)
	v.inPlace("the editor")
}

// The form of a campaign file. It is made of the schema of campaign files, so that it has a
// field for whatever a file may say, and stands beside the file: each changes the other. The
// server changes the file, one value at a time, and leaves the rest of it as it is.
"use strict";
(() => {
  const page = document.querySelector("form[data-validate]");
  if (!page) return;
  const area = page.querySelector("textarea[name=source]"), verdict = document.getElementById("verdict");
  const holder = document.getElementById("fields"), undo = document.getElementById("undo-edit");
  const amends = new URL(page.dataset.validate, location.href).searchParams.get("amends");

  const make = (tag, attributes = {}, ...inside) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
      else if (value === true) e.setAttribute(name, "");
      else if (value !== false && value !== undefined && value !== null) e.setAttribute(name, value);
    }
    e.append(...inside.filter((i) => i !== null && i !== undefined));
    return e;
  };

  // The schema. A part of it is found by its reference; what may be written in a short form
  // has several branches.
  let schema = null;
  const part = (s) => {
    if (!s || !s.$ref) return s || {};
    const found = s.$ref.split("/").slice(1).reduce((at, step) => at[decodeURIComponent(step)], schema);
    return { ...found, ...(s.description ? { description: s.description } : {}) };
  };
  const branches = (s) => (part(s).anyOf || [part(s)]).map(part);
  const kindOf = (s) => {
    if (s.enum) return "choice";
    if (s.type === "object" && !s.properties) return "map";
    return s.type || "string";
  };
  const fits = (s, value) => {
    switch (kindOf(s)) {
    case "object": case "map": return value !== null && typeof value === "object" && !Array.isArray(value);
    case "array": return Array.isArray(value);
    case "number": case "integer": return typeof value === "number";
    case "boolean": return typeof value === "boolean";
    case "null": return value === null;
    case "choice": return s.enum.includes(value);
    }
    return typeof value === "string";
  };
  const keysFit = (s, value) => !s.properties || Object.keys(value).every((key) => key in s.properties);
  // The branch that a value is written in: one that has all its keys, else one of its type.
  const branchOf = (all, value) => {
    const right = all.filter((s) => fits(s, value));
    return right.find((s) => kindOf(s) !== "object" || keysFit(s, value)) || right[0] || all[0];
  };
  // A choice of one among several, each with its settings: {cobol: {…}}.
  const oneOf = (s) => kindOf(s) === "object" && s.maxProperties === 1;
  // What a branch is called where one is chosen.
  const branchName = (s) => {
    switch (kindOf(s)) {
    case "choice": return "one by name";
    case "null": return "as usual";
    case "array": return "a list";
    case "map": return "values by name";
    case "object": return (s.required || []).length ? "with " + s.required.join(", ") : "with settings";
    case "number": case "integer": return "a number";
    }
    return s.description && s.description.length < 50 ? s.description.replace(/\.$/, "") : "a text";
  };
  // What is written where something is added.
  const fresh = (s) => {
    const first = branches(s)[0];
    switch (kindOf(first)) {
    case "object": return oneOf(first) ? { [Object.keys(first.properties)[0]]: {} } : Object.fromEntries((first.required || []).map((key) => [key, fresh(first.properties[key])]));
    case "map": return {};
    case "array": return [fresh(first.items)];
    case "choice": return first.enum[0];
    case "number": case "integer": return first.minimum ?? first.exclusiveMinimum ?? 0;
    case "boolean": return true;
    case "null": return null;
    }
    return first.examples ? first.examples[0] : "";
  };
  const gist = (text) => { const m = /^(.*?[.;:])(\s|$)/s.exec(text || ""); return m ? m[1].replace(/[;:]$/, ".") : text || ""; };

  // The file and what the server says of it. Changes are made one after the other, each of
  // the file as it is by then.
  let tree = null, waiting = Promise.resolve(), changing = 0, asked = 0, past = [];
  const post = async (address, fields) => (await fetch(address, { method: "POST", body: new URLSearchParams(fields) })).json();
  const take = (answer, redraw) => {
    if (answer.tree) tree = answer.tree;
    if (redraw && answer.tree) draw();
    holder.classList.toggle("stale", !answer.tree);
    document.getElementById("unread").hidden = Boolean(answer.tree);
    tell(answer);
  };
  // What else the form says: a table that is taken along decides what the campaign begins with.
  const others = () => Object.fromEntries([...new FormData(page)].filter(([name]) => name !== "source" && name !== "request"));
  const change = (path, value, redraw) => {
    const fields = { ...others(), path: JSON.stringify(path) };
    if (value !== undefined) fields.value = JSON.stringify(value);
    if (amends) fields.amends = amends;
    changing++;
    waiting = waiting.then(async () => {
      for (;;) {
        const source = area.value, mine = ++asked;
        const answer = await post("/edit", { ...fields, source });
        if (area.value !== source) continue; // it was typed in meanwhile
        if (answer.source) {
          past.push(source);
          undo.hidden = false;
          area.value = answer.source;
        }
        if (mine === asked) take(answer, redraw);
        return;
      }
    }).catch(() => { verdict.textContent = "The server does not answer: the last change of the form is not in the file."; })
      .finally(() => changing--);
    return waiting;
  };
  // What is sent is the file; a change that is under way comes first.
  page.addEventListener("submit", (e) => {
    if (!changing) return;
    e.preventDefault();
    waiting.then(() => page.requestSubmit(e.submitter));
  });
  holder.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || !e.target.matches("input")) return;
    e.preventDefault(); // it is no button that begins the campaign
    e.target.dispatchEvent(new Event("change"));
  });
  const check = async (redraw) => {
    const mine = ++asked;
    let answer;
    try { answer = await post(page.dataset.validate, { ...others(), source: area.value }); } catch { return; } // it is checked when it is sent
    if (mine === asked) take(answer, redraw);
  };
  let timer = 0;
  area.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => check(true), 400); });
  area.addEventListener("change", () => { clearTimeout(timer); check(true); });
  page.addEventListener("change", (e) => { if (e.target.matches("input[type=checkbox][name]")) check(false); });

  // Fields. Each holds its path, by which faults find it.
  const field = (path, ...inside) => make("div", { class: "entry", "data-path": JSON.stringify(path) }, ...inside, make("p", { class: "fault", role: "alert" }));
  const idOf = (path) => "f-" + path.join("-").replace(/[^\w-]/g, "_");
  // Where the docs treat a key of the file, beside it.
  const explained = JSON.parse(holder.dataset.explained);
  const more = (path, name) => path.length === 1 && name in explained
    ? make("a", { class: "more-docs", href: explained[name], target: "_blank" }, "docs", make("span", { class: "visually-hidden" }, " on " + name)) : null;
  const labelled = (path, name, s) => {
    const label = make("label", { for: idOf(path) }, name, make("small", {}, gist(s.description))), docs = more(path, name);
    return docs ? make("div", {}, label, docs) : label;
  };
  const removal = (path, name) => make("button", { type: "button", class: "quiet drop", "aria-label": "Remove " + name, title: "Remove " + name, onclick: () => change(path, undefined, true) }, "✕");
  const typed = (s, text) => {
    if (kindOf(s) !== "number" && kindOf(s) !== "integer") return text;
    const plain = text.trim().replace(/^([-+]?\d+),(\d+)$/, "$1.$2");
    return plain !== "" && isFinite(Number(plain)) ? Number(plain) : text;
  };
  const soon = (input, act) => {
    let later = 0;
    input.addEventListener("input", () => { clearTimeout(later); later = setTimeout(act, 350); });
    input.addEventListener("change", () => { clearTimeout(later); act(); });
  };

  const scalar = (s, value, path) => {
    if (kindOf(s) === "choice" || kindOf(s) === "boolean") {
      const values = s.enum || [true, false];
      const all = values.includes(value) ? values : [value, ...values];
      return make("select", { id: idOf(path), onchange: (e) => change(path, all[e.target.selectedIndex], true) },
        ...all.map((v) => make("option", { selected: v === value }, typeof v === "boolean" ? (v ? "yes" : "no") : String(v ?? ""))));
    }
    const number = kindOf(s) === "number" || kindOf(s) === "integer";
    const input = make("input", { id: idOf(path), autocomplete: "off", autocapitalize: "off", spellcheck: "false", inputmode: number ? "decimal" : false, placeholder: (s.examples || []).join(", ") || false });
    input.value = value ?? "";
    let sent = input.value;
    soon(input, () => {
      if (input.value === sent) return;
      sent = input.value;
      change(path, input.value === "" && number ? null : typed(s, input.value), false);
    });
    return input;
  };

  // What is not there yet, to be added.
  const adder = (path, s, value) => {
    const absent = Object.entries(s.properties).filter(([key]) => !(key in value));
    if (!absent.length) return null;
    const select = make("select", { class: "add", "aria-label": "Add a setting to " + (path.join(" ") || "the file"), onchange: (e) => {
      const key = e.target.value;
      if (key) change([...path, key], fresh(s.properties[key]), true).then(() => focusAt([...path, key]));
    } }, make("option", { value: "" }, "add …"), ...absent.map(([key, of]) => make("option", { value: key, title: part(of).description || "" }, key + (gist(part(of).description) ? " – " + gist(part(of).description).slice(0, 60) : ""))));
    return select;
  };

  const object = (s, value, path) => {
    const box = make("div", { class: "object" });
    if (oneOf(s)) {
      const name = Object.keys(value)[0], names = Object.keys(s.properties);
      box.append(make("select", { id: idOf(path), "aria-label": "Which one", onchange: (e) => change(path, { [e.target.value]: {} }, true) },
        ...names.map((n) => make("option", { selected: n === name }, n))));
      if (name in s.properties) box.append(field([...path, name], below(s.properties[name], value[name], [...path, name], name)));
      return box;
    }
    for (const [key, v] of Object.entries(value)) {
      box.append(entry(s.properties[key] || {}, v, [...path, key], key, !(s.required || []).includes(key) || !(key in s.properties)));
    }
    const add = adder(path, s, value);
    if (add) box.append(add);
    return box;
  };
  const list = (s, value, path) => {
    const box = make("div", { class: "list" });
    value.forEach((v, i) => box.append(entry(s.items, v, [...path, i], (v && v.name) || String(i + 1), true)));
    box.append(make("button", { type: "button", class: "add", onclick: () => change([...path, value.length], fresh(s.items), true).then(() => focusAt([...path, value.length])) }, "Add to " + path[path.length - 1]));
    return box;
  };
  const map = (s, value, path) => {
    const box = make("div", { class: "object" });
    for (const [key, v] of Object.entries(value)) box.append(entry(s.additionalProperties, v, [...path, key], key, true));
    const name = make("input", { "aria-label": "Name of a further one in " + path.join(" "), placeholder: "name", autocomplete: "off", autocapitalize: "off" });
    box.append(make("div", { class: "further" }, name, make("button", { type: "button", onclick: () => { if (name.value.trim()) change([...path, name.value.trim()], fresh(s.additionalProperties), true).then(() => focusAt([...path, name.value.trim()])); } }, "Add it")));
    return box;
  };
  // A value, and which of its forms it is written in where there are several.
  const below = (s, value, path, name) => {
    const all = branches(s), mine = branchOf(all, value), box = make("div", { class: "value" });
    const others = all.filter((b) => kindOf(b) !== "null" || b === mine); // null is written by taking all settings out
    if (others.length > 1) {
      box.append(make("select", { class: "form", "aria-label": "How " + name + " is written", onchange: (e) => change(path, fresh(others[e.target.selectedIndex]), true) },
        ...others.map((b) => make("option", { selected: b === mine }, branchName(b)))));
    }
    switch (kindOf(mine)) {
    case "object": box.append(object(mine, value && typeof value === "object" ? value : {}, path)); break;
    case "map": box.append(map(mine, value && typeof value === "object" ? value : {}, path)); break;
    case "array": box.append(list(mine, Array.isArray(value) ? value : [], path)); break;
    case "null": break;
    default: box.append(scalar(mine, value, path));
    }
    return box;
  };
  const simple = (s, value) => !["object", "map", "array"].includes(kindOf(branchOf(branches(s), value)));
  const entry = (s, value, path, name, removable) => {
    const of = part(s), away = removable ? removal(path, name) : null;
    if (simple(s, value)) return field(path, make("div", { class: "line" }, labelled(path, name, of), below(s, value, path, name), away));
    const inner = field(path, make("details", { class: "group", open: true }, make("summary", {}, make("b", {}, name), " ", make("small", {}, gist(of.description))), below(s, value, path, name)));
    inner.prepend(...[more(path, name), away].filter(Boolean));
    return inner;
  };

  // The whole form is drawn anew where its structure may have changed; what had the focus,
  // and what was closed, stays so.
  const focusAt = (path) => {
    const at = [...holder.querySelectorAll("[data-path]")].find((e) => e.dataset.path === JSON.stringify(path));
    const input = at && at.querySelector("input, select, summary");
    if (input) input.focus();
  };
  const draw = () => {
    if (!schema) return; // it is drawn once that is there
    const active = document.activeElement, held = active && holder.contains(active) ? active.id : "";
    const caret = held && active.selectionStart !== undefined ? [active.selectionStart, active.selectionEnd] : null;
    const closed = new Set([...holder.querySelectorAll("details:not([open])")].map((d) => d.closest("[data-path]").dataset.path));
    holder.replaceChildren(object({ properties: schema.properties, required: schema.required, type: "object" }, tree, []));
    holder.querySelectorAll("details").forEach((d) => { if (closed.has(d.closest("[data-path]").dataset.path)) d.open = false; });
    const again = held && document.getElementById(held);
    if (again) {
      again.focus({ preventScroll: true });
      if (caret && again.setSelectionRange) try { again.setSelectionRange(...caret); } catch { /* not of this type */ }
    }
  };

  // Faults at their field: at the one they are about, else at the nearest around it.
  const mark = (faults) => {
    holder.querySelectorAll(".fault").forEach((p) => p.replaceChildren());
    const fields = new Map([...holder.querySelectorAll("[data-path]")].map((e) => [e.dataset.path, e]));
    for (const f of faults) {
      for (let n = (f.Path || []).length; n > 0; n--) {
        const at = fields.get(JSON.stringify(f.Path.slice(0, n)));
        if (!at) continue;
        const say = [...at.children].find((c) => c.className === "fault");
        const rest = f.Path.slice(n).join(" ");
        say.append((say.textContent ? " " : "") + (rest ? rest + ": " : "") + f.Message + (f.Remedy ? " (" + f.Remedy + ")" : "") + ".");
        for (let d = at.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
        break;
      }
    }
  };

  const goTo = (line) => {
    const lines = area.value.split("\n"), start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(start, start + (lines[line - 1] || "").length);
    area.scrollTop = Math.max(0, (line - 4) * area.scrollHeight / lines.length);
  };
  const table = (first) => {
    const box = make("div", {}, make("h2", {}, "What the first experiments will be"));
    if (first.why) { box.append(make("p", {}, first.why)); return box; }
    box.append(...first.before.map((line) => make("p", {}, line)));
    if (first.rows) box.append(make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "The first experiments" }, make("table", { class: "data narrow" },
      make("thead", {}, make("tr", {}, ...first.head.map((h) => make("th", { scope: "col", class: "n" }, h)))),
      make("tbody", {}, ...first.rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", { class: "n" }, cell))))))));
    if (first.rows && first.total > first.rows.length) box.append(make("p", { class: "hint" }, `and ${first.total - first.rows.length} more.`));
    box.append(make("p", { class: "hint" }, first.then));
    return box;
  };
  const tell = (answer) => {
    const along = document.getElementById("along");
    if (along && answer.along) along.innerHTML = answer.along; // made by the server
    const faults = answer.faults || [];
    mark(faults);
    if (faults.length || answer.text) {
      verdict.replaceChildren(make("div", { class: "box bad" }, make("p", {}, answer.text), make("ul", { class: "faults" }, ...faults.map((f) => make("li", {},
        f.Line ? make("button", { type: "button", onclick: () => goTo(f.Line) }, "line " + f.Line) : null,
        " " + [f.Field, f.Message].filter(Boolean).join(": "),
        f.Remedy ? make("br") : null, f.Remedy ? make("span", { class: "hint" }, f.Remedy) : null)))));
      return;
    }
    const box = make("div", { class: "box good" }, make("p", {}, "The file has no fault."), ...(answer.remarks || []).map((r) => make("p", {}, r)));
    if (answer.changes) box.append(make("p", {}, "What would change:"), make("ul", {}, ...answer.changes.map((c) => make("li", {}, c))));
    if (answer.first) box.append(table(answer.first));
    box.append(make("details", { open: !answer.first && !answer.changes }, make("summary", {}, "What the file means"), make("pre", {}, answer.meaning)));
    verdict.replaceChildren(box);
  };

  undo.addEventListener("click", () => {
    area.value = past.pop();
    undo.hidden = !past.length;
    check(true);
  });
  (async () => {
    try { schema = await (await fetch("/new/schema.json")).json(); } catch { return; } // there is the text
    document.getElementById("editor").classList.add("with-form");
    holder.parentElement.hidden = false;
    await check(true);
  })();
})();

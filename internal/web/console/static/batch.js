// The table in which many results are entered: keys, pasting from a spreadsheet, the
// server's word on each row as it is typed, and what is typed kept until it is recorded.
"use strict";
(() => {
  const key = "batch " + document.body.dataset.watch;
  const form = document.querySelector("form[data-batch]");
  if (!form) { // nothing waits any more, whoever has told it
    try { localStorage.removeItem(key); } catch { /* no storage */ }
    return;
  }
  const $$ = (selector, root = form) => [...root.querySelectorAll(selector)];
  const note = form.querySelector("#batch-note");
  const rows = $$("tr[data-row]");
  const withSD = form.querySelector("#with-sd");
  const fieldsOf = (row) => $$("input:not([type=hidden]), select", row);
  const shown = (field) => field.offsetParent !== null;

  // What is typed is kept in this browser, by the experiment and when it was asked for: a
  // campaign of the same name may have others. What waits no more is forgotten.
  const keyOf = (row) => row.dataset.row + " " + row.dataset.since;
  const keep = () => {
    const kept = {};
    for (const row of rows) {
      const typed = fieldsOf(row).filter((f) => f.value !== "").map((f) => [f.name, f.value]);
      if (typed.length) kept[keyOf(row)] = Object.fromEntries(typed);
    }
    try {
      if (Object.keys(kept).length) localStorage.setItem(key, JSON.stringify(kept));
      else localStorage.removeItem(key);
    } catch { /* no storage */ }
  };
  try {
    const kept = JSON.parse(localStorage.getItem(key) || "{}");
    for (const row of rows) {
      const typed = kept[keyOf(row)] || {};
      if (fieldsOf(row).some((f) => f.value !== "")) continue; // what the server gave back is newer
      for (const field of fieldsOf(row)) {
        if (typed[field.name] !== undefined) field.value = typed[field.name];
        if (field.dataset.sd && field.value) withSD.checked = true;
      }
    }
  } catch { /* what was kept cannot be read */ }
  keep();

  const count = () => {
    const filled = rows.filter((row) => fieldsOf(row).some((f) => f.value !== "")).length;
    form.querySelector("[data-filled]").textContent = `(${filled} of ${rows.length})`;
  };
  count();

  // The server's word on each row. A field that is being typed into is not called wrong
  // before it is left or time has passed.
  let asked = 0, timer = 0;
  const say = (row, verdict) => {
    const line = row.nextElementSibling, text = line.querySelector("span");
    const faults = verdict && verdict.faults || [];
    row.className = verdict && verdict.state || "";
    text.textContent = faults.map((f) => f.message).concat(verdict && verdict.surprise || []).join("; ");
    line.hidden = !text.textContent;
    for (const field of fieldsOf(row)) {
      if (verdict && verdict.state === "faulty" && faults.some((f) => f.field === field.name)) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  };
  const check = async () => {
    const mine = ++asked, body = new URLSearchParams();
    for (const row of rows) {
      const typed = fieldsOf(row).filter((f) => f.value !== "");
      if (!typed.length) { say(row); continue; }
      body.append("row", row.dataset.row);
      typed.forEach((f) => body.append(f.name, f.value));
    }
    if (![...body].length) return;
    try {
      const answer = await (await fetch(form.dataset.check, { method: "POST", body })).json();
      if (mine === asked) rows.forEach((row) => { if (answer.rows[row.dataset.row]) say(row, answer.rows[row.dataset.row]); });
    } catch { /* it is checked when it is sent */ }
  };
  const changed = () => {
    keep();
    count();
    clearTimeout(timer);
    timer = setTimeout(check, 400);
  };
  form.addEventListener("input", changed);
  if (rows.some((row) => fieldsOf(row).some((f) => f.value !== ""))) check();

  // Keys: Enter and the arrows go along a column, Tab along a row as ever.
  const column = (field) => rows.map((row) => fieldsOf(row).find((f) =>
    f.dataset.col === field.dataset.col && f.dataset.sd === field.dataset.sd && f.name[0] === field.name[0])).filter(Boolean);
  // Enter never sends the form from within the table, and with Ctrl it does from anywhere.
  const cell = (e) => e.target.matches("tr[data-row] input");
  form.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      form.requestSubmit(form.querySelector("button.primary"));
      return;
    }
    const step = e.key === "Enter" ? (e.shiftKey ? -1 : 1) : { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!step || !cell(e) || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    const all = column(e.target), next = all[all.indexOf(e.target) + step];
    if (next) { next.focus(); next.select(); }
    else if (step > 0) note.textContent = "That was the last row. Ctrl and Enter records.";
  });
  form.addEventListener("keypress", (e) => { if (e.key === "Enter" && cell(e)) e.preventDefault(); });

  // Pasting: a column goes down, a block across as well; where the first cells are names of
  // experiments each line goes to its own; the reading of a whole plate goes to its wells.
  let before = null;
  const undo = form.querySelector("[data-unpaste]");
  const plate = (form.dataset.plate || "").split("x").map(Number);
  const paste = (text, at) => {
    const lines = text.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n").map((line) => line.split("\t").map((c) => c.trim()));
    if (lines.length < 2 && lines[0].length < 2) return false;
    before = new Map(rows.flatMap(fieldsOf).map((f) => [f, f.value]));
    const start = rows.indexOf(at.closest("tr")), placed = [], lost = [];
    const put = (row, from, cells) => {
      const fields = fieldsOf(row).filter((f) => f.matches("input") && shown(f)), first = fields.findIndex((f) => f.name === from);
      cells.forEach((cell, i) => {
        if (cell === "") return;
        const field = fields[first + i];
        if (!field) { lost.push(cell); return; }
        field.value = cell;
        placed.push(row.dataset.row);
      });
    };
    const named = (row) => at.name.replace(/^(.\.)[^.]+/, "$1" + row.dataset.row);
    const byName = new Map(rows.map((row) => [row.dataset.row, row]));
    const heading = lines.length > 1 && lines[0].every((c) => c === "" || !/^[-+.,\d]/.test(c)) && !byName.has(lines[0][0]);
    if (heading) lines.shift();
    if (plate.length === 2 && lines.length === plate[0] && lines.every((l) => l.length === plate[1]) && plate[1] > 1) {
      const prefix = /^\d+:/.exec(at.closest("tr").dataset.well || "") || [""];
      const wells = new Map(rows.map((row) => [row.dataset.well, row]));
      lines.forEach((cells, i) => cells.forEach((cell, k) => {
        const row = wells.get(prefix[0] + String.fromCharCode(65 + i) + (k + 1));
        if (row) put(row, named(row), [cell]);
      }));
    } else if (lines.every((l) => byName.has(l[0]))) {
      lines.forEach(([name, ...cells]) => { const row = byName.get(name); put(row, named(row), cells); });
    } else {
      lines.forEach((cells, i) => {
        const row = rows[start + i];
        if (row) put(row, named(row), cells);
        else lost.push(...cells.filter(Boolean));
      });
    }
    const touched = [...new Set(placed)];
    note.textContent = `Pasted ${placed.length} value${placed.length === 1 ? "" : "s"}` +
      (touched.length ? `, ${touched[0]} to ${touched[touched.length - 1]}` : "") + "." +
      (heading ? " The first line was taken for a heading." : "") +
      (lost.length ? ` ${lost.length} had no place in the table: ${lost.slice(0, 5).join(", ")}${lost.length > 5 ? ", …" : ""}.` : "");
    undo.hidden = false;
    changed();
    return true;
  };
  form.addEventListener("paste", (e) => {
    if (!e.target.matches("tr[data-row] input")) return;
    if (paste(e.clipboardData.getData("text/plain"), e.target)) e.preventDefault();
  });
  undo.addEventListener("click", () => {
    if (before) before.forEach((value, field) => { field.value = value; });
    before = null;
    undo.hidden = true;
    note.textContent = "The paste is taken back.";
    changed();
  });
  form.dataset.heard = "yes";
})();

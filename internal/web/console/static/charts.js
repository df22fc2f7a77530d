// The charts of a campaign that answer: see plot.js for what one of them can do.
"use strict";
(() => {
  const root = document.getElementById("explore");
  if (!root) return;
  const { Plot, node, short, around, withUnit, spanOf, tableIn, json, select } = window.Charts;
  const api = root.dataset.api, pages = root.dataset.pages;
  const section = (name) => {
    const whole = document.getElementById(name);
    const part = (key) => whole.querySelector(`[data-${key}]`);
    return { whole, box: part("box"), controls: part("controls"), legend: part("legend"), details: whole.querySelector("details") };
  };
  const gone = (of, why) => {
    of.box.replaceChildren(node("p", { class: "empty", text: why }));
    of.box.classList.add("without");
    for (const part of [of.details, of.legend, of.controls]) part.hidden = true;
  };
  const legend = (of, ...entries) => of.legend.replaceChildren(...entries.filter(Boolean).map(([kind, text]) => node("li", {}, node("span", { class: "swatch " + kind, "aria-hidden": "true" }), text)));

  let course = null;
  const parameter = (name) => course.parameters.find((p) => p.name === name);
  const valueText = (p, v) => p.categories ? String(v) : (short(Number(v)) + " " + (p.unit || "")).trim();
  const line = (point) => course.parameters.map((p) => `${p.name} ${valueText(p, point[p.name])}`).join(", ");
  // share is where a value lies in a parameter's range, from 0 to 1.
  const share = (p, v) => p.categories ? p.categories.indexOf(v) / Math.max(1, p.categories.length - 1) : (v - p.low) / (p.high - p.low || 1);
  // apart is the distance of two compositions, in shares of the ranges; categories that differ are 1 apart.
  const apart = (a, b, without = []) => Math.sqrt(course.parameters.reduce((sum, p) => {
    if (without.includes(p.name) || a[p.name] === undefined || b[p.name] === undefined) return sum;
    const away = p.categories ? Number(a[p.name] !== b[p.name]) : share(p, a[p.name]) - share(p, b[p.name]);
    return sum + away * away;
  }, 0));
  const page = (id) => `${pages}/experiments/${id}`;
  const cut = (text, most = 160) => text.length > most ? text.slice(0, text.lastIndexOf(" ", most)) + " …" : text;
  const says = (x) => {
    const lines = [];
    course.quantities.forEach((q, k) => {
      const measured = x.values[k] === null ? "" : short(x.values[k], 5) + (x.sds && x.sds[k] !== null ? " ± " + short(x.sds[k], 2) : "");
      const expected = x.predicted && x.predicted[k] ? `expected ${around(x.predicted[k].mean, x.predicted[k].sd)}` : "";
      if (measured || expected) lines.push(`${q.name}: ${[measured && `${measured} ${q.unit || ""}`.trim(), expected].filter(Boolean).join(", ")}`);
    });
    if (!x.values.some((v) => v !== null)) lines.unshift(x.status);
    const first = `${x.id}: ${lines.shift() || x.status}`;
    if (x.keeps_constraints === "no") lines.push("breaks a constraint on outcomes");
    return [first, ...lines, line(x.parameters), cut(x.why || ""), x.cost === undefined ? "" : `cost ${short(x.cost)} ${course.cost_unit || ""}`].filter(Boolean).join("\n");
  };
  const classOf = (x) => {
    if (x.status === "failed" || x.status === "infeasible") return ["failed", "cross"];
    if (x.status !== "measured") return ["open", "diamond"];
    if (!x.counts) return ["left-out", ""];
    if (x.keeps_constraints === "no") return ["breaks", "barred"];
    if (x.origin === "initial" || x.origin === "import") return ["design", "square"];
    return ["done", ""];
  };
  const markOf = (x, more) => { const [role, shape] = classOf(x); return { id: x.id, to: page(x.id), says: says(x), role, shape, ...more }; };
  const shown = () => course.experiments.map((x, k) => [x, k + 1]).filter(([x]) => x.status !== "cancelled" && x.status !== "deferred");
  // bestSoFar of a quantity after each experiment, of what keeps the constraints; none where it is not sought.
  const bestSoFar = (k) => course.quantities[k].goal ? course.experiments.map((x) => x.best ? x.best[k] : null) : [];
  const breaking = () => course.experiments.some((x) => classOf(x)[0] === "breaks");

  const drawCourse = async () => {
    const of = section("course");
    if (!course.experiments.some((x) => x.values.some((v) => v !== null))) { gone(of, "Nothing has been measured yet."); return; }
    const plot = new Plot(of.box, { label: "The course: every experiment", zoom: "xy" });
    let k = 0, believed = [];
    const single = course.quantities.length && course.quantities[0].goal && course.quantities.filter((q) => q.goal).length === 1;
    plot.grid = "y";
    plot.ready = true;
    const refresh = () => {
      const q = course.quantities[k], n = course.experiments.length, best = bestSoFar(k), model = k === 0 && single ? believed : [], sure = model.filter((b) => !b.doubtful);
      plot.x = { domain: [0.3, Math.max(n, 3) + 0.7], name: "experiment", whole: true };
      plot.y = { name: withUnit(q.name, q.unit), domain: spanOf([...course.experiments.flatMap((x) => [x.values[k], ...(x.predicted && x.predicted[k] ? [x.predicted[k].mean - x.predicted[k].sd, x.predicted[k].mean + x.predicted[k].sd] : [])]), ...sure.flatMap((b) => [b.mean - b.sd, b.mean + b.sd])]) };
      plot.paint = [(to) => {
        const of = (b, v) => b.doubtful ? null : v;
        if (sure.length) to.append(plot.band(model.map((b) => [b.experiments, of(b, b.mean - b.sd), of(b, b.mean + b.sd)]), "band believed"), plot.line(model.map((b) => [b.experiments, of(b, b.mean)]), "believed"));
        const stairs = best.flatMap((v, i) => i && best[i - 1] !== null ? [[i + 1, best[i - 1]], [i + 1, v]] : [[i + 1, v]]);
        to.append(plot.line(stairs, "best"));
        for (const [x, at] of shown()) {
          const p = x.predicted && x.predicted[k];
          if (p) to.append(plot.line([[at, p.mean - p.sd], [at, p.mean + p.sd]], "whisker"), plot.line([[at - 0.18, p.mean], [at + 0.18, p.mean]], "whisker"));
        }
      }, () => {
        plot.marks = shown().map(([x, at]) => markOf(x, { x: at, y: x.values[k] === null ? plot.fromY(plot.edges.bottom) : x.values[k] })).filter((m, i) => shown()[i][0].values[k] !== null || m.role === "failed");
      }];
      legend(of, ["dot-design", "initial design, import"], ["dot-done", "chosen"], breaking() && ["dot-breaks", "breaks a constraint on outcomes"], shown().some(([x]) => classOf(x)[0] === "failed") && ["dot-failed", "no result"],
        best.length && ["line-best", best.every((v) => v === null) ? "best measured so far: none yet, since nothing keeps the constraints" : breaking() ? "best measured so far, of what keeps the constraints" : "best measured so far"],
        sure.length && ["line-believed", "best by the model ± sd"], course.experiments.some((x) => x.predicted) && ["line-whisker", "what was expected ± sd"]);
      plot.draw();
      fill();
    };
    const fill = tableIn(of.details, () => {
      const q = course.quantities[k], best = bestSoFar(k), by = new Map(believed.map((b) => [b.experiments, b]));
      return {
        caption: `Course of ${q.name}`, head: ["experiment", withUnit(q.name, q.unit), "expected", "best so far", "best by the model", "composition"],
        rows: course.experiments.map((x, i) => [x.id, x.values[k] === null ? x.status : classOf(x)[0] === "breaks" ? `${x.values[k]}, breaks a constraint` : x.values[k], x.predicted && x.predicted[k] ? around(x.predicted[k].mean, x.predicted[k].sd) : "–", best[i] ?? "–", by.has(i + 1) && k === 0 && single && !by.get(i + 1).doubtful ? around(by.get(i + 1).mean, by.get(i + 1).sd) : "–", line(x.parameters)]),
      };
    });
    if (course.quantities.length > 1) of.controls.append(select("quantity", course.quantities.map((q, i) => [i, q.name]), 0, (v) => { k = Number(v); refresh(); }).whole);
    refresh();
    if (!single) return;
    try { believed = (await json(`${api}/course/believed`)).believed; refresh(); } catch { /* there is no model: the rest is drawn */ }
  };

  // What is gone through: one composition for the map, the slices and the text. One request is
  // under way at a time; of those that come meanwhile the last one is made.
  let now = null, home = null, layer = 0, flying = false, waits = null;
  const followers = [];
  const go = async (ask, settled = true) => {
    if (flying) { waits = [ask, settled || (waits && waits[1])]; return; }
    flying = true;
    try {
      const query = new URLSearchParams();
      if (ask.at) query.set("at", JSON.stringify(ask.at));
      if (ask.move) { query.set("move", ask.move); query.set("to", ask.to); if (!ask.at && now) query.set("at", JSON.stringify(now.here.parameters)); }
      now = await json(`${api}/slices?${query}`);
      home = home || now.here.parameters;
      for (const f of followers) f(settled && !waits);
    } catch (failed) {
      const note = document.getElementById("expected");
      note.textContent = failed.message;
      if (!now) throw failed;
    } finally { flying = false; }
    if (waits) { const [next, when] = waits; waits = null; await go(next, when); }
  };
  const layers = () => now.slices.length ? now.slices[0].layers : [];
  const layerNames = () => layers().map((l, i) => [i, l.name]);

  const drawHeld = () => {
    const held = document.getElementById("held"), expected = document.getElementById("expected"), back = document.getElementById("home");
    const sliders = new Map();
    for (const s of now.slices) {
      const p = parameter(s.parameter), id = "held-" + course.parameters.indexOf(p);
      let field, value = node("span", { class: "u" });
      if (s.categories) {
        field = node("select", { id });
        for (const c of s.categories) field.append(node("option", { value: c, text: c }));
      } else {
        field = node("input", { id, type: "range", min: s.x[0], max: s.x.at(-1), step: (s.x.at(-1) - s.x[0]) / 400 });
      }
      field.addEventListener("input", () => go({ move: s.parameter, to: field.value }, false));
      field.addEventListener("change", () => go({ move: s.parameter, to: field.value }));
      held.append(node("div", {}, node("label", { for: id }, s.parameter + " ", value), field));
      sliders.set(s.parameter, { field, value, p });
    }
    back.addEventListener("click", () => go({ at: home }));
    followers.push((settled) => {
      for (const [name, { field, value, p }] of sliders) {
        const v = now.here.parameters[name];
        if (document.activeElement !== field || settled) field.value = v;
        value.textContent = p.categories ? "" : valueText(p, v);
        if (!p.categories) field.setAttribute("aria-valuetext", valueText(p, v));
      }
      const h = now.here, parts = (h.quantities || []).map((q) => `${q.quantity} ${around(q.mean, q.sd, q.unit)}`);
      if (h.value) parts.unshift(`${layers()[0].name} ${around(h.value.mean, h.value.sd, h.value.unit)}`);
      if (!parts.length && h.mean !== undefined) parts.push(`${course.quantities[0].name} ${around(h.mean, h.sd, course.quantities[0].unit)}`);
      if (h.feasible) parts.push(`keeps the constraints with probability ${short(h.feasible.probability, 3)}`);
      expected.replaceChildren("Expected: ", node("b", { text: parts.join(", ") }), h.outside ? ` Could not be suggested: ${h.outside}.` : "");
      expected.dataset.mean = h.mean;
      expected.dataset.at = JSON.stringify(h.parameters);
      back.disabled = apart(h.parameters, home) < 1e-9;
    });
  };

  const drawSlices = () => {
    const of = section("slices");
    of.box.replaceChildren();
    const grid = node("div", { class: "slices" });
    of.box.replaceWith(grid);
    of.box = grid;
    const plots = now.slices.map((s) => {
      const box = node("div", { class: "plotbox plot-slice", "data-slice": s.parameter });
      grid.append(node("div", {}, box));
      const move = (v) => s.categories ? s.categories[Math.max(0, Math.min(s.categories.length - 1, Math.round(v)))] : String(Math.max(s.x[0], Math.min(s.x.at(-1), v)));
      let ask = null;
      const plot = new Plot(box, {
        label: `The model along ${s.parameter}`, zoom: "", margin: { left: 46 },
        drag: (at) => { ask = { move: s.parameter, to: move(at.x) }; plot.ghost = at.x; plot.draw(); go(ask, false); },
      });
      plot.onDrop = () => { plot.ghost = undefined; go(ask); };
      plot.arrow = (e) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
        if (!step || e.shiftKey) return false;
        const here = current(s.parameter), wide = s.categories ? 1 : (s.x.at(-1) - s.x[0]) / 40;
        go({ move: s.parameter, to: move(here.here + step * wide) });
        return true;
      };
      return [s.parameter, plot];
    });
    const current = (name) => now.slices.find((s) => s.parameter === name) || { x: [], mean: [[]], sd: [[]], here: null };
    const refresh = () => {
      const l = layers()[layer];
      if (!l) return;
      const q = course.quantities.findIndex((c) => c.name === l.name);
      const values = now.slices.flatMap((s) => s.mean[layer].flatMap((m, i) => m === null ? [] : [m - (s.sd[layer][i] || 0), m + (s.sd[layer][i] || 0)]));
      const span = spanOf([...values, ...(q < 0 ? [] : course.experiments.map((x) => x.values[q]))], 0.05);
      for (const [name, plot] of plots) {
        const s = current(name), p = parameter(name), c = s.categories;
        plot.x = { domain: c ? [-0.6, c.length - 0.4] : [s.x[0], s.x.at(-1)], categories: c, name: withUnit(name, p.unit) };
        plot.y = { domain: l.kind === "feasible" ? [0, 1] : span, name: withUnit(l.name, l.unit) };
        plot.paint = [(to) => {
          const half = c ? 0.4 : (s.x.at(-1) - s.x[0]) / (s.x.length - 1) / 2;
          for (const at of s.excluded || []) to.append(node("svg:rect", { class: "barred", x: plot.X(s.x[at] - half), y: plot.edges.top, width: Math.max(0, plot.X(s.x[at] + half) - plot.X(s.x[at] - half)), height: plot.edges.bottom - plot.edges.top }));
          const rows = s.x.map((x, i) => [x, s.mean[layer][i], s.sd[layer][i]]);
          if (c) {
            for (const [x, m, d] of rows) if (m !== null) to.append(plot.band([[x - 0.3, m - (d || 0), m + (d || 0)], [x + 0.3, m - (d || 0), m + (d || 0)]], "band"), plot.line([[x - 0.3, m], [x + 0.3, m]], "mean"));
          } else {
            if (!l.certain) to.append(plot.band(rows.map(([x, m, d]) => [x, m === null ? null : m - d, m === null ? null : m + d]), "band"));
            to.append(plot.line(rows.map(([x, m]) => [x, m]), "mean"));
            for (const v of s.allowed || []) { const i = s.x.indexOf(v); if (i >= 0 && s.mean[layer][i] !== null) to.append(node("svg:circle", { class: "allowed", cx: plot.X(v), cy: plot.Y(s.mean[layer][i]), r: 3 })); }
          }
          const at = plot.ghost !== undefined ? plot.ghost : s.here;
          if (at !== null) to.append(node("svg:line", { class: "through", x1: plot.X(at), x2: plot.X(at), y1: plot.edges.top, y2: plot.edges.bottom }));
        }, () => {
          plot.marks = q < 0 ? [] : shown().filter(([x]) => x.values[q] !== null && x.status === "measured").map(([x]) => {
            const near = Math.exp(-8 * apart(x.parameters, now.here.parameters, [name]) ** 2);
            const v = c ? c.indexOf(x.parameters[name]) : x.parameters[name];
            return markOf(x, { x: v, y: x.values[q], r: 3.2, shape: "", role: "seen" + (near > 0.6 ? 3 : near > 0.2 ? 2 : 1) });
          });
        }];
        plot.hover = (at) => {
          const i = d3.minIndex(s.x, (x) => Math.abs(x - at.x)), m = s.mean[layer][i];
          if (i < 0 || m === null) { plot.hide(); return; }
          const where = c ? c[i] : valueText(p, s.x[i]);
          const box = plot.svg.getBoundingClientRect();
          window.Card.present(plot, `${name} ${where}\n${l.name}: ${around(m, s.sd[layer][i], l.unit)}`, plot.X(s.x[i]) + box.left, plot.Y(m) + box.top);
        };
        plot.ready = true;
        plot.draw();
      }
      fill();
    };
    const fill = tableIn(of.details, () => {
      const l = layers()[layer];
      return { caption: `${l.name} along each parameter, through ${line(now.here.parameters)}`, head: ["parameter", "value", withUnit(l.name, l.unit)],
        rows: now.slices.flatMap((s) => s.x.flatMap((x, i) => s.categories || i % 5 === 0 ? [[s.parameter, s.categories ? s.categories[i] : x, s.mean[layer][i] === null ? "not allowed" : around(s.mean[layer][i], s.sd[layer][i])]] : [])) };
    });
    if (layers().length > 1) of.controls.append(select("quantity", layerNames(), layer, (v) => { layer = Number(v); refresh(); }).whole);
    followers.push(refresh);
  };

  const drawMap = () => {
    const of = section("map");
    const names = now.slices.map((s) => s.parameter);
    const mixtures = (course.mixtures || []).filter((m) => m.length >= 3);
    if (names.length < 2) { gone(of, "There are no two parameters that can be varied."); return; }
    let form = mixtures.length ? "mixture" : "pair", which = "0 mean", map = null, asked = 0;
    // The two along which the model varies most are drawn at first.
    const most = now.slices.map((s) => { const m = s.mean[0].filter((v) => v !== null); return [s.parameter, d3.max(m) - d3.min(m)]; }).sort((a, b) => b[1] - a[1]).map(([n]) => n);
    let pair = [most[0], most[1]], three = mixtures.length ? mixtures[0].slice(0, 3) : [];
    const plot = new Plot(of.box, { label: "Map of the model", zoom: "xy" });
    const bands = 10;
    const chosen = () => { const [l, what] = which.split(" "); return { at: Number(l), what }; };
    const values = () => { const { at, what } = chosen(); return (what === "sd" ? map.sd : map.mean)[at]; };
    const ternary = () => map && map.corners;
    // In a triangle the first corner is on top; u and v are shares of the third and the first.
    const triangle = () => {
      const e = plot.edges, side = Math.min(e.right - e.left - 40, (e.bottom - e.top - 30) / 0.866), left = (e.left + e.right - side) / 2, base = e.top + 16 + side * 0.866;
      return { side, left, base, at: (u, v) => plot.transform.apply([left + side * (u + v / 2), base - side * 0.866 * v]), from: (px, py) => { const [x, y] = plot.transform.invert([px, py]); const v = (base - y) / (side * 0.866); return [(x - left) / side - v / 2, v]; } };
    };
    // place turns a place of the grid, from 0 to 1 along both axes, into pixels.
    const place = (u, v) => {
      if (ternary()) return triangle().at(u, v);
      const ax = map.x_axis, ay = map.y_axis;
      const scale = (a, t) => a.categories ? t * a.categories.length - 0.5 : a.x[0] + t * (a.x.at(-1) - a.x[0]);
      return [plot.X(scale(ax, u)), plot.Y(scale(ay, v))];
    };
    const sizes = () => ternary() ? [map.steps + 1, map.steps + 1] : [map.x_axis.x.length, map.y_axis.x.length];
    const uneven = () => !ternary() && [map.x_axis, map.y_axis].some((a) => a.categories || a.allowed);
    const colored = (v, low, high) => "heat" + Math.max(0, Math.min(bands - 1, Math.floor((v - low) / (high - low || 1) * bands)));
    // composition at a place of the data of the map; null outside.
    const composition = (u, v) => {
      const here = { ...now.here.parameters };
      if (ternary()) {
        const shares = [v, 1 - u - v, u];
        if (shares.some((s) => s < -1e-6)) return null;
        map.corners.forEach((c, k) => { here[c.parameter] = c.low + Math.max(0, shares[k]) * (c.high - c.low); });
        return here;
      }
      for (const [a, at] of [[map.x_axis, u], [map.y_axis, v]]) {
        if (a.categories) { here[a.parameter] = a.categories[Math.max(0, Math.min(a.categories.length - 1, Math.round(at)))]; continue; }
        const to = a.allowed ? a.allowed[d3.minIndex(a.allowed, (x) => Math.abs(x - at))] : Math.max(a.x[0], Math.min(a.x.at(-1), at));
        const by = to - a.here;
        for (const [name, slope] of Object.entries(a.moves || {})) here[name] += by * slope;
      }
      return here;
    };
    // sample interpolates all layers at a place of the data.
    const sample = (u, v, list) => {
      const [n, m] = sizes();
      const index = (a, at) => a.categories ? Math.round(at) : a.allowed ? d3.minIndex(a.x, (x) => Math.abs(x - at)) : (at - a.x[0]) / (a.x.at(-1) - a.x[0]) * (a.x.length - 1);
      const i = ternary() ? u * map.steps : index(map.x_axis, u), j = ternary() ? v * map.steps : index(map.y_axis, v);
      if (!(i >= -0.01 && j >= -0.01 && i <= n - 0.99 && j <= m - 0.99)) return null;
      let sum = 0, weight = 0;
      for (const [di, dj] of [[0, 0], [1, 0], [0, 1], [1, 1]]) {
        const a = Math.floor(Math.max(0, i)) + di, b = Math.floor(Math.max(0, j)) + dj;
        const w = (1 - Math.abs(Math.max(0, i) - a)) * (1 - Math.abs(Math.max(0, j) - b));
        if (w <= 1e-9 || a >= n || b >= m) continue;
        const value = list[b * n + a];
        if (value === null || value === undefined) return weight || w > 0.5 ? null : null;
        sum += w * value;
        weight += w;
      }
      return weight ? sum / weight : null;
    };
    const paint = (to) => {
      const [n, m] = sizes(), list = values(), known = list.filter((v) => v !== null);
      if (!known.length) return;
      const fixed = chosen().what === "mean" && layers()[chosen().at].kind === "feasible";
      const low = fixed ? 0 : d3.min(known), high = fixed ? 1 : d3.max(known);
      plot.scaleEnds = [low, high];
      const edge = (a, k, far) => a.categories ? [k / a.x.length, (k + 1) / a.x.length] : (() => {
        const s = (x) => (x - a.x[0]) / (a.x.at(-1) - a.x[0] || 1), mid = (p, q) => (s(a.x[p]) + s(a.x[q])) / 2;
        return [k ? mid(k - 1, k) : s(a.x[0]), k < far - 1 ? mid(k, k + 1) : s(a.x[far - 1])];
      })();
      if (uneven()) {
        for (let j = 0; j < m; j++) for (let i = 0; i < n; i++) {
          const v = list[j * n + i];
          if (v === null) continue;
          const [u0, u1] = edge(map.x_axis, i, n), [v0, v1] = edge(map.y_axis, j, m), a = place(u0, v1), b = place(u1, v0);
          to.append(node("svg:rect", { class: colored(v, low, high), x: a[0], y: a[1], width: Math.max(0, b[0] - a[0] + 0.5), height: Math.max(0, b[1] - a[1] + 0.5) }));
        }
      } else {
        const numbers = list.map((v) => v === null ? NaN : v);
        const steps = d3.range(bands).map((k) => low + (high - low) * k / bands - (k ? 0 : 1e-9 * (1 + Math.abs(low))));
        const path = (polygons) => polygons.map((rings) => rings.map((ring) => "M" + ring.map(([x, y]) => place(Math.max(0, Math.min(1, (x - 0.5) / (n - 1))), Math.max(0, Math.min(1, (y - 0.5) / (m - 1)))).map((c) => c.toFixed(1)).join(" ")).join("L") + "Z").join("")).join("");
        d3.contours().size([n, m]).thresholds(steps)(numbers).forEach((c, k) => to.append(node("svg:path", { class: `heat${k} iso`, d: path(c.coordinates) })));
      }
      for (const at of map.excluded || []) {
        const [x, y] = place(...(ternary() ? [(at % n) / map.steps, Math.floor(at / n) / map.steps] : [(d3.mean(edge(map.x_axis, at % n, n))), d3.mean(edge(map.y_axis, Math.floor(at / n), m))]));
        to.append(node("svg:path", { class: "hatch", d: `M${x - 3} ${y + 3}l6 -6` }));
      }
      if (!ternary()) return;
      const t = triangle(), corner = [t.at(0, 1), t.at(0, 0), t.at(1, 0)];
      to.append(node("svg:path", { class: "side-of", d: "M" + corner.map((c) => c.map((v) => v.toFixed(1)).join(" ")).join("L") + "Z" }));
    };
    const labels = () => {
      if (!ternary()) return;
      const t = triangle(), c = map.corners, write = (at, anchor, dy, text, kind = "axis") => plot.over.append(node("svg:text", { class: kind, x: at[0], y: at[1] + dy, "text-anchor": anchor, text }));
      const full = (k) => `${withUnit(c[k].parameter, c[k].unit)} ${short(c[k].high, 3)}`;
      write(t.at(0, 1), "middle", -7, full(0));
      write(t.at(0, 0), "start", 20, full(1));
      write(t.at(1, 0), "end", 20, full(2));
      for (const s of [0.25, 0.5, 0.75]) write(t.at(0, s), "end", 0, short(c[0].low + s * (c[0].high - c[0].low), 3) + " ", "tick");
    };
    const sharesOf = (point) => {
      const c = map.corners, sum = d3.sum(c, (k) => k.weight * point[k.parameter]), amount = d3.sum(c, (k) => k.weight * now.here.parameters[k.parameter]);
      if (!(sum > 0)) return null;
      const s = c.map((k) => (point[k.parameter] * amount / sum - k.low) / (k.high - k.low));
      return s.some((v) => v < -1e-6) ? null : s;
    };
    const marks = () => {
      const { at } = chosen(), q = course.quantities.findIndex((c) => c.name === layers()[at].name);
      const axes = ternary() ? map.corners.map((c) => c.parameter) : [map.x_axis.parameter, map.y_axis.parameter];
      const where = (point) => {
        if (ternary()) { const s = sharesOf(point); return s && { at: () => triangle().at(s[2], s[0]) }; }
        const one = (a) => a.categories ? a.categories.indexOf(point[a.parameter]) : point[a.parameter];
        return { x: one(map.x_axis), y: one(map.y_axis) };
      };
      plot.marks = shown().flatMap(([x]) => {
        if (x.status !== "measured" && x.status !== "failed") return [];
        const to = where(x.parameters), near = Math.exp(-8 * apart(x.parameters, now.here.parameters, axes) ** 2);
        return to ? [markOf(x, { ...to, r: 3.6, role: x.status === "failed" ? "failed" : "ringed " + (near > 0.5 ? "near" : near > 0.15 ? "mid" : "far") })] : [];
      });
      const here = where(now.here.parameters);
      if (here) plot.marks.push({ ...here, role: "here", shape: "star", r: 4, says: `The composition that is gone through\n${line(now.here.parameters)}` });
      return q;
    };
    const wordsAt = (u, v) => {
      const point = composition(u, v);
      if (!point) return null;
      const { at } = chosen(), l = layers()[at], mean = sample(u, v, map.mean[at]);
      if (mean === null) return null;
      const sd = l.certain ? null : sample(u, v, map.sd[at]);
      const nearest = shown().filter(([x]) => x.values.some((y) => y !== null)).map(([x]) => [x, apart(x.parameters, point)]).sort((a, b) => a[1] - b[1]).slice(0, 2);
      const q = Math.max(0, course.quantities.findIndex((c) => c.name === l.name));
      return [`${l.kind === "feasible" ? "keeps the constraints: " : l.name + ": "}${around(mean, sd, l.unit)}`, line(point), nearest.length ? "nearest measured: " + nearest.map(([x]) => `${x.id} ${short(x.values[q], 4)}`).join(", ") : ""].filter(Boolean).join("\n");
    };
    const spot = (at) => ternary() ? triangle().from(at.px, at.py) : [at.x, at.y];
    plot.hover = (at, e) => {
      const words = wordsAt(...spot(at));
      words ? window.Card.present(plot, words, e.clientX, e.clientY) : plot.hide();
    };
    plot.choose = (at, touch, e) => {
      const point = composition(...spot(at));
      if (!point || wordsAt(...spot(at)) === null) return;
      if (touch) window.Card.present(plot, wordsAt(...spot(at)), e.clientX, e.clientY);
      go({ at: point });
    };
    // Arrow keys move a cross over the map, Enter goes through what is there.
    let cross = null;
    plot.arrow = (e) => {
      const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
      if ((by && !e.shiftKey) || (e.key === "Enter" && cross)) {
        if (e.key === "Enter") { const point = composition(...cross); if (point && wordsAt(...cross)) go({ at: point }); return true; }
        const start = () => { if (ternary()) { const s = sharesOf(now.here.parameters) || [1 / 3, 1 / 3, 1 / 3]; return [s[2], s[0]]; } return [map.x_axis.here, map.y_axis.here]; };
        const wide = (a) => a.categories ? 1 : (a.x.at(-1) - a.x[0]) / 24, ends = (a, v) => a.categories ? Math.max(0, Math.min(a.categories.length - 1, v)) : Math.max(a.x[0], Math.min(a.x.at(-1), v));
        cross = cross || start();
        if (ternary()) {
          const to = [cross[0] + by[0] / 24 - by[1] / 48, cross[1] + by[1] / 24];
          if (to[0] >= 0 && to[1] >= 0 && to[0] + to[1] <= 1) cross = to;
        } else {
          cross = [ends(map.x_axis, cross[0] + by[0] * wide(map.x_axis)), ends(map.y_axis, cross[1] + by[1] * wide(map.y_axis))];
        }
        plot.draw();
        const words = wordsAt(...cross) || "not allowed", [px, py] = ternary() ? triangle().at(...cross) : [plot.X(cross[0]), plot.Y(cross[1])], box = plot.svg.getBoundingClientRect();
        window.Card.present(plot, words, px + box.left, py + box.top);
        plot.live.textContent = words;
        return true;
      }
      return false;
    };
    plot.onDraw = () => {
      labels();
      if (cross && document.activeElement === plot.svg) {
        const [x, y] = ternary() ? triangle().at(...cross) : [plot.X(cross[0]), plot.Y(cross[1])];
        plot.over.append(node("svg:path", { class: "cross", d: `M${x - 9} ${y}h18M${x} ${y - 9}v18` }));
      }
      const [low, high] = plot.scaleEnds || [0, 1];
      of.legend.replaceChildren(node("li", { class: "ramp" }, short(low, 3), ...d3.range(bands).map((k) => node("span", { class: "cell heat" + k + "-b", "aria-hidden": "true" })), short(high, 3) + " " + (layers()[chosen().at].unit || "")),
        node("li", {}, node("span", { class: "swatch dot-ringed", "aria-hidden": "true" }), "measured, seen in this plane"));
    };
    const refresh = () => {
      if (!map) return;
      plot.bare = !!ternary();
      plot.margin = ternary() ? { left: 4, right: 4, top: 20, bottom: 30 } : { left: 54, right: 14, top: 26, bottom: 40 };
      if (!ternary()) {
        const domain = (a) => a.categories ? [-0.5, a.categories.length - 0.5] : [a.x[0], a.x.at(-1)];
        const p = parameter(map.x_axis.parameter), r = parameter(map.y_axis.parameter);
        plot.x = { domain: domain(map.x_axis), categories: map.x_axis.categories, name: withUnit(p.name, p.unit) };
        plot.y = { domain: domain(map.y_axis), categories: map.y_axis.categories, name: withUnit(r.name, r.unit) };
      }
      plot.paint = [paint, marks];
      plot.svg.setAttribute("aria-label", `Map: ${layers()[chosen().at].name} over ${ternary() ? map.corners.map((c) => c.parameter).join(", ") : map.x_axis.parameter + " and " + map.y_axis.parameter}`);
      of.box.dataset.drawn = ternary() ? map.corners.map((c) => c.parameter).join(" ") : `${map.x_axis.parameter} ${map.y_axis.parameter}`;
      plot.ready = true;
      plot.draw();
      fill();
    };
    const load = async () => {
      const mine = ++asked, query = new URLSearchParams({ at: JSON.stringify(now.here.parameters) });
      if (form === "mixture") { query.set("x", three[0]); query.set("y", three[1]); query.set("z", three[2]); } else { query.set("x", pair[0]); query.set("y", pair[1]); }
      try {
        const answer = await json(`${api}/map?${query}`);
        if (mine !== asked) return;
        map = answer.map || answer.ternary;
        refresh();
      } catch (failed) {
        if (mine === asked) { of.box.dataset.failed = failed.message; plot.svg.replaceChildren(node("svg:text", { class: "axis", x: 10, y: 30, text: failed.message })); plot.ready = false; }
      }
    };
    const fill = tableIn(of.details, () => {
      const { at } = chosen(), l = layers()[at], rows = [], [n, m] = sizes(), step = (s) => Math.max(1, Math.round((s - 1) / 8));
      if (ternary()) {
        for (let a = 0; a <= map.steps; a += 4) for (let c = 0; a + c <= map.steps; c += 4) {
          const k = a * (map.steps + 1) + c, share = [a / map.steps, 1 - (a + c) / map.steps, c / map.steps];
          rows.push([...map.corners.map((x, i) => short(x.low + share[i] * (x.high - x.low), 4)), map.mean[at][k] === null ? "not allowed" : around(map.mean[at][k], map.sd[at][k])]);
        }
        return { caption: l.name, head: [...map.corners.map((c) => withUnit(c.parameter, c.unit)), withUnit(l.name, l.unit)], rows };
      }
      const name = (a, k) => a.categories ? a.categories[k] : short(a.x[k], 4), columns = d3.range(0, n, map.x_axis.categories ? 1 : step(n));
      for (let j = 0; j < m; j += map.y_axis.categories ? 1 : step(m)) rows.push([`${map.y_axis.parameter} ${name(map.y_axis, j)}`, ...columns.map((i) => map.mean[at][j * n + i] === null ? "–" : around(map.mean[at][j * n + i], map.sd[at][j * n + i]))]);
      return { caption: `${withUnit(l.name, l.unit)}; columns are ${withUnit(map.x_axis.parameter, map.x_axis.unit)}`, head: [`${map.x_axis.parameter}:`, ...columns.map((i) => name(map.x_axis, i))], rows };
    });
    const what = layers().flatMap((l, i) => l.kind === "feasible" ? [[`${i} mean`, l.name]] : l.certain ? [[`${i} mean`, l.name]] : [[`${i} mean`, `${l.name}, mean`], [`${i} sd`, `${l.name}, sd`]]);
    const controls = () => {
      of.controls.replaceChildren(select("show", what, which, (v) => { which = v; refresh(); }).whole);
      const anew = () => { plot.transform = d3.zoomIdentity; plot.scale(0); cross = null; load(); };
      if (mixtures.length) of.controls.append(select("over", [["mixture", "a mixture of three"], ["pair", "two parameters"]], form, (v) => { form = v; controls(); anew(); }).whole);
      if (form === "mixture") {
        ["top", "left", "right"].forEach((corner, k) => of.controls.append(select(corner, mixtures[0].map((n) => [n, n]), three[k], (v) => {
          const other = three.indexOf(v);
          if (other >= 0) three[other] = three[k];
          three[k] = v;
          controls();
          anew();
        }).whole));
      } else {
        ["across", "up"].forEach((axis, k) => of.controls.append(select(axis, names.map((n) => [n, n]), pair[k], (v) => {
          if (pair[1 - k] === v) pair[1 - k] = pair[k];
          pair[k] = v;
          controls();
          anew();
        }).whole));
      }
    };
    controls();
    followers.push((settled) => { if (settled) load(); else if (map) refresh(); });
  };

  const drawImportance = async () => {
    const of = section("importance");
    let answer;
    try { answer = await json(`${api}/importance`); } catch (failed) { gone(of, failed.message); return; }
    const list = node("div", { class: "shares" });
    of.box.replaceWith(list);
    of.box = list;
    const order = (l) => answer.parameters.map((name, i) => [name, answer.shares[l][i]]).filter(([, s]) => s.total !== null).sort((a, b) => b[1].total - a[1].total);
    const percent = (v) => `${(100 * v).toFixed(v < 0.0995 ? 1 : 0)} %`;
    const words = (s) => percent(s.total) + (s.low === undefined ? "" : `, ${percent(s.low)} to ${percent(s.high)}`);
    const learned = (l, s) => !s.learned ? "" : s.learned.reading + (s.learned.change === undefined ? "" : ` (${around(s.learned.change, s.learned.change_sd, answer.layers[l].unit)})`);
    answer.layers.forEach((layer, l) => {
      list.append(node("div", {}, answer.layers.length > 1 ? node("h3", { text: layer.name }) : "", ...order(l).map(([name, s]) => {
        const svg = node("svg:svg", { class: "share", viewBox: "0 0 200 18", preserveAspectRatio: "none", "aria-hidden": "true" }, node("svg:rect", { class: "track", x: 0, y: 4, width: 200, height: 10 }), node("svg:rect", { class: "part", x: 0, y: 4, width: 200 * Math.min(1, s.total), height: 10 }));
        if (s.low !== undefined) svg.append(node("svg:line", { class: "doubt", x1: 200 * s.low, x2: 200 * s.high, y1: 9, y2: 9 }));
        return node("div", { class: "of" }, node("span", { text: name }), svg, node("span", { class: "n", text: words(s) }), node("span", { class: "hint", text: learned(l, s) }));
      })));
    });
    tableIn(of.details, () => ({ caption: "Importance of the parameters", head: ["of", "parameter", "part of what varies", "from", "to", "what was learned"], rows: answer.layers.flatMap((layer, l) => order(l).map(([name, s]) => [layer.name, name, percent(s.total), s.low === undefined ? "–" : percent(s.low), s.high === undefined ? "–" : percent(s.high), learned(l, s)])) }));
  };

  const drawPairs = () => {
    const of = section("pairs");
    const things = [...course.quantities.map((q, k) => ({ name: q.name, unit: q.unit, goal: q.goal, of: (x) => x.values[k] })), ...course.parameters.map((p) => ({ name: p.name, unit: p.unit, categories: p.categories, of: (x) => p.categories ? p.categories.indexOf(x.parameters[p.name]) : x.parameters[p.name] }))];
    if (course.cost_unit !== undefined) things.push({ name: "cost", unit: course.cost_unit, goal: "minimize", of: (x) => x.cost ?? null });
    const rows = () => shown().map(([x]) => [x, things[i].of(x), things[j].of(x)]).filter(([, a, b]) => a !== null && b !== null && a !== undefined && b !== undefined);
    const goals = things.map((t, k) => [t, k]).filter(([t, k]) => t.goal && k < course.quantities.length).map(([, k]) => k);
    let i = goals.length > 1 ? goals[0] : course.quantities.length, j = goals.length > 1 ? goals[1] : 0;
    if (things.length < 2 || !rows().length) { gone(of, "There is nothing to draw yet."); return; }
    const plot = new Plot(of.box, { label: "Any two against each other", zoom: "xy" });
    const front = () => {
      const a = things[i].goal, b = things[j].goal;
      if (!a || !b || i === j) return [];
      const sign = (goal) => goal === "maximize" ? 1 : -1, all = rows().filter(([x]) => x.counts && x.keeps_constraints !== "no");
      return all.filter(([, u, v]) => !all.some(([, p, q]) => sign(a) * (p - u) >= 0 && sign(b) * (q - v) >= 0 && (p !== u || q !== v))).sort((p, q) => p[1] - q[1]);
    };
    const refresh = () => {
      const axis = (t, values) => ({ name: withUnit(t.name, t.unit), categories: t.categories, domain: t.categories ? [-0.5, t.categories.length - 0.5] : spanOf(values) });
      const all = rows(), best = front(), members = new Set(best.map(([x]) => x.id));
      plot.x = axis(things[i], all.map((r) => r[1]));
      plot.y = axis(things[j], all.map((r) => r[2]));
      plot.paint = [(to) => {
        if (best.length > 1) to.append(plot.line(best.map(([, u, v]) => [u, v]), "best"));
      }, () => { plot.marks = all.map(([x, u, v]) => { const m = markOf(x, { x: u, y: v }); if (members.has(x.id)) m.role += " member"; return m; }); }];
      legend(of, ["dot-design", "initial design, import"], ["dot-done", "chosen"], breaking() && ["dot-breaks", "breaks a constraint on outcomes"], best.length > 1 && ["line-best", "not worse than another in both, as measured"]);
      of.box.dataset.drawn = `${things[i].name} ${things[j].name}`;
      plot.ready = true;
      plot.draw();
      fill();
    };
    const fill = tableIn(of.details, () => ({ caption: `${things[j].name} against ${things[i].name}`, head: ["experiment", withUnit(things[i].name, things[i].unit), withUnit(things[j].name, things[j].unit)], rows: rows().map(([x, u, v]) => [x.id, things[i].categories ? things[i].categories[u] : u, things[j].categories ? things[j].categories[v] : v]) }));
    const names = things.map((t, k) => [k, t.name]);
    of.controls.append(select("across", names, i, (v) => { i = Number(v); plot.scale(0); refresh(); }).whole, select("up", names, j, (v) => { j = Number(v); plot.scale(0); refresh(); }).whole);
    refresh();
  };

  // Where nothing can be drawn, the report's figures are a link away.
  const begin = async () => {
    try { course = await json(`${api}/course`); } catch { document.documentElement.dataset.script = "failed"; return; }
    drawCourse();
    drawPairs();
    try {
      await go({});
      drawHeld();
      drawMap();
      drawSlices();
      for (const f of followers) f(true);
      drawImportance();
    } catch (failed) {
      for (const name of ["map", "slices", "importance"]) document.getElementById(name).hidden = true;
      document.getElementById("model").hidden = true;
      for (const jump of document.querySelectorAll("#jump a")) jump.hidden = document.getElementById(jump.hash.slice(1)).hidden;
    }
    root.dataset.ready = "yes";
  };
  begin();
})();

// Courses of several campaigns over each other; see plot.js.
"use strict";
(() => {
  const whole = document.getElementById("over");
  if (!whole || !window.Charts) return;
  const { Plot, node, short, spanOf, tableIn, json, select, withUnit } = window.Charts;
  const begin = async () => {
    let all;
    try { all = await json(whole.dataset.source); } catch { document.documentElement.dataset.script = "failed"; return; }
    const plot = new Plot(whole.querySelector("[data-box]"), { label: "The best so far of each campaign" });
    let by = "experiments";
    const ways = [["experiments", "experiments"]];
    if (all.every((s) => s.imagined || s.cost_unit) && all.some((s) => s.cost_unit)) ways.push(["cost", `cost (${all.find((s) => s.cost_unit).cost_unit})`]);
    if (all.some((s) => s.points.some((p) => p.hours))) ways.push(["hours", "time (h)"]);
    const at = (p, i) => by === "experiments" ? i + 1 : p[by] ?? null;
    const refresh = () => {
      const drawn = all.map((s) => s.points.map((p, i) => [at(p, i), p]).filter(([x, p]) => x !== null && (p.best !== null || p.value !== null)));
      plot.grid = "y";
      plot.x = { name: ways.find(([k]) => k === by)[1], whole: by === "experiments", domain: by === "experiments" ? [0.3, Math.max(3, ...all.map((s) => s.points.length)) + 0.7] : spanOf(drawn.flat().map(([x]) => x), 0.03) };
      plot.y = { name: withUnit(all[0].sought, all[0].unit), domain: spanOf(drawn.flat().flatMap(([, p]) => [p.best, p.value]).filter((v) => v !== null)) };
      plot.paint = [(to) => drawn.forEach((points, k) => {
        const line = points.filter(([, p]) => p.best !== null);
        const stairs = line.flatMap(([x, p], i) => i ? [[x, line[i - 1][1].best], [x, p.best]] : [[x, p.best]]);
        to.append(plot.line(stairs, `series series${k + 1}`));
      }), () => {
        plot.marks = drawn.flatMap((points, k) => points.filter(([, p]) => p.value !== null).map(([x, p]) => ({
          x, y: p.value, id: p.id, role: `series${k + 1}${p.leads ? "" : " faint"}`, shape: ["", "square", "diamond"][k % 3], r: p.leads ? 4.5 : 3,
          to: all[k].imagined ? all[k].link : `${all[k].link}/experiments/${p.id}`,
          says: `${all[k].name}, ${p.id}: ${short(p.value, 5)} ${all[k].unit || ""}${p.leads ? "\nthe best so far" : ""}${by === "experiments" ? "" : `, at ${short(x)} ${by === "hours" ? "h" : all[k].cost_unit}`}`,
        })));
      }];
      plot.ready = true;
      plot.draw();
    };
    tableIn(whole.querySelector("details"), () => ({
      caption: "The best so far after each experiment", head: ["experiment", ...all.map((s) => s.name)],
      rows: Array.from({ length: Math.max(...all.map((s) => s.points.length)) }, (_, i) => [String(i + 1), ...all.map((s) => s.points[i]?.best ?? "–")]),
    }));
    if (ways.length > 1) whole.querySelector("[data-controls]").append(select("by", ways, by, (v) => { by = v; plot.scale(0); refresh(); }).whole);
    refresh();
  };
  begin();
})();

// A chart with axes that answers: the nearest mark has a card, keys go from mark to mark, it can
// be zoomed with a pointer, two fingers and keys. Needs D3 and marks.js.
"use strict";
(() => {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const SVG = "http://www.w3.org/2000/svg";
  const node = (name, attributes = {}, ...children) => {
    const e = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || value === false) continue;
      key === "text" ? e.textContent = value : e.setAttribute(key, value === true ? "" : value);
    }
    e.append(...children);
    return e;
  };
  // short writes a number as people read it, with a real minus.
  const short = (v, digits = 4) => {
    if (v === null || v === undefined || !Number.isFinite(v)) return "–";
    const size = Math.abs(v);
    const text = size !== 0 && (size >= 1e7 || size < 1e-4) ? v.toExponential(digits - 2).replace("e+", "e") : String(Number(v.toPrecision(digits)));
    return text.replace("-", "−");
  };
  // around writes a value with its standard deviation, to two digits of that.
  const around = (mean, sd, unit = "") => {
    if (sd === null || sd === undefined || !(sd > 0)) return (short(mean) + " " + unit).trim();
    const places = Math.min(8, Math.max(0, 1 - Math.floor(Math.log10(sd))));
    return `${mean.toFixed(places).replace("-", "−")} ± ${sd.toFixed(places)} ${unit}`.trim();
  };
  const withUnit = (name, unit) => unit ? `${name} (${unit})` : name;

  // A drawing as a file: what the stylesheet says is written into its elements, in colors that
  // every program reads.
  const looks = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "paint-order", "font-family", "font-size", "font-weight", "text-anchor"];
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const plain = (color) => {
    if (!/^(ok|color)/.test(color)) return color;
    pixel.canvas.width = 1; // forgets what was drawn
    pixel.fillStyle = color;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return `rgba(${r}, ${g}, ${b}, ${a / 255})`;
  };
  const written = (svg, label) => {
    const copy = svg.cloneNode(true), from = [svg, ...svg.querySelectorAll("*")], box = svg.getBoundingClientRect();
    [copy, ...copy.querySelectorAll("*")].forEach((e, i) => {
      const style = getComputedStyle(from[i]);
      for (const look of looks) {
        const value = style.getPropertyValue(look);
        if (value && value !== "normal") e.setAttribute(look, look === "fill" || look === "stroke" ? plain(value) : value);
      }
      for (const name of ["class", "tabindex", "role", "aria-roledescription", "data-says", "data-x"]) e.removeAttribute(name);
      if (e.localName === "a") e.removeAttribute("href");
    });
    const view = copy.getAttribute("viewBox") || `0 0 ${box.width} ${box.height}`, [x, y, width, height] = view.split(/[ ,]+/);
    for (const [name, value] of Object.entries({ xmlns: SVG, viewBox: view, width: box.width, height: box.height })) copy.setAttribute(name, value);
    copy.prepend(node("svg:title", { text: label }), node("svg:rect", { x, y, width, height, fill: plain(getComputedStyle(document.body).backgroundColor) }));
    return new XMLSerializer().serializeToString(copy);
  };
  // saver is a button that saves what a drawing shows now.
  const saver = (svg, label) => {
    const button = node("button", { type: "button", class: "quiet", "aria-label": `Save SVG: ${label()}`, text: "Save SVG" });
    button.addEventListener("click", () => {
      const page = location.pathname.match(/^\/campaigns\/([^/]+)/), words = label().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
      const link = node("a", { href: URL.createObjectURL(new Blob([written(svg(), label())], { type: "image/svg+xml" })), download: `${page ? decodeURIComponent(page[1]) : "compare"}-${words}.svg` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
    return button;
  };

  // A parameter's categories stand at 0, 1, …
  class Plot {
    // box holds the chart; label is what it shows, in words; zoom the axes that zoom: "x", "xy" or "".
    constructor(box, { label, zoom = "xy", margin = {}, drag } = {}) {
      Object.assign(this, { box, label, zooms: zoom, drag, marks: [], paint: [], at: -1, transform: d3.zoomIdentity });
      this.margin = { left: 54, right: 14, top: 26, bottom: 40, ...margin };
      this.x = { domain: [0, 1], name: "" };
      this.y = { domain: [0, 1], name: "" };
      this.svg = node("svg:svg", { class: "plot", role: "group", "aria-roledescription": "chart", tabindex: "0", "aria-label": label });
      this.live = node("p", { class: "visually-hidden", "aria-live": "polite" });
      box.replaceChildren(this.svg, this.live);
      box.dataset.plot = "on";
      this.clip = "clip-" + (Plot.count = (Plot.count || 0) + 1);
      this.tools = node("div", { class: "plot-tools" });
      box.after(this.tools);
      if (zoom) this.zoomed();
      this.tools.append(saver(() => this.svg, () => this.svg.getAttribute("aria-label")));
      this.pointed();
      this.keyed();
      new ResizeObserver(() => this.draw()).observe(box);
    }

    // Inner edges of the data, in pixels.
    get edges() {
      const { left, right, top, bottom } = this.margin;
      return { left, top, right: this.wide - right, bottom: this.high - bottom };
    }
    get wide() { return Math.max(120, this.box.clientWidth); }
    get high() { return Math.max(120, this.box.clientHeight); }

    X(v) {
      const e = this.edges, [low, high] = this.x.domain;
      return this.transform.applyX(e.left + (v - low) / (high - low || 1) * (e.right - e.left));
    }
    Y(v) {
      const e = this.edges, [low, high] = this.y.domain;
      const at = e.bottom - (v - low) / (high - low || 1) * (e.bottom - e.top);
      return this.zooms === "xy" ? this.transform.applyY(at) : at;
    }
    fromX(px) {
      const e = this.edges, [low, high] = this.x.domain;
      return low + (this.transform.invertX(px) - e.left) / (e.right - e.left) * (high - low);
    }
    fromY(py) {
      const e = this.edges, [low, high] = this.y.domain;
      const at = this.zooms === "xy" ? this.transform.invertY(py) : py;
      return low + (e.bottom - at) / (e.bottom - e.top) * (high - low);
    }

    // Zoom: the wheel with Ctrl or where the chart has the focus, so that a page still scrolls;
    // two fingers; dragging what is zoomed; a double click.
    zoomed() {
      this.zoom = d3.zoom().scaleExtent([1, 40]).duration(still.matches ? 0 : 200)
        .filter((e) => {
          if (e.type === "wheel") return e.ctrlKey || e.metaKey || document.activeElement === this.svg;
          if (e.type.startsWith("touch")) return e.touches.length > 1 || this.transform.k > 1;
          return !e.button && !(e.type === "mousedown" && this.transform.k === 1);
        })
        .on("zoom", (e) => { this.transform = e.transform; window.Card.hide(); this.draw(); });
      this.selection = d3.select(this.svg).call(this.zoom);
      const button = (text, name, does) => {
        const b = node("button", { type: "button", class: "quiet", "aria-label": `${name}: ${this.label}`, title: name, text });
        b.addEventListener("click", does);
        return b;
      };
      this.reset = button("Reset", "Reset, to show all", () => this.scale(0));
      this.reset.disabled = true;
      this.tools.append(button("+", "Zoom in", () => this.scale(1.6)), button("−", "Zoom out", () => this.scale(1 / 1.6)), this.reset);
    }
    scale(by) {
      by ? this.selection.call(this.zoom.scaleBy, by) : this.selection.call(this.zoom.transform, d3.zoomIdentity);
    }

    draw() {
      if (!this.ready) return;
      const e = this.edges, svg = this.svg;
      svg.setAttribute("width", this.wide);
      svg.setAttribute("height", this.high);
      if (this.zoom) {
        this.zoom.extent([[e.left, e.top], [e.right, e.bottom]]).translateExtent([[e.left, e.top], [e.right, e.bottom]]);
        this.reset.disabled = this.transform.k === 1;
      }
      svg.classList.toggle("zoomed", this.transform.k > 1);
      const inside = node("svg:g", { "clip-path": `url(#${this.clip})` }), frame = node("svg:g", { "aria-hidden": "true" }), over = node("svg:g", { class: "over" });
      if (!this.bare) this.axes(frame);
      svg.replaceChildren(node("svg:clipPath", { id: this.clip }, node("svg:rect", { x: e.left - 5, y: e.top - 5, width: Math.max(0, e.right - e.left + 10), height: Math.max(0, e.bottom - e.top + 10) })), frame, inside, over);
      this.over = over;
      this.marks = [];
      for (const paint of this.paint) paint(inside, this);
      for (const m of this.marks) {
        m.px = m.at ? m.at()[0] : this.X(m.x);
        m.py = m.at ? m.at()[1] : this.Y(m.y);
        m.element = this.dot(m);
        inside.append(m.element);
      }
      if (this.onDraw) this.onDraw();
    }
    axes(to) {
      const e = this.edges;
      const line = (x1, y1, x2, y2) => to.append(node("svg:line", { class: "grid", x1, y1, x2, y2 }));
      const text = (x, y, anchor, content, kind = "tick") => to.append(node("svg:text", { class: kind, x, y, "text-anchor": anchor, text: content }));
      const ticks = (axis, low, high, room) => {
        if (axis.categories) return axis.categories.map((c, k) => [k, c]).filter(([k]) => k >= low - 0.01 && k <= high + 0.01);
        const wanted = d3.ticks(low, high, Math.max(2, Math.floor(room))).filter((v) => !axis.whole || Number.isInteger(v));
        return wanted.map((v) => [v, short(v, 6)]);
      };
      for (const [v, label] of ticks(this.y, this.fromY(e.bottom), this.fromY(e.top), (e.bottom - e.top) / 46)) {
        line(e.left, this.Y(v), e.right, this.Y(v));
        text(e.left - 6, this.Y(v) + 4, "end", label.length > 7 && this.y.categories ? label.slice(0, 6) + "…" : label);
      }
      const across = ticks(this.x, this.fromX(e.left), this.fromX(e.right), (e.right - e.left) / 62);
      const each = (e.right - e.left) / Math.max(1, across.length);
      for (const [v, label] of across) {
        if (this.grid !== "y") line(this.X(v), e.top, this.X(v), e.bottom);
        const fits = Math.max(2, Math.floor(each / 6.6));
        text(this.X(v), e.bottom + 16, "middle", label.length > fits ? label.slice(0, fits - 1) + "…" : label);
      }
      text(4, 14, "start", this.y.name, "axis");
      text(e.right, this.high - 5, "end", this.x.name, "axis");
    }
    // dot draws a mark: shapes tell apart what colors alone would not.
    dot(m) {
      const { px: x, py: y, r = 4.5 } = m, attributes = { class: "dot " + (m.role || "done"), "data-x": m.id };
      const shapes = {
        cross: () => node("svg:path", { d: `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}` }),
        diamond: () => node("svg:path", { d: `M${x} ${y - r - 1}l${r + 1} ${r + 1}l${-r - 1} ${r + 1}l${-r - 1} ${-r - 1}z` }),
        square: () => node("svg:rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r }),
        barred: () => node("svg:g", {}, node("svg:circle", { cx: x, cy: y, r }), node("svg:path", { d: `M${x - r} ${y + r}l${2 * r} ${-2 * r}` })),
        star: () => node("svg:path", { d: star(x, y, r + 4) }),
      };
      return node("svg:g", attributes, (shapes[m.shape] || (() => node("svg:circle", { cx: x, cy: y, r })))());
    }

    // near returns the mark nearest to a place on the screen, within reach.
    near(x, y, far) {
      const box = this.svg.getBoundingClientRect();
      let best = null, least = far;
      for (const m of this.marks) {
        const away = Math.hypot(m.px + box.left - x, m.py + box.top - y);
        if (m.says && away <= least) [best, least] = [m, away];
      }
      return best;
    }
    show(m, held, say) {
      for (const other of this.marks) other.element.classList.toggle("pointed", other === m);
      const box = this.svg.getBoundingClientRect();
      const text = typeof m.says === "function" ? m.says() : m.says;
      window.Card.present(m, text, m.px + box.left, m.py + box.top, held, m.to, m.id);
      this.at = this.marks.indexOf(m);
      if (say) this.live.textContent = text;
    }
    hide() {
      for (const other of this.marks) other.element.classList.remove("pointed");
      window.Card.hide();
    }
    inside(x, y) {
      const box = this.svg.getBoundingClientRect(), e = this.edges;
      return x - box.left >= e.left - 2 && x - box.left <= e.right + 2 && y - box.top >= e.top - 2 && y - box.top <= e.bottom + 2;
    }
    // place is where the pointer is, in the data.
    place(e) {
      const box = this.svg.getBoundingClientRect();
      return { px: e.clientX - box.left, py: e.clientY - box.top, x: this.fromX(e.clientX - box.left), y: this.fromY(e.clientY - box.top) };
    }
    pointed() {
      const svg = this.svg;
      svg.addEventListener("pointermove", (e) => {
        if (e.pointerType === "touch" && !this.dragging) return;
        if (this.dragging) { this.drag(this.place(e), false); return; }
        const m = this.near(e.clientX, e.clientY, window.Card.reach.mouse);
        if (m) this.show(m);
        else if (this.hover && this.inside(e.clientX, e.clientY)) this.hover(this.place(e), e);
        else this.hide();
      });
      svg.addEventListener("pointerleave", (e) => { if (e.pointerType !== "touch" && !window.Card.has(e.relatedTarget)) this.hide(); });
      svg.addEventListener("click", (e) => {
        const touch = e.pointerType === "touch" || e.pointerType === "pen";
        const m = this.near(e.clientX, e.clientY, touch ? window.Card.reach.touch : window.Card.reach.mouse);
        e.stopPropagation();
        if (this.dragged) { this.dragged = false; return; }
        if (m && touch) { this.show(m, true); return; }
        if (m && m.to) { e.ctrlKey || e.metaKey ? open(m.to) : location.assign(m.to); return; }
        if (m) { this.show(m, true); return; }
        if (this.choose && this.inside(e.clientX, e.clientY)) { this.choose(this.place(e), touch, e); return; }
        this.hide();
      });
      if (!this.drag) return;
      svg.addEventListener("pointerdown", (e) => {
        if (e.button || !this.inside(e.clientX, e.clientY)) return;
        this.dragging = true;
        svg.setPointerCapture(e.pointerId);
        this.drag(this.place(e), true);
        this.hide();
      });
      const end = () => { if (this.dragging) { this.dragging = false; this.dragged = true; setTimeout(() => { this.dragged = false; }, 50); if (this.onDrop) this.onDrop(); } };
      svg.addEventListener("pointerup", end);
      svg.addEventListener("pointercancel", end);
    }
    keyed() {
      this.svg.addEventListener("keydown", (e) => {
        if (e.altKey || e.ctrlKey || e.metaKey) return;
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[e.key];
        const done = () => { e.preventDefault(); e.stopPropagation(); };
        if (this.zoom && (e.key === "+" || e.key === "=")) { this.scale(1.6); return done(); }
        if (this.zoom && e.key === "-") { this.scale(1 / 1.6); return done(); }
        if (this.zoom && e.key === "0") { this.scale(0); return done(); }
        if (e.key === "Escape") { this.hide(); return undefined; }
        if (step && e.shiftKey && this.zoom) {
          const by = 60 / this.transform.k * -step;
          const sideways = e.key === "ArrowLeft" || e.key === "ArrowRight";
          this.selection.call(this.zoom.translateBy, sideways ? by : 0, sideways ? 0 : -by);
          return done();
        }
        if (this.arrow && this.arrow(e)) return done();
        const seen = this.marks.filter((m) => m.says && m.px >= this.edges.left - 5 && m.px <= this.edges.right + 5).sort((a, b) => a.px - b.px || a.py - b.py);
        if (step && seen.length) {
          const now = seen.indexOf(this.marks[this.at]);
          const next = now < 0 ? (step > 0 ? 0 : seen.length - 1) : Math.max(0, Math.min(seen.length - 1, now + step));
          this.show(seen[next], false, true);
          return done();
        }
        if (e.key === "Enter" && this.marks[this.at] && this.marks[this.at].to) { location.assign(this.marks[this.at].to); return done(); }
        return undefined;
      });
      this.svg.addEventListener("blur", () => this.hide());
    }
    // line draws a line through points; what is null or NaN breaks it.
    line(points, role) {
      let d = "", pen = "M";
      for (const [x, y] of points) {
        if (y === null || y === undefined || !Number.isFinite(y)) { pen = "M"; continue; }
        d += pen + this.X(x).toFixed(1) + " " + this.Y(y).toFixed(1);
        pen = "L";
      }
      return node("svg:path", { class: role, d });
    }
    // band fills between lower and upper ends: [x, low, high].
    band(points, role) {
      const parts = [];
      let run = [];
      for (const p of [...points, [0, null]]) {
        if (p[1] !== null && Number.isFinite(p[1])) { run.push(p); continue; }
        if (run.length > 1) parts.push("M" + [...run.map((q) => [q[0], q[2]]), ...run.toReversed().map((q) => [q[0], q[1]])].map(([x, y]) => `${this.X(x).toFixed(1)} ${this.Y(y).toFixed(1)}`).join("L") + "Z");
        run = [];
      }
      return node("svg:path", { class: role, d: parts.join("") });
    }
  }
  const star = (x, y, r) => "M" + d3.range(10).map((k) => {
    const at = Math.PI * (k / 5 - 0.5), away = k % 2 ? r * 0.45 : r;
    return `${(x + away * Math.cos(at)).toFixed(1)} ${(y + away * Math.sin(at)).toFixed(1)}`;
  }).join("L") + "Z";

  // spanOf is the range of numbers, with some room at both ends.
  const spanOf = (values, room = 0.06) => {
    const known = values.filter((v) => v !== null && v !== undefined && Number.isFinite(v));
    if (!known.length) return [0, 1];
    const low = Math.min(...known), high = Math.max(...known), more = (high - low || Math.abs(high) || 1) * room;
    return [low - more, high + more];
  };
  // tableIn fills what holds the table behind a chart, when it is opened.
  const tableIn = (details, make) => {
    const fill = () => {
      if (!details.open) return;
      const { caption, head, rows } = make();
      const table = node("table", { class: "data" }, node("caption", { text: caption }), node("thead", {}, node("tr", {}, ...head.map((h) => node("th", { scope: "col", text: h })))));
      table.append(node("tbody", {}, ...rows.map((r) => node("tr", {}, ...r.map((c, k) => node(k ? "td" : "th", k ? { class: typeof c === "number" ? "n" : null, text: typeof c === "number" ? short(c) : c } : { scope: "row", text: c }))))));
      details.querySelector("[data-table]").replaceChildren(table);
    };
    details.addEventListener("toggle", fill);
    return fill;
  };
  const json = async (address) => {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(body.detail || `The server answered ${answer.status}.`);
    return body;
  };
  const select = (name, options, chosen, change) => {
    const id = "s-" + name.replace(/\W+/g, "-") + "-" + (select.count = (select.count || 0) + 1);
    const field = node("select", { id });
    for (const [value, text] of options) field.append(node("option", { value, text, selected: String(value) === String(chosen) }));
    field.addEventListener("change", () => change(field.value));
    return { field, whole: node("span", { class: "choice" }, node("label", { for: id, text: name }), field) };
  };
  // Drawings of the server can be saved, too.
  const savers = () => {
    for (const svg of document.querySelectorAll("#figures figure .report > svg")) {
      const figure = svg.closest("figure"), title = figure.querySelector("h3");
      if (!figure.querySelector(".plot-tools")) figure.append(node("div", { class: "plot-tools" }, saver(() => svg, () => title ? title.textContent : document.title)));
    }
  };
  savers();
  document.addEventListener("swapped", savers);
  window.Charts = { Plot, node, short, around, withUnit, spanOf, tableIn, json, select };
})();

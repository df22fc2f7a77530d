// Cards for drawings: what a mark's <title> says stands beside it at once, also under a thumb.
// The nearest mark within reach is meant, so that small ones can be hit.
"use strict";
(() => {
  const reach = { mouse: 20, pen: 20, touch: 32 }; // pixels of the screen from the middle of a mark
  const card = document.createElement("div");
  card.className = "card-tip";
  card.hidden = true;
  let of = null; // the mark that the card is about
  const known = new WeakMap(); // the marks of a drawing

  // where leads to what a mark is about; empty for nothing.
  const where = (mark) => {
    const link = mark.closest("a[href]");
    if (link) return link.getAttribute("href");
    const page = location.pathname.match(/^\/campaigns\/[^/]+/);
    return page && /^e\d+$/.test(mark.dataset.x || "") ? `${page[0]}/experiments/${mark.dataset.x}` : "";
  };
  // What a title says is moved where only this script and screen readers find it: the browser
  // would show it a second time.
  const marksOf = (svg) => {
    let marks = known.get(svg);
    if (marks && marks.every((m) => m.isConnected)) return marks;
    marks = [];
    for (const title of svg.querySelectorAll("title")) {
      const mark = title.parentElement;
      mark.dataset.says = title.textContent;
      const link = mark.closest("a[href]");
      if (!(link || mark).hasAttribute("aria-label")) (link || mark).setAttribute("aria-label", title.textContent);
      if (link && link !== mark) link.dataset.says = title.textContent;
      title.remove();
      if (mark !== svg) marks.push(mark);
    }
    for (const mark of svg.querySelectorAll("[data-says]")) if (mark.localName !== "a" && !marks.includes(mark)) marks.push(mark);
    known.set(svg, marks);
    return marks;
  };
  const middle = (mark) => {
    const box = mark.getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2, large: Math.max(box.width, box.height) > 40 };
  };
  const nearest = (svg, x, y, far, target) => {
    const under = target.closest && target.closest("[data-says]");
    if (under && under !== svg && svg.contains(under)) return under;
    let best = null, least = far;
    for (const mark of marksOf(svg)) {
      const at = middle(mark);
      const away = Math.hypot(at.x - x, at.y - y);
      if (!at.large && away <= least) [best, least] = [mark, away];
    }
    return best || (svg.dataset.says && svg.clientHeight < 60 ? svg : null); // a drawing as small as a mark
  };
  const lit = (mark, on) => { if (mark && mark.closest("[data-linked]")) mark.dispatchEvent(new MouseEvent(on ? "mouseover" : "mouseout", { bubbles: true })); };
  const hide = () => {
    if (card.hidden) return;
    if (of && of.classList) { of.classList.remove("pointed"); lit(of, false); }
    of = null;
    card.hidden = true;
  };
  const place = (x, y) => {
    const box = card.getBoundingClientRect(), gap = 14, wide = document.documentElement.clientWidth;
    const left = Math.max(6, Math.min(x - box.width / 2, wide - box.width - 6));
    const top = y - box.height - gap < 6 ? y + gap : y - box.height - gap;
    card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  };
  // present shows a card about something: its first line is its heading. One that is held can
  // be pointed at, and has the link.
  const present = (about, text, x, y, held, to, name) => {
    if (about !== of) hide();
    of = about;
    const [first, ...rest] = text.split("\n");
    const head = document.createElement("b");
    head.textContent = first;
    card.replaceChildren(head);
    if (rest.length) card.append(document.createElement("br"), rest.join("\n"));
    card.classList.toggle("held", !!held);
    if (held && to) {
      const link = document.createElement("a");
      link.href = to;
      link.textContent = "Open " + (name || "it");
      card.append(document.createElement("br"), link);
    }
    card.hidden = false;
    (document.querySelector("dialog[open]") || document.getElementById("main") || document.body).append(card);
    place(x, y);
  };
  window.Card = { present, hide, has: (e) => card.contains(e), reach };
  const show = (mark, x, y, held) => {
    if (mark !== of) { hide(); mark.classList.add("pointed"); lit(mark, true); }
    const at = middle(mark);
    present(mark, mark.dataset.says, at.large ? x : at.x, at.large ? y : at.y, held, where(mark), mark.dataset.x);
  };

  const drawing = (target) => {
    const svg = target.closest && target.closest("main svg");
    return svg && (svg.ownerSVGElement || svg);
  };
  const answers = (target) => !!(target.closest && target.closest("[data-plot]")); // a chart that has cards of its own
  document.addEventListener("pointermove", (e) => {
    if (e.pointerType === "touch" || answers(e.target)) return;
    const svg = drawing(e.target);
    if (!svg) { if (!card.contains(e.target)) hide(); return; }
    marksOf(svg);
    const mark = nearest(svg, e.clientX, e.clientY, reach.mouse, e.target);
    mark ? show(mark, e.clientX, e.clientY) : hide();
  }, { passive: true });
  // A thumb first reads, and then follows the link in the card; a mouse follows at once.
  document.addEventListener("click", (e) => {
    if (card.contains(e.target) || answers(e.target)) return;
    const svg = drawing(e.target), touch = e.pointerType === "touch" || e.pointerType === "pen";
    if (!svg) { hide(); return; }
    marksOf(svg);
    const mark = nearest(svg, e.clientX, e.clientY, touch ? reach.touch : reach.mouse, e.target);
    if (!mark) { hide(); return; }
    if (touch) {
      if (e.target.closest("a[href]") && mark !== of) e.preventDefault();
      show(mark, e.clientX, e.clientY, true);
      e.preventDefault();
      return;
    }
    const to = where(mark);
    if (to && !e.target.closest("a[href]") && !e.ctrlKey && !e.metaKey) location.assign(to);
  });
  document.addEventListener("focusin", (e) => {
    if (answers(e.target)) return;
    const svg = drawing(e.target), link = e.target.closest && e.target.closest("svg a");
    if (!svg || !link || !link.matches(":focus-visible")) return;
    marksOf(svg);
    const mark = link.dataset.says ? link.querySelector("[data-says]") || link : null;
    if (mark) { const at = middle(mark); show(mark, at.x, at.y); }
  });
  document.addEventListener("focusout", (e) => { if (drawing(e.target) && !answers(e.target)) hide(); });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true, capture: true });
})();

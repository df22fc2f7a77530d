// What the pages do beyond links and forms: changes by themselves, keys, sliders, dragging,
// kept input. Everything else works without.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const storage = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); } catch { /* none */ } },
  };

  // The theme: light, dark, or as the system has it.
  const theme = $("#theme");
  if (theme) {
    theme.hidden = false;
    const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const name = () => { theme.textContent = dark() ? "Light" : "Dark"; theme.setAttribute("aria-label", "Switch to the " + theme.textContent.toLowerCase() + " theme"); };
    theme.addEventListener("click", () => {
      const next = dark() ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      storage.set("theme", next);
      name();
    });
    name();
  }

  // Times in the visitor's own zone.
  const pad = (n) => String(n).padStart(2, "0");
  const localTimes = (root) => $$("time[datetime]", root).forEach((t) => {
    const d = new Date(t.dateTime);
    if (isNaN(d)) return;
    const day = `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
    const clock = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
    const now = new Date();
    t.textContent = d.toDateString() === now.toDateString() ? clock : `${day} ${clock}`;
    t.title = `${day} ${clock}`;
  });
  // What the server has sent, before times are written in the visitor's zone: a part is swapped
  // only where it differs, and not from under a finger that is about to press something in it.
  // Each time a form is made it has another identifier, which is no difference.
  const same = (html) => html.replace(/ name="request" value="[^"]*"/g, "");
  const seen = new Map($$("[data-live]").map((r) => [r.id, same(r.innerHTML)]));
  localTimes(document);

  // A slider beside the number of a form that shows the past.
  const slide = (root) => $$("form[data-slider]", root).forEach((form) => {
    const input = $("input[type=number]", form), slider = document.createElement("input");
    slider.type = "range";
    slider.min = input.min; slider.max = input.max; slider.value = slider.defaultValue = input.value;
    slider.setAttribute("aria-label", "as it was at experiment, slider");
    input.before(slider);
    slider.addEventListener("input", () => { input.value = slider.value; });
    slider.addEventListener("change", () => form.submit());
  });

  // Live: the server says which campaign has changed; the parts of the page that show it are
  // fetched and swapped in, but not under somebody's hands.
  const watch = document.body.dataset.watch;
  const regions = () => $$("[data-live]");
  let pendingFetch = 0, lastFetch = 0;
  // What had the focus before a dialog took it, and gets it back. It is exchanged with its part.
  let under = null;
  const focused = () => under || document.activeElement;
  const busy = (region) => {
    const active = focused();
    return (active && region.contains(active) && active.matches("input, textarea, select")) ||
      $$("input, textarea, select", region).some((field) => field.type !== "hidden" && field.value !== field.defaultValue && field.matches("input, textarea"));
  };
  const swap = (old, fresh) => {
    const before = $$("details", old), name = (d) => $("summary", d).textContent;
    const open = before.map((d) => d.open), named = before.filter((d) => d.open).map(name);
    const active = focused();
    let mark = null;
    if (active && old.contains(active)) {
      const like = $$(active.tagName, old);
      mark = { tag: active.tagName, at: like.indexOf(active), href: active.getAttribute("href"), text: active.textContent };
    }
    const scrolls = $$(".scroll", old).map((s) => s.scrollLeft);
    const own = old.scrollLeft;
    old.replaceChildren(...fresh.childNodes);
    const after = $$("details", old); // by their places where there are as many, else by what they are called
    after.forEach((d, i) => { if (after.length === open.length ? open[i] : named.includes(name(d))) d.open = true; });
    $$(".scroll", old).forEach((s, i) => { s.scrollLeft = scrolls[i] || 0; });
    old.scrollLeft = own;
    if (mark) {
      const like = $$(mark.tag, old);
      const same = like.find((e) => e.getAttribute("href") === mark.href && e.textContent === mark.text) || like[mark.at];
      if (under) under = same;
      else if (same) same.focus({ preventScroll: true });
    }
    localTimes(old);
    slide(old);
    old.dispatchEvent(new Event("swapped", { bubbles: true })); // for what other scripts add to it
  };
  const typed = (field) => {
    if (field.matches("[type=hidden], [type=range]")) return false; // a slider follows its number
    if (field.matches("select")) return field.selectedIndex !== Math.max(0, [...field.options].findIndex((o) => o.defaultSelected));
    if (field.matches("[type=checkbox], [type=radio]")) return field.checked !== field.defaultChecked;
    return field.value !== field.defaultValue;
  };
  // What a page is about: its parts that change, and what its forms are for. Where the address
  // has something else now, such as the next question, the form of what is to be measured or
  // the login, that is opened; what somebody has typed is not taken from them.
  const shape = (root) => $$("[data-live]", root).map((r) => r.id).concat($$("[data-shows]", root).map((e) => e.dataset.shows)).sort().join(" ");
  // Who has just followed a link or sent a form goes there: a page that is opened meanwhile would
  // take its place. What comes of it may be a file, so that this page stays.
  let held = null; // the answer that can be taken back
  let left = 0;
  addEventListener("beforeunload", () => { left = Date.now(); });
  const leaving = () => Date.now() - left < 3000;
  const moveOn = (url) => {
    if (held) return; // that opens another page
    if (leaving()) {
      pendingFetch ||= setTimeout(refresh, 3000);
      return;
    }
    const at = document.activeElement; // somebody is about to type
    if (!at.matches("#main form input, #main form textarea") && !$$("form input, form textarea, form select", $("#main")).some(typed)) {
      if (url === location.href) location.reload();
      else location.replace(url);
      return;
    }
    const note = $("#live-note"), link = document.createElement("a");
    if ($("a", note)) return;
    link.href = url;
    link.textContent = "Open what is there now.";
    note.replaceChildren("This page is no longer up to date; what you typed is still in it. ", link);
  };
  const refresh = async () => {
    pendingFetch = 0;
    lastFetch = Date.now();
    let answer, text;
    try {
      answer = await fetch(location.href, { headers: { "Campaignd-Fragment": "live" } });
      if (!answer.ok) return;
      text = await answer.text();
    } catch { return; }
    const page = new DOMParser().parseFromString(text, "text/html");
    if (answer.redirected || shape(page) !== shape(document)) {
      moveOn(answer.redirected ? answer.url : location.href);
      return;
    }
    for (const old of regions()) {
      const fresh = page.getElementById(old.id);
      if (!fresh || busy(old)) continue;
      const html = same(fresh.innerHTML);
      if (seen.get(old.id) === html) continue;
      seen.set(old.id, html);
      swap(old, document.importNode(fresh, true));
    }
  };
  const soon = () => {
    if (pendingFetch) return;
    pendingFetch = setTimeout(refresh, Math.max(0, 300 - (Date.now() - lastFetch)));
  };
  if (window.EventSource && document.body.dataset.known) {
    const at = document.body.dataset.at;
    const stream = new EventSource("/live" + (at && watch !== "*" ? "?" + new URLSearchParams({ campaign: watch, at }) : ""));
    let lost = false;
    stream.addEventListener("changed", (e) => { if (watch === "*" || watch === e.data) soon(); });
    stream.addEventListener("open-count", (e) => {
      const place = $("#open-count");
      if (!place || (place.querySelector(".count")?.firstChild.data || "0") === e.data) return;
      place.replaceChildren();
      if (e.data !== "0") {
        const count = document.createElement("span"), aside = document.createElement("span");
        count.className = "count";
        aside.className = "aside";
        aside.textContent = " open";
        count.append(e.data, aside);
        place.append(" ", count);
      }
      seen.set(place.id, place.innerHTML);
    });
    stream.addEventListener("open", () => {
      if (lost) { lost = false; $("#live-note").textContent = "Connected again."; }
      if (watch) soon(); // what has changed between the making of this page and the first word of the stream
    });
    stream.addEventListener("error", () => { if (!lost) { lost = true; $("#live-note").textContent = "The connection is lost; the page tries again by itself."; } });
  }

  // How long something has been so goes on.
  const duration = (s) => {
    const parts = [[Math.floor(s / 86400), "d"], [Math.floor(s / 3600) % 24, "h"], [Math.floor(s / 60) % 60, "min"], [s % 60, "s"]];
    const first = parts.findIndex(([n]) => n > 0);
    return first < 0 ? "0 s" : parts.slice(first, first + 2).filter(([n]) => n > 0).map(([n, unit]) => `${n} ${unit}`).join(" ");
  };
  const count = () => $$("[data-age]").forEach((e) => {
    const seconds = Math.floor((Date.now() - new Date(e.dataset.age)) / 1000);
    if (seconds >= 0) e.textContent = duration(seconds);
  });
  setInterval(count, 1000);

  // What is worked out in the background is looked at again until it is there.
  setInterval(() => { if ($("[data-poll]")) soon(); }, 1000);

  // Keys: one for each button that shows it, where nobody is typing.
  const find = () => $("main input[type=search]");
  const keyed = () => $$("button[data-key]").filter((b) => !b.disabled && !b.closest("[inert]"));
  const named = (b) => { const copy = b.cloneNode(true); $$("kbd", copy).forEach((k) => k.remove()); return copy.textContent.trim(); };
  const keyList = () => {
    const list = keyed().map((b) => [b.dataset.key, named(b)]);
    const rank = $("[data-rank]");
    if (rank) list.unshift([`1 … ${$$(".side", rank).length}`, "Put that one next in the order, or take it out again"]);
    if ($("form[data-keep]")) list.unshift(["Enter ↓ ↑", "Go from row to row"]);
    if ($("form[data-batch]")) list.push(["Enter ↓ ↑", "Go from row to row; with Ctrl, Enter records"]);
    list.push(["/", find() ? "Find" : "Find a campaign"]);
    return list.concat(places().map(([key, link]) => ["g " + key, "Go to " + link.textContent.replace(/\s*\d+\s*open\s*$/, "").trim()]), [["?", "Show these keys"]]);
  };
  // g and a letter lead to the pages of the head, and from those of a campaign to it and
  // its results: g c the campaigns, g q the questions, g o the one that the page is about.
  const places = () => {
    const of = (key, selector) => { const link = $(selector); return link ? [[key, link]] : []; };
    const taken = new Set(["c", "q", "n", "o"]);
    const others = $$(".top nav a:not(.brand)").filter((a) => !a.matches('[href="/campaigns"], [href="/questions"]')).flatMap((a) => {
      const key = a.textContent.trim()[0].toLowerCase();
      if (taken.has(key)) return [];
      taken.add(key);
      return [[key, a]];
    });
    return [...of("c", '.top nav a:not(.brand)[href="/campaigns"]'), ...of("q", '.top nav a[href="/questions"]'),
      ...of("n", 'main a[href="/new"]'), ...of("o", ".crumbs a"), ...others];
  };
  let going = 0; // until when a letter after g leads somewhere
  const help = () => {
    under = document.activeElement;
    const dialog = document.createElement("dialog"), heading = document.createElement("h2"), list = document.createElement("dl");
    heading.id = "keys-h";
    heading.textContent = "Keys of this page";
    dialog.setAttribute("aria-labelledby", heading.id);
    for (const [key, does] of keyList()) {
      const term = document.createElement("dt"), what = document.createElement("dd");
      key.split(" ").forEach((part) => {
        const one = document.createElement(part === "…" ? "span" : "kbd");
        one.textContent = part;
        term.append(one, " ");
      });
      what.textContent = does;
      list.append(term, what);
    }
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close";
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => { dialog.remove(); if (under && under !== document.body) under.focus(); under = null; });
    dialog.append(heading, list, close);
    document.body.append(dialog);
    dialog.showModal();
  };
  $("#show-keys").hidden = false;
  $("#show-keys").addEventListener("click", help);
  const heard = (key) => {
    const rank = $("[data-rank]");
    if (rank && !held && /^[1-9]$/.test(key)) {
      const side = $$(".side", rank).find((s) => s.id === "" && s.dataset.key === key);
      if (side) pick(side);
      return !!side;
    }
    if (Date.now() < going) {
      going = 0;
      const place = places().find(([letter]) => letter === key);
      if (place) place[1].click();
      return !!place;
    }
    if (key === "g") { going = Date.now() + 1500; return true; }
    if (key === "?") { help(); return true; }
    if (key === "/") {
      if (find()) { find().focus(); find().select(); }
      else if (places().length) location.assign("/campaigns#q");
      return true;
    }
    const button = keyed().find((b) => b.dataset.key === key);
    if (button) button.click();
    return !!button;
  };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.repeat || $("dialog[open]")) return;
    const typing = e.target.matches("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, summary, [contenteditable]");
    if (typing || (e.key === "Enter" && e.target.closest("a, button"))) return;
    if (heard(e.key)) e.preventDefault();
  });
  if (location.hash === "#q" && find()) find().focus();

  // A menu closes when one goes elsewhere.
  document.addEventListener("click", (e) => $$("details[data-menu][open]").forEach((menu) => { if (!menu.contains(e.target)) menu.open = false; }));
  document.addEventListener("keydown", (e) => {
    const menu = e.key === "Escape" && e.target.closest && e.target.closest("details[data-menu][open]");
    if (menu) { menu.open = false; $("summary", menu).focus(); }
  });
  // Paper.
  $$("[data-print]").forEach((b) => { b.hidden = false; b.addEventListener("click", () => print()); });

  // An answer is held for a moment, in which it can be taken back. A person who leaves the page
  // does not doubt it any more: it is sent then.
  const release = () => {
    const { form, opened, began, bar, clock } = held;
    held = null;
    clearInterval(clock);
    bar.remove();
    form.inert = false;
    if (opened) opened.value = Number(opened.value) + Date.now() - began; // the answer took no longer
  };
  const send = () => {
    const { form, button } = held;
    release();
    form.dataset.given = "yes";
    form.requestSubmit(button);
  };
  document.addEventListener("submit", (e) => {
    const form = e.target, button = e.submitter;
    if (!form.matches("form.answer")) return;
    if (form.dataset.given) { delete form.dataset.given; return; }
    e.preventDefault();
    if (held || form.dataset.sent) return;
    const bar = document.createElement("div"), text = document.createElement("p"), buttons = document.createElement("div");
    const words = document.createElement("strong"), rest = document.createElement("span");
    let seconds = Number(form.closest("[data-undo]").dataset.undo);
    const show = () => { rest.textContent = `. It is sent in ${seconds} s, or when you leave this page.`; };
    const press = (name, key, does) => {
      const b = document.createElement("button"), k = document.createElement("kbd");
      b.type = "button";
      b.dataset.key = k.textContent = key;
      b.append(name + " ", k);
      b.addEventListener("click", does);
      buttons.append(b);
      return b;
    };
    bar.className = "box undo";
    buttons.className = "buttons";
    words.textContent = named(button);
    text.append("Your answer: ", words, rest);
    text.id = "held";
    press("Undo", "z", () => { release(); $("#said").innerHTML = `<p class="said">Taken back. Nothing was sent.</p>`; button.focus(); });
    const now = press("Send it now", "s", send);
    now.setAttribute("aria-describedby", text.id);
    bar.append(text, buttons);
    form.after(bar);
    form.inert = true;
    held = { form, button, bar, began: Date.now(), opened: form.elements.opened };
    held.clock = setInterval(() => { seconds -= 1; if (seconds > 0) show(); else send(); }, 1000);
    show();
    now.focus();
  });
  addEventListener("pagehide", () => {
    if (!held) return;
    const { form, button } = held;
    release();
    navigator.sendBeacon(form.action, new URLSearchParams(new FormData(form, button)));
  });
  document.addEventListener("visibilitychange", () => { if (held && document.hidden) send(); });

  // A form is sent once. The button that was pressed must still be among what is sent.
  document.addEventListener("submit", (e) => {
    if (e.defaultPrevented) return;
    const form = e.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) { e.preventDefault(); return; }
    form.dataset.sent = "yes";
    setTimeout(() => { delete form.dataset.sent; }, 5000);
  });
  window.addEventListener("pageshow", () => $$("form[data-sent]").forEach((f) => delete f.dataset.sent));

  // Files may be more than a proxy between passes on (nginx by itself: 1 MB). Its answer would take the
  // place of this page, with all that was typed, and name nothing: so they are sent from here.
  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (e.defaultPrevented || form.enctype !== "multipart/form-data") return;
    const body = new FormData(form, e.submitter);
    let size = 0;
    for (const value of body.values()) size += value.size || value.length || 0;
    if (size < 500000) return;
    e.preventDefault();
    const refused = (why) => {
      $$("[data-proxy]", form.parentNode).forEach((old) => old.remove());
      const box = document.createElement("div"), text = document.createElement("p");
      box.className = "box bad"; box.setAttribute("role", "alert"); box.dataset.proxy = "";
      text.textContent = why; box.append(text); form.before(box); box.scrollIntoView({ block: "nearest" });
      delete form.dataset.sent;
    };
    const amount = `${(size / 1e6).toFixed(1)} MB`;
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "text/html" } });
      if (answer.status === 413 && !answer.headers.has("Content-Security-Policy")) {
        const who = answer.headers.get("Server");
        refused(`A proxy before the server${who ? ` (${who})` : ""} does not pass on ${amount}, and nothing was recorded. ` +
          "Have it pass on 64 MB, in nginx by client_max_body_size 64m; or send less at once.");
      } else if (answer.redirected) {
        location.assign(answer.url);
      } else {
        const text = await answer.text();
        document.open(); document.write(text); document.close();
      }
    } catch {
      refused(`The connection was cut while ${amount} were sent. A proxy before the server may not pass on so much, ` +
        "in nginx by client_max_body_size. What was recorded, the page shows when it is loaded again.");
    }
  });

  // A value that is typed says that there is one.
  $$("[data-means]").forEach((field) => field.addEventListener("input", () => {
    const radio = $(`input[name="${field.dataset.means}"][value=measured]`, field.form);
    if (radio && field.value.trim()) radio.checked = true;
  }));

  // The last row is followed by an empty one as soon as something stands in it.
  $$("[data-rows]").forEach((rows) => rows.addEventListener("input", (e) => {
    const last = rows.lastElementChild;
    if (!last.contains(e.target) || !e.target.value.trim()) return;
    const fresh = last.cloneNode(true), n = rows.children.length;
    $$("label", fresh).forEach((l) => { l.htmlFor += "-" + n; });
    $$("input", fresh).forEach((f) => { f.id += "-" + n; f.value = ""; f.removeAttribute("value"); });
    rows.append(fresh);
  }));

  // A sitting is kept as it is typed.
  const sitting = $("form[data-keep]");
  if (sitting) {
    const key = "sitting " + sitting.dataset.question;
    const fields = $$("input[name^='v.']", sitting);
    const count = () => { const s = $("[data-filled]", sitting); if (s) s.textContent = `(${fields.filter((f) => f.value.trim()).length} of ${fields.length})`; };
    try {
      const kept = JSON.parse(storage.get(key) || "{}");
      fields.forEach((f) => { if (f.value === "" && kept[f.name]) f.value = kept[f.name]; });
    } catch { /* what was kept cannot be read */ }
    count();
    sitting.addEventListener("input", () => {
      storage.set(key, JSON.stringify(Object.fromEntries(fields.filter((f) => f.value.trim()).map((f) => [f.name, f.value]))));
      count();
    });
    sitting.addEventListener("keydown", (e) => {
      const at = fields.indexOf(e.target);
      if (at < 0) return;
      const next = { Enter: at + 1, ArrowDown: at + 1, ArrowUp: at - 1 }[e.key];
      if (next === undefined) return;
      e.preventDefault();
      if (fields[next]) { fields[next].focus(); fields[next].select(); }
    });
    if ($(".box.good strong")) storage.set(key, null); // it is answered
  }

  // A ranking: drag, buttons, or the numbers in the order of preference. The selects hold it.
  let pick = () => {};
  const rank = $("[data-rank]");
  if (rank) {
    const sides = () => $$(".side", rank);
    const select = (side) => $("[data-place]", side);
    const all = sides();
    all.forEach((side, i) => { side.dataset.key = String(i + 1); });
    const show = () => all.forEach((side) => {
      const place = select(side).value;
      let mark = $(".rank", side);
      if (!mark) { mark = document.createElement("span"); mark.className = "rank"; $("h2", side).append(" ", mark); }
      mark.textContent = place ? (place === "1" ? "1st, the best" : "place " + place) : "";
    });
    const order = () => { sides().forEach((side, i) => { select(side).value = String(i + 1); }); show(); };
    pick = (side) => {
      if (select(side).value) { // taken back, with those after it
        const from = Number(select(side).value);
        all.forEach((s) => { if (Number(select(s).value) >= from) select(s).value = ""; });
      } else {
        select(side).value = String(1 + Math.max(0, ...all.map((s) => Number(select(s).value))));
      }
      show();
    };
    let dragged = null;
    all.forEach((side) => {
      side.draggable = true;
      const moves = document.createElement("div");
      moves.className = "moves";
      for (const [text, step] of [["Better", -1], ["Worse", 1]]) {
        const b = document.createElement("button");
        b.type = "button";
        b.textContent = text;
        b.setAttribute("aria-label", `${side.dataset.option} is ${text.toLowerCase()} than its neighbor`);
        b.addEventListener("click", () => {
          const now = sides(), at = now.indexOf(side), to = at + step;
          if (to < 0 || to >= now.length) return;
          step < 0 ? now[to].before(side) : now[to].after(side);
          order();
          b.focus();
        });
        moves.append(b);
      }
      side.append(moves);
      side.addEventListener("dragstart", (e) => { dragged = side; side.classList.add("dragging"); e.dataTransfer.effectAllowed = "move"; });
      side.addEventListener("dragend", () => { side.classList.remove("dragging"); dragged = null; order(); });
      side.addEventListener("dragover", (e) => {
        if (!dragged || dragged === side) return;
        e.preventDefault();
        const now = sides();
        now.indexOf(dragged) < now.indexOf(side) ? side.after(dragged) : side.before(dragged);
      });
      select(side).addEventListener("change", show);
    });
    show();
  }

  // A composition of one's own: a slider beside each number, and whether it can be measured.
  const points = $("form[data-feasible]");
  if (points) {
    const fit = $("#fit");
    let asked = 0, timer = 0;
    const check = async () => {
      const mine = ++asked;
      const missing = $$("input[name^='p.']", points).filter((f) => !f.value.trim());
      if (missing.length) {
        fit.textContent = "Still to be chosen: " + missing.map((f) => f.name.slice(2)).join(", ") + ".";
        fit.className = "fit";
        return;
      }
      const query = new URLSearchParams(new FormData(points));
      for (const key of [...query.keys()]) if (!key.startsWith("p.")) query.delete(key);
      try {
        const answer = await (await fetch(points.dataset.feasible + "?" + query)).json();
        if (mine !== asked) return;
        fit.textContent = (answer.ok ? "✓ " : "✗ ") + answer.text;
        fit.className = "fit " + (answer.ok ? "yes" : "no");
      } catch { /* the server says so when it is sent */ }
    };
    const later = () => { clearTimeout(timer); timer = setTimeout(check, 200); };
    $$("input[data-min][data-max]", points).forEach((input) => {
      const slider = document.createElement("input");
      slider.type = "range";
      slider.min = input.dataset.min;
      slider.max = input.dataset.max;
      const span = Number(slider.max) - Number(slider.min);
      slider.step = input.dataset.step === "any" ? String(10 ** Math.floor(Math.log10(span / 400))) : input.dataset.step;
      slider.value = input.value || String((Number(slider.min) + Number(slider.max)) / 2);
      slider.setAttribute("aria-label", input.name.slice(2) + ", slider");
      input.after(slider);
      slider.addEventListener("input", () => { input.value = String(Number(Number(slider.value).toPrecision(6))); later(); });
      input.addEventListener("input", () => { slider.value = input.value; later(); });
    });
    points.addEventListener("input", later);
    check();
  }

  // History.
  slide(document);
  $$("form[data-auto]").forEach((form) => form.addEventListener("change", () => form.submit()));

  // What belongs to one experiment is highlighted together.
  const light = (id, on) => $$("[data-linked] [data-x]").forEach((e) => e.classList.toggle("lit", on && e.dataset.x === id));
  for (const [type, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) {
    document.addEventListener(type, (e) => {
      const of = e.target.closest && e.target.closest("[data-linked] [data-x]");
      if (of) light(of.dataset.x, on);
    });
  }

  // From here on keys are heard, and so are those that came before, in their order, until one of
  // them does something: what a person presses in vain they press again.
  document.documentElement.dataset.keys = "heard";
  for (const early of window.takeEarlyKeys ? window.takeEarlyKeys() : []) {
    if (Date.now() - early.at < 5000 && heard(early.key) && !/^[1-9g]$/.test(early.key)) break;
  }
})();

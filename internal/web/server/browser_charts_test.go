package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// charted is a campaign of two quantities, under a bound on one of them; policy chooses after
// the initial design, which is the same for all policies.
func charted(name, policy string) string {
	return `name: ` + name + `
seed: 4
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
quantities:
  - {name: conductivity, unit: mS/cm}
  - {name: viscosity, unit: mPa·s, scale: log}
objective: {maximize: conductivity}
constraints_on_outcomes: [viscosity <= 3]
initial: {experiments: 6}
budget: {experiments: 10}
instrument: {simulated: {task: electrolyte, noise: 0.14, noises: {viscosity: 0.05}}}
policy: ` + policy + "\n"
}

// complaints collects what the browser has to say against a page: what its policy refuses, and
// what its scripts throw.
func (v *visitor) complaints() func() []string {
	v.t.Helper()
	var mu sync.Mutex
	var all []string
	add := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, text)
	}
	must.Do(v.t, chromedp.Listen(v.ctx, func(e any) {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			add(fmt.Sprintf("%s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		case *log.EventEntryAdded:
			add(e.Entry.Text)
		}
	}))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// spot is a place on the screen.
type spot struct{ X, Y float64 }

// middle scrolls to an element, and returns where its middle is then.
func (v *visitor) middle(selector string) spot {
	v.t.Helper()
	quoted, _ := json.Marshal(selector)
	v.until(selector+" is there", `!!document.querySelector(`+string(quoted)+`)`)
	return ask[spot](v, `(async () => { const find = () => document.querySelector(`+string(quoted)+`); find().scrollIntoView({block: "center"});
		for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
		const b = find().getBoundingClientRect(); return {X: b.x + b.width / 2, Y: b.y + b.height / 2}; })()`, chromedp.EvalAwaitPromise)
}

// card is what the card says that is shown now.
const card = `(() => { const c = document.querySelector(".card-tip"); return c && !c.hidden ? c.innerText : ""; })()`

// charts opens the charts of a campaign, and waits until they answer.
func (v *visitor) charts(name string) {
	v.t.Helper()
	v.open("/campaigns/" + name + "/charts")
	v.until("the charts are drawn", `document.querySelector("#explore").dataset.ready === "yes" &&
		!!document.querySelector("#map [data-drawn]") && !!document.querySelector(".shares > div")`)
}

// Law: charts answer a hand. A mark near the pointer, or under a thumb, has a card that says what was
// measured there; keys go from mark to mark and zoom; the map has the axes that are chosen; who drags a
// slice sees what the API predicts of that composition; courses that share their starts are compared
// in pairs; a chart is saved as it stands, with all that its stylesheet says. Nothing of it breaks the pages' policy, no letter is smaller than 11 pixels on a phone, and
// axe knows no barrier.
func TestCharts(t *testing.T) {
	t.Parallel()
	v := browse(t, house(t).url)
	complaints := v.complaints()
	v.open("/campaigns")
	v.logIn("ada")
	for name, policy := range map[string]string{"one": "logei", "two": "random"} {
		v.define(name, charted(name, policy))
	}
	for _, name := range []string{"one", "two"} {
		for ask[string](v, `fetch("/api/v1/campaigns/`+name+`").then(r => r.text())`, chromedp.EvalAwaitPromise) == "" ||
			!strings.Contains(ask[string](v, `fetch("/api/v1/campaigns/`+name+`").then(r => r.text())`, chromedp.EvalAwaitPromise), `"completed"`) {
			time.Sleep(200 * time.Millisecond)
		}
	}

	v.charts("one")
	at := v.middle(`#course [data-x="e3"]`)
	v.do("point near a mark", chromedp.MouseEvent(chromedp.MouseMoved, at.X+7, at.Y-6))
	v.until("there is a card", card+`.includes("e3: ")`)
	value := ask[float64](v, `fetch("/api/v1/campaigns/one/course").then(r => r.json()).then(c => c.experiments[2].values[0])`, chromedp.EvalAwaitPromise)
	if said := ask[string](v, card); !strings.Contains(said, fmt.Sprintf("%.5g", value)) || !strings.Contains(said, "lipf6 ") {
		t.Errorf("of e3, which measured %v, the card says %q", value, said)
	}
	v.do("go away", chromedp.MouseEvent(chromedp.MouseMoved, 5, 5))
	v.until("there is no card", card+` === ""`)
	at = v.middle(`#course [data-x="e4"]`)
	v.do("touch near a mark", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("#course svg").dispatchEvent(
		new PointerEvent("click", {pointerType: "touch", bubbles: true, clientX: %v, clientY: %v}))`, at.X+9, at.Y+9)))
	v.until("the card leads to it", `document.querySelector(".card-tip:not([hidden]) a")?.pathname === "/campaigns/one/experiments/e4"`)

	v.do("zoom by key", chromedp.Evaluate[chromedp.Void](`document.querySelector("#course svg").focus()`), chromedp.KeyEvent("+"))
	v.until("it is zoomed", `document.querySelector("#course svg").classList.contains("zoomed")`)
	v.do("show all, and go to a mark by key", chromedp.KeyEvent("0"))
	v.until("it is not", `!document.querySelector("#course svg").classList.contains("zoomed")`)
	v.do("go on by key", chromedp.Evaluate[chromedp.Void](`document.querySelector("#course svg").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}))`))
	v.until("it is said", `document.querySelector("#course [aria-live]").textContent.startsWith("e5: ")`)

	choose := func(label, value string) step {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => { const l = [...document.querySelectorAll("#map label")].find(l => l.textContent === %q);
			const f = document.getElementById(l.htmlFor); f.value = [...f.options].find(o => o.textContent === %q).value; f.dispatchEvent(new Event("change")); })()`, label, value))
	}
	v.do("choose the axes", choose("across", "ec"), choose("up", "lipf6"), choose("show", "viscosity, sd"))
	v.until("they are drawn", `document.querySelector("#map [data-drawn]").dataset.drawn === "ec lipf6"`)
	at = v.middle("#map svg")
	v.do("point at the map", chromedp.MouseEvent(chromedp.MouseMoved, at.X+30, at.Y+30))
	v.until("it says what is expected there", card+`.includes("viscosity: ") && `+card+`.includes("±") && `+card+`.includes("nearest measured")`)

	before := ask[string](v, `document.querySelector("#expected").dataset.at`)
	at = v.middle(`[data-slice="dmc"] svg`)
	v.do("drag a slice",
		chromedp.MouseEvent(chromedp.MousePressed, at.X, at.Y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseMoved, at.X-40, at.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, at.X-60, at.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, at.X-60, at.Y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	quoted, _ := json.Marshal(before)
	v.until("the composition is another one", `document.querySelector("#expected").dataset.at !== `+string(quoted))
	differ := ask[float64](v, `(async () => { await new Promise(r => setTimeout(r, 1000));
		const e = document.querySelector("#expected"), at = JSON.parse(e.dataset.at);
		const r = await fetch("/api/v1/campaigns/one/predict", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({points: [at]})});
		return at.dmc < 0.05 || at.dmc > 0.95 ? 99 : Math.abs((await r.json()).predictions[0].mean - Number(e.dataset.mean)); })()`, chromedp.EvalAwaitPromise)
	if !(differ < 1e-9) || math.IsNaN(differ) {
		t.Errorf("what is said of the dragged composition is %v from its prediction", differ)
	}

	saved := ask[string](v, `(async () => {
		let file = null, named = "";
		const link = HTMLAnchorElement.prototype, click = link.click, url = URL.createObjectURL;
		URL.createObjectURL = (blob) => { file = blob; return url.call(URL, blob); };
		link.click = function () { named = this.download; };
		[...document.querySelectorAll("#map .plot-tools button")].find(b => b.textContent === "Save SVG").click();
		link.click = click; URL.createObjectURL = url;
		const page = new DOMParser().parseFromString(await file.text(), "image/svg+xml"), svg = page.documentElement;
		const bare = [...svg.querySelectorAll("path")].filter(p => !/^(none|rgba?[(]|url)/.test(p.getAttribute("fill")));
		return [named, svg.namespaceURI, svg.querySelectorAll("text").length > 5, svg.querySelectorAll("path").length > 5, bare.length,
			page.querySelectorAll("[class], [style], script, parsererror").length].join(" ");
	})()`, chromedp.EvalAwaitPromise)
	if want := "one-map-viscosity-over-ec-and-lipf6.svg http://www.w3.org/2000/svg true true 0 0"; saved != want {
		t.Errorf("the saved map is %q, want %q", saved, want)
	}

	for _, name := range []string{"course", "map", "slices", "importance", "pairs"} {
		v.do("open the table", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("#%s details").open = true`, name)))
		v.until("there is a table", fmt.Sprintf(`document.querySelectorAll("#%s details td").length > 2`, name))
	}
	v.inPlace("charts")
	v.do("a phone", chromedp.EmulateViewport(380, 800))
	v.until("it is drawn for it", `document.querySelector("#course svg").getBoundingClientRect().width < 380`)
	small := ask[[]string](v, `[...document.querySelectorAll("#main svg text")].filter(t => t.getClientRects().length &&
		parseFloat(getComputedStyle(t).fontSize) * (t.getScreenCTM()?.a ?? 1) < 10.99).map(t => t.closest("section")?.innerText.slice(0, 30) + ": " + t.textContent)`)
	if len(small) > 0 {
		t.Errorf("%d texts are smaller than 11 pixels, such as %q", len(small), small[0])
	}
	v.do("a screen", chromedp.ResetViewport())

	v.open("/compare?c=one")
	v.do("choose the other one", chromedp.Click(css(`input[name=c][value=two]`)))
	v.press("form button.primary")
	v.sees("two less one, which share their first 6 experiments")
	at = v.middle(`#over .dot`)
	v.do("point at a mark", chromedp.MouseEvent(chromedp.MouseMoved, at.X, at.Y))
	v.until("it says whose it is", card+`.includes("the best so far")`)
	v.inPlace("compared")
	v.open("/campaigns/one")
	at = v.middle(`#course [data-x="e2"]`)
	v.do("point near a mark of a still drawing", chromedp.MouseEvent(chromedp.MouseMoved, at.X+8, at.Y))
	v.until("there is a card, too", card+`.startsWith("e2: ")`)
	if all := complaints(); len(all) > 0 {
		t.Errorf("the browser complains: %q", all)
	}
}

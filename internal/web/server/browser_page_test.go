package server_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Law: the page of a campaign with 250 experiments is under 1,500 px high; why an experiment
// was chosen stands in one line of its table, and whole after a click; what can be done with
// the campaign is one click away, at the top, and closes by a key.
func TestCampaignPageIsShort(t *testing.T) {
	t.Parallel()
	v := opened(t)
	v.define("long", `name: long
description: Two hundred and fifty experiments.
parameters: [{name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}, {name: ec, unit: kg/kg, min: 0.3, max: 0.52}, {name: dmc, min: 0, max: 1}]
objective: {name: conductivity, unit: mS/cm, goal: maximize}
policy: sobol
budget: {experiments: 250}
instrument: {simulated: {task: electrolyte, noise: 0.27}}
`)
	v.open("/new") // a page that does not look at it: models are fitted for those who do
	ask[bool](v, `(async () => {
		for (;;) {
			const campaign = await (await fetch("/api/v1/campaigns/long")).json();
			if (campaign.status === "completed") return true;
			await new Promise(r => setTimeout(r, 100));
		}
	})()`, chromedp.EvalAwaitPromise)
	v.do("size", chromedp.EmulateViewport(1440, 900))
	v.open("/campaigns/long")
	v.until("the model is there", `document.querySelector("#now").innerText.includes("±")`)
	if height := ask[int](v, `document.documentElement.scrollHeight`); height >= 1500 {
		t.Errorf("it is %d px high", height)
	}
	rows := ask[[]int](v, `[...document.querySelectorAll("#experiments tbody tr")].map(r => r.offsetHeight)`)
	if len(rows) != 20 {
		t.Errorf("it lists %d experiments", len(rows))
	}
	for _, height := range rows {
		if height > 40 {
			t.Errorf("a row is %d px high", height)
		}
	}
	v.define("asked", `name: asked
parameters: [{name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}, {name: ec, unit: kg/kg, min: 0.3, max: 0.52}, {name: dmc, min: 0, max: 1}]
objective: {name: conductivity, unit: mS/cm, goal: maximize}
initial: {experiments: 3, estimates: 8}
budget: {experiments: 6}
instrument: {simulated: {task: electrolyte, noise: 0.27}}
experts: [{name: sim, simulated: {accuracy: 2}}]
`)
	v.sees("6 of 6")
	v.open("/campaigns/asked")
	const reason = `document.querySelector("#experiments .reason p").checkVisibility()`
	if ask[bool](v, reason) {
		t.Error("the whole reason is shown at once")
	}
	v.do("ask why", chromedp.Click(css("#experiments .reason summary")))
	if !ask[bool](v, reason) {
		t.Error("the whole reason is not shown after a click")
	}
	v.do("open what can be done", chromedp.Click(css("[data-menu] > summary")))
	v.sees("Exclude compositions")
	v.inPlace("a campaign with its actions open")
	v.do("size and close", chromedp.EmulateViewport(1440, 900), chromedp.Focus(css("[data-menu] > summary")),
		chromedp.KeyEvent("\x1b"))
	if v.has("[data-menu][open]") {
		t.Error("the actions are still open")
	}
	v.barriers("/campaigns/long?tab=compositions")
	v.barriers("/campaigns/long?tab=instruments")
}

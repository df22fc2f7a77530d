package server_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Law: the page that a person opens by beginning a campaign follows it to its end, untouched: the
// counts in its bar, the slider of the past, what it says has happened, and what can be done.
func TestAnOpenPageFollows(t *testing.T) {
	t.Parallel()
	v := lives(t)
	v.open("/begin")
	v.press(`button[value=electrolyte]`)
	v.until("the campaign has ended on the open page", `document.querySelector("#state").innerText.includes("completed")`)
	v.until("the last row stands on the open page", `document.querySelector("#going").innerText.includes("25 of 25")`)
	for what, expression := range map[string]string{
		"the bar counts them":                 `document.querySelector("#bar [aria-current] .hint").innerText === "25"`,
		"the past has a slider to its end":    `document.querySelectorAll("#history input[type=range]").length === 1 && document.querySelector("#history input[type=range]").max === "25"`,
		"nothing says that it has just begun": `!document.body.innerText.includes("has begun")`,
		"nothing of it can be paused":         `!document.querySelector("#acts").innerText.includes("Pause it") && !document.querySelector('form[action$="/pause"]')`,
		"it is marked as simulated":           `document.querySelector("#state .world").innerText === "simulated"`,
	} {
		v.until(what, expression)
	}
	v.do("go back in time", chromedp.Evaluate[chromedp.Void](`const slider = document.querySelector("#history input[type=range]");
		slider.value = 7; slider.dispatchEvent(new Event("input")); slider.dispatchEvent(new Event("change"))`))
	v.sees("As it was at experiment 7")
}

// Law: in a browser a table whose cell is mended keeps its choices, the preview says what happens
// first, rows that cannot be taken are named before the campaign begins, and it begins as chosen.
func TestATableIsMendedInABrowser(t *testing.T) {
	t.Parallel()
	v := lives(t)
	v.open("/begin/table")
	v.do("paste a table", chromedp.SetValue(css("#table"), "temp;time;yield;cost\n20;2;30;5\n35;3;50;4\n40;1;20;9\n55;2;35;7\n60;3;>90;6\n"))
	v.press(`button[value=look]`)
	v.do("choose", chromedp.SetValue(css("#role-2"), "quantity"), chromedp.SetValue(css("#role-3"), "minimize"), fill("#called", "mended"))
	v.do("mend a cell", chromedp.Evaluate[chromedp.Void](`document.querySelector("details.more").open = true;
		document.querySelector("#table").value = document.querySelector("#table").value.replace("35;3;50", "35;3;51")`))
	v.press(`.buttons button[value=look]`)
	v.until("the choices are kept", `document.querySelector("#role-2").value === "quantity" && document.querySelector("#role-3").value === "minimize" && document.querySelector("#called").value === "mended"`)
	v.press(`.buttons button[value=write]`)
	v.until("the file seeks what was chosen", `document.querySelector("#source").value.includes("objective: {minimize: cost}")`)
	v.until("the preview is there", `document.querySelector("#verdict").innerText.includes("taken along")`)
	if said := ask[string](v, `document.querySelector("#verdict").innerText`); !strings.Contains(said, "chooses from the") {
		t.Errorf("the preview says %q", said)
	}
	v.inPlace("rows before a campaign begins")
	if v.has("#along .box.bad .faults") {
		v.do("leave out what cannot be taken", chromedp.Click(css("input[name=skip]")))
		v.until("they are left out", `!document.querySelector("#along .box.bad .faults")`)
	}
	v.press(`form[action="/new"] .thumbs button.primary`)
	v.sees("is to be measured by hand")
}

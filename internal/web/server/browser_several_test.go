package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/chromedp/chromedp"
)

// traded is a trade-off that a person measures: of its three quantities one is only modelled.
const traded = `name: traded
parameters: [{name: x, min: 0, max: 1}]
quantities:
  - {name: conductivity, unit: mS/cm, min: 0, max: 30, noise: 0.05}
  - {name: viscosity, unit: mPa·s, scale: log, noise: 0.01}
  - {name: density, unit: g/mL, noise: 0.01}
objective:
  tradeoff: [{maximize: conductivity}, {minimize: viscosity}]
constraints_on_outcomes: [viscosity <= 4]
initial: {experiments: 5}
budget: {experiments: 12}
instrument: manual
`

// onPhone has axe look at the page that is open, on a phone.
func (v *visitor) onPhone(what string) {
	v.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		v.do("theme", chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.documentElement.dataset.theme = %q", theme)))
		if v.axe != "" {
			v.axeOn(what + ", " + theme)
		}
	}
}

// tellsThree enters what the composition that is shown would give.
func (v *visitor) tellsThree(file string) {
	v.t.Helper()
	v.open("/campaigns/traded/results")
	v.until("something is to be measured", `!!document.querySelector("form.tell #value")`)
	var x float64
	shown := ask[string](v, `document.querySelector("table.mix td.n").innerText`)
	if _, err := fmt.Sscan(shown, &x); err != nil {
		v.t.Fatalf("the composition is %q: %v", shown, err)
	}
	v.do("enter three quantities",
		fill("form.tell #value", fmt.Sprintf("%.3f", 4+8*x)),
		fill("#further-value-0", fmt.Sprintf("%.3f", 1+4*x*x)),
		fill("#further-value-1", fmt.Sprintf("%.3f", 1.2+0.1*x)))
	if file != "" {
		v.do("choose a file", chromedp.SetUploadFiles(css("#file"), []string{file}))
		v.onPhone("three quantities and a file")
	}
	v.press(`button[value=measured]`)
	v.sees("The result is recorded.")
}

// suggested is the experiment that the campaign's page suggests.
func (v *visitor) suggested() string {
	v.t.Helper()
	v.open("/campaigns/traded?tab=front")
	v.sees("a suggestion, not the only answer")
	return ask[string](v, `document.querySelector("#front tr.is-best th a").innerText`)
}

// Law: on a phone a person enters three quantities and a file for an experiment, sees the front as
// a picture and as a table, sees before they amend a bound what would be found, and after it that
// another composition is suggested; none of the pages has a barrier that axe knows, or is wider
// than the phone.
func TestFrontOnAPhone(t *testing.T) {
	t.Parallel()
	v := lives(t)
	v.do("a phone", chromedp.EmulateViewport(390, 844))
	v.define("traded", traded)
	spectrum := filepath.Join(t.TempDir(), "spectrum.csv")
	must.Do(t, os.WriteFile(spectrum, []byte("nm,absorbance\n400,0.1\n"), 0o600))
	v.tellsThree(spectrum)
	for range 6 {
		v.tellsThree("")
	}
	v.open("/campaigns/traded/experiments/e1")
	v.sees("spectrum.csv")
	v.onPhone("an experiment of three quantities")
	v.open("/campaigns/traded/experiments/e6")
	v.sees("expected before")
	v.onPhone("an experiment of which something was expected")

	before := v.suggested()
	if n := ask[int](v, `document.querySelectorAll("#front svg").length`); n < 2 {
		t.Errorf("the page has %d figures of the front", n)
	}
	label := ask[string](v, `document.querySelector("#front figure svg").getAttribute("aria-label")`)
	if !strings.Contains(label, "On the front: ") || !strings.Contains(label, before) {
		t.Errorf("the figure says %q to those who do not see it", label)
	}
	v.onPhone("the front")
	v.open("/campaigns/traded/charts?still")
	v.sees("Viscosity along each parameter")
	v.onPhone("figures of a trade-off")
	v.open("/campaigns/traded/charts")
	v.until("the charts are drawn", `document.querySelector("#explore").dataset.ready === "yes" && !!document.querySelector("#pairs [data-drawn]")`)
	v.sees("There are no two parameters that can be varied.")
	v.onPhone("charts of a trade-off")
	v.open("/campaigns/traded/decisions/d1")
	v.sees("What was expected of it")
	v.onPhone("a decision of a trade-off")

	v.open("/campaigns/traded/definition")
	v.do("set another bound", chromedp.SetValue(css("#source"), strings.Replace(traded, "viscosity <= 4", "viscosity <= 1.7", 1)),
		fill("#reason", "the pump is weaker"))
	v.press(`button[name=look]`)
	v.sees("What would be found")
	v.onPhone("what another bound would make of it")
	v.press(`form[action$="/definition"] button.primary`)
	after := v.suggested()
	if after == before {
		t.Errorf("%s is suggested whatever the bound", after)
	}
	v.sees("viscosity ≤ 1.7")
	v.onPhone("the front under another bound")
}

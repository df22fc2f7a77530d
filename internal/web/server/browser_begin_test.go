package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// old are measurements as a German spreadsheet writes them: semicolons, decimal commas, units
// in the headings, a column that is empty, a row that is not measured yet.
const old = "Nr;Solvent;salt (mol/kg);EC (%);DMC (%);;conductivity (mS/cm);viscosity (mPa·s)\n" +
	"1;A;0,8;30;70;;9,8;3,1\n2;A;1,0;40;60;;11,2;3,4\n3;B;1,2;50;50;;11,9;4,1\n4;B;0,6;35;65;;8,2;3,9\n" +
	"5;A;1,4;45;55;;12,1;4\n6;B;1,1;30;70;;12,6;3,6\n7;A;1,6;55;45;;10,3;5,8\n8;B;0,9;40;60;;11,0;3,2\n9;B;1,6;55;45;;;\n"

// Law: whoever comes to an empty folder with a browser alone sees the first result of a
// campaign after one press, and has a campaign of their own from a table after a paste and
// three more: with its measurements, and a suggestion of the model. On a phone and on a desk;
// no page on the way has a barrier that axe knows. The documentation is there, is found, and
// asks for nothing outside.
func TestBrowserBegins(t *testing.T) {
	t.Parallel()
	v := browse(t, house(t).url)
	v.open("/login")
	v.logIn("ada")
	v.open("/")
	v.sees("Begin your first campaign")
	v.barriers("/begin")
	v.open("/begin")
	v.press(`button[value=electrolyte]`)
	v.sees("The campaign has begun")
	v.sees("best measured")

	for _, width := range []int64{380, 1440} {
		name := fmt.Sprintf("mine-%d", width)
		v.do("size", chromedp.EmulateViewport(width, 900))
		v.open("/begin")
		v.press(`a[href="/begin/table"]`)
		v.do("paste a table", chromedp.SetValue(css("#table"), old))
		v.press(`button[value=look]`)
		v.sees("A mixture")
		if role := ask[string](v, `document.querySelector("#role-2").value`); role != "number" {
			t.Errorf("the salt is guessed to be %s", role)
		}
		v.inPlace("what the columns are")
		v.do("size", chromedp.EmulateViewport(width, 900))
		v.do("change what is wrong", fill("#high-2", "1,8"), fill("#called", name), chromedp.SetValue(css("#role-0"), "note"))
		v.press(`.buttons button[value=write]`)
		v.sees("8 measurements of the table are taken along")
		source := ask[string](v, `document.querySelector("#source").value`)
		if !strings.Contains(source, "min: 0.6, max: 1.8}") || !strings.Contains(source, "name: "+name) {
			t.Errorf("the file is\n%s", source)
		}
		v.inPlace("a file with measurements")
		v.do("size", chromedp.EmulateViewport(width, 900))
		v.press(`form[action="/new"] .thumbs button.primary`)
		v.sees("is to be measured by hand")
		v.sees("best by the model")
		table := ask[string](v, fmt.Sprintf(`fetch("/campaigns/%s/export.csv").then(r => r.text())`, name), chromedp.EvalAwaitPromise)
		if n := strings.Count(table, ",import,"); n != 8 || strings.Count(table, ",policy,d1,") != 1 {
			t.Errorf("at %d px, %d measurements came along:\n%s", width, n, table)
		}
		v.inPlace("the campaign that follows")
	}
	v.do("size", chromedp.ResetViewport())

	v.open("/campaigns/electrolyte")
	v.press(`a[href^="/docs/words#states"]`)
	v.sees("no program drives it")
	v.do("look for a word", fill("#q", "backtest"))
	v.press(`form[action="/docs"] button`)
	v.press(`.hits a`)
	if where := ask[string](v, "location.pathname + location.hash"); where != "/docs/words#backtest" {
		t.Errorf("a search for backtest leads to %s", where)
	}
	if outside := ask[[]string](v, `performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith(location.origin))`); len(outside) > 0 {
		t.Errorf("it asks for %v", outside)
	}
	for _, path := range []string{"/begin", "/begin/table", "/docs", "/docs?q=worth", "/docs/words", "/docs/methods", "/docs/readme"} {
		v.barriers(path)
	}
}

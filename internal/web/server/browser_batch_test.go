package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// plated is a campaign whose experiments are made on a plate, 24 at a time.
const plated = `name: plated
parameters: [{name: resin, unit: wt%, min: 40, max: 90}, {name: filler, unit: wt%, min: 10, max: 60}, {name: cure, unit: °C, min: 60, max: 140}]
constraints: [{name: whole, terms: {resin: 1, filler: 1}, equals: 100}]
objective: {name: hardness, unit: GPa, goal: maximize, max: 100}
initial: {experiments: 48}
budget: {experiments: 48}
parallel: 24
policy: sobol
instrument: {manual: {}, steps: {resin: 0.1, filler: 0.1, cure: 1}}
`

// hand is a person at the browser whose acts are counted.
type hand struct {
	*visitor
	clicks, pastes, keys int
}

// click clicks on something; leads says whether another page comes of it.
func (h *hand) click(selector string, leads bool) {
	h.t.Helper()
	h.clicks++
	if leads {
		h.press(selector)
		return
	}
	h.do("click on "+selector, chromedp.Click(css(selector)))
}

// paste pastes a text into the field that has the focus.
func (h *hand) paste(text string) {
	h.t.Helper()
	h.pastes++
	quoted, _ := json.Marshal(text)
	h.do("paste", chromedp.Evaluate[chromedp.Void](`(() => {
		const data = new DataTransfer();
		data.setData("text/plain", `+string(quoted)+`);
		document.activeElement.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
	})()`))
}

// types presses keys, one after the other.
func (h *hand) types(keys string) {
	h.t.Helper()
	for _, key := range keys {
		h.keys++
		h.do("press a key", chromedp.KeyEvent(string(key)))
	}
}

// table waits for the table of so many rows, and for its script.
func (h *hand) table(rows int) {
	h.t.Helper()
	h.until(fmt.Sprintf("the table has %d rows", rows),
		fmt.Sprintf(`document.querySelectorAll("[data-heard] tr[data-row]").length === %d`, rows))
}

// ready waits until the server has said of so many rows that they are right.
func (h *hand) ready(n int) {
	h.t.Helper()
	h.until(fmt.Sprintf("%d rows are right", n), fmt.Sprintf(`document.querySelectorAll("tr.ready").length === %d`, n))
}

// Law: a batch is one thing in the lists; a column of results is pasted from a spreadsheet and recorded
// with three clicks; typed, each takes its digits and Enter. What is faulty is not recorded, stays, and
// says why; what is typed outlives a reload and is forgotten once it is recorded.
func TestManyResultsAtOnce(t *testing.T) {
	t.Parallel()
	h := &hand{visitor: lives(t)}
	h.define("plated", plated)
	h.open("/campaigns")
	h.sees("24 to measure by hand: e1-e24.")
	if n := ask[int](h.visitor, `document.querySelectorAll(".needs li").length`); n != 1 {
		t.Errorf("24 experiments are %d things in the list", n)
	}
	h.open("/questions")
	h.sees("24 to measure by hand: e1-e24.")
	h.barriers("/questions")
	h.barriers("/campaigns/plated/sheet?wells=96&batch=10&sort=cure")
	h.barriers("/campaigns/plated/batch?wells=96")

	var column strings.Builder
	for i := range 24 {
		fmt.Fprintf(&column, "%d,%d\r\n", 3+i%7, i)
	}
	h.open("/campaigns")
	began := time.Now()
	h.click(`.needs .pair a:last-child`, true)
	h.table(24)
	h.click(`[name="v.e1.hardness"]`, false)
	h.paste(column.String())
	h.ready(24)
	h.click("form.batchform button.primary", true)
	h.sees("The results are recorded.")
	t.Logf("24 results by pasting: %d clicks and %d paste, in %v", h.clicks, h.pastes, time.Since(began).Round(time.Millisecond))
	if h.clicks > 3 || h.pastes != 1 || h.keys > 0 {
		t.Errorf("24 results take %d clicks, %d pastes and %d keys", h.clicks, h.pastes, h.keys)
	}
	h.open("/docs") // which does not follow the campaign: what comes next would interrupt the answer
	if got := ask[string](h.visitor, `fetch("/campaigns/plated/export.csv").then(r => r.text())`, chromedp.EvalAwaitPromise); !strings.Contains(got, "e24,measured") || !strings.Contains(got, ",5.23,GPa,") {
		t.Errorf("the table:\n%s", got)
	}

	h.open("/campaigns/plated/batch")
	h.table(24)
	h.clicks, h.keys = 0, 0
	h.click(`[name="v.e25.hardness"]`, false)
	began = time.Now()
	for i := range 24 {
		typed := fmt.Sprintf("%d.%02d", 4+i%5, i)
		if i == 3 {
			typed = "400"
		}
		h.types(typed + kb.Enter)
	}
	t.Logf("24 results by typing: %d keys, in %v", h.keys, time.Since(began).Round(time.Millisecond))
	if want := 24*(4+1) - 1; h.keys != want || h.clicks != 1 {
		t.Errorf("24 results take %d keys and %d clicks, not %d and 1", h.keys, h.clicks, want)
	}
	h.ready(23)
	h.sees("above the plausible maximum")
	h.do("reload", chromedp.Evaluate[chromedp.Void](mark+`; location.reload()`))
	h.next()
	h.ready(23)
	if got := ask[string](h.visitor, `document.querySelector('[name="v.e48.hardness"]').value`); got != "7.23" {
		t.Errorf("after a reload the last row holds %q", got)
	}
	h.click("form.batchform button.primary", true)
	h.sees("23 results recorded")
	h.sees("1 row of what you typed is not recorded")
	h.inPlace("a row that was not recorded")
	if got := ask[string](h.visitor, `document.querySelector('[name="v.e28.hardness"]').value`); got != "400" {
		t.Errorf("the faulty row holds %q", got)
	}
	h.do("mend it", fill(`[name="v.e28.hardness"]`, "40"))
	h.ready(1)
	h.click("form.batchform button.primary", true)
	h.sees("The results are recorded.")
	h.sees("There is nothing to be measured by hand now.")
	if kept := ask[int](h.visitor, `Object.keys(localStorage).filter(k => k.startsWith("batch ")).length`); kept != 0 {
		t.Error("what was recorded is kept in the browser")
	}
	h.open("/campaigns/plated")
	h.until("the campaign ends", `document.querySelector("#state").innerText.toLowerCase().includes("complete")`)
}

// Law: what is pasted goes where it belongs: lines that name experiments to those, the reading of a whole
// plate to its wells, a block across the quantities; what has no place is said; a paste can be taken back.
func TestPastingGoesWhereItBelongs(t *testing.T) {
	t.Parallel()
	h := &hand{visitor: lives(t)}
	h.define("plated", plated)
	value := func(row string) string {
		return ask[string](h.visitor, fmt.Sprintf(`document.querySelector('[name="v.%s.hardness"]').value`, row))
	}
	h.open("/campaigns/plated/batch?wells=24&down=on")
	h.table(24)
	h.click(`[name="v.e1.hardness"]`, false)
	h.paste("e7\t3\ne2\t4\n")
	if value("e7") != "3" || value("e2") != "4" || value("e1") != "" {
		t.Errorf("e7 is %s, e2 %s and e1 %s", value("e7"), value("e2"), value("e1"))
	}
	h.click("[data-unpaste]", false)
	if value("e7") != "" {
		t.Error("the paste is not taken back")
	}
	var block strings.Builder
	for row := range 4 {
		for column := range 6 {
			fmt.Fprintf(&block, "%d%d\t", row+1, column+1)
		}
		block.WriteString("\n")
	}
	h.click(`[name="v.e1.hardness"]`, false)
	h.paste(strings.ReplaceAll(block.String(), "\t\n", "\n"))
	if value("e1") != "11" || value("e2") != "21" || value("e5") != "12" || value("e24") != "46" {
		t.Errorf("down a plate: e1 %s, e2 %s, e5 %s, e24 %s", value("e1"), value("e2"), value("e5"), value("e24"))
	}
	h.click(`[name="v.e23.hardness"]`, false)
	h.paste("hardness\n1\n2\n3\n")
	h.sees("The first line was taken for a heading. 1 had no place in the table: 3.")
	if value("e23") != "1" || value("e24") != "2" {
		t.Errorf("e23 is %s, e24 %s", value("e23"), value("e24"))
	}
}

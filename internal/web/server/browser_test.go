package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// axeVariable names a copy of axe.min.js, which looks for barriers in pages.
const axeVariable = "CAMPAIGND_AXE"

// silent is a device that takes an experiment and never says a word again.
type silent struct{}

func (silent) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "silent", Identity: "silent 1", Capacity: 1}, nil
}
func (silent) Start(context.Context, instruments.Command) error { return nil }
func (silent) Await(ctx context.Context, _ instruments.Command) (instruments.Outcome, error) {
	<-ctx.Done()
	return instruments.Outcome{}, ctx.Err()
}
func (silent) Cancel(context.Context, instruments.Command) error { return nil }

type silentSettings struct{}

func (*silentSettings) Complete(*definition.Campaign)                                  {}
func (*silentSettings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }
func (*silentSettings) Words(*definition.Campaign) string                              { return "a silent device" }
func (*silentSettings) Confined() bool                                                 { return true }

// house begins a lab with two people, and with devices that are silent.
func house(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.registry.Instruments = append(s.registry.Instruments, instruments.Driver{
		Name:     "silent",
		Settings: func() definition.Settings { return new(silentSettings) },
		Open: func(context.Context, definition.Campaign, instruments.Environment) (instruments.Instrument, error) {
			return silent{}, nil
		},
	})
	s.accounts = new(accounts.Options)
	s.open()
	add(t, s.books[0], "admin", as(accounts.Admin)) // the first one must be
	add(t, s.books[0], "ada", as(accounts.Scientist))
	s.begin()
	return s
}

// visitor is a person at a real browser.
type visitor struct {
	t    *testing.T
	ctx  context.Context
	home string
	axe  string // the program that looks for barriers
}

// step is something that a person does.
type step = chromedp.Action[chromedp.Void]

// patience is how long a page may take, where many packages are tested at a time.
const patience = 2 * time.Minute

// do does steps, and fails the test with what the page says where one does not work.
func (v *visitor) do(what string, steps ...step) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		v.stuck(what, err)
	}
}

// stuck fails the test with what the page says.
func (v *visitor) stuck(what string, err error) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, 5*time.Second)
	defer cancel()
	where, _ := chromedp.Run(ctx, chromedp.Location())
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	v.t.Fatalf("%s: %v; the page %s says:\n%s", what, err, where, text)
}

// ask evaluates an expression in the page.
func ask[T any](v *visitor, expression string, options ...chromedp.EvaluateOption) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		v.stuck(expression[:min(len(expression), 80)], err)
	}
	return value
}

// until waits until an expression holds, over all pages that are opened meanwhile.
func (v *visitor) until(what, expression string) {
	v.t.Helper()
	var last error
	for began := time.Now(); time.Since(began) < patience; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(v.ctx, 5*time.Second)
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		cancel()
		if err == nil && holds {
			return
		}
		last = err // the page may just be changing
	}
	v.stuck("wait until "+what, last)
}

// open opens a page. [chromedp.Navigate] would take the request of a page that just then opens
// another one by itself for its own, and fail once the browser gives that up; the answer of
// Page.navigate is about this page only. Once it did not come within two minutes, on a page that
// had a result just recorded: so it is asked for again.
func (v *visitor) open(path string) {
	v.t.Helper()
	opens := chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		opened, err := cdp.Call(ctx, tab, page.Navigate, page.NavigateParams{URL: v.home + path})
		if err == nil && opened.ErrorText != "" {
			err = errors.New(opened.ErrorText)
		}
		return err
	})
	ctx, cancel := context.WithTimeout(v.ctx, patience/4)
	defer cancel()
	if err := chromedp.Do(ctx, opens); errors.Is(err, context.DeadlineExceeded) {
		v.do("open "+path+" again", opens)
	} else if err != nil {
		v.stuck("open "+path, err)
	}
	v.until(path+" is there", `document.readyState === "complete" && !!document.querySelector("main")`)
}

func css(selector string) chromedp.CSS { return chromedp.CSS(selector) }

// fill types into a field instead of what is in it.
func fill(selector, text string) step {
	quoted, _ := json.Marshal(selector)
	return chromedp.Steps(
		chromedp.WaitReady(css(selector)),
		chromedp.Evaluate[chromedp.Void](`document.querySelector(`+string(quoted)+`).value = ""`),
		chromedp.SendKeys(css(selector), text),
	)
}

// mark marks the page, so that a new one can be told from it.
const mark = `window.before = true`

// next waits for the page that something leads to.
func (v *visitor) next() {
	v.t.Helper()
	v.until("the next page is there", `!window.before && document.readyState === "complete"`)
}

// press presses a button that leads to another page, once nothing on the page moves it any
// more: what is drawn between aiming and pressing would take it from under the pointer.
func (v *visitor) press(selector string) {
	v.t.Helper()
	quoted, _ := json.Marshal(selector)
	v.until(selector+" is at rest", `(() => {
		const was = window.stood, at = JSON.stringify(document.querySelector(`+string(quoted)+`)?.getBoundingClientRect());
		window.stood = at;
		return at !== undefined && at === was;
	})()`)
	v.do("press "+selector, chromedp.Evaluate[chromedp.Void](mark), chromedp.Click(css(selector)))
	v.next()
}

// posts sends a form as somebody elsewhere would: what it changes may lead the page away before the
// answer is there, so nobody waits for that, and it is sent also where the page is left meanwhile.
func (v *visitor) posts(path, fields string) {
	v.t.Helper()
	v.do("post to "+path, chromedp.Evaluate[chromedp.Void](fetching(path, fields)))
}

// fetching posts a form from within a page.
func fetching(path, fields string) string {
	return `void fetch("` + path + `", {method: "POST", keepalive: true, body: new URLSearchParams(` + fields + `)})`
}

// sees waits until the page says something, without being asked for again.
func (v *visitor) sees(text string) {
	v.t.Helper()
	quoted, _ := json.Marshal(text)
	v.until("it says "+text, `document.body.innerText.includes(`+string(quoted)+`)`)
}

// has reports whether the page has an element.
func (v *visitor) has(selector string) bool {
	v.t.Helper()
	quoted, _ := json.Marshal(selector)
	return ask[bool](v, `!!document.querySelector(`+string(quoted)+`)`)
}

// logIn fills in the page for it.
func (v *visitor) logIn(name string) {
	v.t.Helper()
	v.do("fill in who it is", fill("#name", name), fill("#password", password))
	v.press("form button.primary")
}

// define begins a campaign by its file.
func (v *visitor) define(name, source string) {
	v.t.Helper()
	v.open("/new")
	v.do("write the file", chromedp.SetValue(css("#source"), source))
	v.until("the form is drawn", `!!document.querySelector("#fields .entry")`)
	v.press(`form button.primary`)
	v.sees(name)
}

// answers answers the first question that waits for this person; false where none does.
func (v *visitor) answers() bool {
	v.t.Helper()
	v.open("/questions")
	if !v.has("#queue a.primary") {
		return false
	}
	v.press("#queue a.primary")
	switch {
	case v.has(`input[name^="v."]`):
		v.do("fill in the sitting", chromedp.Evaluate[chromedp.Void](
			`document.querySelectorAll('input[name^="v."]').forEach((field, i) => { field.value = String(i + 1) })`))
		v.gives(`button[value=own]`)
	case v.has(`button[value=accept]`):
		v.do("accept by its key", chromedp.Evaluate[chromedp.Void](mark), chromedp.KeyEvent("a"))
		v.sees("Undo")
		v.do("send it by its key", chromedp.KeyEvent("s"))
		v.next()
	default:
		v.gives("button.big.yes")
	}
	v.sees("Your answer is recorded.")
	return true
}

// gives gives an answer by a button, and does not wait whether to take it back.
func (v *visitor) gives(selector string) {
	v.t.Helper()
	v.do("answer with "+selector, chromedp.Click(css(selector)))
	v.sees("Undo")
	v.press(`.undo button[data-key=s]`)
}

// measures enters the result that is wanted; false where none is.
func (v *visitor) measures(name string) bool {
	v.t.Helper()
	v.open("/campaigns/" + name + "/results")
	if !v.has("form.tell #value") {
		return false
	}
	v.do("enter a result", fill("form.tell #value", "0,5"))
	v.press(`button[value=measured]`)
	v.sees("The result is recorded.")
	return true
}

// drives answers and measures until a campaign has ended.
func (v *visitor) drives(name string) {
	v.t.Helper()
	for began := time.Now(); time.Since(began) < 3*time.Minute; {
		v.open("/campaigns/" + name)
		state := ask[string](v, `document.querySelector("#state").innerText`)
		if strings.Contains(strings.ToLower(state), "complete") {
			return
		}
		if did := v.answers(); !v.measures(name) && !did {
			time.Sleep(100 * time.Millisecond)
		}
	}
	v.t.Fatalf("%s does not come to its end", name)
}

// barrier is something that keeps people from a page.
type barrier struct {
	ID   string   `json:"id"`
	Help string   `json:"help"`
	HTML []string `json:"html"` // where it is
}

// barriers are what axe finds in a page.
func (v *visitor) barriers(path string) {
	v.t.Helper()
	if v.axe == "" {
		return
	}
	for _, width := range []int64{380, 1440} {
		for _, theme := range []string{"light", "dark"} {
			v.do("size", chromedp.EmulateViewport(width, 900))
			v.open(path)
			v.do("theme", chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.documentElement.dataset.theme = %q", theme)))
			v.axeOn(fmt.Sprintf("%s, %d px, %s", path, width, theme))
		}
	}
	v.do("size", chromedp.ResetViewport())
}

// inPlace is barriers for a page that came of a form: it is looked at as it is.
func (v *visitor) inPlace(what string) {
	v.t.Helper()
	if v.axe == "" {
		return
	}
	for _, width := range []int64{380, 1440} {
		for _, theme := range []string{"light", "dark"} {
			v.do("size and theme", chromedp.EmulateViewport(width, 900),
				chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.documentElement.dataset.theme = %q", theme)))
			v.axeOn(fmt.Sprintf("%s, %d px, %s", what, width, theme))
		}
	}
	v.do("size", chromedp.ResetViewport())
}

// axeOn has axe look at the page that is open; it is not a wider than the screen, and links in its
// tables are high enough for a finger (WCAG 2.2, 2.5.8).
func (v *visitor) axeOn(what string) {
	v.t.Helper()
	if beyond := ask[int](v, `document.documentElement.scrollWidth - innerWidth`); beyond > 0 {
		v.t.Errorf("%s: %d px of it are beyond the edge", what, beyond)
	}
	for _, low := range ask[[]string](v, `[...document.querySelectorAll("td a, th a")]
		.filter(a => a.offsetParent && a.getBoundingClientRect().height < 24).map(a => a.outerHTML)`) {
		v.t.Errorf("%s: the link %s is less than 24 px high", what, low)
	}
	v.do("axe", chromedp.Evaluate[chromedp.Void](v.axe))
	found := ask[[]barrier](v,
		`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
			.then(r => r.violations.map(x => ({id: x.id, help: x.help, html: x.nodes.map(n => n.html)})))`,
		chromedp.EvalAwaitPromise)
	for _, b := range found {
		v.t.Errorf("%s: %s (%s): %s", what, b.ID, b.Help, b.HTML[0])
	}
}

// chromium is the browser of all visitors, each with cookies of their own: to begin one takes longer
// than many a test.
var chromium shared

type shared struct {
	once sync.Once
	ctx  context.Context
	err  error
}

func (s *shared) begun() (context.Context, error) {
	s.once.Do(func() {
		allocator, _ := chromedp.NewExecAllocator(context.Background(),
			append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)...)
		s.ctx, _ = chromedp.NewContext(allocator)
		s.err = chromedp.Do(s.ctx)
	})
	return s.ctx, s.err
}

func (s *shared) end() {
	if s.ctx != nil {
		_ = chromedp.Cancel(s.ctx)
	}
}

// browse is a visit in a browser; it skips the test where there is none.
func browse(t *testing.T, home string) *visitor {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes minutes")
	}
	found := slices.ContainsFunc([]string{"chromium", "chromium-browser", "google-chrome"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	if !found {
		t.Skip("chromium is not installed")
	}
	v := &visitor{t: t, home: home}
	if path := os.Getenv(axeVariable); path != "" {
		text := must.Get(os.ReadFile(path))(t)
		v.axe = string(text)
	} else {
		t.Logf("%s names no axe.min.js: barriers are not looked for", axeVariable)
	}
	browser := must.Get(chromium.begun())(t)
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	v.ctx = ctx
	must.Do(t, chromedp.Do(ctx))
	return v
}

const (
	pairs = `name: pairs
parameters: [{name: x, min: 0, max: 1}, {name: salt, values: [1, 2, 3]}]
objective: {name: flow, unit: mL/s, goal: maximize}
initial: {experiments: 2, comparisons: 1}
budget: {experiments: 4}
instrument: manual
experts: [{name: ada, web: {}}]
policy: {trust: coexbo}
`
	labels = `name: labels
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, unit: mL/s, goal: maximize}
initial: {experiments: 2, labels: 2}
budget: {experiments: 4}
instrument: manual
experts: [{name: ada, web: {}}]
policy: cobol
`
	sitting = `name: sitting
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, unit: mL/s, goal: maximize}
initial: {experiments: 2, estimates: 4}
budget: {experiments: 3}
instrument: manual
experts: [{name: ada, web: {}}]
`
	lost = `name: lost
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, unit: mL/s, goal: maximize}
initial: {experiments: 1}
budget: {experiments: 1}
policy: sobol
instrument: {silent: {}, stall_after: 1s, give_up_after: 2s}
`
)

// brings brings a table with a fault, mends it in the page, takes it over, and excludes a region.
func (v *visitor) brings() {
	v.t.Helper()
	v.open("/campaigns/pairs/bring")
	v.do("paste a table", chromedp.SetValue(css("#table"), "x\tsalt\tflow\tlot\n0.25\t2\t0.7\told\n0.75\t3\t1,234\told\n"))
	v.press(`button[value=look]`)
	v.sees("may be 1.234 or 1234")
	if v.has(`button[value=take]`) {
		v.t.Error("a table with a fault can be taken over")
	}
	v.inPlace("a table with a fault")
	v.do("mend it", chromedp.SetValue(css("#table"), "X (mol/kg),salt,flow,lot,pH (1)\n0.25,2,0.7,old,7\n0.75,3,0.9,old,8\n"))
	v.press(`button[value=look]`)
	v.sees("If it has another name")
	v.inPlace("a table with columns of other names")
	v.do("say what they are", chromedp.SetValue(css("#use-1"), "note"), chromedp.SetValue(css("#use-2"), "further"))
	v.press(`button[value=look]`)
	v.inPlace("a table to be taken")
	v.press(`button[value=take]`)
	v.sees("The measurements are taken over.")
	v.open("/campaigns/pairs/region")
	v.do("name a region", fill(`[name="min.x"]`, "0.9"))
	v.press(`button[name=look]`)
	v.sees("measured compositions")
	v.barriers("/campaigns/pairs/region?min.x=0.9&look=on")
	v.open("/campaigns/pairs/region?min.x=0.9&look=on")
	v.press(`form[action$="/region"][method=post] button`)
	v.sees("Excluded: nothing there is suggested any more.")
}

// Law: a person at a real browser logs in, begins campaigns of three methods, answers every form
// that they ask, enters results by hand, and brings each to its end; what they type outlives a
// restart of the server; what they answer can be taken back and corrected; an unknown outcome
// is settled; charts change while they look; no page has a barrier that axe knows.
func TestBrowser(t *testing.T) {
	t.Parallel()
	h := house(t)
	v := browse(t, h.url)

	v.barriers("/login")
	v.open("/campaigns")
	v.logIn("ada")
	v.sees("There is no campaign here yet")

	v.define("sitting", sitting)
	v.open("/questions/sitting/q1")
	v.barriers("/questions/sitting/q1")
	v.open("/questions/sitting/q1")
	v.do("begin to answer", fill(`input[name="v.0"]`, "3.5"), fill(`input[name="v.2"]`, "7"))
	h.end()
	h.begin()
	v.open("/questions/sitting/q1")
	typed := ask[[]string](v, `[...document.querySelectorAll('input[name^="v."]')].map(field => field.value)`)
	if strings.Join(typed, ",") != "3.5,,7," {
		t.Errorf("after a restart the rows hold %q", typed)
	}
	v.do("answer and take it back", chromedp.Click(css(`button[value=own]`)), chromedp.Click(css(`.undo button[data-key=z]`)))
	v.sees("Taken back")
	v.drives("sitting")

	v.define("pairs", pairs)
	v.open("/questions/pairs/q1")
	v.barriers("/questions/pairs/q1")
	v.define("labels", labels)
	v.open("/questions/labels/q1")
	v.barriers("/questions/labels/q1")
	v.drives("pairs")
	v.drives("labels")

	v.open("/campaigns/pairs/decisions/d1")
	v.do("ask what would have been otherwise", chromedp.SetValue(css("#method"), "logei"), chromedp.SetValue(css("#without"), "ada"),
		fill("#experiments", "3"))
	v.press("form.otherwise button")
	v.sees("This is imagined, and not what happened") // it comes by itself
	whatIf := ask[string](v, "location.pathname")
	v.barriers(whatIf)

	v.open("/campaigns/pairs/experiments/e1")
	v.do("correct a result", chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(d => { d.open = true })`),
		fill("#correct-value", "0,9"), fill("#correct-reason", "wrong dilution"))
	if !ask[bool](v, `document.querySelector("input[name=how][value=measured]").checked`) {
		t.Error("a value is typed, and it is not said that there is one")
	}
	v.press(`form[action$="/correct"] button`)
	v.sees("The correction is recorded.")

	v.define("lost", lost)
	v.open("/campaigns/lost")
	v.do("look on", chromedp.Evaluate[chromedp.Void](`window.still = true`))
	v.sees("The fate of e1 is unknown")
	if !ask[bool](v, `!!window.still`) {
		t.Error("the page was loaded again")
	}
	v.open("/campaigns/lost?tab=instruments")
	v.sees("fate unknown") // of its instrument
	v.barriers("/campaigns/lost")
	v.barriers("/campaigns/lost/experiments/e1")
	v.open("/campaigns/lost/experiments/e1")
	v.do("settle it", chromedp.Click(css(`input[name=resolution][value=failed]`)), fill("#reason", "it was empty"))
	v.press("form.settle button.primary")
	v.sees("Settled.")

	v.brings()
	table := ask[string](v, `fetch("/campaigns/pairs/export.csv").then(r => r.text())`, chromedp.EvalAwaitPromise)
	if !strings.Contains(table, "salt") || !strings.Contains(table, "0.9") {
		t.Errorf("the table:\n%s", table)
	}
	for _, path := range []string{
		"/campaigns", "/questions", "/new", "/campaigns/pairs", "/campaigns/pairs/charts", "/campaigns/pairs/log",
		"/campaigns/pairs/definition", "/campaigns/pairs/results", "/campaigns/pairs/experiments/e1", "/campaigns/pairs/decisions/d1",
		"/campaigns/pairs?at=2", "/campaigns/pairs/bring", "/campaigns/pairs/region", "/account", "/nowhere",
	} {
		v.barriers(path)
	}
	v.open("/account")
	v.press(`form[action="/logout"] button`)
	v.open("/login?next=/people")
	v.logIn("admin")
	v.sees("Add somebody")
	v.barriers("/people")
	v.barriers("/trail")
	v.open("/trail")
	v.press(`form[action="/trail/verify"] button`)
	v.sees("is there, as it was written")
	if answer, err := http.Get(v.home + "/healthz"); err != nil || answer.StatusCode != http.StatusOK {
		t.Error(err)
	}
}

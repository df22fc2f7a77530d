package server_test

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// Campaigns in which a person names what is measured: each question follows from the answer before.
const (
	named = `name: named
parameters: [{name: x, min: 0, max: 1}]
objective: {name: utility, goal: maximize}
initial: {experiments: 0}
budget: {experiments: 3}
instrument: {simulated: {task: rkhs1-rbf}}
experts: [{name: ada, web: {}}]
policy: manual
`
	byHand = `name: by-hand
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, unit: mL/s, goal: maximize}
initial: {experiments: 1}
budget: {experiments: 2}
instrument: manual
experts: [{name: ada, web: {}}]
policy: manual
`
)

// lives begins a lab with a browser at it.
func lives(t *testing.T) *visitor {
	t.Helper()
	v := browse(t, house(t).url)
	v.open("/campaigns")
	v.logIn("ada")
	return v
}

// Law: the page that says that nobody is asked shows the next question once there is one, by
// itself, with one campaign and with several.
func TestTheNextQuestionComesByItself(t *testing.T) {
	t.Parallel()
	v := lives(t)
	v.define("named", named)
	v.open("/questions?next")
	for _, id := range []string{"q1", "q2"} {
		v.until(id+" is shown", `location.pathname === "/questions/named/`+id+`" && document.readyState === "complete"`)
		v.do("name a composition", fill(`[name="p.x"]`, "0.5"))
		v.gives(`button[value=own]`)
	}
	v.define("by-hand", byHand)
	v.open("/questions/named/q3")
	v.do("name a composition", fill(`[name="p.x"]`, "0.5"))
	v.gives(`button[value=own]`)
	v.posts("/campaigns/by-hand/tell", `{experiment: "e1", value: "0.5"}`)
	v.until("the one of the other campaign is shown", `location.pathname === "/questions/by-hand/q1"`)
}

// Law: a page that has nothing to do shows what there is to do once there is something, by
// itself; what somebody has typed is not taken from them.
func TestWhatIsToBeDoneComesByItself(t *testing.T) {
	t.Parallel()
	v := lives(t)
	v.define("by-hand", byHand)
	v.measures("by-hand")
	v.open("/campaigns/by-hand/results")
	v.sees("There is nothing to be measured by hand now.")
	v.posts("/questions/by-hand/q1", `{answer: "own", "p.x": "0.25"}`)
	v.until("what is to be measured is shown", `!!document.querySelector("form.tell #value")`)
	v.do("begin to type", fill("form.tell #value", "0.7"))
	v.posts("/campaigns/by-hand/tell", `{experiment: "e2", value: "0.5"}`)
	v.sees("This page is no longer up to date")
	if kept := ask[string](v, `document.querySelector("form.tell #value").value`); kept != "0.7" {
		t.Errorf("the field holds %q", kept)
	}
}

// Law: who follows a link gets there, also where the answer is slow and the page has something new
// to show meanwhile.
func TestALinkIsFollowed(t *testing.T) {
	t.Parallel()
	v := lives(t)
	v.define("by-hand", byHand)
	v.open("/campaigns/by-hand/results")
	v.until("something is to be measured", `!!document.querySelector("form.tell #value")`)

	held := chromedp.Events(v.ctx, fetch.RequestPaused)
	command(v, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/by-hand/log"}}})
	v.do("follow a link", chromedp.Evaluate[chromedp.Void](`document.querySelector('a[href$="/by-hand/log"]').click(); `+
		fetching("/campaigns/by-hand/tell", `{experiment: "e1", value: "0.5"}`)))
	time.Sleep(1500 * time.Millisecond) // the page learns that it is measured
	for request := range held {
		command(v, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: request.RequestID})
		break
	}
	v.until("the link has been followed", `location.pathname === "/campaigns/by-hand/log"`)
}

// Law: in the first hour with one campaign, a person answers by keys, which the page shows, what the
// campaign asks, question after question; types a result with a decimal comma, and with it what
// else was measured; and is asked the next question, whose scale has its ends where it ends.
func TestTheFirstHour(t *testing.T) {
	t.Parallel()
	v := lives(t)
	v.define("labels", labels)
	v.open("/questions?next")
	for _, id := range []string{"q1", "q2"} {
		v.until(id+" is shown", `location.pathname === "/questions/labels/`+id+`" && document.readyState === "complete"`)
		if id == "q1" {
			v.do("ask for the keys", chromedp.KeyEvent("?"))
			v.sees("Keys of this page")
			v.inPlace("the keys of a page")
			v.do("press one all the same", chromedp.KeyEvent("a"), chromedp.KeyEvent("\u001b"))
			v.until("the keys are put away", `!document.querySelector("dialog")`)
		}
		v.do("accept by its key", chromedp.Evaluate[chromedp.Void](mark), chromedp.KeyEvent("a"))
		v.sees("Undo")
		if id == "q1" {
			v.do("go on at once, by a key", chromedp.KeyEvent("s"))
		}
		v.next() // else the page goes on by itself
	}
	v.sees("ada accepted q1")
	v.sees("ada accepted q2")
	for _, name := range []string{"viscosity", "pH"} {
		v.open("/campaigns/labels/results")
		v.until("something is to be measured", `!!document.querySelector("form.tell #value")`)
		v.do("enter a result", fill("form.tell #value", "9,4"), chromedp.Click(css("form.tell details summary")),
			fill(`form.tell [data-rows] [name="further.name"]`, name), fill(`form.tell [data-rows] [name="further.value"]`, "3,1"),
			fill("#remark", "cloudy"))
		if rows := ask[int](v, `document.querySelectorAll("form.tell [data-rows] .quantity").length`); rows != 2 {
			t.Errorf("beside the quantity that is typed are %d rows", rows-1)
		}
		v.inPlace("a result with a further quantity")
		v.press(`button[value=measured]`)
		v.sees("The result is recorded.")
	}
	v.open("/campaigns/labels/experiments/e2")
	for _, said := range []string{"9.4", "pH", "cloudy"} {
		v.sees(said)
	}
	v.open("/questions?next")
	v.until("the next question is shown", `location.pathname === "/questions/labels/q3" && document.readyState === "complete"`)
	if !ask[bool](v, `(() => {
		const box = document.querySelector(".scalebox svg").getBoundingClientRect();
		const [low, high] = [...document.querySelectorAll(".scalebox .ends span")].map((e) => e.getBoundingClientRect());
		return low.left >= box.left && low.left < box.left + 0.1 * box.width && high.right <= box.right && high.right > box.right - 0.1 * box.width;
	})()`) {
		t.Error("the numbers do not stand at the ends of the scale")
	}
}

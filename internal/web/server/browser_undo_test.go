package server_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Law: an answer that a person takes back is not sent, and what they typed stays; one that they do not
// take back is sent once, in the end also where they leave its page, which they need not wait for.
func TestTakingBack(t *testing.T) {
	t.Parallel()
	v := lives(t)
	v.define("labels", labels)
	v.open("/questions/labels/q1")
	v.do("type, accept and take it back", fill("[name=comment]", "it may gel"),
		chromedp.Click(css(`button[value=accept]`)), chromedp.Click(css(`.undo button[data-key=z]`)))
	v.sees("Taken back. Nothing was sent.")
	v.do("reject", chromedp.Evaluate[chromedp.Void](mark), chromedp.Click(css(`button[value=reject]`)))
	v.sees("Your answer: Reject.")
	v.next() // by itself
	v.sees("Your answer is recorded.")
	v.open("/questions/labels/q2")
	v.do("accept", chromedp.Click(css(`button[value=accept]`)))
	v.sees("Undo")
	v.open("/campaigns")
	const want = `q1 reject "it may gel", q2 accept ""`
	var recorded string
	for began := time.Now(); recorded != want; time.Sleep(20 * time.Millisecond) {
		recorded = ask[string](v, `fetch("/campaigns/labels/export.jsonl").then(r => r.text()).then(text => text.trim().split("\n").map(line => JSON.parse(line)).
			filter(e => /question\.(answered|superseded|contested)$/.test(e.type)).
			map(e => `+"`${e.data.question} ${e.data.answer.label} ${JSON.stringify(e.data.comment || \"\")}`"+`).join(", "))`, chromedp.EvalAwaitPromise)
		if time.Since(began) > patience {
			t.Fatalf("recorded are %s", recorded)
		}
	}
}

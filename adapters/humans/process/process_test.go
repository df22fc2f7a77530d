package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// modeVariable turns this test binary into a program in an expert's place.
const modeVariable = "EXPERTTEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		serve(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// answers are right ones, by the form.
var answers = map[events.Form]string{
	events.FormLabel:      `{"label":"accept"}`,
	events.FormComparison: `{"order":[1,0]}`,
	events.FormOutcomes:   `{"order":[1,0]}`,
	events.FormPinpoint:   `{"point":{"x":0.5}}`,
	events.FormEstimate:   `{"estimates":[{"option":1,"value":7}]}`,
}

func serve(mode string) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var ask struct {
			ID       int
			Op       string
			Refused  []string
			Question struct{ Form events.Form }
		}
		if err := json.Unmarshal(lines.Bytes(), &ask); err != nil {
			panic(err)
		}
		answer := answers[ask.Question.Form]
		switch {
		case ask.Op == "handshake":
			fmt.Printf(`{"id":%d,"protocol":1,"name":"test","version":"1"}`+"\n", ask.ID)
			continue
		case mode == "hangs":
			time.Sleep(time.Hour)
		case mode == "floods":
			for {
				fmt.Println(strings.Repeat("flood", 1000))
			}
		case mode == "ends":
			os.Exit(1)
		case mode == "lies", mode == "lies once" && len(ask.Refused) == 0:
			answer = `{"order":[7],"label":"perhaps","estimates":[{"option":9,"value":1}]}`
		case mode == "cannot tell":
			answer = "{}"
		}
		fmt.Printf(`{"id":%d,"answer":%s,"comment":"why \u001b[2J not"}`+"\n", ask.ID, answer)
	}
}

// question is one of a form.
func question(form events.Form) humans.Question {
	options := []events.Option{{Parameters: definition.Point{"x": definition.Number(1)}}, {Parameters: definition.Point{"x": definition.Number(2)}}}
	q := humans.Question{ID: "c/" + string(form), Campaign: "c", Expert: "llm", Form: form, View: []byte(`{"format":1}`), Shown: events.Program{At: 7, Format: 1, View: "ab"}}
	switch form {
	case events.FormLabel:
		q.Options = options[:1]
	case events.FormPinpoint:
		q.Allowed = func(definition.Point) error { return nil }
	case events.FormEstimate:
		q.Options, q.Scale = options, &events.Scale{Quantity: "y", Better: events.BetterHigher}
	default:
		q.Options = options
	}
	return q
}

func open(t *testing.T, mode string) humans.Reviewer {
	t.Helper()
	r := must.Get(process.New(process.Settings{
		Command: []string{os.Args[0]}, Env: map[string]string{modeVariable: mode}, ReplyWithin: definition.Duration(time.Second),
	}, "llm", "c", t.TempDir(), nil))(t)
	t.Cleanup(func() { r.(io.Closer).Close() })
	return r
}

// Law: a program answers questions of every form, or cannot tell; what is recorded of it names it and what it was shown,
// and its words can be shown to people. It passes for no simulation.
func TestEveryForm(t *testing.T) {
	for _, mode := range []string{"sound", "lies once", "cannot tell"} {
		r := open(t, mode)
		if d := r.Describe(); d.Simulated || d.Expert != "llm" {
			t.Errorf("%+v", d)
		}
		for _, form := range events.Forms() {
			got, err := r.Ask(t.Context(), question(form))
			var want events.Answer
			if mode != "cannot tell" {
				must.Do(t, json.Unmarshal([]byte(answers[form]), &want))
			}
			if err != nil || !got.Answer.Equal(want) || got.Comment != `why \u001b[2J not` || got.Program == nil ||
				got.Program.Name != "test" || got.Program.At != 7 || got.Program.View != "ab" || len(got.Program.Files) != 64 {
				t.Errorf("%s, %s: %+v, %v", mode, form, got, err)
			}
		}
	}
}

// Law: a program that hangs, lies, floods or ends is an error with the reason, which withdraws its question; and it is
// no error of any other question that its question has expired.
func TestNoAnswer(t *testing.T) {
	for mode, why := range map[string]string{
		"hangs": "did not answer within 1s", "lies": "could not be used, 3 times", "floods": "could not be used, 3 times", "ends": "exit status 1",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := open(t, mode)
			if got, err := r.Ask(t.Context(), question(events.FormLabel)); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%+v, %v; want %q", got, err, why)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := r.Ask(ctx, question(events.FormComparison)); err == nil {
				t.Error("it answered")
			}
		})
	}
}

package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/adapters/methods/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// modeVariable turns this test binary into a program that is a method. Its value is what it
// does at its first proposal; from its second process on, and at every other one, it proposes.
const modeVariable = "METHODTEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		serve(mode, os.Getenv("METHODTEST_ONCE"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve is the program. once is a file that is there from its first proposal on.
func serve(mode, once string) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	if mode == "early" {
		say(`{"id":2,"proposal":{"parameters":{"x":9}}}`) // before it was asked
	}
	for lines.Scan() {
		var ask struct {
			ID      int    `json:"id"`
			Op      string `json:"op"`
			Refused []string
			Seed    uint64
			View    json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &ask); err != nil {
			panic(err)
		}
		if ask.Op == "handshake" {
			switch mode {
			case "mute":
				continue
			case "another protocol":
				say(`{"id":%d,"protocol":2}`, ask.ID)
				continue
			case "schema":
				say(`{"id":%d,"protocol":1,"settings_schema":{"type":"object","properties":{"kappa":{"type":"number","maximum":3}}}}`, ask.ID)
				continue
			case "reaching schema":
				say(`{"id":%d,"protocol":1,"settings_schema":{"$ref":"file:///etc/hostname"}}`, ask.ID)
				continue
			}
			say(`{"id":%d,"protocol":1,"name":"test","version":"2","deterministic":true}`, ask.ID)
			continue
		}
		if mode == "hang at d1" && ask.Seed == 1 {
			time.Sleep(time.Hour)
		}
		_, err := os.Stat(once)
		if err != nil {
			os.WriteFile(once, nil, 0o600)
			switch mode {
			case "hang":
				time.Sleep(time.Hour)
			case "crash":
				fmt.Fprintln(os.Stderr, "ValueError: the matrix is singular")
				os.Exit(3)
			case "half a line":
				fmt.Printf(`{"id":%d,"proposal":{"param`, ask.ID)
				os.Exit(0)
			case "NaN":
				say(`{"id":%d,"proposal":{"parameters":{"x":NaN}}}`, ask.ID)
				continue
			case "prose":
				say(`{"id":%d,"proposal":"I would try x = 2"}`, ask.ID)
				continue
			case "nothing":
				say(`{"id":%d}`, ask.ID)
				continue
			case "several":
				say(`{"id":%d,"proposal":[{"parameters":{"x":1}},{"parameters":{"x":2}}]}`, ask.ID)
				continue
			case "mistyped":
				say(`{"id":%d,"proposal":{"parameters":{"x":1},"reasn":"y"}}`, ask.ID)
				continue
			case "no composition":
				say(`{"id":%d,"proposal":{"parameters":{}}}`, ask.ID)
				continue
			case "null":
				say(`{"id":%d,"proposal":{"parameters":{"x":null}}}`, ask.ID)
				continue
			case "leave":
				say(`{"id":%d,"proposal":{"parameters":{"x":1},"reason":"so","numbers":{"ei":0.5}}}`, ask.ID)
				os.Exit(0)
			case "error":
				say(`{"id":%d,"error":"no licence"}`, ask.ID)
				continue
			case "flood":
				for {
					say(strings.Repeat("flood ", 1000))
				}
			case "long":
				say(`{"id":%d,"proposal":{"reason":"%s"}}`, ask.ID, strings.Repeat("y", 2<<20))
				continue
			case "endless line":
				for {
					fmt.Print(strings.Repeat("y", 1<<16))
				}
			}
		}
		switch mode {
		case "chatty":
			say("thinking")
			say(`{"id":%d,"proposal":{"parameters":{"x":9}}}`, ask.ID-1) // of an earlier question
		case "twice":
			say(`{"id":%d,"proposal":{"parameters":{"x":%d},"reason":"so","numbers":{"ei":0.5}}}`, ask.ID, ask.Seed)
			say(`{"id":%d,"proposal":{"parameters":{"x":9}}}`, ask.ID)
			continue
		}
		say(`{"id":%d,"proposal":{"parameters":{"x":%d},"reason":"so","numbers":{"ei":0.5}}}`, ask.ID, ask.Seed)
	}
}

// open returns the program in a mode.
func open(t *testing.T, mode string, settings map[string]any) (*process.Method, *strings.Builder) {
	t.Helper()
	var mu sync.Mutex
	var said strings.Builder
	m := must.Get(process.New(definition.Program{
		Command:     []string{os.Args[0]},
		Env:         map[string]string{modeVariable: mode, "METHODTEST_ONCE": t.TempDir() + "/once"},
		ReplyWithin: definition.Duration(2 * time.Second), Settings: settings,
	}, "c", t.TempDir(), func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&said, format+"\n", args...)
	}))(t)
	m.Hurry()
	t.Cleanup(func() { m.Close() })
	return m, &said
}

// question is the n-th, whose right answer is x = n.
func question(n int) methods.Question {
	return methods.Question{Decision: events.DecisionID(n), Seed: uint64(n), Attempt: 1, View: []byte(`{"format":1}`)}
}

// Law: whatever a program does when it is asked, there is an answer or a reason why there is none, in the time that it
// has; and the next question is answered, by another process if need be. What it says of another question, or unasked, is
// no answer.
func TestWhateverItDoes(t *testing.T) {
	for mode, cause := range map[string]string{
		"hang":           "did not answer within 2s",
		"crash":          "the last line on standard error: ValueError: the matrix is singular",
		"half a line":    "its answer cannot be read",
		"NaN":            "it holds NaN, which is neither a number nor JSON",
		"prose":          "its proposal cannot be read",
		"nothing":        `its answer has no "proposal"`,
		"several":        "its proposal cannot be read",
		"mistyped":       `unknown field "reasn"`,
		"no composition": "its proposal names no parameter",
		"null":           "null is neither a number nor the name of a category",
		"error":          "says: no licence",
		"flood":          "the program ended",
		"long":           "the longest that is read is",
		"endless line":   "did not answer within 2s",
		"leave":          "",
		"chatty":         "",
		"twice":          "",
		"early":          "",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			m, said := open(t, mode, nil)
			a, err := m.Propose(t.Context(), question(1))
			if err != nil || (a.Cause == "") != (cause == "") || !strings.Contains(a.Cause, cause) ||
				(a.Cause == "") != (a.Parameters != nil) {
				t.Errorf("%+v, %v; want the cause %q", a, err, cause)
			}
			for n := 2; n < 5; n++ {
				a, err := m.Propose(t.Context(), question(n))
				if err != nil || a.Cause != "" || a.Parameters["x"] != definition.Number(float64(n)) || a.Reason != "so" ||
					len(a.Numbers) != 1 || a.Program.Name != "test" || a.Program.Version != "2" || !a.Program.Deterministic ||
					len(a.Program.Files) != 64 {
					t.Errorf("then, at question %d: %+v, %v\n%s", n, a, err, said)
				}
			}
		})
	}
}

// Law: a program that cannot be spoken to is an answer with a reason as well, and Describe says it beforehand; settings
// that it does not take are named by their place, and its schema reaches for nothing outside itself.
func TestCannotBeUsed(t *testing.T) {
	for mode, want := range map[string]string{
		"mute":             "did not answer within 10s",
		"another protocol": "speaks version 2 of the protocol and campaignd version 1",
		"schema":           "settings.kappa: maximum: got 7, want 3",
		"reaching schema":  "may name nothing outside itself",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			m, _ := open(t, mode, map[string]any{"kappa": 7})
			_, err := m.Describe(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			if mode == "mute" {
				return // each handshake takes 10 s
			}
			a, err := m.Propose(t.Context(), question(1))
			if err != nil || !strings.Contains(a.Cause, want) || a.Program.Name == "" {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}

// Law: a question ends with its context, and the program is left in a state in which the next one is answered; a closed
// method answers nothing and leaves no process.
func TestDismissed(t *testing.T) {
	m, _ := open(t, "hang at d1", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // it may not have reached the program by then
	defer cancel()
	if a, err := m.Propose(ctx, question(1)); err == nil {
		t.Errorf("%+v without an error", a)
	}
	if a, err := m.Propose(t.Context(), question(2)); err != nil || a.Cause != "" {
		t.Errorf("%+v, %v", a, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if a, err := m.Propose(t.Context(), question(3)); err != nil || !strings.Contains(a.Cause, "it is closed") {
		t.Errorf("%+v, %v", a, err)
	}
}

// Law: another version of the files is another digest.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	script := folder + "/method.txt"
	digests := map[string]bool{}
	for _, text := range []string{"one", "two", "one"} {
		must.Do(t, os.WriteFile(script, []byte(text), 0o600))
		m := must.Get(process.New(definition.Program{
			Command: []string{os.Args[0], "method.txt"}, Env: map[string]string{modeVariable: "sound"},
		}, "c", folder, nil))(t)
		a, err := m.Propose(t.Context(), question(1))
		if err != nil || a.Cause != "" {
			t.Fatal(a.Cause, err)
		}
		digests[a.Program.Files] = true
		m.Close()
	}
	if len(digests) != 2 {
		t.Errorf("two versions of the files have %d digests", len(digests))
	}
}

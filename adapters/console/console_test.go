package console_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// screen collects what was written and lets a test wait for a text.
type screen struct {
	mu      sync.Mutex
	text    strings.Builder
	written sync.Cond
}

func newScreen() *screen {
	s := &screen{}
	s.written.L = &s.mu
	return s
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	s.written.Broadcast()
	return len(p), nil
}

// waitFor returns when text has been written n times.
func (s *screen) waitFor(text string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for strings.Count(s.text.String(), text) < n {
		s.written.Wait()
	}
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// answers runs a prompt for each key and returns what each got.
type answers struct {
	wg  sync.WaitGroup
	mu  sync.Mutex
	got map[string]string
}

func (a *answers) prompt(ctx context.Context, l *console.Lines, key string) {
	a.wg.Go(func() {
		line, err := l.Prompt(ctx, console.Form{Key: key, Title: "asked", Hint: "anything"})
		if err != nil {
			line = "error: " + err.Error()
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.got == nil {
			a.got = make(map[string]string)
		}
		a.got[key] = line
	})
}

func (a *answers) check(t *testing.T, want map[string]string) {
	t.Helper()
	a.wg.Wait()
	if !reflect.DeepEqual(a.got, want) {
		t.Errorf("got %q, want %q", a.got, want)
	}
}

// A person's line goes to the form it names, or to the only one; it never
// answers something they have not seen.
func TestPersonAtTerminal(t *testing.T) {
	in, keys := io.Pipe()
	out := newScreen()
	l := console.NewLines(in, out, true)
	var a answers
	a.prompt(t.Context(), l, "e7")
	out.waitFor("e7>", 1)
	ctx, withdraw := context.WithCancel(t.Context())
	a.prompt(ctx, l, "q3")
	out.waitFor("q3>", 1)

	fmt.Fprintln(keys, "accept") // which one?
	out.waitFor("begin the line with e7 or q3", 1)
	withdraw()
	out.waitFor("q3 is no longer asked", 1)
	fmt.Fprintln(keys, "e7: 12.9 mS/cm")
	a.check(t, map[string]string{"e7": "12.9 mS/cm", "q3": "error: context canceled"})

	fmt.Fprintln(keys, "reject") // too late for q3
	out.waitFor(`Nothing is asked at the moment; "reject" was not used`, 1)
	a.prompt(t.Context(), l, "q4")
	out.waitFor("q4>", 1)
	fmt.Fprintln(keys) // an empty line shows the form again
	out.waitFor("q4>", 2)
	fmt.Fprintln(keys, "q3 accept") // too late, also while another is asked
	out.waitFor(`q3 is not asked any more; "q3 accept" was not used`, 1)
	fmt.Fprintln(keys, "accept\x1b[2J")
	a.wg.Wait()
	if a.got["q4"] != "accept [2J" {
		t.Errorf("q4 got %q", a.got["q4"])
	}
}

// Lines written beforehand are all used, in order, also where a prompt was
// cancelled while it waited for one.
func TestPreparedLines(t *testing.T) {
	in, keys := io.Pipe()
	out := newScreen()
	l := console.NewLines(in, out, false)
	ctx, cancel := context.WithCancel(t.Context())
	var first answers
	first.prompt(ctx, l, "e1")
	out.waitFor("e1>", 1)
	cancel() // the reader is waiting for a line at this moment
	first.check(t, map[string]string{"e1": "error: context canceled"})
	go func() {
		for k := range 3 {
			fmt.Fprintf(keys, "line %d\n\n", k)
		}
		fmt.Fprint(keys, "without end")
		keys.Close()
	}()
	for k, want := range []string{"line 0", "line 1", "line 2", "without end"} {
		got, err := l.Prompt(t.Context(), console.Form{Key: fmt.Sprint("e", k+2)})
		if err != nil || got != want {
			t.Fatalf("prompt %d: %q, %v, want %q", k, got, err, want)
		}
	}
	for range 2 {
		if _, err := l.Prompt(t.Context(), console.Form{Key: "e9"}); !errors.Is(err, console.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// Law: a line from a pipe that names what it answers answers nothing else, also where it
// comes before it is asked, and after the input has ended.
func TestPreparedLinesWaitForWhatTheyName(t *testing.T) {
	out := newScreen()
	l := console.NewLines(strings.NewReader("e2 failed\nq1: accept\ne2 7.5\n12.9\n"), out, false)
	ask := func(key string) string {
		line, err := l.Prompt(t.Context(), console.Form{Key: key, Title: "asked", Hint: "anything"})
		if err != nil {
			return "error: " + err.Error()
		}
		return line
	}
	for _, c := range []struct{ key, want string }{
		{"e1", "12.9"}, // the only line without a name, though others come first
		{"q1", "accept"},
		{"e2", "failed"},
		{"e2", "7.5"},
		{"e2", "error: " + console.ErrClosed.Error()},
	} {
		if got := ask(c.key); got != c.want {
			t.Errorf("%s got %q, want %q", c.key, got, c.want)
		}
		out.waitFor(c.key+">", 1)
	}
}

// No line is lost or used twice, whenever prompts are cancelled.
func TestNoLineIsLost(t *testing.T) {
	in, keys := io.Pipe()
	l := console.NewLines(in, io.Discard, false)
	const n = 500
	go func() {
		for k := range n {
			fmt.Fprintf(keys, "line %d\n", k)
		}
		keys.Close()
	}()
	got := 0
	for {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel() // before, while or after the line arrives
		line, err := l.Prompt(ctx, console.Form{Key: "e1"})
		cancel()
		switch {
		case errors.Is(err, context.Canceled):
		case errors.Is(err, console.ErrClosed):
			if got != n {
				t.Errorf("%d lines of %d", got, n)
			}
			return
		case err != nil || line != fmt.Sprintf("line %d", got):
			t.Fatalf("%q, %v after %d lines", line, err, got)
		default:
			got++
		}
	}
}

// Many prompts at once each get their own line.
func TestConcurrentPrompts(t *testing.T) {
	in, keys := io.Pipe()
	out := newScreen()
	l := console.NewLines(in, out, true)
	var a answers
	want := make(map[string]string)
	const n = 20
	for k := range n {
		key := fmt.Sprintf("q%d", k)
		a.prompt(t.Context(), l, key)
		want[key] = fmt.Sprintf("answer %d", k)
	}
	out.waitFor("> anything", n)
	for k := n - 1; k >= 0; k-- {
		fmt.Fprintf(keys, "q%d answer %d\n", k, k)
	}
	a.check(t, want)
}

// What is shown cannot rewrite the screen.
func TestShownTextIsHarmless(t *testing.T) {
	out := newScreen()
	l := console.NewLines(strings.NewReader("x\n"), out, true)
	must.Get(l.Prompt(t.Context(), console.Form{
		Key:   "q1",
		Title: "a\x1b[2Jb\r\xff",
		Body:  func(int, int) []string { return []string{"one\ntwo"} },
	}))(t)
	want := "\nq1  a\\u001b[2Jb �\n    one two\nq1> \n"
	if out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// Everyone who waits gets the first answer, and a failed attempt leaves the
// question open.
func TestOnce(t *testing.T) {
	o := console.NewOnce[int]()
	broken := errors.New("broken")
	if _, err := o.Get(t.Context(), func(context.Context) (int, error) { return 0, broken }); err != broken ||
		o.Answered() {
		t.Fatalf("%v, answered %v", err, o.Answered())
	}
	var wg sync.WaitGroup
	var asked int
	for range 10 {
		wg.Go(func() {
			v, err := o.Get(t.Context(), func(context.Context) (int, error) { asked++; return 40 + asked, nil })
			if v != 41 || err != nil {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
	wg.Wait()
	if asked != 1 || !o.Answered() {
		t.Errorf("asked %d times", asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Get(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

package console_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// several is a form that takes lines until one says "end", and is answered by all of them.
func several(key string) console.Form {
	var lines []string
	f := console.Form{Key: key, Title: "say some", Hint: "anything", Blank: true}
	var then func(string) (string, *console.Form)
	then = func(line string) (string, *console.Form) {
		if line == "end" {
			return strings.Join(lines, "|"), nil
		}
		lines = append(lines, line)
		next := f
		next.Brisk, next.Then = console.Sentences("after "+line), then
		return "", &next
	}
	f.Then = then
	return f
}

// asks prompts for a form beside, and returns what came of it.
func asks(t *testing.T, l *console.Lines, f console.Form) <-chan string {
	said := make(chan string, 1)
	go func() {
		line, err := l.Prompt(t.Context(), f)
		if err != nil {
			line = "error: " + err.Error()
		}
		said <- line
	}()
	return said
}

// Law: a form that takes several lines takes all of them in its place: none is lost
// however fast they come, empty ones included, and none goes to a form that was opened
// after it.
func TestSeveralLines(t *testing.T) {
	for _, interactive := range []bool{false, true} {
		in, keys := io.Pipe()
		out := newScreen()
		l := console.NewLines(in, out, interactive)
		first := asks(t, l, several("q1"))
		out.waitFor("q1> anything", 1)
		if _, err := io.WriteString(keys, "a\n\nb\n"); err != nil { // in one go
			t.Fatal(err)
		}
		out.waitFor("q1> after b", 1)
		second := asks(t, l, console.Form{Key: "e1", Title: "measure", Hint: "a value"})
		out.waitFor("e1> a value", 1)
		shown := 1
		if interactive { // where several things are asked an empty line answers none of them
			must.Get(io.WriteString(keys, "\n"))(t)
			out.waitFor("say some", 2)
			out.waitFor("measure", 2)
			shown = 2
		}
		rest := "c\n\nend\n12\n"
		if interactive { // where a line does not say which, nobody guesses
			rest = "q1 c\nq1\nq1 end\n12\n"
		}
		must.Get(io.WriteString(keys, rest))(t)
		if got := <-first; got != "a||b|c|" {
			t.Errorf("interactive %t: %q was said", interactive, got)
		}
		if got := <-second; got != "12" {
			t.Errorf("interactive %t: %q was measured", interactive, got)
		}
		if n := strings.Count(out.String(), "say some"); n != shown {
			t.Errorf("interactive %t: the whole form was shown %d times:\n%s", interactive, n, out)
		}
		keys.Close()
	}
}

// Lines that name a form before it is open are all kept for it, and what it lacks then is
// asked for.
func TestSeveralLinesBeforehand(t *testing.T) {
	in, keys := io.Pipe()
	out := newScreen()
	l := console.NewLines(in, out, false)
	first := asks(t, l, console.Form{Key: "e1", Title: "measure", Hint: "a value"})
	out.waitFor("e1> a value", 1)
	must.Get(io.WriteString(keys, "q1 a\nq1\nq2 x\n12\n"))(t)
	if got := <-first; got != "12" {
		t.Errorf("%q was measured", got)
	}
	second := asks(t, l, several("q1"))
	out.waitFor("q1> after", 2)
	must.Get(io.WriteString(keys, "b\nend\n"))(t)
	if got := <-second; got != "a||b" {
		t.Errorf("%q was said", got)
	}
	third := asks(t, l, several("q2"))
	out.waitFor("q2> after x", 1)
	keys.Close()
	if got := <-third; got != "error: "+console.ErrClosed.Error() {
		t.Errorf("%q was said after the end of input", got)
	}
	if _, err := l.Prompt(t.Context(), several("q3")); !errors.Is(err, console.ErrClosed) {
		t.Error(err)
	}
}

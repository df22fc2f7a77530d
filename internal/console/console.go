// Package console is how adapters ask a person something in the terminal that
// runs the campaign: an instrument that a person reads, an expert who accepts
// or rejects. One [Prompter] serves all of them; what draws the terminal
// implements it, and [Lines] does so with plain lines of text.
package console

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
)

// ErrClosed is wrapped by the errors of prompts that cannot be answered any
// more because the input has ended.
var ErrClosed = errors.New("nobody is at the terminal: its input has ended")

// Prompter asks a person for one line of text.
type Prompter interface {
	// Prompt shows the form and waits for the person's line, without the line's
	// end. Any number of prompts may be open at once; each line goes to exactly
	// one of them. When ctx is done the form is taken away and the context's
	// error returned; a line that had already been given to the form is
	// returned instead. The error wraps [ErrClosed] when no line can come.
	Prompt(ctx context.Context, f Form) (string, error)
}

// PromptFunc is a function used as a Prompter.
type PromptFunc func(ctx context.Context, f Form) (string, error)

// Prompt implements Prompter.
func (p PromptFunc) Prompt(ctx context.Context, f Form) (string, error) { return p(ctx, f) }

// Form is what a person is shown and asked to fill in.
type Form struct {
	// Key is a short word for what is asked, for example "e7" or "q3". It is
	// different for each open form; a line may begin with it to say which form
	// it answers.
	Key string
	// Title says in a line what is asked.
	Title string
	// Body is shown below it.
	Body []string
	// Hint says what may be entered.
	Hint string
	// Problem says why the line before was not understood and what to enter
	// instead, where the form is shown again for that. It may then be shown
	// alone.
	Problem string
	// Expires is when the form will be taken away; zero: not at a known time.
	Expires time.Time
}

// clean makes text from files, programs and people safe to print: control
// characters, which could rewrite the screen, become spaces.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

// Package view is what a page or a command shows about a campaign: the story of its
// events, how it stands, a decision and what led to it, a question, a suggestion, a
// prediction, its result, and the methods there are.
//
// Each is a struct of data, made from the log or from [engine.Core], that can be
// written as JSON; the words for it are made of the data, apart from it. The command
// line, the report and whatever serves the web show the same.
//
// A page knows what a person can do about what it shows, not how: that is an
// [Action], and the command line makes a command of it, a browser a button.
package view

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/campaignd/campaignd/internal/plaintext"
)

// Action is something that a person can do about what a page shows.
type Action struct {
	Do Deed `json:"do"`
	// About is the experiment, question, decision or refusal it is about; "" where it
	// is about the campaign.
	About string `json:"about,omitempty"`
	// With is what is to be filled in, in words: what may be answered, "VALUE".
	With string `json:"with,omitempty"`
}

// Deed is what an [Action] does.
type Deed string

// The deeds.
const (
	Run      Deed = "run"      // go on with the campaign
	Diagnose Deed = "diagnose" // see how far the model can be trusted
	Explain  Deed = "explain"  // see what led to a decision
	Tell     Deed = "tell"     // answer a question, or say what was measured
	Resolve  Deed = "resolve"  // say what became of an experiment
	Include  Deed = "include"  // let a measurement in doubt count
	Exclude  Deed = "exclude"  // leave a measurement in doubt out
	Allow    Deed = "allow"    // take a refusal back
)

// How says how an action is done, as in "campaignd resolve e7".
type How func(Action) string

// page writes lines for people. What others wrote stays within its line, so that it
// cannot pass for a line of ours. The first error of the writer is kept.
type page struct {
	w   io.Writer
	err error
}

// line writes a line.
func (p *page) line(format string, args ...any) {
	text := plaintext.Line(fmt.Sprintf(format, args...))
	p.raw(strings.TrimRight(text, " "))
}

// raw writes a line of ours as it is.
func (p *page) raw(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text+"\n")
	}
}

// heading begins a part of the page.
func (p *page) heading(text string) {
	p.raw("")
	p.raw(text)
}

// rows writes rows beside their names, in a column of that width.
func (p *page) rows(width int, rows []Row) {
	for _, r := range rows {
		p.line("  %-*s %s", width, r.Name, r.Text)
	}
}

// table writes cells in columns.
func (p *page) table(rows [][]string) {
	if p.err != nil {
		return
	}
	w := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		safe := make([]string, len(cells))
		for i, cell := range cells {
			safe[i] = plaintext.Line(cell)
		}
		if _, p.err = io.WriteString(w, strings.Join(safe, "\t")+"\n"); p.err != nil {
			return
		}
	}
	p.err = w.Flush()
}

// Row is a line of a page beside its name; a row without one goes on with that above.
type Row struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// rowf returns a row.
func rowf(name, format string, args ...any) Row { return Row{name, fmt.Sprintf(format, args...)} }

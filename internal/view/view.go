// Package view holds what a page or a command shows about a campaign: the story
// of its events, its status, a decision and its causes, a question, a
// suggestion, a prediction, its result, and the methods.
//
// Each is a struct of data, made from the log or from [engine.Core], that can be
// written as JSON; the text is made from that data, in separate functions. The
// command line, the report and a web server show the same.
//
// A view knows what a person can do, not how to do it: that is a
// [problem.Remedy], which the command line turns into a command and a browser
// into a button.
//
// # Contents
//
//   - The campaign folded for readers: [Record] is one fold of a log that all
//     readers of a process share, [Past] keeps its earlier states, [Snapshots]
//     keeps records in the store, [Shown] the models' last statements; [LastUpTo]
//     finds a campaign's last event before a position.
//   - Where a campaign stands: [Campaign], which [CampaignOf] and
//     [Summarized] make: nothing else counts that. [Status], made by
//     [StatusOf], adds the diagnosis; [StatusDocument] is its JSON. The
//     methods of [Campaign] describe its findings and its costs, and
//     [Campaign.NeedsPerson] the tasks of a person. [TrustIn] says how far
//     experts are trusted, [AsksForLabels] and [IsPerson] whom a campaign asks
//     for what, [Exclusions] lists those that hold. [Backtest] is about campaigns
//     whose results are known beforehand.
//   - What happened: [Timeline] holds it event by event, [Story] makes an
//     [Entry] of each. [Change], [Outcome] and [Model] are words in it.
//   - One decision: [Decision], made by [Record.Decision]; [DecisionBehind]
//     finds it from an experiment or a question. Its parts: [CandidateTable],
//     [CandidateGloss], [Shares] of its parameters (Shapley values), [Models],
//     [TestWords], [HelpsOf], [ActionText], [Policy], [Letters].
//   - Questions and answers: [Question] for a channel, [Asks], [Answers] and
//     [AnswerTo] in words, [ParseAnswer] and [IsLabel] of typed text, [Answer] of
//     the recorded one.
//   - What comes next: [Suggest] returns a [Suggestion]; [Predictor] makes a
//     [Prediction].
//   - All else: [Methods], [WriteDiagnosis], [Build] and [Revision] of programs,
//     [Clock], [Until] and [Computing] of times.
//
// Texts for people are [Row]s or lines, at 100 columns.
//
//	record, err := view.FoldRecord(ctx, registry, log, "bread")
//	decision, err := record.Decision(ctx, log, "d7")
//	err = decision.Write(os.Stdout, how)
package view

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// How says how a remedy is done, as in "campaignd resolve e7". Each front end
// has one of its own.
type How func(problem.Remedy) string

// page writes lines for people. What others wrote stays within its line, so
// that it cannot pass for a line of ours. The first error of the writer is
// kept.
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

// rows writes rows with their names, in a column of the given width.
func (p *page) rows(width int, rows []Row) {
	for _, r := range rows {
		p.line("  %-*s %s", width, r.Name, r.Text)
	}
}

// table writes cells in columns. Cells are made safe one by one, since a tab in
// one would begin another column.
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

// Row is a line of a page with its name; a row without a name continues the one
// above.
type Row struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// rowf returns a row.
func rowf(name, format string, args ...any) Row { return Row{name, fmt.Sprintf(format, args...)} }

// Stop ends a sentence with a full stop where it has none; the first letter
// stays, since a name may stand there.
func Stop(text string) string {
	text = strings.TrimSpace(text)
	if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text
}

// Sentence begins a message with a capital letter and ends it with a full stop.
func Sentence(text string) string {
	text = Stop(text)
	if text == "" {
		return ""
	}
	if strings.ContainsAny(text[:1], "eq") && len(text) > 1 && text[1] >= '0' && text[1] <= '9' {
		return text // e7 is a name
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Package report writes a campaign's findings, and the reasons of its decisions, as one
// self-contained HTML file: no script, no network, figures as inline SVG.
//
// Everything in it is folded from the log. It uses no clock and no randomness: equal logs give
// equal files, byte for byte on one build. So a report can be made again years later, and compared
// with the one that was filed.
//
// # How a report is put together
//
// [Write] works in three steps.
//
//  1. read (history.go) folds the campaign's events once, into a history: the engine's core after
//     the last event, and with it what the core forgets and the report shows: each decision with
//     its outcome, the model's best composition after each fit, corrections, incidents, acts of
//     people.
//  2. history.page (page.go) computes a pageData from it: only texts, numbers and finished figures.
//     Each part of the page is a file, see below.
//  3. The template report.html arranges the pageData. All it decides is to leave out empty parts.
//
// [Figures] does the first two steps and hands out the figures alone, for the console, whose pages
// have colors and a width of their own (figure.Page).
//
//	err := report.Write(ctx, file, report.Input{
//		Registry: registry,
//		Log:      log,
//		Campaign: "electrolyte",
//	})
//
// The files of the package: history.go folds the log; convergence.go, experts.go, slices.go,
// heatmap.go and diagnostics.go each compute the data of a figure, or take it from
// internal/view/diagnose, and draw it on a chart (internal/view/figure, glyph.go); questions.go lists the
// questions to experts, choices.go the candidates they chose between, duels.go everything about
// campaigns that measure nothing; header.go and glance.go write the top of the page, warnings.go
// the warnings, tables.go the tables; page.go arranges it all for report.html.
package report

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
)

// Input is the input of a report.
type Input struct {
	// Registry holds the drivers, channels and methods that the campaign's definition may name.
	Registry registry.Registry
	// Log holds the campaign.
	Log events.Log
	// Campaign is its name.
	Campaign string
	// Store is the store as it appears in the commands that the report
	// suggests. Default: the campaign's name with the ending .campaign.
	Store string
	// Advise writes the advice about a finding, with commands between backquotes. Default: without
	// commands.
	Advise func(next string, remedies []problem.Remedy) string
	// Folder is where relative paths of the definition start from; empty where
	// that is not known.
	Folder string
	// Checkpoint is the text of a checkpoint of the log, which is printed;
	// empty for none.
	Checkpoint string
	// Triangle names the three components of a mixture that maps are drawn over.
	// Default: those that vary most.
	Triangle [3]string
	// Shown are the models' statements as they were worked out before. Where they belong to the
	// campaign as the log has it, they are not worked out again: the front that the models expect
	// takes longer than all figures. The zero value holds none.
	Shown view.Shown
}

//go:generate go run -C ../../tools/pages . ../../view/report report.html

//go:embed style.css
var style string

// Write writes the report. A campaign in any state has one. It fails with engine.ErrNoCampaign
// where the log holds no such campaign, with the error of the log, of the context, or of w; on a
// failure before the end nothing has been written to w.
//
// A model that cannot be fitted does not make it fail: the report says so and shows the parts that
// do not rest on it.
func Write(ctx context.Context, w io.Writer, in Input) error {
	// Names, reasons and comments in a log come from other people and programs. The template
	// escapes the characters that HTML would interpret; this writer removes control and
	// bidirectional characters, which a terminal or a browser would obey.
	w = plaintext.NewWriter(w, true)
	if in.Store == "" {
		in.Store = in.Campaign + ".campaign"
	}
	if in.Advise == nil {
		in.Advise = inWords
	}
	h, err := read(ctx, in)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	h.advise = in.Advise
	data, err := h.page(ctx, in.Store)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	data.Checkpoint = in.Checkpoint
	if in.Folder != "" {
		data.Backtest = view.Backtest(h.core, in.Registry.Foregone(h.def, in.Folder))
	}
	// The page is drawn whole first, so that one that fails leaves no half report
	// in the file.
	text, err := drawReport(data).Bytes()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// inWords writes the advice without commands, for readers who have no command line: the finding's
// next step, then each remedy as a sentence. A remedy's text begins with a small letter, since the
// command line puts it into a sentence.
func inWords(next string, remedies []problem.Remedy) string {
	sentences := []string{next}
	for _, r := range remedies {
		sentences = append(sentences, strings.ToUpper(r.Text[:1])+r.Text[1:]+".")
	}
	return strings.TrimSpace(strings.Join(sentences, " "))
}

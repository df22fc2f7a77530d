// Package console is the lab in a browser: HTML pages made on the server, with one stylesheet and a
// little script, all embedded. Everything works without the script, except pages that change by
// themselves, sliders and dragging.
//
// The pages show data of internal/lab and internal/view; a form makes a request of internal/engine,
// recorded in the visitor's name. No page holds inline script or style: a strict
// Content-Security-Policy may be set on all of them.
//
// # A page's journey
//
// A GET: internal/web/server knows the visitor and calls [Handler] with a [Visitor] in the context. The
// page's campaign is looked up, and whether the visitor may see it ([visit.find]). The page takes
// its data from the campaign's core, whose lock it holds only while it copies (lab.Campaign.Read),
// puts them into a page type whose fields are finished texts and drawings, and executes a template
// ([visit.write]). A page type embeds *shell: the frame, with the visitor's rights, messages, and
// the names of the changes that the page listens to.
//
// A POST: the form's hidden fields hold an identifier, made with the page, so that a form that is
// sent twice counts once. A reader of the form makes an engine.Request of it, the campaign records
// it or refuses it, and the visitor is redirected to a page that says what was done (303, so that
// reloading repeats nothing). A refusal shows the form again with its input, and the message at the
// fault.
//
// Afterwards the stream /live (live.go) says that the campaign has changed, and the script of each
// page that shows it asks for the page again and exchanges the parts that differ.
//
// Answers of experts differ: the script of the page holds them for a few seconds before they are
// sent, so that they can be taken back (console.js).
//
// # Files
//
// console.go lists the routes, routes.go those that exist where people have accounts: login.go,
// passkey.go, account.go, people.go and auditlog.go. render.go writes pages and failures, visit.go
// is a request for one, request.go gives forms their identifiers, visitor.go is the pages' view of
// the visitor.
//
// queue.go is the list of questions, outcome.go the fate of the answered ones, question.go the
// review page, with candidate.go, shares.go and pinpoint.go for its parts; reply.go reads its
// forms, answering.go records them, and contest.go reports answers of others to the same question.
//
// docs.go shows the documentation. begin.go is where a campaign begins, begin_table.go where it
// begins with a table. campaigns.go, campaign.go (with the log in words and the forms of a
// campaign), instruments.go, experiment.go, decision.go, whatif.go, results.go, bring.go, files.go,
// region.go, define.go and sheet.go are the other pages, and for many experiments at once
// runsheet.go and batch.go; measured.go holds the fields that every form for a result has. proof.go
// hands out proofs, live.go is the stream of changes, figure.go and charts.go draw.
//
// # Rules for every page
//
// A page decides nothing about a campaign. Its offers follow from the state of the campaign and the
// visitor's rights, so that no button is shown in vain; engine.Core.Handle judges each request, as
// from anywhere else.
//
// While a campaign is read (lab.Campaign.Read), its events wait. Within it a page copies and
// formats; models, files and the network come before or after.
//
// A campaign that a visitor may not see looks like one that does not exist: neither a list, nor a
// count, nor an error message says that it does.
package console

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/notify"
	"github.com/campaignd/campaignd/internal/lab/whatif"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// Options are the settings of the pages, and the services that they work with.
type Options struct {
	// Lab holds the campaigns.
	Lab *lab.Lab
	// Version is the program's.
	Version string
	// Log, if set, takes messages to the operator.
	Log func(format string, args ...any)
	// Closing is closed when streams are to end; nil for never.
	Closing <-chan struct{}
	// Signer, if set, returns the key that signs checkpoints; nil for none.
	Signer func() note.Signer
	// WhatIf works out imagined courses of campaigns; nil for one of the pages' own.
	WhatIf *whatif.Runs
	// Gate lets people in; nil where the pages have no accounts.
	Gate *gate.Gate
	// Reached, if set, says how each person of the lab is reached, and which news they have still
	// to hear.
	Reached func() []notify.Status
	// Unsent, if set, says which systems do not take the lab's events now.
	Unsent func() []string
	// URL is the address at which people reach the server, as the lab's file says
	// it; empty: that of each visitor's request.
	URL string
	// Undo is how long a page holds an answer, which can be taken back meanwhile,
	// before it is sent. Default 6 s.
	Undo time.Duration
}

// undoFor is how long an answer can be taken back unless Options say otherwise:
// long enough to see a slip, short against any experiment.
const undoFor = 6 * time.Second

// Console serves the pages. Its methods may be called by several goroutines.
// [Console.Close] must be called at the end.
type Console struct {
	options Options
	lab     *lab.Lab
	gate    *gate.Gate
	hub     *hub         // who listens to which campaign
	figures *figureCache // the report's figures
	whatIf  *whatif.Runs
	cancel  context.CancelFunc
	ctx     context.Context // ends with Close
	earlier sync.WaitGroup  // [Console.sendEarlier]
}

// New returns the pages of a lab, which must be open. Answers that a server of
// an earlier version left are recorded now, in the background.
func New(o Options) *Console {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Undo == 0 {
		o.Undo = undoFor
	}
	c := &Console{options: o, lab: o.Lab, gate: o.Gate, figures: newFigureCache(), whatIf: o.WhatIf}
	if c.whatIf == nil {
		c.whatIf = whatif.NewRuns(nil, o.Log)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.hub = newHub(c.ctx, o.Lab)
	c.earlier.Go(c.sendEarlier)
	return c
}

// Close ends the work in the background, and returns when it has ended. The maker of the what-if
// runs closes them.
func (c *Console) Close() {
	c.cancel()
	if c.options.WhatIf == nil {
		c.whatIf.Close()
	}
	c.earlier.Wait()
	c.hub.wait()
}

// Handler returns the pages, to be mounted at /.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, page := range c.Pages() {
		mux.HandleFunc(page.Pattern, page.Handle)
	}
	// Forms carry no token against forgery: the browser says where a request
	// comes from (Sec-Fetch-Site, Origin), and a form of another site is
	// refused here.
	return http.NewCrossOriginProtection().Handler(mux)
}

// Pages returns the routes of all pages but those of accounts. Every page of a
// campaign asks for its own permission ([visit.find]).
func (c *Console) Pages() []Route {
	pages := []Route{
		{"GET /static/", staticFiles().ServeHTTP},
		{"GET /live", c.live},
		{"GET /{$}", c.page(showFirst)},
		{"GET /campaigns", c.page(showCampaigns)},
		{"GET /begin", c.page(showBegin)},
		{"POST /begin", c.page(beginExample)},
		{"GET /docs", c.page(showDocs)},
		{"GET /docs/{page...}", c.page(showDoc)},
		{"GET /begin/table", c.page(showTable)},
		{"POST /begin/table", c.page(lookAtTable)},
		{"GET /stocks", c.page(showLabStocks)},
		{"POST /stocks", c.page(countLabStock)},
		{"POST /places", c.page(freeLabPlace)},
		{"GET /instruments", c.page(showLabInstruments)},
		{"POST /instruments", c.page(sayLabInstrument)},
		{"GET /compare", c.page(showCompare)},
		{"GET /compare/data", c.page(sendCourses)},
		{"GET /new", c.page(showNew)},
		{"POST /new", c.page(beginFile)},
		{"POST /validate", c.page(validate)},
		{"POST /edit", c.page(editFile)},
		{"GET /new/schema.json", c.page(sendSchema)},

		{"GET /questions", c.page(showQueue)},
		{"GET /questions/{campaign}/{question}", c.pageOf(See, showQuestion)},
		{"POST /questions/{campaign}/{question}", c.formOf(AnswerIt, answerQuestion)},
		{"POST /questions/{campaign}/{question}/dismiss", c.pageOf(AnswerIt, dismissNews)},
		{"GET /questions/{campaign}/{question}/feasible", c.pageOf(See, sendFeasible)},

		{"/", c.page(notFound)},
	}
	for _, of := range []Route{
		{"GET ", c.pageOf(See, showCampaign)},
		{"GET /log", c.pageOf(See, showLog)},
		{"GET /charts", c.pageOf(See, showCharts)},
		{"GET /results", c.pageOf(See, showResults)},
		{"GET /bring", c.pageOf(See, showBring)},
		{"POST /bring", c.pageOf(Run, bring)},
		{"GET /sheet", c.pageOf(See, showRunSheet)},
		{"GET /sheet.csv", c.pageOf(See, sendRunSheet)},
		{"GET /batch", c.pageOf(See, func(v *visit) error { return showBatch(v, nil) })},
		{"POST /batch", c.formOf(Run, recordBatch)},
		{"POST /batch/check", c.pageOf(Run, checkBatch)},
		{"GET /region", c.pageOf(See, showRegion)},
		{"POST /region", c.formOf(Run, excludeRegion)},
		{"GET /definition", c.pageOf(See, showDefinition)},
		{"GET /export.csv", c.pageOf(See, sendTable)},
		{"GET /export.jsonl", c.pageOf(See, sendLog)},
		{"GET /decisions/{decision}", c.pageOf(See, showDecision)},
		{"POST /decisions/{decision}/whatif", c.formOf(AnswerIt, askWhatIf)},
		{"GET /proofs/{event}", c.pageOf(Audit, sendProof)},
		{"GET /whatif/{run}", c.pageOf(See, showWhatIf)},
		{"POST /whatif/{run}/cancel", c.pageOf(AnswerIt, cancelWhatIf)},
		{"GET /experiments/{experiment}", c.pageOf(See, showExperiment)},
		{"GET /files", c.pageOf(See, showFiles)},
		{"GET /files/{file}", c.pageOf(See, sendFile)},
		{"POST /filing", c.formOf(Run, fileCampaign)},
	} {
		method, path, _ := strings.Cut(of.Pattern, " ")
		pages = append(pages, Route{method + " /campaigns/{campaign}" + path, of.Handle})
	}
	for _, a := range c.actions() {
		pages = append(pages, Route{"POST /campaigns/{campaign}/" + a.path, c.act(a)})
	}
	return pages
}

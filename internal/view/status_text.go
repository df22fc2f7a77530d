package view

import (
	"fmt"
	"io"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/projections/campaign"
)

// statusNames is the width of the names of a status' rows. Longer names would
// move their row's text.
const statusNames = 12

// Around is the part of a status that the campaign itself does not know. It comes from the process
// and the caller: the status itself follows from the log alone.
type Around struct {
	// Running names the process that runs it, and its activity; "" without one.
	Running string
	// NeedsPerson lists the tasks of a person, at least [Campaign.NeedsPerson].
	NeedsPerson []string
	// Store is where it is kept.
	Store string
	// Now is the time relative to which times are written.
	Now time.Time
}

// Write says how the campaign stands.
//
// What a person must do stands near the end, where a terminal shows it last. A
// campaign whose log says that it runs is “not at its end” where no process runs
// it.
func (st *Status) Write(w io.Writer, around Around, how How) error {
	p := &page{w: w}
	stands := st.StatusText()
	if around.Running == "" && st.Status == campaign.Running {
		stands = "not at its end"
	}
	p.line("Campaign %s: %s", st.Summary.Campaign, stands)
	p.raw("")
	p.rows(statusNames, st.running(around.Running, how))
	p.rows(statusNames, st.sofar())
	if st.Backtest != "" {
		p.rows(statusNames, []Row{{"backtest", st.Backtest}})
	}
	p.rows(statusNames, st.trusted(how))
	p.rows(statusNames, st.pending(how, around.Now))
	for i := range st.Stocks {
		p.rows(statusNames, []Row{{"stock", StockText(&st.Stocks[i])}})
	}
	p.rows(statusNames, st.excluded(how))
	if st.Failure != "" {
		p.rows(statusNames, []Row{{"failed fit", st.Failure}})
	}
	for _, what := range around.NeedsPerson {
		p.rows(statusNames, []Row{{"NEEDS YOU", what}})
	}
	p.rows(statusNames, []Row{rowf("store", "%s, %s", around.Store, format.Count(int(st.Sequence), "event"))})
	return p.err
}

// running names the process that runs the campaign, and how many experiments it runs at once. A
// campaign by hand is never "not running": people run it.
func (st *Status) running(running string, how How) (rows []Row) {
	switch {
	case running != "":
		rows = append(rows, Row{"run", running})
	case st.Status.Ended():
	case st.Definition.ByHand():
		rows = append(rows, rowf("run", "by hand: `%s` gives the next experiment, and `%s` takes its result",
			how(problem.Remedy{Action: problem.Suggest}),
			how(engine.TellOf(st.Definition, "", "EXPERIMENT"))))
	default:
		rows = append(rows, rowf("run", "not running; go on with `%s`",
			how(problem.Remedy{Action: problem.Run})))
	}
	def := st.Definition
	if def.Parallel > 1 && !st.Status.Ended() && def.Measures() {
		rows = append(rows, rowf("at once", "up to %s", format.Count(def.Parallel, "experiment")))
	}
	return rows
}

// sofar lists the costs and the findings.
func (st *Status) sofar() []Row {
	rows := append(st.Effort(), st.Found()...)
	if st.Asked > 0 {
		rows = append(rows, Row{"asked", format.Count(st.Asked, "question")})
	}
	return rows
}

// trusted says how far the model and the experts can be trusted. A model that
// has nothing to show and no trouble has no row.
func (st *Status) trusted(how How) (rows []Row) {
	if d := st.Diagnosis; d.Fit != nil || d.Verdict.Troubled() {
		rows = append(rows, Row{"model", modelLine(d, how)})
	}
	for _, x := range st.Diagnosis.Experts {
		x.Name = ExpertName(st.Definition, x.Name)
		for _, pairs := range []*diagnose.Agreement{x.Labels, x.Choices} {
			if pairs != nil {
				rows = append(rows, rowf("expert", "%s: %s, right in %s",
					x.Name, x.Reading, pairsText(pairs)))
			}
		}
		if x.Estimates != nil {
			rows = append(rows, rowf("expert", "%s: %s, with estimates right in %s", x.Name,
				x.Reading, pairsText(x.Estimates)))
		}
		for _, q := range x.Quantities {
			rows = append(rows, rowf("expert", "%s on %s: right in %s", x.Name, q.Quantity, pairsText(q.Agreement)))
		}
	}
	for _, line := range st.TrustLines() {
		rows = append(rows, Row{"trust", line})
	}
	return rows
}

// modelLine says in a line how far the model can be trusted. It names the first finding of the
// verdict's level.
func modelLine(d diagnose.Diagnosis, how How) string {
	line := string(d.Verdict)
	for _, f := range d.Findings {
		if f.Level == d.Verdict {
			line += ": " + f.Title
			break
		}
	}
	if check := d.LeaveOneOut; d.Verdict == diagnose.Good && check != nil && check.R2 != nil {
		r2, of := *check.R2, ""
		if w := d.Weakest; w != nil {
			r2, of = w.R2, " of "+w.Quantity
		}
		if diagnose.Predicts(r2) == diagnose.Roughly {
			line += " enough to steer by, not to read values off"
		}
		line += ": leave-one-out R² " + format.Rounded(r2, 3) + of
	}
	if d.Verdict.Troubled() {
		line += fmt.Sprintf("; `%s` says what to do", how(problem.Remedy{Action: problem.Diagnose}))
	}
	return line
}

// pending lists what the campaign waits for. An unknown fate stands among the experiments under
// way, and again among the tasks of a person.
func (st *Status) pending(how How, now time.Time) (rows []Row) {
	def := st.Definition
	write := format.CompositionsOf(def)
	rows = st.underWayRows(now)
	for _, x := range st.UnderWay {
		if len(def.Procedure) > 0 {
			break // they have the rows of their batches
		}
		state := string(x.Status) + commandText(&x.Command, now)
		rows = append(rows, rowf("under way", "%s is %s (%s)", x.ID, state, write.Line(x.Parameters)))
	}
	for _, text := range CallingOffTexts(st.CallingOff(), now) {
		rows = append(rows, Row{"calling off", text})
	}
	for _, text := range AwaitedTexts(st.Awaited, now) {
		rows = append(rows, Row{"awaited", text})
	}
	for i := range st.Questions {
		q := &st.Questions[i]
		question, lines := Asks(def, q)
		rows = append(rows, rowf("asked", "%s to %s%s%s",
			q.ID, ExpertName(def, q.Expert), question, Until(q.Expires, now)))
		for _, line := range append(lines, how(AnswerTo(def, q))) {
			rows = append(rows, Row{"", line})
		}
	}
	for _, e := range def.Experts {
		if line := st.unanswered(e.Name, how); line != "" {
			rows = append(rows, Row{"unanswered", line})
		}
	}
	return rows
}

// CallingOffTexts say which commands are being called off, a line for each
// order: "e1-e24 are being called off since 14:02:11, as ada said: a leak".
func CallingOffTexts(off []campaign.Order, now time.Time) (texts []string) {
	for len(off) > 0 {
		first := off[0].CallOff
		var ids []string
		var others []campaign.Order
		for _, o := range off {
			if o.CallOff.At.Equal(first.At) && o.CallOff.By == first.By {
				ids = append(ids, o.Subject)
			} else {
				others = append(others, o)
			}
		}
		text := fmt.Sprintf("%s since %s, as %s ordered", BeingCalledOff(ids), Clock(first.At, now), events.ActorName(first.By))
		if first.Reason != "" {
			text += ": " + first.Reason
		}
		texts = append(texts, text)
		off = others
	}
	return texts
}

// BeingCalledOff says that experiments, or acts, are: "e1 is being called off".
func BeingCalledOff(ids []string) string {
	is := " is being called off"
	if len(ids) > 1 {
		is = " are being called off"
	}
	return events.SubjectList(ids) + is
}

// AwaitedTexts say which quantities are still to arrive, from which experiments, and when the first
// of them counts as missing: "capacity_100 of e7 and e8, …".
func AwaitedTexts(awaited []campaign.Awaited, now time.Time) (texts []string) {
	of := make(map[string][]campaign.Awaited)
	var names []string
	for _, a := range awaited {
		if of[a.Quantity] == nil {
			names = append(names, a.Quantity)
		}
		of[a.Quantity] = append(of[a.Quantity], a)
	}
	for _, name := range names {
		var ids []string
		var first time.Time
		for _, a := range of[name] {
			ids = append(ids, a.Experiment)
			if first.IsZero() || a.Until.Before(first) {
				first = a.Until
			}
		}
		if n := len(ids) - fewIDs; n > 0 {
			ids = append(ids[:fewIDs], fmt.Sprintf("%d more", n))
		}
		text := name + " of " + format.List(ids...)
		if !first.IsZero() {
			text += ", the first missing from " + Clock(first, now) + " on"
		}
		texts = append(texts, text)
	}
	return texts
}

// fewIDs is how many identifiers a line lists. The others are counted.
const fewIDs = 5

// unanswered says which questions an expert may still answer, and how the latest of them is
// answered; "" without any.
func (st *Status) unanswered(expert string, how How) string {
	var ids []string
	var latest *campaign.Question
	for i := range st.Expired {
		if st.Expired[i].Expert == expert {
			latest = &st.Expired[i]
			ids = append(ids, latest.ID)
		}
	}
	if latest == nil {
		return ""
	}
	if n := len(ids) - fewIDs; n > 0 {
		ids = append([]string{fmt.Sprintf("%d before", n)}, ids[n:]...)
	}
	answer := how(AnswerTo(st.Definition, latest))
	return fmt.Sprintf("%s to %s; an answer still counts: %s", format.List(ids...), expert, answer)
}

// excluded says in which regions nothing is suggested.
func (st *Status) excluded(how How) (rows []Row) {
	write := format.CompositionsOf(st.Definition)
	for _, r := range st.Excluded {
		rows = append(rows, rowf("excluded", "%s: %s (%s; `%s` takes it back)",
			r.ID, write.Region(r.Region), r.Reason,
			how(problem.Remedy{Action: problem.Allow, Subject: r.ID})))
	}
	return rows
}

// Clock writes a time of the day, with the date where that is not today's. In
// the time zone of the reader's machine.
func Clock(t, now time.Time) string {
	local := t.Local()
	if local.Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return local.Format(time.TimeOnly)
	}
	return local.Format("2006-01-02 15:04")
}

// Until says until when a question is open; "" where it has no limit.
func Until(expires, now time.Time) string {
	if expires.IsZero() {
		return ""
	}
	return ", until " + Clock(expires, now)
}

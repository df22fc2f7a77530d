package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// The scripts under testdata/scripts say, rule by rule, who is told what and when, in virtual time.
// The comment at the head of each is the law, what stands below the line of dashes what the
// planner says. Read what changes before keeping it:
//
//	go test ./internal/lab/notify -run TestScripts -rewrite
//
// A script has these commands:
//
//	lab
//	    The lab file. It begins a new memory on Monday 2 March 2026 at 10:00, UTC.
//
//	given
//	    What happens now, an event a line in the notation of (*world).happens.
//
//	run until=Mon-12:00 [fails] [crashes=before|after]
//	    Time passes, in steps of five seconds; what is sent is printed. The services refuse
//	    everything where it fails; with crashes, the process dies once, before or after the
//	    next message is sent, and comes back.
//
//	down until=Mon-12:00
//	    Time passes while no process runs.
//
//	status
//	    How everybody is reached.
//
// Every memory is written and read again after each event and each message: by its snapshot, and
// once more by folding all events of the campaigns and of the stream.
func TestScripts(t *testing.T) {
	for _, anew := range []bool{false, true} {
		scripts(t, anew)
	}
}

func scripts(t *testing.T, anew bool) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "lab":
				now := monday
				if d.HasArg("begins") {
					var text string
					d.ScanArgs(t, "begins", &text)
					now = mustTime(t, time.RFC3339, text)
				}
				w = newWorld(t, d.Input, now)
				w.anew = anew
			case "given":
				for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
					w.happens(line)
				}
			case "run":
				var until, crashes string
				d.ScanArgs(t, "until", &until)
				d.MaybeScanArgs(t, "crashes", &crashes)
				return w.run(w.clock(until), d.HasArg("fails"), crashes, d.HasArg("ids"))
			case "down":
				var until string
				d.ScanArgs(t, "until", &until)
				w.now = w.clock(until)
			case "status":
				return w.status()
			default:
				t.Fatalf("there is no command %s", d.Cmd)
			}
			return ""
		})
	})
}

var monday = time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)

func mustTime(t testing.TB, layout, text string) time.Time {
	return must.Get(time.Parse(layout, text))(t)
}

// world is a lab in virtual time.
type world struct {
	t        testing.TB
	lab      *labfile.File
	planner  *Planner
	now      time.Time
	def      *definition.Campaign
	sequence map[string]events.Sequence
	sent     []delivery
	anew     bool           // a restart folds all that happened
	happened []occurrence   // to campaigns
	recorded []events.Event // in the stream
}

// occurrence is an event of a campaign.
type occurrence struct {
	events.Event
	payload events.Payload
}

// delivery is a message that arrived.
type delivery struct {
	Message
	at time.Time
}

func newWorld(t testing.TB, lab string, now time.Time) *world {
	file := must.Get(labfile.Parse(builtin.Registry(), "lab.yaml", []byte(lab)))(t)
	low, high := 0.0, 1.0
	w := &world{
		t: t, lab: file, planner: NewPlanner(file), now: now,
		def: &definition.Campaign{
			Name:       "bread",
			Parameters: []definition.Parameter{{Name: "x", Min: &low, Max: &high}},
			Objective:  definition.Objective{Name: "rise", Unit: "mm", Goal: definition.Maximize},
			Instrument: definition.Instrument{Driver: definition.NewChoice("manual", nil)},
		},
		sequence: make(map[string]events.Sequence),
	}
	w.recorded = []events.Event{newEvent(kindBegun, now, &begun{})}
	w.planner = w.folded()
	return w
}

// folded returns a planner that has folded all that happened.
func (w *world) folded() *Planner {
	p := NewPlanner(w.lab)
	for _, e := range w.recorded {
		payload := must.Get(vocabulary.Decode(e))(w.t)
		p.Take(e, payload)
	}
	for _, e := range w.happened {
		p.Apply(e.Event, e.payload)
	}
	return p
}

// restart has another process take over.
func (w *world) restart() {
	if w.anew {
		w.planner = w.folded()
		return
	}
	data := must.Get(pack(snapshot{State: w.planner.state}))(w.t)
	w.planner = NewPlanner(w.lab)
	must.Do(w.t, unpack(data, &snapshot{State: w.planner.state}))
}

// due is what is to be sent now, once that is recorded.
func (w *world) due() []Message {
	due, record := w.planner.Due(w.now)
	w.recorded = append(w.recorded, record...)
	return due
}

// ended records what became of a message.
func (w *world) ended(e events.Event) {
	w.recorded = append(w.recorded, e)
}

// happens applies the event of a line:
//
//	ask q1 ada [expires]     answer q1 ACTOR     expire q1     withdraw q1
//	request e1 X             measure e1 VALUE    flag e1       confirm e1     correct e1 VALUE
//	stall e1                 start e1            lose e1       resolve e1
//	pause ACTOR              resume              stop ACTOR    complete       define INSTANCE
//	refer e1 X               drift e1            note e1
//	stock LABELS             draw e1 LABEL       count LABELS
//
// A line that begins with "CAMPAIGN:" is about another campaign than bread; "expires" is a
// span of time.
func (w *world) happens(line string) {
	campaign, actor, payload := w.read(line)
	_, defined := payload.(*events.CampaignDefined)
	if defined {
		w.sequence[campaign] = 0
	}
	if w.sequence[campaign] == 0 && !defined { // a definition that counts for none
		w.apply(campaign, actor, &events.CampaignDefined{Definition: *w.def})
	}
	w.sequence[campaign]++
	w.apply(campaign, actor, payload)
	w.restart()
}

// read returns the event of such a line.
func (w *world) read(line string) (campaign, actor string, payload events.Payload) {
	campaign, actor = "bread", "engine"
	if name, rest, ok := strings.Cut(line, ": "); ok {
		campaign, line = name, rest
	}
	f := strings.Fields(line)
	word := func(i int) string {
		if i < len(f) {
			return f[i]
		}
		return ""
	}
	id := word(1)
	point := definition.Point{"x": definition.Number(0.5)}
	switch f[0] {
	case "ask":
		p := &events.QuestionAsked{
			Question: id, Form: events.FormLabel, Expert: word(2), Options: []events.Option{{Parameters: point}},
		}
		if text := word(3); text != "" {
			d := must.Get(time.ParseDuration(text))(w.t)
			p.Expires = w.now.Add(d)
		}
		payload = p
	case "answer":
		actor = word(2)
		payload = &events.QuestionAnswered{Question: id, Form: events.FormLabel, Expert: "ada"}
	case "contest":
		actor = word(2)
		payload = &events.QuestionContested{Question: id, Form: events.FormLabel, Expert: "ada"}
	case "supersede":
		actor = word(2)
		payload = &events.QuestionSuperseded{Question: id, Form: events.FormLabel, Expert: "ada"}
	case "expire":
		payload = &events.QuestionExpired{Question: id}
	case "withdraw":
		payload = &events.QuestionWithdrawn{Question: id, Reason: "the budget is spent"}
	case "request":
		payload = &events.ExperimentRequested{Experiment: id, Parameters: definition.Point{"x": definition.Number(w.number(word(2)))}}
	case "refer":
		payload = &events.ExperimentRequested{
			Experiment: id, Parameters: definition.Point{"x": definition.Number(w.number(word(2)))}, Origin: events.OriginReference,
		}
	case "drift":
		payload = &events.MeasurementFlagged{Experiment: id, Verdict: events.VerdictDrift, Reason: "standard is 9 mm, outside of 1 to 5."}
	case "note":
		actor = "person:bo"
		payload = &events.NoteAdded{Text: "the lamp was replaced", About: id}
	case "measure":
		if at := word(3); at != "" { // it was made there
			point = definition.Point{"x": definition.Number(w.number(at))}
		}
		m := events.Measurement{Actual: point, Objective: definition.Quantity{Name: "rise", Value: w.number(word(2)), Unit: "mm"}}
		payload = &events.ExperimentMeasured{Experiment: id, Measurement: m}
	case "exclude": // from a number on
		from := w.number(word(2))
		payload = &events.RegionExcluded{Exclusion: id, Region: definition.Region{Where: map[string]definition.RegionSide{"x": {Min: &from}}}}
	case "allow":
		payload = &events.RegionAllowed{Exclusion: id}
	case "flag":
		payload = &events.MeasurementFlagged{Experiment: id, Verdict: events.VerdictSuspect, Reason: "It is far off."}
	case "confirm":
		payload = &events.MeasurementFlagged{Experiment: id, Verdict: events.VerdictConfirmed, Reason: "It was right."}
	case "correct":
		payload = &events.MeasurementCorrected{Experiment: id, New: &definition.Quantity{Value: w.number(word(2))}, Reason: "a slip"}
	case "stall":
		payload = &events.InstrumentStalled{Experiment: id, Instrument: "oven", Waited: 600}
	case "sign":
		payload = &events.InstrumentSignalled{Experiment: id, Instrument: "oven"}
	case "start":
		payload = &events.ExperimentStarted{Experiment: id, Instrument: "oven"}
	case "lose":
		payload = &events.ExperimentUnresolved{Experiment: id, Instrument: "oven", Cause: "no answer from <!channel> @here"}
	case "resolve":
		actor = "person:bo"
		payload = &events.ExperimentResolved{Experiment: id, Resolution: events.ResolvedNotPerformed}
	case "stock": // each experiment takes two pans from then on
		def := *w.def
		def.Stocks = map[string]definition.Stock{"pans": {Labels: id}}
		def.Instrument.Draws = map[string]definition.Draw{"pans": "2"}
		payload = &events.CampaignAmended{Definition: def}
	case "draw":
		payload = &events.ExperimentDispatched{Experiment: id, Instrument: "oven",
			Drawn: []events.Drawn{{Stock: "pans", Labels: must.Get(definition.ParseLabels(word(2)))(w.t)}}}
	case "count":
		actor = "person:bo"
		payload = &events.StockCounted{Stock: "pans", Labels: must.Get(definition.ParseLabels(id))(w.t)}
	case "pause":
		actor = id
		payload = &events.CampaignPaused{Reason: "the last 4 experiments gave no result"}
	case "resume":
		actor = "person:bo"
		payload = &events.CampaignResumed{}
	case "stop":
		actor = id
		payload = &events.CampaignStopped{Reason: "enough"}
	case "complete":
		payload = &events.CampaignCompleted{Reason: events.CompletedBudget, Detail: "all 25 experiments are done"}
	case "define":
		payload = &events.CampaignDefined{Instance: id, Definition: *w.def}
	default:
		w.t.Fatalf("there is no event %q", line)
	}
	return campaign, actor, payload
}

func (w *world) apply(campaign, actor string, payload events.Payload) {
	e := occurrence{events.Event{
		Campaign: campaign, Sequence: w.sequence[campaign], Kind: events.KindOf(payload), Time: w.now, Actor: actor,
	}, payload}
	w.happened = append(w.happened, e)
	w.planner.Apply(e.Event, e.payload)
}

func (w *world) number(text string) (x float64) {
	if _, err := fmt.Sscan(text, &x); err != nil {
		w.t.Fatal(text, err)
	}
	return x
}

// clock is the next time at which a clock in UTC shows a weekday and time.
func (w *world) clock(text string) time.Time {
	at := w.now.Truncate(time.Minute)
	for range 8 * 24 * 60 {
		if at = at.Add(time.Minute); at.Format("Mon-15:04") == text {
			return at
		}
	}
	w.t.Fatalf("no time is %q", text)
	return at
}

// run lets time pass, and returns what was sent.
func (w *world) run(until time.Time, fails bool, crashes string, ids bool) string {
	var b strings.Builder
	for ; w.now.Before(until); w.now = w.now.Add(5 * time.Second) {
		for _, m := range w.due() {
			w.restart()
			if crashes == "before" {
				fmt.Fprintf(&b, "%s it dies before %s is sent to %s\n", w.now.Format("Mon 15:04:05"), m.ID, m.Person)
				return b.String()
			}
			if fails {
				fmt.Fprintf(&b, "%s %s is not reached: %s\n", w.now.Format("Mon 15:04:05"), m.Person, m.Title)
				w.ended(w.planner.Failed(m, w.now, "no route to host"))
				continue
			}
			w.sent = append(w.sent, delivery{m, w.now})
			fmt.Fprintf(&b, "%s to %s: %s\n", w.now.Format("Mon 15:04:05"), m.Person, m.Title)
			for _, line := range strings.Split(m.Text, "\n") {
				if strings.HasPrefix(line, "[message ") && !ids {
					continue
				}
				if line != "" {
					fmt.Fprintf(&b, "    %s\n", line)
				}
			}
			if crashes == "after" {
				fmt.Fprintf(&b, "%s it dies after that\n", w.now.Format("Mon 15:04:05"))
				return b.String()
			}
			w.ended(w.planner.Sent(m, w.now))
			w.restart()
		}
	}
	return b.String()
}

func (w *world) status() string {
	var b strings.Builder
	for _, s := range w.planner.Status(w.now) {
		fmt.Fprintf(&b, "%s quiet=%t", s.Person, s.Quiet)
		for _, t := range s.Targets {
			fmt.Fprintf(&b, " %s waiting=%d", t.Address, t.Waiting)
			if t.Error != "" {
				fmt.Fprintf(&b, " error=%q failed=%s again=%s", t.Error, t.Failed.Format("15:04:05"), t.Again.Format("15:04:05"))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

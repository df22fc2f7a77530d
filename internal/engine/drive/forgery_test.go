package drive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/forgery"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/policies/next"
)

// forgedLogs are the campaigns whose logs are forged: between them they hold every kind of event.
// Where kinds are named, events of others are left as they are: an audit of that log takes
// long, and other logs hold those.
var forgedLogs = map[string]struct {
	campaign func(*testing.T) []events.Event
	kinds    []events.Kind
}{
	"cobol": {campaign: func(t *testing.T) []events.Event {
		cheap := func(def *definition.Campaign) { def.Policy.Next = next.LCB{}.Choice() }
		log, _ := simulate(t, electrolyte(t, 3, 6, cheap))
		return history(t, log)
	}},
	"mr-lpf": {campaign: func(t *testing.T) []events.Event {
		def, err := studytest.Define("branin", 3, 0, studytest.WithExpert(2), func(def *definition.Campaign) {
			def.Policy.Duel = duel.MRLPF{Candidates: duel.Candidates{Points: ptr(16)}}.Choice()
			studytest.SimulatedExpert(def, 0, func(s *humansim.Settings) { s.Task = "branin" })
			def.Instrument, def.Budget = definition.Instrument{}, definition.Budget{Comparisons: 12}
		})
		if err != nil {
			t.Fatal(err)
		}
		log, _ := simulate(t, def)
		return history(t, log)
	}},
	"coexbo": {campaign: paired},
	"people": {campaign: people},
	"calledoff": {calledOff, []events.Kind{
		events.KindCancellationOrdered, events.KindCancellationAnswered, events.KindInstrumentAnswered,
	}},
	"remade": {remade, []events.Kind{events.KindActEnded, events.KindCancellationOrdered, events.KindCancellationAnswered}},
	"referenced": {referenced, []events.Kind{
		events.KindExperimentRequested, events.KindMeasurementFlagged, events.KindCampaignPaused, events.KindNoteAdded,
	}},
	"secured": {secured, []events.Kind{events.KindSafetyOrdered, events.KindSafetyAnswered}},
	"cycled":  {cycled, []events.Kind{events.KindInstrumentSignalled}},
	"stocked": {stocked, []events.Kind{events.KindStockCounted, events.KindExperimentDispatched}},
	"procedure": {procedures, []events.Kind{
		events.KindBatchPlanned, events.KindBatchEnded, events.KindActDispatched, events.KindActAccepted,
		events.KindActEnded, events.KindActUnresolved, events.KindActResolved,
	}},
	"files":    {filed, []events.Kind{events.KindFileAttached, events.KindFileWithdrawn}},
	"unfit":    {campaign: unfit},
	"contest":  {campaign: contestedBy},
	"estimate": {campaign: estimated},
	"anchors":  {campaign: dueled},
	"judged":   {labeled, []events.Kind{events.KindMeasurementsJudged}},
	"awaiting": {awaiting, []events.Kind{events.KindQuantityArrived}},
	"leaked": {func(t *testing.T) []events.Event {
		log, _ := leaked(t)
		return history(t, log)
	}, []events.Kind{events.KindExperimentFailed}},
	"programs": {programmed, []events.Kind{events.KindMethodAnswered, events.KindQuestionAnswered}},
	"once":     {once, []events.Kind{events.KindExperimentCancelled, events.KindMeasurementFlagged}},
}

// Law: every kind of event is forged, see [TestEveryForgeryIsFound].
func TestEveryKindIsForged(t *testing.T) {
	missing := make(map[events.Kind]bool)
	for _, info := range events.Kinds() {
		missing[info.Kind] = true
	}
	for _, log := range forgedLogs {
		for _, e := range log.campaign(t) {
			if log.kinds == nil || slices.Contains(log.kinds, e.Kind) {
				delete(missing, e.Kind)
			}
		}
	}
	for kind := range missing {
		t.Errorf("no %s is forged: add it to a log of those that are", kind)
	}
}

// Law: whatever one field of one event of a log is changed into, an audit finds it,
// unless it is a fact that nothing else in the log speaks of.
func TestEveryForgeryIsFound(t *testing.T) {
	for name, log := range forgedLogs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := log.campaign(t)
			if report, err := auditAsMade(t, refill(t, all), all); err != nil || len(report.Mismatches) > 0 || !report.Exact {
				t.Fatalf("the honest log: %+v %v", report, err)
			}
			forgeAll(t, all, log.kinds)
		})
	}
}

// forgeAll audits a log with each of its forgeries, of one event of each kind: another one for each forgery in
// turn, so that between them they change early events and late ones.
func forgeAll(t *testing.T, all []events.Event, kinds []events.Kind) {
	seldom := 1
	if testing.Short() {
		seldom = 60
	} else if !draws.Whole() {
		seldom = 5
	}
	type score struct{ tried, found, remarked, free int }
	scores := make(map[events.Kind]*score)
	var keys []string
	alike := make(map[string][]forgery.Forgery)
	list := must.Get(forgery.Of(all))(t)
	for _, f := range list {
		if field, _, _ := strings.Cut(f.Path, "/"); slices.Contains([]string{"definition", "source", "changes"}, field) {
			continue // internal/attest holds the one to the other
		}
		key := fmt.Sprint(all[f.At].Kind, f.Path, f.What)
		if alike[key] == nil {
			keys = append(keys, key)
		}
		alike[key] = append(alike[key], f)
	}
	for n, key := range keys {
		f := alike[key][n%len(alike[key])]
		kind := all[f.At].Kind
		if kinds != nil && !slices.Contains(kinds, kind) || n%seldom != 0 || !draws.Turn(n, 5) {
			continue
		}
		log := memlog.New()
		if !fill(t, log, f.In(all)) {
			continue // the log itself refuses it
		}
		if scores[kind] == nil {
			scores[kind] = new(score)
		}
		s := scores[kind]
		s.tried++
		report, err := safely(t, log, all)
		switch {
		case errors.Is(err, errPanic):
			t.Errorf("event %d, %s: %s %s: %v", f.At+1, kind, f.Path, f.What, err)
		case err != nil || len(report.Mismatches) > 0 || report.OtherVersion > 0:
			s.found++
		case forgery.IsFree(kind, f.Path), f.Path == ".time later" && f.At == len(all)-1: // nothing is behind it
			s.free++
		case len(report.Remarks) > 0 && strings.HasPrefix(f.Path, ".time"):
			s.remarked++
		default:
			t.Errorf("event %d of %d, %s by %s: %s %s is not found: %s; check it in internal/attest/decisions/facts.go, or list it in forgery.Free with the reason", f.At+1, len(all), kind, all[f.At].Actor, f.Path, f.What, shorten(string(f.Event.Data)))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(scores)) {
		t.Logf("%-24s %+v", kind, *scores[kind])
	}
}

var errPanic = errors.New("panic")

// safely audits, and reports a panic as an error.
func safely(t *testing.T, log events.Log, honest []events.Event) (report decisions.Report, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, fault, debug.Stack())
		}
	}()
	return auditAsMade(t, log, honest)
}

// auditAsMade audits by the program that made the honest log.
func auditAsMade(t *testing.T, log events.Log, honest []events.Event) (decisions.Report, error) {
	t.Helper()
	var build events.Build
	if i := slices.IndexFunc(honest, func(e events.Event) bool { return e.Kind == events.KindModelFitted }); i >= 0 {
		payload := must.Get(events.Decode(honest[i]))(t)
		build = payload.(*events.ModelFitted).Build
	}
	return decisions.Audit(t.Context(), builtin.Registry(), log, honest[0].Campaign, build, nil)
}

func shorten(text string) string {
	if len(text) > 300 {
		return text[:300] + "…"
	}
	return text
}

// fill appends events to a log, and reports whether it takes them.
func fill(t *testing.T, log *memlog.Log, all []events.Event) bool {
	t.Helper()
	for _, e := range all {
		if _, err := log.Append(t.Context(), e.Campaign, e.Sequence-1, e); err != nil {
			return false
		}
	}
	return true
}

// lab is an instrument on which everything goes wrong that can.
type lab struct {
	mu       sync.Mutex
	awaited  int
	outcomes []func(instruments.Command) instruments.Outcome
}

func (l *lab) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "acme/mixer", Identity: "M2, serial 0042", Capacity: 1}, nil
}
func (l *lab) Start(context.Context, instruments.Command) error  { return nil }
func (l *lab) Cancel(context.Context, instruments.Command) error { return nil }
func (l *lab) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	l.mu.Lock()
	n := l.awaited
	l.awaited++
	l.mu.Unlock()
	if n < len(l.outcomes) {
		return l.outcomes[n](cmd), ctx.Err()
	}
	return good(cmd), nil
}

func good(cmd instruments.Command) instruments.Outcome {
	x, _ := cmd.Parameters["lipf6"].Float()
	y, _ := cmd.Parameters["ec"].Float()
	o := measured(12 - (x-1)*(x-1) - 10*(y-0.4)*(y-0.4))
	o.Measurement.Actual = cmd.Parameters
	o.Measurement.Objective.SD = ptr(0.1)
	o.Measurement.Further = []definition.Quantity{{Name: "viscosity", Value: 3, Unit: "mPa·s"}}
	return o
}

func gives(status instruments.Status, cause string) func(instruments.Command) instruments.Outcome {
	return func(instruments.Command) instruments.Outcome {
		return instruments.Outcome{Status: status, Cause: cause}
	}
}

// moodyExpert answers each question in another way.
type moodyExpert struct{ asked int }

func (*moodyExpert) Describe() humans.Description { return humans.Description{Expert: "ada"} }
func (e *moodyExpert) Ask(context.Context, humans.Question) (humans.Reply, error) {
	accept, reject := events.Answer{Label: events.LabelAccept}, events.Answer{Label: events.LabelReject}
	answers := []humans.Reply{
		{Answer: accept}, {Answer: reject, Comment: "too viscous"}, {},
		{Answer: reject, Exclude: true, Comment: "it freezes"}, {Answer: events.Answer{Label: "perhaps"}}, {Answer: accept, Comment: "yes"},
	}
	e.asked++
	return answers[(e.asked-1)%len(answers)], nil
}

// people is the history of a campaign in which people and a real instrument do
// whatever they may.
func people(t *testing.T) []events.Event {
	def := electrolyte(t, 2, 9, func(def *definition.Campaign) {
		def.Experts[0] = definition.Expert{Name: "ada", Channel: terminal.Choose(terminal.Settings{}), AnswerWithin: definition.Duration(time.Hour)}
		def.Initial.Labels, def.Initial.Balanced = ptr(6), ptr(false)
		def.Instrument.StallAfter, def.Instrument.GiveUpAfter = definition.Duration(40*time.Millisecond), definition.Duration(150*time.Millisecond)
		def.Objective.Max = ptr(100.0)
		def.Policy = definition.Policy{Next: next.Random{}.Choice(), Trust: definition.NewChoice(policies.None, nil)} // quick to make again
	})
	log, late := memlog.New(), make(chan struct{})
	device := &lab{outcomes: []func(instruments.Command) instruments.Outcome{
		good,
		gives(instruments.Infeasible, "a lump"),
		gives(instruments.Deferred, "the argon ran out"),
		good,
		func(cmd instruments.Command) instruments.Outcome { // stalls
			time.Sleep(60 * time.Millisecond)
			return good(cmd)
		},
		func(instruments.Command) instruments.Outcome { return measured(1e6) }, // refused
		gives(instruments.Unknown, "the line was cut"),
		func(cmd instruments.Command) instruments.Outcome { // given up, answers late
			<-late
			return good(cmd)
		},
		func(cmd instruments.Command) instruments.Outcome { // while it does the next
			close(late)
			time.Sleep(60 * time.Millisecond)
			return good(cmd)
		},
	}}
	point := func(lipf6, ec float64) definition.Point {
		return definition.Point{"lipf6": definition.Number(lipf6), "ec": definition.Number(ec), "dmc": definition.Number(0.5)}
	}
	asked := 0
	named := func(request engine.Request) engine.Request {
		request.Actor, request.Account = "person:eve", "eve (uid 1000)"
		asked++
		if asked%3 == 0 { // not all callers give an identifier
			return request
		}
		return request.Identified(fmt.Sprint("request ", asked))
	}
	ask := func(r *drive.Runner, request engine.Request) {
		t.Helper()
		request = named(request)
		must.Get(r.Submit(t.Context(), request))(t)
	}
	tell := func(r *drive.Runner, requests ...engine.Request) {
		t.Helper()
		for _, request := range requests {
			request = named(request)
			must.Get(engine.Submit(t.Context(), log, r.Core(), request, time.Now()))(t)
		}
	}
	defined := def
	defined.Instrument.Driver = process.Choose(process.Settings{Command: []string{"./mixer"}})
	defined = campaignfile.Complete(builtin.Registry(), defined)
	defined.Initial.Wait = nil // one question after the other: the expert's moods come in their order
	trace := "00-" + strings.Repeat("1", 32) + "-" + strings.Repeat("2", 16) + "-01"
	by := engine.Request{Actor: "person:eve", Account: "eve (uid 1000)"}
	if err := engine.DefineBy(t.Context(), log, events.CampaignDefined{Instance: "ABC", Definition: defined}, by, time.Now(), trace); err != nil {
		t.Fatal(err)
	}
	begin := func() (*drive.Runner, <-chan string) {
		r, waiting := start(t, log, def, device)
		r.Now, r.Reviewers, r.Account = time.Now, map[string]humans.Reviewer{"ada": &moodyExpert{}}, "lab (uid 900)"
		return r, waiting
	}

	r, waiting := begin()
	tell(r, engine.Request{Import: []engine.Tell{
		{Parameters: point(0.5, 0.35), Value: new(9.0), Notes: []string{"batch: 7", "by: ada"}},
		{Parameters: point(0.5, 0.35), Failed: "a leak", Notes: []string{"batch: 8"}},
		{Parameters: point(0.6, 0.35), Value: new(9.5)},
	}},
		engine.Request{Exclude: &engine.Exclude{Reason: "it clouds", Region: map[string]definition.RegionSide{"lipf6": {Min: ptr(2.0), Max: ptr(2.1)}}}},
		engine.Request{Note: &engine.Note{Text: "a new bottle"}},
		engine.Request{Pause: &events.CampaignPaused{Reason: "lunch"}})
	ended := run(t, r)
	until(t, waiting, "paused")
	ask(r, engine.Request{Resume: &events.CampaignResumed{}})
	until(t, waiting, "the fate of")
	unresolved := func() string {
		for _, x := range slices.Backward(mustLoad(t, log).State().Experiments) {
			if x.Status == "unresolved" {
				return x.ID
			}
		}
		t.Fatal("nothing is unresolved")
		return ""
	}
	ask(r, engine.Request{Resolve: &engine.Resolve{Experiment: unresolved(), Resolution: events.ResolvedFailed, Repeat: true, Reason: "it had begun"}})
	until(t, waiting, "the fate of")
	settled := unresolved()
	ask(r, engine.Request{Resolve: &engine.Resolve{Experiment: settled, Resolution: events.ResolvedMeasured, Value: ptr(11.0), Actual: point(1.1, 0.4), Reason: "read off the display"}})
	must.Do(t, ended())

	r, _ = begin()
	amended := campaignfile.Complete(builtin.Registry(), *r.Core().State().Definition)
	amended.Budget.Experiments += 4
	reject := func(q string, exclude bool, comment string) engine.Request {
		reply := humans.Reply{Answer: events.Answer{Label: events.LabelReject}, Exclude: exclude, Comment: comment}
		return engine.Request{Answer: &engine.Answer{Question: q, Reply: reply}}
	}
	tell(r, engine.Request{Amend: &events.CampaignAmended{Definition: amended, Reason: "go on", Changes: []events.Change{{Path: "/budget/experiments", From: "9", To: "13"}}}},
		engine.Request{Correct: &engine.Correct{Experiment: settled, Value: ptr(11.2), Reason: "calibration"}},
		engine.Request{Correct: &engine.Correct{Experiment: settled, Actual: point(1.2, 0.4), Reason: "weighed again"}},
		engine.Request{Correct: &engine.Correct{Experiment: "e1", Exclude: true, Reason: "bubble"}},
		engine.Request{Tell: &engine.Tell{Parameters: point(0.9, 0.45), Value: new(11.5), SD: ptr(0.2), Notes: []string{"cloudy"}}},
		engine.Request{Tell: &engine.Tell{Parameters: point(1.9, 0.45), Infeasible: "it does not dissolve"}},
		reject("q1", false, "on second thoughts"), reject("q1", true, "really not"),
		engine.Request{Allow: &engine.Allow{Exclusion: "n1", Reason: "the new salt is purer"}})

	// Killed while the instrument works: the next process asks it, in vain.
	ctx, kill := context.WithCancel(t.Context())
	device.awaited, device.outcomes = 0, []func(instruments.Command) instruments.Outcome{func(instruments.Command) instruments.Outcome {
		kill()
		return instruments.Outcome{}
	}}
	_ = r.Run(ctx)
	r, waiting = begin()
	ended = run(t, r)
	until(t, waiting, "the fate of")
	ask(r, engine.Request{Resolve: &engine.Resolve{Experiment: unresolved(), Resolution: events.ResolvedNotPerformed, Repeat: true}})
	must.Do(t, ended())
	return history(t, log)
}

func mustLoad(t *testing.T, log events.Log) *engine.Core {
	t.Helper()
	return must.Get(engine.Load(t.Context(), builtin.Registry(), log, "electrolyte"))(t)
}

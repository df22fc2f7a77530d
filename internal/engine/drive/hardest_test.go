package drive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// The hardest cases of procedures, each as it would happen in a lab. Three of them stand elsewhere: a
// plate that was killed after some wells ([TestPlateKilledAfterSomeWells]), places against their order
// (TestPlacesAgainstTheirOrder of campaignfile), and a leak.

// platesOf is [plated] for so many experiments, of which two or more batches are under way at a time.
func platesOf(batches, atOnce int, change ...func(*definition.Campaign)) definition.Campaign {
	return plated(append([]func(*definition.Campaign){func(def *definition.Campaign) {
		def.Budget.Experiments = 3 * batches
		def.Initial.Experiments = ptr(3 * batches)
		def.Parallel = 3 * atOnce
	}}, change...)...)
}

// after lets time pass, until the campaign stands still.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// resolved asks for a person's word on an act, or a batch.
func resolved(t *testing.T, a *attended, subject string, how events.Resolution) {
	t.Helper()
	must.Do(t, a.ask(t, engine.Request{Resolve: &engine.Resolve{Experiment: subject, Resolution: how, Reason: "looked"}}))
}

// rested is how long a batch was in the oven, by the log.
func rested(s *campaign.State, batch string) time.Duration {
	b := *s.Batch(batch)
	return lastOf(s, b, "unload").Command.DispatchedAt.Sub(lastOf(s, b, "load").EndedAt)
}

// measuredAll fails unless all experiments of a campaign are measured, and its audit finds nothing.
func measuredAll(t *testing.T, log events.Log, s *campaign.State) {
	t.Helper()
	if n := s.Count(campaign.Measured); n != len(s.Experiments) || n != s.Definition.Budget.Experiments {
		t.Errorf("%d of %d experiments are measured: %v", n, s.Definition.Budget.Experiments, acts(s))
	}
	audited(t, log, s.Name)
}

// sentOnce fails where a command was sent twice, or a stage twice for an experiment.
func sentOnce(t *testing.T, used stations) {
	t.Helper()
	sent := make(map[string]bool)
	for name, s := range used {
		for _, cmd := range s.commands() {
			ids := []string{cmd.Experiment}
			if cmd.Experiment == "" {
				ids = nil
			}
			for _, x := range cmd.Experiments {
				ids = append(ids, x.Experiment)
			}
			for _, key := range append(ids, cmd.ID) {
				if key = cmd.Stage + " " + key; sent[key] {
					t.Errorf("%s was sent %s twice", name, key)
				}
				sent[key] = true
			}
		}
	}
}

// Law: an act whose fate is unknown holds its instrument, its batch, and the place that it was to take;
// all else goes on.
//
// The case: the power is cut while the arm carries a plate to the oven. The plates before it are measured
// and cleaned up after, one behind it is dosed, and another waits for the arm, though the oven has room.
func TestPowerCutWhileThePlateIsCarried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, used := memlog.New(), newStations()
		def := platesOf(5, 5, func(def *definition.Campaign) {
			def.Places[0].Room = 2
			def.Stocks["tips"] = definition.Stock{Labels: "A1-H6"}
		})
		used["doser"].takes["a3"] = 11 * time.Minute // no two acts end at a time
		used["doser"].takes["a6"] = 3*time.Hour + 30*time.Minute
		used["arm"].takes["a7"] = 12 * time.Minute
		used["meter"].takes["a8"] = 12 * time.Minute
		const carried = "a10"
		used["arm"].says[carried] = instruments.Outcome{Status: instruments.Unknown, Cause: "the power was off"}
		a := used.attend(t, log, def)
		after(8 * time.Hour)
		s := platesState(t, log)
		want := []string{
			"a1 dose e1-e3 done", "a2 load e1-e3 done", "a3 dose e4-e6 done", "a4 load e4-e6 done",
			"a5 dose e7-e9 done", "a6 dose e10-e12 done", "a7 unload e1-e3 done", "a8 measure e1 done",
			"a9 unload e4-e6 done", "a10 load e7-e9 ", "a11 measure e2 done", "a12 measure e3 done",
			"a13 measure e4 done", "a14 measure e5 done", "a15 measure e6 done", "a16 clean e1-e3 done",
			"a17 clean e4-e6 done", "a18 dose e13-e15 done",
		}
		if got := acts(s); !slices.Equal(got, want) {
			t.Errorf("before anybody looked the acts are %v", got)
		}
		if s.Occupants("oven") != 1 || !s.Batch("b2").Over || s.Status != campaign.Running {
			t.Errorf("%d batches occupy the oven, b2 is %+v, the campaign %s", s.Occupants("oven"), s.Batch("b2"), s.Status)
		}
		if says := a.waitsFor(); !strings.Contains(says, "a person: the fate of a10 (load of b3) is unknown") {
			t.Errorf("it waits for %q", says)
		}
		resolved(t, a, carried, events.ResolvedDone)
		must.Do(t, <-a.over)
		s = platesState(t, log)
		if rest := rested(s, "b3"); rest < 2*time.Hour || rest > 3*time.Hour {
			t.Errorf("b3 rested for %s after the word", rest)
		}
		sentOnce(t, used)
		measuredAll(t, log, s)
	})
}

// Law: a time between stages is no timer: it follows from the log, and no process need be there for it.
//
// The case: campaignd is killed while a plate rests in the oven for two hours, and started again twice.
func TestCrashInTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, used := memlog.New(), newStations()
		def := platesOf(1, 1)
		for _, life := range []time.Duration{time.Hour, time.Minute} { // the plate is loaded after 20 minutes
			a := used.attend(t, log, def)
			after(life)
			a.end()
			<-a.over
			time.Sleep(20 * time.Minute)
		}
		must.Do(t, <-used.attend(t, log, def).over)
		s := platesState(t, log)
		if rest := rested(s, "b1"); rest != 2*time.Hour {
			t.Errorf("the plate rested for %s, and was due after 2 h", rest)
		}
		for _, e := range history(t, log) {
			if e.Kind == events.KindActUnresolved || e.Kind == events.KindActResolved {
				t.Errorf("there was nothing to recover: %s %s", e.Kind, e.Data)
			}
		}
		sentOnce(t, used)
		measuredAll(t, log, s)
	})
}

// Law: a window that closes while a batch queues for an instrument fails its experiments, and moves no
// matter: the batch keeps its place until a person says that it was taken out, and by that word alone
// another may take it.
//
// The case: the arm shakes the second plate for hours, and the first stays in the oven for longer than it
// may.
func TestWindowClosesWhileItQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, used := memlog.New(), newStations()
		def := platesOf(2, 2, func(def *definition.Campaign) {
			shake := definition.Stage{Name: "shake", On: "arm", Together: true, After: def.Procedure[1].After}
			def.Procedure[1].After = []definition.Edge{{Stage: "shake"}}
			def.Procedure = slices.Insert(def.Procedure, 1, shake)
		})
		used["arm"].takes["a5"] = 4 * time.Hour // it shakes the second plate
		a := used.attend(t, log, def)
		after(24 * time.Hour)
		s := platesState(t, log)
		for _, id := range []string{"e1", "e2", "e3"} {
			x := s.Experiment(id)
			if x.Status != campaign.Failed || x.Cause != "unload did not begin within 3h0m0s of the end of load" {
				t.Errorf("%s is %s: %s", id, x.Status, x.Cause)
			}
		}
		if b := s.Batch("b1"); b.Over || !slices.Equal(b.Places, []string{"oven"}) {
			t.Errorf("b1 is %+v", b)
		}
		if says := a.waitsFor(); !strings.Contains(says, "a person: take b1 out of oven, and say that it is scrapped") {
			t.Errorf("it waits for %q", says)
		}
		if lastOf(s, *s.Batch("b1"), "unload") != nil || lastOf(s, *s.Batch("b2"), "load") != nil {
			t.Errorf("the acts are %v", acts(s))
		}
		resolved(t, a, "b1", events.ResolvedFailed)
		must.Do(t, <-a.over)
		s = platesState(t, log)
		if b := s.Batch("b1"); !b.Scrapped || b.Places != nil {
			t.Errorf("b1 is %+v", b)
		}
		if n := s.Count(campaign.Measured); n != 3 {
			t.Errorf("%d are measured: %v", n, acts(s))
		}
		sentOnce(t, used)
		audited(t, log, s.Name)
	})
}

// dosedOneByOne is a campaign of one plate, whose experiments are dosed each by itself. The doser is given
// up after some silence.
func dosedOneByOne(giveUpAfter time.Duration) definition.Campaign {
	return platesOf(1, 1, func(def *definition.Campaign) {
		in := def.Instruments["doser"]
		in.StallAfter, in.GiveUpAfter = definition.Duration(5*time.Second), definition.Duration(giveUpAfter)
		def.Instruments["doser"] = in
		def.Procedure = []definition.Stage{
			{Name: "dose", On: "doser", Draws: map[string]definition.Draw{"tips": "2"}},
			def.Procedure[3],
			{Name: "turn", On: "arm", Together: true, After: []definition.Edge{{Stage: "dose"}}},
		}
		def.Procedure[1].After = []definition.Edge{{Stage: "turn"}}
		def.Places = nil
	})
}

// Law: before an act comes again, and before anything else goes to its instrument, it cannot begin any
// more; what the device did meanwhile overtakes a person's word.
//
// The case: the start of an act lies in the pipe to the doser, which hangs. A person sees that nothing
// has moved, and says so; then the doser reads what it was sent, and doses once.
func TestActBeginsAfterAPersonsWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, used, doser := memlog.New(), newStations(), newPipe()
		def := dosedOneByOne(12 * time.Second)
		doser.stubborn = true
		doser.hold(true)
		a := used.attend(t, log, def, func(r *drive.Runner) { r.Instruments["doser"] = doser })
		after(15 * time.Second)
		if act := platesState(t, log).Act("a1"); act.Command.Fate != campaign.Unknown || len(doser.begun()) > 0 {
			t.Fatalf("after 15 s a1 is %s, and %v moved", act.Command.Fate, doser.begun())
		}
		resolved(t, a, "a1", events.ResolvedNotPerformed)
		after(time.Minute)
		if s := platesState(t, log); len(s.Acts) != 1 || !s.Acts[0].Command.BeingCalledOff() {
			t.Fatalf("before the call is answered the acts are %v", acts(s))
		}
		doser.hold(false)
		must.Do(t, <-a.over)
		if moved := doser.begun(); !slices.Equal(moved, []string{"e1", "e2", "e3"}) || doser.faults != nil {
			t.Errorf("it dosed %v, %v", moved, doser.faults)
		}
		s := platesState(t, log)
		if act := s.Act("a1"); act.Status != events.ActDone {
			t.Errorf("a1 is %s: %s", act.Status, act.Cause)
		}
		measuredAll(t, log, s)
	})
}

// Law: a device that says of a command that it is at work on it is given nothing else before it has ended,
// whatever a person says meanwhile.
//
// The case: a doser is silent, is called off, says that it is at work and does not stop, and is silent
// again. A person who does not look says that it failed.
func TestFailedWhileItIsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, used, doser := memlog.New(), newStations(), newPipe()
		doser.stubborn, doser.slow = true, []string{"e1"} // for 20 s
		a := used.attend(t, log, dosedOneByOne(7*time.Second), func(r *drive.Runner) { r.Instruments["doser"] = doser })
		after(8 * time.Second)
		must.Do(t, a.ask(t, engine.Request{Cancel: &engine.Cancel{Experiment: "a1", Reason: "it says nothing"}}))
		after(8 * time.Second)
		if act := platesState(t, log).Act("a1"); act.Command.Fate != campaign.Unknown || act.Command.CallOff.Fate != "running" {
			t.Fatalf("a1 is %s, and was said to be %s", act.Command.Fate, act.Command.CallOff.Fate)
		}
		resolved(t, a, "a1", events.ResolvedFailed)
		after(time.Minute)
		for a.isPaused() { // what the doser says in the end is not what the person said
			must.Do(t, a.ask(t, engine.Request{Resume: &events.CampaignResumed{}}))
			after(time.Minute)
		}
		must.Do(t, <-a.over)
		if moved := doser.begun(); !slices.Equal(moved, []string{"e1", "e2", "e3"}) || doser.faults != nil {
			t.Errorf("it dosed %v, %v", moved, doser.faults)
		}
		audited(t, log, "plates")
	})
}

// Law: a person's word on an act stands, whatever its instrument says later. That is kept as a remark,
// and pauses the campaign, which was wrong about a device; a person may correct the experiment by it.
//
// The case: the meter is silent for so long that its act is given up, a person says that it failed, and
// then it measures.
func TestOutcomeAfterAPersonsWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, used := memlog.New(), newStations()
		def := platesOf(2, 1, func(def *definition.Campaign) {
			meter := def.Instruments["meter"]
			meter.GiveUpAfter = definition.Duration(time.Hour)
			def.Instruments["meter"] = meter
			def.Procedure[3].Repeatable, def.Procedure[3].Tries = false, 0
		})
		used["meter"].takes["a4"] = 3 * time.Hour
		a := used.attend(t, log, def)
		after(4 * time.Hour)
		resolved(t, a, "a4", events.ResolvedFailed)
		after(91 * time.Minute) // it has just measured
		s := platesState(t, log)
		if x, act := s.Experiment("e1"), s.Act("a4"); x.Status != campaign.Failed || act.Status != events.ActFailed {
			t.Errorf("e1 is %s, and a4 %s", x.Status, act.Status)
		}
		if s.Contradicted != "a4" || !strings.Contains(s.Reason, "a4 was settled as failed, and then meter answered otherwise") {
			t.Errorf("%q is contradicted, the campaign is %s: %s", s.Contradicted, s.Status, s.Reason)
		}
		all := history(t, log)
		said := all[find(t, all, events.KindInstrumentAnswered, `"a4"`, 0)]
		if !strings.Contains(string(said.Data), "measured") {
			t.Errorf("what it measured is not in the log: %s", said.Data)
		}
		must.Do(t, a.ask(t, engine.Request{Correct: &engine.Correct{Experiment: "e1", Value: ptr(3.5), Reason: "as the meter says"}}))
		must.Do(t, a.ask(t, engine.Request{Resume: &events.CampaignResumed{}}))
		must.Do(t, <-a.over)
		sentOnce(t, used)
		measuredAll(t, log, platesState(t, log))
	})
}

// Law: a label of a stock that campaigns share is handed out once; who does not find enough begins
// nothing, says what is left, and goes on with a refill.
//
// The case: two campaigns with a procedure each, and tips for one of their plates. That one of two
// processes has them by the append that the lab's log takes first is TestNoLabelTwice of stocks.
func TestTwoCampaignsAndTheLastTips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lab := memlog.New(), newShelf("A1", "B1", "C1", "D1", "E1", "F1", "G1")
		both := make(map[string]*attended)
		used := make(map[string]stations)
		for _, name := range []string{"one", "two"} {
			used[name] = newStations()
			def := platesOf(1, 1, func(def *definition.Campaign) {
				def.Name = name
				def.Stocks = map[string]definition.Stock{"tips": {Lab: "rack"}}
			})
			both[name] = used[name].attend(t, log, def, func(r *drive.Runner) { r.Stocks = lab })
		}
		after(12 * time.Hour)
		var waiting []string
		for name, a := range both {
			if s := stateOf(t, log, name); len(s.Acts) > 0 {
				must.Do(t, <-a.over)
				continue
			}
			waiting = append(waiting, name)
			if says := a.waitsFor(); says != "a person: e1-e3 cannot be begun: it needs 6 of tips, and 1 is left" {
				t.Errorf("%s waits for %q", name, says)
			}
		}
		if len(waiting) != 1 {
			t.Fatalf("%v wait", waiting)
		}
		lab.refill("A2", "B2", "C2", "D2", "E2")
		must.Do(t, <-both[waiting[0]].over)
		var tips []string
		for name := range both {
			tips = append(tips, tipsOf(used[name]["doser"])...)
			measuredAll(t, log, stateOf(t, log, name))
		}
		slices.Sort(tips)
		if n := len(tips); n != 12 || len(slices.Compact(tips)) != n {
			t.Errorf("the tips %v were handed out", tips)
		}
	})
}

// Law: where another device answers in the place of one of several, nothing is sent to it until a person
// has resumed the campaign. What was under way at others ends and counts; the batch that needs it waits,
// and goes on with it.
//
// The case: the meter is exchanged while a plate is measured. The campaign is paused as a whole.
func TestDeviceExchangedInTheMiddleOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, used := memlog.New(), newStations()
		var leases []string
		a := used.attend(t, log, platesOf(2, 2), func(r *drive.Runner) {
			r.Lock = func(_ string, is instruments.Description) (drive.Lease, error) {
				leases = append(leases, is.Identity)
				return new(lease), nil
			}
		})
		after(2*time.Hour + 35*time.Minute) // e1 is being measured, and the second plate loaded
		used["meter"].exchange()
		after(30 * time.Minute)
		s := platesState(t, log)
		want := []string{
			"a1 dose e1-e3 done", "a2 load e1-e3 done", "a3 dose e4-e6 done", "a4 unload e1-e3 done",
			"a5 measure e1 done", "a6 load e4-e6 done", "a7 measure e2 deferred",
		}
		if got := acts(s); !slices.Equal(got, want) {
			t.Errorf("the acts are %v", got)
		}
		if n := len(used["meter"].commands()); n != 1 || s.Status != campaign.Paused || !strings.Contains(s.Reason, "meter, serial 2") {
			t.Errorf("the meter was sent %d acts, the campaign is %s: %s", n, s.Status, s.Reason)
		}
		must.Do(t, a.ask(t, engine.Request{Resume: &events.CampaignResumed{}}))
		must.Do(t, <-a.over)
		if by := used["meter"].by; !slices.Equal(by, []int{1, 2, 2, 2, 2, 2}) {
			t.Errorf("the acts were sent to the meters %v", by)
		}
		if want := []string{"arm, serial 1", "doser, serial 1", "meter, serial 1", "meter, serial 2"}; !slices.Equal(leases, want) {
			t.Errorf("the leases are of %v", leases)
		}
		sentOnce(t, used)
		measuredAll(t, log, platesState(t, log))
	})
}

// Law: a batch goes through the procedure that it was planned with; what is amended counts for those that
// are planned after it.
//
// The case: the measurement is given another tip while a plate stands in the oven.
func TestProcedureAmendedUnderABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, used := memlog.New(), newStations()
		draws := func(tips string) func(*definition.Campaign) {
			return func(def *definition.Campaign) {
				def.Procedure[3].Draws = map[string]definition.Draw{"tips": definition.Draw(tips)}
			}
		}
		def := platesOf(2, 1, draws("1"))
		a := used.attend(t, log, def)
		after(time.Hour) // the first plate rests
		amended := platesOf(2, 1, draws("2"))
		must.Do(t, a.ask(t, engine.Request{Amend: &events.CampaignAmended{
			Definition: amended, Reason: "a second tip", Changes: campaignfile.Diff(def, amended),
		}}))
		must.Do(t, <-a.over)
		var tips []int
		for _, cmd := range used["meter"].commands() {
			tips = append(tips, len(cmd.Drawn[0].Labels))
		}
		if fmt.Sprint(tips) != "[1 1 1 2 2 2]" {
			t.Errorf("the measurements were given %v tips", tips)
		}
		sentOnce(t, used)
		measuredAll(t, log, platesState(t, log))
	})
}

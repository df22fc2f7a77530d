package drive_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// shelf is a lab's rack of tips and its solvent.
type shelf struct {
	mu      sync.Mutex
	labels  []string
	given   map[string][]events.Drawn // to commands
	taking  func(command string) error
	taken   func()
	changed chan struct{}
}

func newShelf(labels ...string) *shelf {
	return &shelf{labels: labels, given: make(map[string][]events.Drawn), changed: make(chan struct{})}
}

func (s *shelf) Left([]string) (map[string]campaign.Stock, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]campaign.Stock{
		"rack":  {Name: "rack", Labels: s.labels},
		"drums": {Name: "drums", Amount: 100, Unit: "mL"},
	}, s.changed, nil
}

func (s *shelf) Take(_, command string, parts []computed.Draw) (taken []events.Drawn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taking != nil {
		if err := s.taking(command); err != nil {
			return nil, err
		}
	}
	for _, d := range parts {
		if d.Labels > len(s.labels) && s.given[command] == nil {
			return nil, nil
		}
	}
	if s.given[command] == nil {
		for _, d := range parts {
			part := events.Drawn{Stock: d.Stock, Amount: d.Amount, Unit: d.Unit}
			if d.Labels > 0 {
				part.Labels = s.labels[:d.Labels:d.Labels]
				s.labels = s.labels[d.Labels:]
			}
			s.given[command] = append(s.given[command], part)
		}
	}
	if s.taken != nil {
		s.taken()
	}
	return s.given[command], nil
}

func (s *shelf) Places([]string, string) (engine.LabPlaces, error) { return nil, nil }
func (s *shelf) Occupy(string, string, string) error               { return nil }
func (s *shelf) Vacate(string, string, string) error               { return nil }

func (s *shelf) refill(labels ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.labels = append(s.labels, labels...)
	close(s.changed)
	s.changed = make(chan struct{})
}

// sharing is a campaign of so many experiments, each with two tips and some solvent of the lab's, and
// a well of its own.
func sharing(t *testing.T, experiments int) definition.Campaign {
	def := pipedCampaign(t, experiments)
	def.Instrument.GiveUpAfter = definition.Duration(200 * time.Hour)
	def.Instrument.Draws = map[string]definition.Draw{"solvent": "20 + x1 mL", "tips": "2", "wells": "1"}
	def.Stocks = map[string]definition.Stock{"solvent": {Lab: "drums"}, "tips": {Lab: "rack"}, "wells": {Labels: "A1-D6"}}
	return def
}

// Law: what a command uses up of the lab's stocks is taken before the campaign's log has the command,
// and the instrument hears of it last. A process that is killed between the two has cost nothing: the
// next one takes for the same command. Where nothing can be taken, the campaign says why, tries again
// and uses no number up; where nothing is left, it goes on with a refill.
func TestTakenBeforeTheDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def := sharing(t, 3)
		log, robot, lab := memlog.New(), newTeller(), newShelf("A1", "B1", "C1", "D1")
		var given []string
		begin := robot.start
		robot.start = func(cmd instruments.Command) error {
			given = append(given, fmt.Sprint(cmd.Drawn))
			return begin(cmd)
		}
		lab.taking = func(command string) error {
			for _, x := range pipedState(t, log).Experiments {
				if x.Command.ID == command {
					t.Errorf("%s is dispatched, and nothing was taken for it", command)
				}
			}
			return nil
		}
		var waits []string
		with := func(r *drive.Runner) {
			r.Stocks = lab
			observe := r.Observe
			r.Observe = func(core *engine.Core, wait engine.Wait) {
				if observe(core, wait); !slices.Contains(waits, wait.For) {
					waits = append(waits, wait.For)
				}
			}
		}
		var first *attended
		ready := make(chan struct{})
		lab.taken = func() { <-ready; first.end() } // the process is killed with the take
		first = attend(t, log, def, robot, with)
		close(ready)
		<-first.over
		if s := pipedState(t, log); len(s.Experiments) == 0 || s.Experiments[0].Status != campaign.Requested || len(given) > 0 {
			t.Fatalf("it was killed before the dispatch, and the robot was given %v", given)
		}

		lab.taken = nil
		faults := 3
		ordered := lab.taking
		lab.taking = func(command string) error {
			if faults--; faults >= 0 {
				return errors.New("the disk of the lab's log is full")
			}
			return ordered(command)
		}
		second := attend(t, log, def, robot, with)
		time.Sleep(300 * time.Hour) // longer than two experiments take
		synctest.Wait()
		if s := pipedState(t, log); s.Count(campaign.Measured) != 2 || s.Count(campaign.Requested) != 1 {
			t.Errorf("%d are measured", s.Count(campaign.Measured))
		}
		lab.refill("A2")
		time.Sleep(time.Hour)
		lab.refill("B2")
		must.Do(t, <-second.over)
		for i, tips := range []string{"A1 B1", "C1 D1", "A2 B2"} {
			if !strings.Contains(given[i], "{tips ["+tips+"]") {
				t.Errorf("the robot was given %s, not %s", given[i], tips)
			}
		}
		for _, want := range []string{
			"the lab's stocks: e1 cannot be begun: the disk of the lab's log is full",
			"a person: e3 cannot be begun: it needs 2 of tips, and none is left",
			"a person: e3 cannot be begun: it needs 2 of tips, and 1 is left",
		} {
			if !slices.Contains(waits, want) {
				t.Errorf("it waited for %q, and not for %s", waits, want)
			}
		}
		audited(t, log, def.Name)
	})
}

// Law: a process without a lab is not limited by its stocks: a study, an imagined course.
func TestNoLabLimitsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, robot := memlog.New(), newTeller()
		var given [][]events.Drawn
		begin := robot.start
		robot.start = func(cmd instruments.Command) error {
			given = append(given, cmd.Drawn)
			return begin(cmd)
		}
		must.Do(t, <-attend(t, log, sharing(t, 2), robot).over)
		if len(given) != 2 || len(given[0]) != 1 || given[0][0].Stock != "wells" {
			t.Errorf("the robot was given %v", given)
		}
	})
}

// Law: a draw from a stock of the lab that the log has is as the definition has it.
func TestForgedDrawOfTheLab(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		def, log := sharing(t, 1), memlog.New()
		with := func(r *drive.Runner) { r.Stocks = newShelf("A1", "B1") }
		must.Do(t, <-attend(t, log, def, newTeller(), with).over)
		for _, forged := range [][2]string{
			{`"labels":["A1","B1"]`, `"labels":["A1"]`},
			{`"labels":["A1","B1"]`, `"labels":["A1","A1"]`},
			{`"unit":"mL"`, `"unit":"L"`},
			{`{"stock":"tips","labels":["A1","B1"]},`, ``},
		} {
			all := history(t, log)
			found := false
			for i := range all {
				if text := string(all[i].Data); all[i].Kind == events.KindExperimentDispatched {
					all[i].Data = []byte(strings.Replace(text, forged[0], forged[1], 1))
					found = text != string(all[i].Data)
				}
			}
			if !found {
				t.Fatalf("%s is not in the log", forged[0])
			}
			report, err := decisions.Audit(t.Context(), builtin.Registry(), refill(t, all), def.Name, events.Build{}, nil)
			if err != nil || len(report.Mismatches) == 0 {
				t.Errorf("with %s the audit finds nothing: %v", forged[1], err)
			}
		}
	})
}

//go:build unix

package killtest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
	"github.com/campaignd/campaignd/projections/campaign"
)

// campaignRun is one campaign through all its lives.
type campaignRun struct {
	*suite
	dir, file, store string
	bench            string        // the folder of the instrument process
	span             time.Duration // how long the undisturbed run took
	events           int           // how many it recorded

	history  []events.Event // as last read from the store
	finished bool
	summary  string
}

// inspect reads the store after a life: it must be sound, hold everything it
// held before, and everything that the life had shown to anybody.
func (c *campaignRun) inspect(t *testing.T, l *life) {
	t.Helper()
	history := c.read(t)
	for i, e := range history {
		if e.Position != events.Position(i+1) {
			t.Fatalf("position %d is followed by %d", i, e.Position)
		}
	}
	c.holds(t, history, c.history, "the store held before")
	c.holds(t, history, l.witnessed(), "the follower saw")
	measured := make(map[string]bool)
	for _, e := range history {
		if p, ok := payload(t, e).(*events.ExperimentMeasured); ok {
			measured[p.Experiment] = true
		}
	}
	for _, line := range toldMeasured.FindAllStringSubmatch(l.words(), -1) {
		if !measured[line[1]] {
			t.Fatalf("the program said %q, and the store does not hold it", line[0])
		}
	}
	c.history = history
	c.countActs(t)
}

var toldMeasured = regexp.MustCompile(`(?m)^(e\d+) measured .*`)

// holds checks that a history has all the given events, each in its place.
func (c *campaignRun) holds(t *testing.T, history, part []events.Event, whose string) {
	t.Helper()
	for i, e := range part {
		if i >= len(history) {
			t.Fatalf("event %d (%s), which %s, is lost: the store ends at %d", e.Position, e.Kind, whose, len(history))
		}
		if !reflect.DeepEqual(e, history[i]) {
			t.Fatalf("event %d is not the one that %s: %+v, was %+v", i+1, whose, history[i], e)
		}
	}
}

// read returns all events of the store after a full check of it.
func (c *campaignRun) read(t *testing.T) (history []events.Event) {
	t.Helper()
	log, err := store.Open(c.store, store.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, events.ErrDamaged) {
		return nil // killed before it had made a store
	}
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	report, err := log.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !report.Sound() {
		t.Fatalf("the store is damaged: %v", report.Faults)
	}
	for e, err := range log.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, e)
	}
	return history
}

func payload(t *testing.T, e events.Event) events.Payload {
	t.Helper()
	p, err := events.Decode(e)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// countActs checks the instrument's own record: nothing was performed twice,
// and nothing that was not asked for.
func (c *campaignRun) countActs(t *testing.T) map[string]int {
	t.Helper()
	acts, err := testinstrument.Acts(c.bench)
	if err != nil {
		t.Fatal(err)
	}
	dispatched := make(map[string]bool)
	for _, e := range c.history {
		if p, ok := payload(t, e).(*events.ExperimentDispatched); ok {
			dispatched[p.Command] = true
		}
	}
	for command, n := range acts {
		if n > 1 {
			t.Fatalf("command %s was performed %d times", command, n)
		}
		if !dispatched[command] {
			t.Fatalf("command %s was performed, and the log does not know that it was sent", command)
		}
	}
	switch twice, labels, err := testinstrument.UsedUp(c.bench); {
	case err != nil || len(twice) > 0:
		t.Fatalf("used up twice: %v, %v", twice, err)
	case labels != 2*len(acts):
		t.Fatalf("%d acts have used up %d tips", len(acts), labels)
	}
	return acts
}

// openQuestion is an experiment that waits for a person.
type openQuestion struct {
	experiment, command string
	parameters          definition.Point
}

// unresolved returns the experiments of a history that wait for a person.
func unresolved(history []events.Event) (open []openQuestion) {
	state := fold(history)
	for i := range state.Experiments {
		if x := &state.Experiments[i]; x.Status == campaign.Unresolved {
			open = append(open, openQuestion{x.ID, x.Command.ID, x.Parameters})
		}
	}
	return open
}

// fold returns the state after a history that the program itself wrote.
func fold(history []events.Event) *campaign.State {
	p := campaign.New()
	for _, e := range history {
		payload, err := events.Decode(e)
		if err == nil {
			err = p.Apply(e, payload)
		}
		if err != nil {
			panic(err)
		}
	}
	return p.State()
}

// settle is the person who looks at the bench and says what became of
// experiments. The program may be killed meanwhile, and they then try again.
// It may be called from any goroutine.
func (c *campaignRun) settle(t *testing.T, open []openQuestion) {
	for _, q := range open {
		if c.scenario.bench.Memory != testinstrument.Kept {
			time.Sleep(100 * time.Millisecond) // an earlier life may not have read its last command yet
		}
		acts, err := testinstrument.Acts(c.bench)
		if err != nil {
			t.Error(err)
			return
		}
		args := []string{"resolve", c.store, q.experiment, "not-performed", "--repeat"}
		if acts[q.command] > 0 {
			args = []string{"resolve", c.store, q.experiment, "measured", "--value=" + strconv.FormatFloat(testinstrument.Value(q.parameters), 'g', -1, 64)}
			if c.scenario.bench.Resume {
				t.Errorf("%s was left to a person, although the instrument knows what became of it", q.experiment)
			}
		}
		out, err := c.command(append(args, "--as", "ada", "--reason", "looked at the bench")...).CombinedOutput()
		if err != nil {
			t.Logf("campaignd %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

// check compares a finished campaign with the undisturbed one.
func (c *campaignRun) check(t *testing.T, reference []events.Event) {
	t.Helper()
	if t.Failed() {
		return
	}
	var summary struct {
		Experiments int
		Stopped     string
	}
	if err := json.Unmarshal([]byte(c.summary), &summary); err != nil || summary.Experiments != budget || summary.Stopped != events.CompletedBudget {
		t.Errorf("the campaign ended as %s (%v)", c.summary, err)
	}
	if c.scenario.bench != nil {
		acts := c.countActs(t)
		state := fold(c.history)
		for i := range state.Experiments {
			x, want := &state.Experiments[i], 1
			if x.Status != campaign.Measured {
				want = 0
			}
			if acts[x.Command.ID] != want {
				t.Errorf("%s is %s and was performed %d times", x.ID, x.Status, acts[x.Command.ID])
			}
		}
	}
	if diff := cmp.Diff(science(reference), science(c.history)); diff != "" {
		t.Errorf("the campaign did something else than the undisturbed one (-):\n%s", diff)
	}
	left := count(c.history, events.KindExperimentUnresolved)
	if c.scenario.bench != nil && c.scenario.bench.Durable && left > 0 {
		t.Errorf("%d experiments of an instrument with a durable ledger were left to a person", left)
	}
	if c.scenario.bench == nil && left > 0 {
		t.Errorf("%d experiments of a simulated instrument, which always knows, were left to a person", left)
	}
	// Else a person had to add something, or a command that had not reached the
	// killed instrument was put off and made again under another number.
	if left == 0 && count(c.history, events.KindExperimentDeferred) == 0 {
		if diff := cmp.Diff(facts(t, reference), facts(t, c.history)); diff != "" {
			t.Errorf("the log says something else than the undisturbed one (-):\n%s", diff)
		}
	}
	c.audit(t)
	page, err := os.ReadFile(filepath.Join(filepath.Dir(c.store), "report.html"))
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(page)), "</html>") {
		t.Errorf("the report is not whole: %d bytes, %v", len(page), err)
	}
}

// count counts the events of a kind.
func count(history []events.Event, kind events.Kind) (n int) {
	for _, e := range history {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// science is what was measured and what the expert said, in order, to the bit.
func science(history []events.Event) (lines []string) {
	write := func(of ...any) {
		text, err := json.Marshal(of)
		if err != nil {
			panic(err)
		}
		lines = append(lines, string(text))
	}
	state := fold(history)
	for i := range state.Experiments {
		if x := &state.Experiments[i]; x.Measurement != nil {
			write(x.Parameters, x.Measurement.Actual, x.Measurement.Objective)
		}
	}
	for i := range state.Questions {
		q := &state.Questions[i]
		write(q.ID, q.Expert, q.Status, q.Answer, q.Points())
	}
	return lines
}

// facts is everything in a log but what has to differ: recoveries, the times,
// the store's own word in command IDs, the settings that name a folder, and the
// sequences, which recoveries shift.
func facts(t *testing.T, history []events.Event) (lines []string) {
	t.Helper()
	for _, e := range history {
		if e.Kind == events.KindRecoveryDone || e.Kind == events.KindCampaignDefined {
			continue
		}
		var data map[string]any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"command", "at", "began", "ended"} {
			delete(data, name)
		}
		text, err := json.Marshal(data) // shortest decimals: equal text, equal bits
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(e.Kind)+" "+e.Actor+" "+string(text))
	}
	return lines
}

// audit has the program check the log and make every decision again.
func (c *campaignRun) audit(t *testing.T) {
	t.Helper()
	out, err := c.command("audit", c.store, "--json").Output()
	var a struct {
		Events, Decisions, Reproduced int
		Mismatches                    []any
		Chain                         string
	}
	if err := errors.Join(err, json.Unmarshal(out, &a)); err != nil {
		t.Fatalf("campaignd audit: %v\n%s", err, out)
	}
	if a.Events != len(c.history) || a.Decisions == 0 || a.Reproduced != a.Decisions || len(a.Mismatches) > 0 || a.Chain != "ok" {
		t.Errorf("audit: %s", out)
	}
}

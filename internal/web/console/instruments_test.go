package console_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: the page of a campaign says of each of its instruments which device it is, what is the oldest that it has
// under way, when it was last heard of, what went wrong last and whether it is silent; a device that was replaced
// is told from the one in its place; what a person said is not a sign of the device.
func TestInstruments(t *testing.T) {
	s := serve(t, time.Hour)
	c := s.begin("name: bench" + space + "initial: {experiments: 4}\nbudget: {experiments: 6}\nparallel: 2\ninstrument: manual\n")
	s.until(c, "measures", func(st *campaign.State) bool { return st.Count(campaign.Dispatched, campaign.Started) > 0 })
	s.sent("/campaigns/bench/halt", nil)
	s.close()
	began := time.Now().Add(-3 * time.Hour).Truncate(time.Second)
	log, err := store.Open(filepath.Join(s.folder, "bench"+store.Ending), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, "bench"))(t)
	first := core.State().Experiments[0]
	var batch []events.Event
	add := func(after time.Duration, actor string, p events.Payload) {
		e := must.Get(events.New("bench", p))(t)
		e.Time, e.Actor = began.Add(after), actor
		batch = append(batch, e)
	}
	send := func(after time.Duration, id, identity string) {
		add(after, "engine", &events.ExperimentRequested{Experiment: id, Parameters: first.Parameters, Origin: events.OriginPolicy, Replicate: 1})
		add(after, "engine", &events.ExperimentDispatched{Experiment: id, Command: "bench/x/" + id, Instrument: "pump", Identity: identity})
	}
	next := len(core.State().Experiments)
	id := func(i int) string { return events.ExperimentID(next + i) }
	send(0, id(1), "pump 7")
	add(time.Minute, "instrument:pump", &events.ExperimentFailed{Experiment: id(1), Command: "bench/x/" + id(1), Instrument: "pump", Cause: "the <hose> came off"})
	send(2*time.Minute, id(2), "pump 8")
	add(3*time.Minute, "instrument:pump", &events.ExperimentStarted{Experiment: id(2), Command: "bench/x/" + id(2), Instrument: "pump"})
	send(time.Hour, id(3), "pump 8")
	add(2*time.Hour, "engine", &events.InstrumentStalled{Experiment: id(2), Command: "bench/x/" + id(2), Instrument: "pump", Waited: 7080})
	_, err = log.Append(t.Context(), "bench", core.State().Sequence, batch...)
	must.Do(t, errors.Join(err, log.Close()))
	*s = *reopened(s)
	must.Get(s.lab.Campaign("bench"))(t)
	_, page := s.get("/campaigns/bench?tab=instruments")
	_, panel, _ := strings.Cut(page, `<section id="instruments"`)
	panel, _, _ = strings.Cut(panel, "</section>")
	sent := began.Add(2 * time.Minute).UTC().Format(time.RFC3339)
	if !regexp.MustCompile(`<span class="age" data-age="` + sent + `">[^<]+</span> ago`).MatchString(panel) {
		t.Errorf("the oldest command was sent at %s: %s", sent, panel)
	}
	panel = regexp.MustCompile(`<span class="age"[^>]*>[^<]*</span>`).ReplaceAllString(panel, "AGE")
	panel = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(regexp.MustCompile(`<time[^>]*>[^<]*</time>`).ReplaceAllString(panel, "THEN"), "")
	panel = strings.Join(strings.Fields(panel), " ")
	for _, want := range []string{
		"pump stalled device" + "pump 8, real", "driven by" + "a person, by hand",
		"oldest command" + id(2) + ", sent THEN, AGE ago; 2 in all",
		"last sign of life" + "THEN, AGE ago: " + id(2) + " has begun",
		"last error" + "THEN, " + id(2) + ": Silent for 1 h 58 min.",
		"pump was used before device" + "pump 7, real", "THEN, AGE ago: " + id(1) + " failed",
		"last error" + "THEN, " + id(1) + ": The &lt;hose&gt; came off.",
	} {
		if !strings.Contains(panel, want) {
			t.Errorf("it does not say %q: %s", want, panel)
		}
	}
	if strings.Index(panel, "pump 8") > strings.Index(panel, "pump 7") {
		t.Errorf("the present device is not the first: %s", panel)
	}
	if _, past := s.get("/campaigns/bench?tab=instruments&at=1"); strings.Contains(past, `id="instruments"`) {
		t.Error("the past shows the instruments of the present")
	}
}

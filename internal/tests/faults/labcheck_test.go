package faults

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
	"github.com/campaignd/campaignd/projections/campaign"
)

// labRow is an event of a campaign's store, with what the tables say of its writing.
type labRow struct {
	position int64
	event    events.Event
	epoch    int64  // of the hold
	writer   string // its role
	holder   string // the role that had the hold then, empty where nobody ever had
	at       time.Time
}

// labAct is an act of an instrument.
type labAct struct {
	command, driver string
}

// rows are the events of the campaigns' stores.
func (r *labTrial) rows() map[string][]labRow {
	r.Helper()
	found := make(map[string][]labRow)
	for _, line := range r.Primary.SQL(r, `select format('%s %s %s %s %s %s %s %s %s', name, e.position, e.sequence, e.campaign,
			w.epoch, w.writer, coalesce(h.writer, '-'), extract(epoch from w.at), encode(e.record, 'hex'))
		from cd_event e join cd_head using (store) left join trial_event w using (store, position)
			left join trial_hold h on h.store = e.store and h.epoch = w.epoch
		where name not like '.%' order by e.store, e.position`) {
		var row labRow
		var store, text, of string
		var sequence int64
		var at float64
		if _, err := fmt.Sscan(line, &store, &row.position, &sequence, &of, &row.epoch, &row.writer, &row.holder, &at, &text); err != nil {
			r.Fatalf("%v: %s", err, line)
		}
		record, err := hex.DecodeString(text)
		r.must(err)
		row.event, err = events.DecodeRecord(record)
		r.must(err)
		row.event.Position = events.Position(row.position)
		row.event.Campaign, row.event.Sequence = of, events.Sequence(sequence)
		row.at = time.UnixMicro(int64(at * 1e6))
		found[store] = append(found[store], row)
	}
	return found
}

// acts are those of a campaign's instrument, in their order, each with the process
// on whose behalf it was.
func (r *labTrial) acts(name string) (found []labAct) {
	r.Helper()
	drivers := make(map[int]string)
	for _, line := range r.lines(filepath.Join(r.bench(name), lifeFile)) {
		var pid int
		var driver string
		if _, err := fmt.Sscan(line, &pid, &driver); err != nil {
			r.Fatalf("%v: %s", err, line)
		}
		drivers[pid] = driver
	}
	for _, line := range r.lines(filepath.Join(r.bench(name), "acts.jsonl")) {
		act := testinstrument.Act{Command: "?"} // cut off by a kill
		_ = json.Unmarshal([]byte(line), &act)
		found = append(found, labAct{act.Command, drivers[act.Process]})
	}
	return found
}

// lines reads a file, none where there is none.
func (r *labTrial) lines(path string) (found []string) {
	r.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r.must(err)
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		found = append(found, s.Text())
	}
	return found
}

// fold returns a campaign's state after its events.
func fold(rows []labRow) (*campaign.State, error) {
	p := campaign.New()
	for _, row := range rows {
		payload, err := events.Decode(row.event)
		if err == nil {
			err = p.Apply(row.event, payload)
		}
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", row.position, err)
		}
	}
	return p.State(), nil
}

// underWay says what keeps a campaign from its end.
func underWay(store string, rows []labRow) (open []string) {
	s, err := fold(rows)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", store, err)}
	}
	if !s.Status.Ended() {
		open = append(open, fmt.Sprintf("%s is %s", store, s.Status))
	}
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status == campaign.Dispatched || x.Status == campaign.Started || x.Status == campaign.Unresolved {
			open = append(open, fmt.Sprintf("%s of %s is %s", x.ID, store, x.Status))
		}
	}
	return open
}

// labVerdict counts what was found of a lab.
type labVerdict struct {
	events, acts, acknowledged, refused, unanswered, takeovers, unknown int // no faults

	twice     int // acts of a command but one, or of none
	open      int // commands without a fate
	lost      int // acknowledged, and not there, or twice
	stored    int // refused, and there
	disorder  int // gaps
	drivers   int // two at once
	unfounded int // unknown fates of commands that were followed to the end by who sent them
	details   []string
}

func (v *labVerdict) sound() bool {
	return v.twice+v.open+v.lost+v.stored+v.disorder+v.drivers+v.unfounded == 0
}

func (v *labVerdict) fault(counter *int, format string, args ...any) {
	*counter++
	if len(v.details) < 20 {
		v.details = append(v.details, fmt.Sprintf(format, args...))
	}
}

// judgeLab compares what people were told and what instruments did with what is
// stored.
func judgeLab(stored map[string][]labRow, acts map[string][]labAct, answers []answer) *labVerdict {
	v := new(labVerdict)
	for store, rows := range stored {
		v.campaign(store, rows, acts[store])
	}
	for _, a := range answers {
		v.answer(a, stored[a.campaign])
	}
	return v
}

// campaign checks a campaign's log and its instrument's acts.
func (v *labVerdict) campaign(store string, rows []labRow, acts []labAct) {
	v.events += len(rows)
	sent := make(map[string]bool)
	epochs := make(map[string]int64) // in which experiments were dispatched
	gone := make(map[string]bool)    // writers that another one has followed
	holder := ""
	ids := make(map[string]bool)
	for i, row := range rows {
		if row.position != int64(i+1) || int64(row.event.Sequence) != row.position {
			v.fault(&v.disorder, "%s: position %d, sequence %d in place %d", store, row.position, row.event.Sequence, i+1)
		}
		if ids[row.event.ID] {
			v.fault(&v.disorder, "%s: two events are %s", store, row.event.ID)
		}
		ids[row.event.ID] = true
		switch {
		case row.writer != row.holder:
			v.fault(&v.drivers, "%s: %s wrote event %d (%s), and %s had the hold", store, row.writer, row.position,
				row.event.Kind, row.holder)
		case gone[row.writer]:
			v.fault(&v.drivers, "%s: %s wrote event %d (%s), after another had taken over", store, row.writer, row.position,
				row.event.Kind)
		case row.writer != holder:
			if holder != "" {
				v.takeovers++
			}
			holder = row.writer
		}
		switch payload, err := events.Decode(row.event); p := payload.(type) {
		case *events.ExperimentDispatched:
			sent[p.Command], epochs[p.Experiment] = true, row.epoch
		case *events.ExperimentUnresolved:
			if v.unknown++; epochs[p.Experiment] == row.epoch {
				v.fault(&v.unfounded, "%s: the fate of %s is unknown, and its driver had not ended", store, p.Experiment)
			}
		default:
			if err != nil {
				v.fault(&v.disorder, "%s: event %d: %v", store, row.position, err)
			}
		}
	}
	if open := underWay(store, rows); len(open) > 0 {
		v.fault(&v.open, "%s", strings.Join(open, "; "))
	}
	v.acts += len(acts)
	count := make(map[string]int)
	past := make(map[string]bool)
	driver := ""
	for _, act := range acts {
		if count[act.command]++; count[act.command] > 1 || !sent[act.command] {
			v.fault(&v.twice, "%s: act %d of %s, which the log knows: %v", store, count[act.command], act.command, sent[act.command])
		}
		if act.driver != driver {
			if past[act.driver] {
				v.fault(&v.drivers, "%s: %s acts for %s, after another one", store, act.command, act.driver)
			}
			driver, past[act.driver] = act.driver, true
		}
	}
	s, err := fold(rows)
	if err != nil {
		return // it was said above
	}
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status == campaign.Measured && x.Command.ID != "" && len(acts) > 0 && count[x.Command.ID] != 1 {
			v.fault(&v.twice, "%s: %s is measured, and was performed %d times", store, x.ID, count[x.Command.ID])
		}
	}
}

// answer checks what became of a request. What a person was told last counts: a
// repeat of what was acknowledged is acknowledged.
func (v *labVerdict) answer(a answer, rows []labRow) {
	var as []labRow // recorded under its identifier
	for _, row := range rows {
		if row.event.Request == a.key {
			as = append(as, row)
		}
	}
	switch {
	case a.status == 0:
		v.unanswered++
		if len(as) > 1 {
			v.fault(&v.lost, "%s: %s is recorded %d times", a.campaign, a.key, len(as))
		}
	case a.status >= 400:
		if v.refused++; len(as) > 0 {
			v.fault(&v.stored, "%s: %s was refused (%d %s), and is recorded", a.campaign, a.key, a.status, a.text)
		}
	default:
		v.acknowledged++
		if len(as) != 1 {
			v.fault(&v.lost, "%s: %s was acknowledged (%d), and is recorded %d times", a.campaign, a.key, a.status, len(as))
			return
		}
		for _, id := range a.events {
			if !slices.ContainsFunc(rows, func(row labRow) bool { return row.event.ID == id }) {
				v.fault(&v.lost, "%s: %s was answered with event %s, which is not there", a.campaign, a.key, id)
			}
		}
	}
}

// Law: the checker of a lab finds each kind of fault. What it is given is written by hand.
func TestLabChecker(t *testing.T) {
	type world struct {
		rows    []labRow
		acts    []labAct
		answers []answer
	}
	event := func(n int64, payload events.Payload, writer string) labRow {
		e, err := events.New("c", payload)
		if err != nil {
			t.Fatal(err)
		}
		e.Position, e.Sequence, e.ID = events.Position(n), events.Sequence(n), fmt.Sprint(n)
		return labRow{position: n, event: e, epoch: int64(writer[0]), writer: writer, holder: writer}
	}
	note := func(n int64, key, writer string) labRow {
		row := event(n, &events.NoteAdded{Text: key}, writer)
		row.event.Request = key
		return row
	}
	sound := func() *world {
		return &world{
			rows: []labRow{
				note(1, "k", "a"),
				event(2, &events.ExperimentDispatched{Experiment: "e1", Command: "c/e1"}, "a"),
				event(3, &events.ExperimentDispatched{Experiment: "e2", Command: "c/e2"}, "b"),
			},
			acts:    []labAct{{"c/e1", "a"}, {"c/e2", "b"}},
			answers: []answer{{campaign: "c", key: "k", status: 200, events: []string{"1"}}, {campaign: "c", key: "l", status: 409}},
		}
	}
	for name, c := range map[string]struct {
		change func(*world)
		count  func(*labVerdict) int
		want   int
	}{
		"nothing":       {func(*world) {}, func(v *labVerdict) int { return v.twice + v.lost + v.stored + v.disorder + v.drivers }, 0},
		"acted twice":   {func(w *world) { w.acts = append(w.acts, w.acts[1]) }, func(v *labVerdict) int { return v.twice }, 1},
		"acted unasked": {func(w *world) { w.acts[1].command = "c/e3" }, func(v *labVerdict) int { return v.twice }, 1},
		"acted for one who is gone": {
			func(w *world) { w.acts = append(w.acts, labAct{"c/e3", "a"}) }, func(v *labVerdict) int { return v.drivers }, 1},
		"written by another": {func(w *world) { w.rows[1].writer = "b" }, func(v *labVerdict) int { return v.drivers }, 1},
		"lost":               {func(w *world) { w.rows[0].event.Request = "" }, func(v *labVerdict) int { return v.lost }, 1},
		"lost in part":       {func(w *world) { w.answers[0].events[0] = "x" }, func(v *labVerdict) int { return v.lost }, 1},
		"recorded twice":     {func(w *world) { w.rows = append(w.rows, note(4, "k", "b")) }, func(v *labVerdict) int { return v.lost }, 1},
		"refused, and recorded": {
			func(w *world) { w.rows = append(w.rows, note(4, "l", "b")) }, func(v *labVerdict) int { return v.stored }, 1},
		"a gap": {func(w *world) { w.rows[2].position = 4 }, func(v *labVerdict) int { return v.disorder }, 1},
		"unknown, and its driver had not ended": {func(w *world) {
			w.rows = append(w.rows, event(4, &events.ExperimentUnresolved{Experiment: "e2"}, "b"))
		}, func(v *labVerdict) int { return v.unfounded }, 1},
		"unknown to the next driver": {func(w *world) {
			w.rows = append(w.rows, event(4, &events.ExperimentUnresolved{Experiment: "e1"}, "b"))
		}, func(v *labVerdict) int { return v.unfounded }, 0},
		"no end": {func(*world) {}, func(v *labVerdict) int { return v.open }, 1},
	} {
		w := sound()
		c.change(w)
		v := judgeLab(map[string][]labRow{"c": w.rows}, map[string][]labAct{"c": w.acts}, w.answers)
		if got := c.count(v); got != c.want {
			t.Errorf("%s: found %d of %d: %s", name, got, c.want, strings.Join(v.details, "; "))
		}
	}
}

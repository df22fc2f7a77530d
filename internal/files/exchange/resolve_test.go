package exchange

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// lost is a campaign with experiments whose fate is unknown: e1 to e4.
func lost(t *testing.T) *engine.Core {
	t.Helper()
	log, _ := opened(t, t)
	var payloads []events.Payload
	for i := range 4 {
		id := events.ExperimentID(i + 1)
		a := float64(i+1) / 8
		payloads = append(payloads,
			&events.ExperimentRequested{Experiment: id, Origin: events.OriginInitial, Replicate: 1, Parameters: definition.Point{
				"a": definition.Number(a), "b": definition.Number(1 - a), "t": definition.Number(25), "salt": definition.Category("LiPF6"),
			}},
			&events.ExperimentDispatched{Experiment: id, Command: "blends/" + id, Instrument: "reader"},
			&events.ExperimentUnresolved{Experiment: id, Command: "blends/" + id, Instrument: "reader", Cause: "it jammed"})
	}
	for _, payload := range payloads {
		e := must.Get(events.New("blends", payload))(t)
		e.Time, e.Actor = time.Unix(1, 0), "engine"
		must.Get(log.Append(t.Context(), "blends", events.AnySequence, e))(t)
	}
	return must.Get(engine.Load(t.Context(), builtin.Registry(), log, "blends"))(t)
}

// Law: a table settles each experiment as its row says, and those that it leaves alone as is said of
// them; it is taken whole, or refused with each fault in its place.
func TestTablesSettle(t *testing.T) {
	core := lost(t)
	rest := engine.Resolve{Experiment: "e1-e4", Resolution: events.ResolvedNotPerformed, Repeat: true, Reason: "the plate jammed"}
	none := engine.Resolve{Reason: "the plate jammed"}
	for _, c := range []struct {
		table string
		rest  engine.Resolve
		want  string // the rows, or what is said of a fault
	}{
		{"experiment,=y\ne1,3.5\n", none, "e1 measured 3.5"},
		{"experiment;=y;sd\ne1;3,5;0,25\n", none, "e1 measured 3.5±0.25"},
		{"experiment,outcome\ne1,failed\ne2,\ne3,not-performed\n", none, "e1 failed, e3 not-performed"},
		{"experiment,resolution,reason\ne1,infeasible,it froze\n", none, "e1 infeasible (it froze)"},
		{"experiment,=y,unit\ne1,3.5,@V\n", none, "e1 measured 3.5"},
		{"experiment,=y,unit\ne1,3.5,mV\n", none, "t.csv:2:8: =y is in mV, the campaign's in @V"},
		{"experiment,outcome,=y\ne1,measured,3.5\ne2,,2.5\n,,\n", rest, "e1 measured 3.5, e2 measured 2.5, e3,e4 not-performed repeated"},
		{"experiment,outcome\ne1,failed\n", rest, "e1 failed repeated, e2,e3,e4 not-performed repeated"},
		{"experiment,a_actual,b_actual,=y\ne1,0.25,0.75,3.5\n", none, "e1 measured 3.5 at 0.25"},
		{"experiment,a,b,t,salt,=y\ne1,0.125,0.875,25,LiPF6,3.5\n", none, "e1 measured 3.5"},

		{"experiment,outcome\ne1,lost\ne9,failed\n", none, `t.csv:2:4: "lost" is not what can become`},
		{"experiment,outcome\ne1,lost\ne9,failed\n", none, `t.csv:3:1: there is no experiment "e9"`},
		{"experiment,outcome\ne1,measured\n", none, "t.csv:2:1: e1 cannot be resolved as measured without a value"},
		{"experiment,outcome,=y\ne1,failed,3.5\n", none, "t.csv:2:1: the campaign declares no quantities: of an experiment that failed it keeps the cause alone"},
		{"experiment,outcome\ne2,failed\ne1,failed\ne2,failed\n", none, "t.csv:4:1: e2 is in row 1, too"},
		{"experiment,=y\ne1,much\n", none, "t.csv:2:4: =y"},
		{"outcome,=y\nfailed,\n", none, `"experiment" is missing`},
		{"experiment,fate\ne1,failed\n", none, `there is no "fate"`},
		{"experiment,outcome\ne1,\n", none, "says nothing of any experiment"},
		{"experiment,outcome\ne1,failed\n", engine.Resolve{Experiment: "e2", Resolution: events.ResolvedMeasured}, "e2 cannot be resolved as measured"},
	} {
		table := Resolving{Core: core, Actor: "person:ada", Rest: c.rest, Clause: error.Error}
		rows, err := table.Read("t.csv", strings.NewReader(c.table))
		var said []string
		for _, r := range rows {
			text := r.Experiment + " " + string(r.Resolution)
			if r.Value != nil {
				text += fmt.Sprintf(" %v", *r.Value)
			}
			if r.SD != nil {
				text += fmt.Sprintf("±%v", *r.SD)
			}
			for _, q := range r.Quantities {
				text += fmt.Sprintf(" %s %v %s", q.Name, q.Value, q.Unit)
			}
			if r.Actual != nil {
				text += fmt.Sprintf(" at %v", r.Actual["a"])
			}
			if r.Repeat {
				text += " repeated"
			}
			if r.Reason != "the plate jammed" {
				text += " (" + r.Reason + ")"
			}
			said = append(said, text)
		}
		got := strings.Join(said, ", ")
		if err != nil {
			if got = err.Error(); strings.Contains(got, c.want) {
				got = c.want
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.table, got, c.want)
		}
	}
	if core.State().Sequence != 13 {
		t.Errorf("reading tables has recorded something")
	}
}

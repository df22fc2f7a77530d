package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: the first experiments that the editor shows of a file are those that the campaign requests
// once it has begun, in their order, whatever it takes along and whoever is asked first; that
// somebody is, is said.
func TestThePreviewIsWhatHappens(t *testing.T) {
	for _, c := range []struct {
		name, further string
		rows          int // of a table
		asked         string
	}{
		{"plain", "", 0, ""},
		{"a few rows", "", 2, ""},
		{"more rows than the design", "", 5, ""},
		{"an expert", "initial: {experiments: 3, estimates: 4}\nexperts: [{name: ada, web: {}}]\npolicy: {trust: answers}\n", 0, "what they expect of 4 compositions"},
		{"an expert and rows", "initial: {experiments: 3, estimates: 4}\nexperts: [{name: ada, web: {}}]\npolicy: {trust: answers}\n", 1, "what they expect of 4 compositions"},
		{"given points", "initial: {points: [{temp: 30, time: 2}, {temp: 50, time: 3}]}\n", 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, time.Hour)
			source := "name: first\nparameters: [{name: temp, min: 20, max: 80}, {name: time, min: 1, max: 9}]\n" +
				"objective: {name: yield, goal: maximize}\nbudget: {experiments: 20}\nparallel: 12\n" +
				"instrument: {manual: {}, steps: {temp: 1, time: 0.5}}\n" + c.further
			if !strings.Contains(c.further, "initial") {
				source += "initial: {experiments: 4}\n"
			}
			form := url.Values{}
			if c.rows > 0 {
				table := "temp;time;yield\n"
				for i := range c.rows {
					table += fmt.Sprintf("%d;%d;%d\n", 25+10*i, 2+i, 30+i*i)
				}
				_, _, looked := s.looks(url.Values{"table": {table}}, "look")
				for field, role := range map[string]string{"role.0": "number", "role.1": "number", "role.2": "maximize"} {
					looked.Set(field, role)
				}
				_, _, form = s.looks(looked, "write")
			}
			form.Set("source", source)
			v := s.says("/validate", form)
			if v.First == nil || v.First.Why != "" {
				t.Fatalf("nothing is shown: %+v", v)
			}
			if said := strings.Join(v.First.Before, " "); c.asked == "" && said != "" || !strings.Contains(said, c.asked) {
				t.Errorf("of what is asked first it says %q", said)
			}
			s.sent("/new", form)
			of := must.Get(s.lab.Campaign("first"))(t)
			var requested [][]string
			s.until(of, "has all of the design under way", func(state *campaign.State) bool {
				n := 0
				for _, x := range state.Experiments {
					if x.Origin == events.OriginInitial {
						n++
					}
				}
				return n >= v.First.Total
			})
			of.Read(func(core *engine.Core) {
				def := core.State().Definition
				write := format.CompositionsToMake(def)
				for _, x := range core.State().Experiments {
					if x.Origin != events.OriginInitial || x.Replicate > 1 {
						continue
					}
					row := make([]string, len(def.Parameters))
					for k := range def.Parameters {
						row[k], _ = write.Value(k, x.Parameters)
					}
					requested = append(requested, row)
				}
			})
			if fmt.Sprint(requested) != fmt.Sprint(v.First.Rows) || v.First.Total != len(requested) {
				t.Errorf("it shows %v, %d in all, and requests %v", v.First.Rows, v.First.Total, requested)
			}
		})
	}
}

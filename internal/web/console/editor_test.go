package console_test

import (
	"encoding/json"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/yamledit"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// verdict is what the editor is told of a file.
type verdict struct {
	Source        string
	Tree          json.RawMessage
	Faults        []wrong
	Text, Meaning string
	Changes       []string
	First         *struct {
		Before []string
		Head   []string
		Rows   [][]string
		Total  int
		Then   string
		Why    string
	}
	Along string
}

// wrong is a fault as the editor is told of it.
type wrong struct {
	Line           int
	Field, Message string
	Path           []any
}

// says posts a form and reads the answer for the script.
func (s *site) says(path string, form url.Values) (v verdict) {
	s.t.Helper()
	status, _, body := s.post(path, form)
	if err := json.Unmarshal([]byte(body), &v); status != 200 || err != nil {
		s.t.Fatalf("%s: %d, %v: %s", path, status, err, body)
	}
	return v
}

// steps are a path as JSON has it: numbers are float64.
func steps(p yamltree.Path) []any {
	text, _ := json.Marshal(p)
	var plain []any
	_ = json.Unmarshal(text, &plain)
	return plain
}

// beside reports whether a fault's path leads to a value, into it, or to what holds it.
func beside(fault, value []any) bool {
	n := min(len(fault), len(value))
	return n >= len(value)-1 && n > 0 && slices.Equal(fault[:n], value[:n])
}

// Law: of 500 files, each with one value that cannot be right, every one is refused at that
// value, or at the place around it that the value makes wrong: the path leads there, by
// which the form finds the field, and so does the line.
func TestFaultsAtTheirField(t *testing.T) {
	s := serve(t, time.Hour)
	files := must.Get(filepath.Glob("../../../examples/*.yaml"))(t)
	const each = 75
	mutated := 0
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		root, faults := yamltree.Read(text, campaignfile.Format)
		if len(faults) > 0 || root.Field("parameters") == nil { // the lab's own file
			continue
		}
		var paths []yamltree.Path
		var walk func(n *yamltree.Node)
		walk = func(n *yamltree.Node) {
			for _, key := range n.Keys() {
				paths = append(paths, n.Field(key).Path)
				walk(n.Field(key))
			}
			for _, item := range n.Items {
				paths = append(paths, item.Path)
				walk(item)
			}
		}
		walk(root)
		for i, path := range paths {
			if i%(1+len(paths)/each) != 0 || slices.Contains(steps(path), "body") { // which is the device's
				continue
			}
			value := yamltree.Mapping().With("no such key", yamltree.Text("nonsense"))
			if i%2 == 1 {
				value = yamltree.List([]*yamltree.Node{yamltree.List(nil), value})
			}
			source := must.Get(yamledit.Apply(string(text), yamledit.Change{Path: path, Value: value}))(t)
			mutated++
			v := s.says("/validate", url.Values{"source": {source}})
			at := steps(path)
			found := slices.IndexFunc(v.Faults, func(f wrong) bool { return beside(f.Path, at) })
			if found < 0 {
				t.Errorf("%s, %v: %s %v", filepath.Base(file), path, v.Text, v.Faults)
				continue
			}
			lines := strings.Split(source, "\n")
			if f := v.Faults[found]; f.Line < 1 || f.Line > len(lines) {
				t.Errorf("%s, %v: line %d of %d", filepath.Base(file), path, f.Line, len(lines))
			}
		}
	}
	if mutated < 500 {
		t.Errorf("%d files were tried", mutated)
	}
}

// Law: a change of the form is made in the file, which is checked, and tells what the first
// experiments will be: those that the campaign then makes. A change that leads nowhere is
// refused, and nothing is recorded.
func TestEdit(t *testing.T) {
	s := serve(t, time.Hour)
	const source = "name: bench # kept\nparameters: [{name: x, min: 0, max: 1}]\n" +
		"objective: {maximize: y}\ninitial: {experiments: 8}\nbudget: {experiments: 9}\ninstrument: manual\n"
	v := s.says("/edit", url.Values{"source": {source}, "path": {`["parameters",0,"max"]`}, "value": {"4"}})
	if want := strings.Replace(source, "max: 1", "max: 4", 1); v.Source != want || len(v.Faults) > 0 {
		t.Fatalf("%+v", v)
	}
	if v.First == nil || v.First.Total != 8 || len(v.First.Rows) != 6 || v.First.Head[0] != "x" {
		t.Fatalf("first: %+v", v.First)
	}
	again := s.says("/edit", url.Values{"source": {v.Source}, "path": {`["budget"]`}})
	if strings.Contains(again.Source, "budget") || len(again.Faults) == 0 {
		t.Errorf("without a budget: %+v", again)
	}
	for _, path := range []string{"", "[]", `["parameters","x"]`, `["parameters",7]`, "nonsense", `["name","x"]`} {
		form := url.Values{"source": {source}, "path": {path}, "value": {"1"}}
		if v := s.says("/edit", form); v.Source != "" || v.Text == "" {
			t.Errorf("%s: %+v", path, v)
		}
	}
	if all := s.lab.Campaigns(); len(all) > 0 {
		t.Errorf("there are %d campaigns", len(all))
	}
	c := s.begin(v.Source)
	s.until(c, "asks for it", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	c.Read(func(core *engine.Core) {
		x, _ := core.State().Experiments[0].Parameters["x"].Float()
		if want, err := strconv.ParseFloat(v.First.Rows[0][0], 64); err != nil || math.Abs(x-want) > 1e-3 {
			t.Errorf("the first experiment is at %g, not at %s", x, v.First.Rows[0][0])
		}
	})
}

// Law: what a campaign under way does not allow is said at the field of the form that asks
// for it; what it allows is said in words before it is asked for, and amends nothing.
func TestAmendmentAtItsField(t *testing.T) {
	s := serve(t, time.Hour)
	const source = "name: bench\nparameters: [{name: x, min: 0, max: 1}, {name: salt, categories: [A, B]}]\n" +
		"objective: {maximize: y}\nbudget: {experiments: 9}\ninstrument: manual\n"
	c := s.begin(source)
	edit := func(path, value string) verdict {
		return s.says("/edit", url.Values{"source": {source}, "path": {path}, "value": {value}, "amends": {"bench"}})
	}
	v := edit(`["parameters",1,"categories",1]`, `"C"`)
	if len(v.Faults) != 1 || !beside(v.Faults[0].Path, []any{"parameters", 1.0}) {
		t.Errorf("another category: %+v", v.Faults)
	}
	if v = edit(`["budget","experiments"]`, "12"); len(v.Faults) > 0 || len(v.Changes) != 1 {
		t.Errorf("a greater budget: %+v", v)
	}
	s.until(c, "waits", func(st *campaign.State) bool { return len(st.Experiments) > 0 })
	if amended := s.events(c, events.KindCampaignAmended); len(amended) > 0 {
		t.Errorf("it was amended: %v", amended)
	}
}

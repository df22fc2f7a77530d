package campaignfile

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/space"
)

var update = flag.Bool("update", false, "write the golden files")

const examples = "../../../examples"

// Every example is read without a fault, is complete, and its space has room
// for its initial design.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		if filepath.Base(file) == labfile.Name {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			f := must.Get(Read(builtin.Registry(), file))(t)
			if diff := cmp.Diff(f.Definition, Complete(builtin.Registry(), f.Definition),
				cmp.AllowUnexported(definition.Value{})); diff != "" {
				t.Errorf("completing it again changes it:\n%s", diff)
			}
			if faults := Validate(builtin.Registry(), f.Definition); len(faults) > 0 {
				t.Errorf("%v", faults)
			}
			if !strings.HasPrefix(f.Source, "# yaml-language-server: $schema=../schemas/campaign.json\n") {
				t.Error("it does not begin with the line that lets an editor complete it")
			}
			s := must.Get(space.New(f.Definition))(t)
			design, err := s.Design(f.Definition.Initial.Design, *f.Definition.Initial.Experiments, f.Definition.Seed)
			if err != nil || len(design) != *f.Definition.Initial.Experiments {
				t.Errorf("%d initial experiments: %v", len(design), err)
			}
			golden(t, "testdata/explain-"+strings.TrimSuffix(filepath.Base(file), ".yaml")+".txt",
				Explain(t.Context(), builtin.Registry(), f.Definition))
		})
	}
}

// A definition that has a bit of everything, in words.
func TestExplain(t *testing.T) {
	data := must.Get(os.ReadFile("../../../events/testdata/golden/campaign.defined.v1.json"))(t)
	var defined events.CampaignDefined
	must.Do(t, json.Unmarshal(data, &defined))
	golden(t, "testdata/explain-everything.txt", Explain(t.Context(), builtin.Registry(), defined.Definition))
}

// What experts are to estimate at first is said, in what it is counted, and how long each
// number may take.
func TestExplainEstimates(t *testing.T) {
	for marks, want := range map[string]string{
		"": "in the objective's unit", ", marks: true": "in marks from 1 to 5, the best",
	} {
		f, err := Parse(builtin.Registry(), "estimates", []byte(`{name: estimates, parameters: [{name: x, min: 0, max: 1}],
			objective: {name: y, goal: maximize}, budget: {experiments: 9}, instrument: {process: {command: [robot]}},
			experts: [{name: ada, terminal: {}}], initial: {estimates: 20`+marks+`}}`))
		if err != nil {
			t.Fatal(err)
		}
		text := Explain(t.Context(), builtin.Registry(), f.Definition)
		for _, want := range []string{
			"from each expert, in one sitting, what they expect of 20 compositions, " + want,
			"goes on without an answer after 2m for each composition",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in:\n%s", want, text)
			}
		}
	}
}

// The messages for broken files are what users see: one golden file each.
func TestFaults(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := Read(builtin.Registry(), file)
			if err == nil {
				t.Fatal("no fault was found")
			}
			var faults *yamltree.Error
			if !errors.As(err, &faults) || len(faults.Faults) == 0 {
				t.Fatalf("error %v, want a *yamltree.Error", err)
			}
			got := filepath.ToSlash(err.Error()) + "\n"
			golden(t, strings.TrimSuffix(file, ".yaml")+".golden", got)
		})
	}
}

// golden compares a text with a file that holds what is wanted.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(file))(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s says otherwise (-want +got):\n%s", file, diff)
	}
}

// Short forms mean what the long ones mean, and anchors and aliases are fine.
func TestShortForms(t *testing.T) {
	short := `
name: forms
parameters:
  - &x {name: x1, min: -5, max: 10}
  - {name: salt, categories: [LiPF6, LiFSI]}
objective: {name: y, goal: minimize}
budget: {experiments: &n 20}
policy: {next: lcb, trust: cobol, handover: width}
instrument:
  manual:
experts:
  - {name: ada, terminal: }
`
	long := `
name: forms
parameters:
  - {name: x1, min: -5.0, max: 1e1}
  - {name: salt, categories: [{name: LiPF6}, {name: LiFSI}]}
objective: {name: y, goal: minimize}
budget: {experiments: 20}
policy: {next: {lcb: {}}, trust: {cobol: {}}, handover: {width: {}}}
instrument: {manual: {}}
experts:
  - {name: ada, terminal: {}}
`
	bare := strings.Replace(short, "instrument:\n  manual:\n", "instrument: manual\n", 1)
	want := must.Get(Parse(builtin.Registry(), "long.yaml", []byte(long)))(t)
	for _, text := range []string{short, bare} {
		got := must.Get(Parse(builtin.Registry(), "short.yaml", []byte(text)))(t)
		if diff := cmp.Diff(want.Definition, got.Definition); diff != "" {
			t.Error(diff)
		}
	}
}

// No input makes the reader panic or never answer, and every fault has words.
func FuzzParse(f *testing.F) {
	files := must.Get(filepath.Glob("testdata/*.yaml"))(f)
	more := must.Get(filepath.Glob(filepath.Join(examples, "*.yaml")))(f)
	for _, file := range append(files, more...) {
		data := must.Get(os.ReadFile(file))(f)
		f.Add(data)
	}
	for _, data := range draws.LongKeys() {
		f.Add(data)
	}
	f.Add([]byte("policy: " + strings.Repeat("k", 3_000_000)))
	f.Add([]byte("a: &a [*a, *a]\nb: &b {<<: *b}\nc: !!binary x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var err error
		draws.Answers(t, func() {
			var file *File
			if file, err = Parse(builtin.Registry(), "fuzz.yaml", data); err == nil {
				Explain(t.Context(), builtin.Registry(), file.Definition)
			}
		})
		if err == nil {
			return
		}
		var faults *yamltree.Error
		if !errors.As(err, &faults) {
			t.Fatalf("error %T, want a *yamltree.Error", err)
		}
		for _, f := range faults.Faults {
			if f.Message == "" {
				t.Errorf("a fault without words at line %d", f.Line)
			}
		}
	})
}

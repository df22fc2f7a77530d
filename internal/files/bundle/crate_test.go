package bundle

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// conducted is a campaign with an experiment of each fate, two of which went through a procedure, and files
// of hostile names.
func conducted() (Source, Provenance) {
	s := kept("a.csv", "b <c> ä.png", "kept of the campaign.pdf")
	s.State.Definition.Parameters = []definition.Parameter{{Name: "x / y", Unit: "mol/kg"}, {Name: "salt"}}
	at := s.State.DefinedAt.Add(24 * time.Hour)
	for i, status := range []campaign.ExperimentStatus{
		campaign.Measured, campaign.Failed, campaign.Requested, campaign.Started, campaign.Cancelled,
	} {
		x := campaign.Experiment{
			ID: events.ExperimentID(i + 1), Status: status, RequestedAt: at, Command: campaign.Command{Instrument: "acme/mixer"},
			Parameters: definition.Point{"x / y": definition.Number(0.5), "salt": definition.Category("NaCl")},
		}
		if !status.Open() {
			x.Command.DispatchedAt, x.EndedAt = at, at.Add(time.Hour)
		}
		switch status {
		case campaign.Measured:
			x.Measurement = &events.Measurement{
				Actual: x.Parameters, Identity: "M2, serial 0042", Objective: definition.Quantity{Name: "y", Value: 1.5, Unit: "mS/cm"},
				Further: []definition.Quantity{{Name: "pH", Value: 7}},
			}
		case campaign.Failed:
			x.Cause = "a leak"
		}
		s.State.Experiments = append(s.State.Experiments, x)
	}
	s.State.Files[0].Experiment, s.State.Files[1].Experiment = "e1", "e2"
	s.State.Files[0].Digest = "sha256:" + strings.Repeat("ab", 32)
	s.State.Files = append(s.State.Files,
		campaign.File{ID: "f4", Experiment: "e1", Actor: "instrument:acme/mixer", Time: at, Attachment: events.Attachment{Name: "raw.h5", URI: "https://data.example.org/raw.h5"}},
		campaign.File{ID: "f5", Actor: "person:eve", Time: at, Withdrawn: true, Reason: "a slip", Attachment: events.Attachment{Name: "slip.csv", Digest: "sha256:x", Size: 1}},
		campaign.File{ID: "f6", Actor: "person:eve", Time: at, Withdrawn: true, Reason: "a slip", Attachment: events.Attachment{Name: "slip.h5", URI: "s3://lab/slip.h5"}})
	through(s.State, at)
	return s, Provenance{Began: "person:ada", Reported: map[string]string{"e2": "person:Zoë Ñandú"}, Version: "0.2.0"}
}

// through takes e1 and e2 through a procedure of two instruments: the file f1 is of the act that measured e1.
func through(s *campaign.State, at time.Time) {
	s.Definition.Stocks = map[string]definition.Stock{"tips": {Labels: "A1-H1"}}
	s.Batches = []campaign.Batch{{
		ID: "b1", Experiments: []string{"e1", "e2"}, Acts: []string{"a1", "a2", "a3", "a4"},
		Procedure: []definition.Stage{{Name: "dose", On: "robot 1", Together: true}, {Name: "read", On: "meter"}},
	}}
	act := func(id, stage, on, identity string, status events.ActStatus, of ...string) campaign.Act {
		return campaign.Act{
			ID: id, Batch: "b1", Stage: stage, Resource: on, Experiments: of, Status: status, EndedAt: at,
			Command: campaign.Command{Instrument: "acme", Identity: identity, DispatchedAt: at.Add(-time.Minute)},
		}
	}
	s.Acts = []campaign.Act{
		act("a1", "dose", "robot 1", "R2", events.ActDone, "e1", "e2"), act("a2", "read", "meter", "M2", events.ActDone, "e1"),
		act("a3", "read", "meter", "M2", events.ActFailed, "e2"), act("a4", "read", "meter", "M2", "", "e2"),
	}
	s.Acts[0].EndedAt = at.Add(-time.Second)
	s.Acts[0].Command.Drawn = []events.Drawn{{Stock: "tips", Labels: []string{"A1", "B1"}}}
	s.Acts[1].Gave = []events.Given{{Experiment: "e1", Measurement: &events.Measurement{Objective: definition.Quantity{Name: "y", Value: 1.4, Unit: "mS/cm"}}}}
	s.Acts[2].Cause = "a leak"
	s.Files[0].Actor, s.Files[0].Time = "instrument:acme", at
	for _, id := range s.Batches[0].Experiments {
		s.Experiment(id).Batch = "b1"
	}
}

// metadata reads the graph of a crate.
func metadata(t *testing.T, entries []Entry) (nodes map[string]map[string]any, text []byte) {
	t.Helper()
	if entries[0].Path != MetadataName {
		t.Fatalf("it begins with %s", entries[0].Path)
	}
	var b bytes.Buffer
	if err := entries[0].Write(&b); err != nil {
		t.Fatal(err)
	}
	var document struct {
		Graph []map[string]any `json:"@graph"`
	}
	if err := json.Unmarshal(b.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	nodes = make(map[string]map[string]any)
	for _, n := range document.Graph {
		id := n["@id"].(string)
		if nodes[id] != nil {
			t.Errorf("%s is described twice", id)
		}
		nodes[id] = n
	}
	return nodes, b.Bytes()
}

// references calls visit for each entity that a value points to.
func references(value any, visit func(id string)) {
	switch v := value.(type) {
	case []any:
		for _, x := range v {
			references(x, visit)
		}
	case map[string]any:
		if id, ok := v["@id"].(string); ok && len(v) == 1 {
			visit(id)
		}
	}
}

// Law: a crate describes each of its files once and nothing that it does not hold; all that is
// pointed to is described; each experiment is a run with what went in and what came out; the same
// campaign gives the same metadata.
func TestCrate(t *testing.T) {
	s, p := conducted()
	entries := Crate(s, p)
	nodes, text := metadata(t, entries)
	_, again := metadata(t, Crate(s, p))
	if !bytes.Equal(text, again) {
		t.Error("the same campaign has other metadata the second time")
	}
	held := make(map[string]bool)
	for _, e := range entries[1:] {
		held[e.Path] = true
		if n := nodes[e.Path]; n == nil || n["@type"] != "File" || n["name"] == nil || n["name"] == "" {
			t.Errorf("%s is described as %v", e.Path, n)
		}
	}
	for id, n := range nodes {
		if _, err := url.Parse(id); err != nil || strings.ContainsAny(id, ` <>"\`) {
			t.Errorf("%q is no URI: %v", id, err)
		}
		if n["@type"] == "File" && !held[id] && !strings.Contains(id, "://") {
			t.Errorf("%s is described, and not there", id)
		}
		for key, value := range n {
			references(value, func(to string) {
				known := nodes[to] != nil || strings.HasPrefix(to, "http://schema.org/") || to == crateVersion
				if key != "@id" && !known {
					t.Errorf("%s points to %s, which is not described", id, to)
				}
			})
		}
	}
	parts := make(map[string]bool)
	for _, id := range []string{"./", "experiments/e1/", "experiments/e2/"} {
		references(nodes[id]["hasPart"], func(part string) { parts[part] = true })
	}
	for _, part := range []string{LogName, TableName, SourceName, IndexName, "experiments/e1/", "experiments/e1/f1-a.csv",
		"https://data.example.org/raw.h5", "experiments/e2/f2-b__c___.png", "campaign/f3-kept_of_the_campaign.pdf"} {
		if !parts[part] {
			t.Errorf("%s is part of nothing: %v", part, parts)
		}
	}
	if bytes.Contains(text, []byte("slip.")) {
		t.Error("a withdrawn file is described")
	}
	for id, status := range map[string]string{"e1": "Completed", "e2": "Failed", "e3": "Potential", "e4": "Active", "e5": "Failed"} {
		run := nodes["#run-"+id]
		got := run["actionStatus"].(map[string]any)["@id"]
		object := 2                   // its composition
		if id == "e1" || id == "e2" { // and what it has used up of the plate's tips
			object = 3
		}
		if run["@type"] != "CreateAction" || got != "http://schema.org/"+status+"ActionStatus" || run["instrument"] == nil || len(run["object"].([]any)) != object {
			t.Errorf("the run of %s is %v", id, run)
		}
	}
	results := 0
	references(nodes["#run-e1"]["result"], func(string) { results++ })
	if results != 5 { // two files, its description and two quantities
		t.Errorf("%d things came out of e1: %v", results, nodes["#run-e1"]["result"])
	}
	if nodes["experiments/e1/f1-a.csv"]["sha256"] != strings.Repeat("ab", 32) || nodes["#run-e2"]["error"] != "a leak" {
		t.Error("the digest of a file or the cause of a failure is lost")
	}
}

// Law: each act is an action of its instrument on its experiments, with its times, its fate and what came out; an
// instrument is described once. One that only moves matter has created nothing.
func TestCrateOfActs(t *testing.T) {
	nodes, _ := metadata(t, Crate(conducted()))
	to := func(value any) (all []string) {
		references(value, func(id string) { all = append(all, id) })
		return all
	}
	for id, want := range map[string]struct {
		kind, status, instrument string
		object, result           []string
	}{
		"a1": {"ControlAction", "Completed", "#instrument-robot%201-R2", []string{"experiments/e1/", "experiments/e2/", "#a1-used-tips"}, nil},
		"a2": {"CreateAction", "Completed", "#instrument-meter-M2", []string{"experiments/e1/"}, []string{"#a2-e1-out-y", "experiments/e1/f1-a.csv", "https://data.example.org/raw.h5"}},
		"a3": {"ControlAction", "Failed", "#instrument-meter-M2", []string{"experiments/e2/"}, nil},
		"a4": {"ControlAction", "Active", "#instrument-meter-M2", []string{"experiments/e2/"}, nil},
	} {
		n := nodes["#act-"+id]
		if n["@type"] != want.kind || !slices.Equal(to(n["actionStatus"]), []string{"http://schema.org/" + want.status + "ActionStatus"}) ||
			!slices.Equal(to(n["instrument"]), []string{want.instrument}) || !slices.Equal(to(n["object"]), want.object) ||
			!slices.Equal(to(n["result"]), want.result) || n["startTime"] == nil || (n["endTime"] == nil) != (id == "a4") {
			t.Errorf("%s is %v, want %v", id, n, want)
		}
		if !slices.Contains(to(nodes["./"]["mentions"]), "#act-"+id) {
			t.Errorf("the campaign does not mention %s", id)
		}
	}
	if got := to(nodes["#run-e1"]["instrument"]); !slices.Equal(got, []string{"#instrument-robot%201-R2", "#instrument-meter-M2"}) {
		t.Errorf("e1 was run at %v", got)
	}
	if got := nodes["#e1-used-tips"]["value"]; got != "A1" {
		t.Errorf("of the plate's tips e1 has used up %v", got)
	}
}

// Law: the validator of the community finds no fault: with RO-Crate 1.2, and with the profile of
// process runs. CAMPAIGND_ROCRATE_VALIDATOR is its command; it is installed by .ci/run.
func TestValidator(t *testing.T) {
	command := strings.Fields(os.Getenv("CAMPAIGND_ROCRATE_VALIDATOR"))
	if len(command) == 0 {
		t.Skip("CAMPAIGND_ROCRATE_VALIDATOR names no rocrate-validator: pip install roc-validator")
	}
	s, p := conducted()
	folder := filepath.Join(t.TempDir(), "crate")
	if err := WriteFolder(folder, Crate(s, p)); err != nil {
		t.Fatal(err)
	}
	for _, profile := range [][]string{{"-p", "ro-crate-1.2"}, {"-p", "process-run-crate-0.5", "--disable-profile-inheritance"}} {
		args := append(append(command[1:], "-y", "validate", "--no-paging", "-v", "--skip-availability-check"), profile...)
		out, err := exec.Command(command[0], append(args, folder)...).CombinedOutput()
		text := string(out)
		if strings.Contains(text, "URLError") || strings.Contains(text, "Failed to resolve") || strings.Contains(text, "Max retries exceeded") {
			t.Skip("w3id.org, where RO-Crate's context is, is out of reach here")
		}
		if err != nil || !strings.Contains(text, "RO-Crate is a valid "+profile[1]) {
			t.Errorf("%v: %v\n%s", profile, err, text)
		}
	}
	// What is wrong is found: the validator is asked and answers.
	metadata := filepath.Join(folder, MetadataName)
	wrong, err := os.ReadFile(metadata)
	if err == nil {
		err = os.WriteFile(metadata, bytes.Replace(wrong, []byte(`"license"`), []byte(`"lizenz"`), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := append(command[1:], "-y", "validate", "--no-paging", "-v", "-p", "ro-crate-1.2", folder)
	if out, err := exec.Command(command[0], args...).CombinedOutput(); err == nil {
		t.Errorf("a crate without a license passes:\n%s", out)
	}
}

// Law: an .eln file has one folder, with the metadata in it.
func TestELN(t *testing.T) {
	s, p := conducted()
	var b bytes.Buffer
	if err := WriteZip(&b, "bench", Crate(s, p)); err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, name := range namesIn(t, b.Bytes()) {
		if !strings.HasPrefix(name, "bench/") {
			t.Errorf("%s lies beside the folder", name)
		}
		seen = seen || name == "bench/"+MetadataName
	}
	if !seen {
		t.Error("the folder has no metadata")
	}
}

// namesIn lists the files of an archive.
func namesIn(t *testing.T, text []byte) (names []string) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range archive.File {
		names = append(names, part.Name)
	}
	return names
}

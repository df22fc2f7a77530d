package attest

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// changes calls changed with a JSON value changed in one leaf, for each of them.
func changes(path string, value any, changed func(path string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			with := func(path string, inner any) {
				m := maps.Clone(v)
				m[key] = inner
				changed(path, m)
			}
			changes(path+"/"+key, v[key], with)
		}
	case []any:
		for i := range v {
			changes(path+"/#", v[i], func(path string, inner any) {
				list := slices.Clone(v)
				list[i] = inner
				changed(path, list)
			})
		}
	case float64:
		changed(path, v*1.5+1)
	case string:
		changed(path, v+"x")
	case bool:
		changed(path, !v)
	}
}

// Law: a setting of a definition, also one that nothing reads, cannot be changed
// without the campaign file that is recorded with it, nor the list of what an
// amendment changed without its definitions; and the honest log has no mismatch.
func TestDefinitionsFollowFromTheirFiles(t *testing.T) {
	source := must.Get(os.ReadFile("../../cmd/campaignd/app/testdata/tiny.yaml"))(t)
	file := must.Get(campaignfile.Parse(builtin.Registry(), "tiny.yaml", source))(t)
	amended := file.Definition
	amended.Budget.Experiments += 2
	more := strings.Replace(string(source), "budget: {experiments: 5}", "budget: {experiments: 7}", 1)
	if again, err := campaignfile.Parse(builtin.Registry(), "more.yaml", []byte(more)); err != nil || len(campaignfile.Diff(amended, again.Definition)) > 0 {
		t.Fatalf("tiny.yaml with two experiments more is %+v, %v", again, err)
	}
	this := events.Build{Version: "v1.0.0", Revision: "1f2e3d"}
	payloads := []events.Payload{
		&events.CampaignDefined{Definition: file.Definition, Source: file.Source, Build: this},
		&events.CampaignAmended{Definition: amended, Source: more, Changes: campaignfile.Diff(file.Definition, amended)},
	}
	var all []events.Event
	for _, p := range payloads {
		e := must.Get(events.New(file.Definition.Name, p))(t)
		e.Actor, e.Time = "person:ada", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		all = append(all, e)
	}
	found := func(all []events.Event, build events.Build) (mismatches, remarks []decisions.Mismatch) {
		log := memlog.New()
		must.Get(log.Append(t.Context(), file.Definition.Name, 0, all...))(t)
		mismatches, remarks, err := checkDefinitions(t.Context(), builtin.Registry(), log, file.Definition.Name, build)
		if err != nil {
			t.Fatal(err)
		}
		return mismatches, remarks
	}
	if mismatches, remarks := found(all, this); mismatches != nil || remarks != nil {
		t.Fatalf("the honest log: %+v %+v", mismatches, remarks)
	}
	for i := range all {
		var data map[string]any
		must.Do(t, json.Unmarshal(all[i].Data, &data))
		tried := 0
		for _, field := range []string{"definition", "changes"} {
			changes("/"+field, data[field], func(path string, value any) {
				if path == "/definition/seed" {
					return // --seed: every seed of a decision follows from it
				}
				changed := maps.Clone(data)
				changed[field] = value
				forged := slices.Clone(all)
				forged[i].Data, _ = json.Marshal(changed)
				if _, err := events.Decode(events.Event{Kind: forged[i].Kind, Version: 1, Data: forged[i].Data}); err != nil {
					return // the audit says that it does not read
				}
				tried++
				if mismatches, _ := found(forged, this); mismatches == nil {
					t.Errorf("%s: %s is not found", all[i].Kind, path)
				}
				if mismatches, remarks := found(forged, events.Build{Version: "v2.0.0"}); mismatches != nil || remarks == nil {
					t.Errorf("%s: %s of another program: %v %v", all[i].Kind, path, mismatches, remarks)
				}
			})
		}
		if tried < 20 {
			t.Errorf("only %d fields of %s were changed", tried, all[i].Kind)
		}
	}
}

// Law: an amendment by this program of a campaign that another one began, with other defaults, follows
// from its file where it changes what the file says otherwise than before, and nothing else.
func TestAnAmendmentKeepsTheDefaultsOfBefore(t *testing.T) {
	const begun = "name: n\nparameters: [{name: x, min: 0, max: 1}]\nobjective: {name: y, goal: maximize}\n" +
		"budget: {experiments: 8}\ninstrument: manual\nexperts: [{name: ada, web: {}}]\npolicy: cobol\n"
	more := strings.Replace(begun, "experiments: 8", "experiments: 9", 1)
	read := func(text string) definition.Campaign {
		file := must.Get(campaignfile.Parse(builtin.Registry(), "n.yaml", []byte(text)))(t)
		return file.Definition
	}
	this, three := events.Build{Version: "v2.0.0"}, 3
	first, amended, drifted := read(begun), read(more), read(more)
	for _, def := range []*definition.Campaign{&first, &amended} {
		def.Initial.Wait, def.Initial.Experiments = nil, &three
	}
	for name, c := range map[string]struct {
		amended definition.Campaign
		found   bool
	}{"what the file says": {amended, false}, "and a default": {drifted, true}} {
		log := memlog.New()
		for i, p := range []events.Payload{
			&events.CampaignDefined{Definition: first, Source: begun, Build: events.Build{Version: "v1.0.0"}},
			&events.RecoveryDone{Build: this},
			&events.CampaignAmended{Definition: c.amended, Source: more, Changes: campaignfile.Diff(first, c.amended)},
		} {
			e := must.Get(events.New("n", p))(t)
			e.Time = time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
			must.Get(log.Append(t.Context(), "n", events.Sequence(i), e))(t)
		}
		mismatches, _, err := checkDefinitions(t.Context(), builtin.Registry(), log, "n", this)
		if err != nil || (len(mismatches) > 0) != c.found {
			t.Errorf("%s: %+v %v", name, mismatches, err)
		}
	}
}

// Law: what an earlier version decided leaves an audit incomplete until a person
// says that it was audited with the program that made it, which the audit names.
func TestExcept(t *testing.T) {
	older := decisions.BuildShare{Build: events.Build{Version: "v1.0.0", Revision: "1f2e3d4c5b6a7988"}, Decisions: 18, OtherVersion: 18}
	early := decisions.BuildShare{Build: events.Build{Version: "devel"}, Decisions: 2, OtherVersion: 2}
	newer := decisions.BuildShare{Build: events.Build{Version: "v2.0.0", Revision: "aaaa"}, Decisions: 10, Reproduced: 10}
	for _, c := range []struct {
		except []string
		passes bool
	}{
		{nil, false}, {[]string{"aaaa"}, false}, {[]string{"1f2e3d4c5b6a"}, false}, {[]string{"1f2e3d4c5b6a", "devel"}, true},
		{[]string{NameOf(older.Build), NameOf(early.Build)}, true}, {[]string{""}, false},
	} {
		r := &Audit{Chain: ChainSound}
		r.count(decisions.Counts{
			OtherVersion: 20, Builds: []decisions.BuildShare{older, early, newer},
		}, c.except)
		if r.Passed() != c.passes {
			t.Errorf("except %q: %+v", c.except, r)
		}
	}
}

// Law: a definition follows from its file, whatever seed and list of candidates it was begun with; a
// file that this program would refuse vouches for nothing, and where there is none nothing is compared.
func TestFollowsFrom(t *testing.T) {
	const text = "name: n\nparameters: [{name: x, values: [1, 2, 3]}]\nobjective: {name: y, goal: maximize}\n" +
		"budget: {experiments: 3}\ninstrument: {table: {file: t.csv}}\n"
	file := must.Get(campaignfile.Parse(builtin.Registry(), "n.yaml", []byte(text)))(t)
	change := func(with func(*definition.Campaign)) definition.Campaign {
		def := file.Definition
		with(&def)
		return def
	}
	one := []definition.Point{{"x": definition.Number(1)}}
	inDoubt := func(*campaignfile.File) (def definition.Campaign, err error) { return def, errors.New("in doubt") }
	for name, c := range map[string]struct {
		source string
		def    definition.Campaign
		means  meaning
		says   string
	}{
		"as it is":             {text, file.Definition, defined, ""},
		"another seed":         {text, change(func(d *definition.Campaign) { d.Seed++ }), defined, ""},
		"listed candidates":    {text, change(func(d *definition.Campaign) { d.Candidates = one }), defined, ""},
		"another budget":       {text, change(func(d *definition.Campaign) { d.Budget.Experiments++ }), defined, "does not follow from the campaign file"},
		"no file":              {"", change(func(d *definition.Campaign) { d.Budget.Experiments++ }), defined, ""},
		"a file with faults":   {text + "more: 1\n", file.Definition, defined, "would be refused"},
		"a file that is none":  {"\xff\xfe\xfd", file.Definition, defined, "would be refused"},
		"a meaning in doubt":   {text, file.Definition, inDoubt, "cannot be said: in doubt"},
		"candidates of people": {strings.Replace(text, "{table: {file: t.csv}}", "manual", 1), change(func(d *definition.Campaign) { d.Candidates = one }), defined, "does not follow"},
	} {
		if said := followsFrom(builtin.Registry(), c.source, c.def, c.means); !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// Law: an amendment is by the program that the log names last, in a decision, a fit, a recovery or the
// beginning: a definition that does not follow is a mismatch of this program, and a remark of another one.
func TestWhoAmended(t *testing.T) {
	source := must.Get(os.ReadFile("../../cmd/campaignd/app/testdata/tiny.yaml"))(t)
	file := must.Get(campaignfile.Parse(builtin.Registry(), "tiny.yaml", source))(t)
	this, amended := events.Build{Version: "v2.0.0"}, file.Definition
	amended.Budget.Experiments++
	for name, before := range map[string]events.Payload{
		"decision": &events.DecisionMade{Build: this}, "fit": &events.ModelFitted{Build: this}, "recovery": &events.RecoveryDone{Build: this},
		"another's decision": &events.DecisionMade{}, "another's fit": &events.ModelFitted{}, "another's recovery": &events.RecoveryDone{},
	} {
		log := memlog.New()
		for i, p := range []events.Payload{
			&events.CampaignDefined{Definition: file.Definition, Source: file.Source},
			&events.RecoveryDone{Build: events.Build{Version: "v1.0.0"}},
			before,
			&events.CampaignAmended{Definition: amended, Source: file.Source, Changes: campaignfile.Diff(file.Definition, amended)},
		} {
			e := must.Get(events.New("n", p))(t)
			e.Time = time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
			must.Get(log.Append(t.Context(), "n", events.Sequence(i), e))(t)
		}
		mismatches, remarks, err := checkDefinitions(t.Context(), builtin.Registry(), log, "n", this)
		want := 1
		if strings.HasPrefix(name, "another") {
			want = 0
		}
		if err != nil || len(mismatches) != want || len(remarks) != 1-want {
			t.Errorf("behind a %s: %+v, %+v, %v", name, mismatches, remarks, err)
		}
	}
}

package chaos

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
)

// coverage counts what was asked for: each field of each kind of request, set and, where
// it is optional, left out, by paths such as "tell.sd" and "tell.sd left out".
type coverage struct {
	mu           sync.Mutex
	tried, taken map[string]int
	// They count requests, those that were recorded, and killed programs.
	requests, fulfilled, kills int
}

func newCoverage() *coverage {
	return &coverage{tried: make(map[string]int), taken: make(map[string]int)}
}

// note counts a request and what it was recorded as; nothing where it was refused.
func (c *coverage) note(r engine.Request, stored []events.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	paths := pathsOf(r)
	c.requests++
	for path := range paths {
		c.tried[path]++
	}
	if len(stored) == 0 {
		return
	}
	c.fulfilled++
	for path := range paths {
		c.taken[path]++
	}
	for _, e := range stored {
		for _, fact := range factsOf(e) {
			c.taken[fact]++
		}
	}
}

// factsOf says of an event what else is to be covered: parts of the definition that an
// amendment changed, and how each outcome was corrected.
func factsOf(e events.Event) (facts []string) {
	facts = []string{"event " + string(e.Kind)}
	payload, err := events.Decode(e)
	if err != nil {
		panic(err) // it was written just now
	}
	switch p := payload.(type) {
	case *events.CampaignAmended:
		for _, change := range p.Changes {
			facts = append(facts, amended(strings.Split(change.Path, "/")[1]))
		}
		facts = append(facts, outcomeFacts(p)...)
	case *events.ExperimentCorrected:
		facts = append(facts, corrected(p.Was, p.Outcome))
	case *events.MeasurementCorrected:
		facts = append(facts, corrected(events.ResolvedMeasured, events.ResolvedMeasured))
	case *events.ExperimentResolved:
		facts = append(facts, fmt.Sprintf("resolved as %s, repeated %t", p.Resolution, p.Repeat))
	case *events.QuestionAnswered:
		facts = append(facts, fmt.Sprintf("%s of a %s", e.Kind, p.Form))
	case *events.QuestionSuperseded:
		facts = append(facts, fmt.Sprintf("%s of a %s", e.Kind, p.Form))
	case *events.QuestionContested:
		facts = append(facts, fmt.Sprintf("%s of a %s", e.Kind, p.Form))
	}
	return facts
}

func amended(field string) string { return "amend.definition " + field }

func corrected(was, outcome events.Resolution) string {
	return fmt.Sprintf("%s corrected to %s", was, outcome)
}

// pathsOf are the paths of a request.
func pathsOf(r engine.Request) map[string]bool {
	paths := make(map[string]bool)
	visit("", reflect.ValueOf(r), paths)
	return paths
}

// whole reports whether a type is covered as a whole: what is in it is a value.
func whole(t reflect.Type) bool {
	return t == reflect.TypeFor[definition.Value]() || t == reflect.TypeFor[definition.Campaign]()
}

func visit(path string, v reflect.Value, paths map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			visit(path, v.Elem(), paths)
		}
	case reflect.Slice:
		for i := range v.Len() {
			visit(path, v.Index(i), paths)
		}
		if v.Len() > 1 {
			paths[path+" several"] = true
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			visit(path, v.MapIndex(key), paths)
		}
	case reflect.Struct:
		if whole(v.Type()) {
			return
		}
		for i := range v.NumField() {
			below, optional := fieldPath(path, v.Type().Field(i))
			switch {
			case below == path:
			case !v.Field(i).IsZero():
				paths[below] = true
			case optional:
				paths[below+" left out"] = true
			}
			visit(below, v.Field(i), paths)
		}
	}
}

// fieldPath is the path of a field of a structure, and whether it may be left out. An
// embedded structure has that of the structure, and so have the safe states of an abort, which who runs the campaign
// fills in.
func fieldPath(path string, field reflect.StructField) (string, bool) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case field.Anonymous, field.Name == "Secures":
		return path, false
	case name == "" || name == "-":
		name = strings.ToLower(field.Name)
	}
	optional := strings.HasPrefix(options, "omit") || options == "" && name == "account"
	return strings.TrimPrefix(path+"."+name, "."), optional
}

// allPaths are the paths that requests can have.
func allPaths() []string {
	paths := make(map[string]bool)
	enumerate("", reflect.TypeFor[engine.Request](), paths)
	t := reflect.TypeFor[definition.Campaign]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "-" && unamendable[name] == "" {
			paths[amended(name)] = true
		}
	}
	for _, was := range resolutions {
		for _, outcome := range resolutions {
			if was != outcome || was != events.ResolvedNotPerformed { // which changes nothing
				paths[corrected(was, outcome)] = true
			}
		}
		paths[fmt.Sprintf("resolved as %s, repeated false", was)] = true
	}
	for _, repeated := range []events.Resolution{events.ResolvedFailed, events.ResolvedNotPerformed} {
		paths[fmt.Sprintf("resolved as %s, repeated true", repeated)] = true
	}
	for _, form := range events.Forms() {
		for _, kind := range []events.Kind{events.KindQuestionAnswered, events.KindQuestionSuperseded, events.KindQuestionContested} {
			paths[fmt.Sprintf("%s of a %s", kind, form)] = true
		}
	}
	for _, fact := range amendedOutcomes {
		paths[fact] = true
	}
	var all []string
	for path := range paths {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}

func enumerate(path string, t reflect.Type, paths map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map:
		enumerate(path, t.Elem(), paths)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct || t.Elem().Kind() == reflect.Map {
			paths[path+" several"] = true
		}
		enumerate(path, t.Elem(), paths)
	case reflect.Struct:
		if whole(t) {
			return
		}
		for i := range t.NumField() {
			below, optional := fieldPath(path, t.Field(i))
			if below != path {
				paths[below] = true
			}
			if optional {
				paths[below+" left out"] = true
			}
			enumerate(below, t.Field(i).Type, paths)
		}
	}
}

// exempt are the paths that no request can have that is fulfilled, and why. Each is tried.
var exempt = map[string]string{
	"answer.program":                        "a person answers, and no program",
	"answer.program.at":                     "a person answers, and no program",
	"answer.program.deterministic":          "a person answers, and no program",
	"answer.program.deterministic left out": "a person answers, and no program",
	"answer.program.files":                  "a person answers, and no program",
	"answer.program.files left out":         "a person answers, and no program",
	"answer.program.format":                 "a person answers, and no program",
	"answer.program.name":                   "a person answers, and no program",
	"answer.program.version":                "a person answers, and no program",
	"answer.program.version left out":       "a person answers, and no program",
	"answer.program.view":                   "a person answers, and no program",
	"pause.occurrences":                     "it is for the engine to say how often something went wrong",
	"pause.device":                          "it is for the engine to say that a device is lost",
	"import.experiment":                     "an experiment of the campaign is told, not imported",
	"import.parameters left out":            "a measurement is one of a composition",
	"import.again":                          "an experiment that did not take place has no measurement to import",
}

// unamendable are the parts of a definition that no amendment changes, and why.
var unamendable = map[string]string{
	"batch":       "experiments of these campaigns go through no procedure: it is of one",
	"instruments": "experiments of these campaigns go through no procedure, and stay so",
	"places":      "experiments of these campaigns go through no procedure: they are of one",
	"procedure":   "experiments of these campaigns go through no procedure, and stay so",
	"candidates":  "the compositions belong to the campaign",
	"constraints": "what was suggested satisfies them",
	"fidelity":    "the model of what was measured is one of it",
	"name":        "it is the campaign's identity",
	"outliers":    "what was judged was judged so",
	"parallel":    "it is not to change under way",
	"replicates":  "what was measured was repeated so often",
	"seed":        "what was decided was decided with it",
}

// uncovered are the paths that were not covered, and the exempt ones that were.
func (c *coverage) uncovered() (missing []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := allPaths()
	for _, path := range all {
		_, exempted := exempt[path]
		switch {
		case exempted && c.taken[path] > 0:
			missing = append(missing, path+": it is listed as what nothing can be fulfilled with")
		case exempted && c.tried[path] == 0:
			missing = append(missing, path+": it was never tried")
		case !exempted && c.taken[path] == 0:
			missing = append(missing, fmt.Sprintf("%s: tried %d times, and never fulfilled", path, c.tried[path]))
		}
	}
	for field := range unamendable {
		if c.taken[amended(field)] > 0 {
			missing = append(missing, amended(field)+": it is listed as what no amendment changes")
		}
	}
	for path := range exempt {
		if !slices.Contains(all, path) {
			missing = append(missing, path+": it is listed, and there is no such thing")
		}
	}
	return missing
}

func (c *coverage) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills++
}

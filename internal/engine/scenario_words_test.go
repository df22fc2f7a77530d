package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// The notation of events in scripts is that of the log, on one line: the kind, what it is
// about, and the fields of its payload:
//
//	experiment.requested e1 x=0.5 origin=policy replicate=1
//
// Values are YAML; a composition's parameters stand beside the other fields. A script
// that tells what happened leaves out what follows from the state or does not matter: see
// assumed. A measurement is told by its value=.

// subjects are the fields that name what an event is about, by the noun of its kind.
var subjects = map[string]string{
	"experiment": "experiment", "measurement": "experiment", "instrument": "experiment",
	"cancellation": "experiment",
	"question":     "question", "decision": "decision", "model": "model", "region": "exclusion", "trust": "expert", "stock": "stock",
}

// unsaid are fields that no script is about: definitions as a whole, and how a decision was
// computed.
var unsaid = map[events.Kind][]string{
	events.KindCampaignAmended: {"definition", "changes"},
	events.KindDecisionMade: {
		"at", "seed", "policy", "build", "objective", "belief", "preference", "candidates", "chosen", "tests",
	},
}

// parse reads an event of a script.
func (s *scenario) parse(t *testing.T, line string) events.Payload {
	words := fields(line)
	kind := events.Kind(words[0])
	at := slices.IndexFunc(events.Kinds(), func(k events.KindInfo) bool { return k.Kind == kind })
	if at < 0 {
		t.Fatalf("there is no kind of event %q: %s", kind, line)
	}
	said := make(map[string]any)
	for _, word := range words[1:] {
		key, text, named := strings.Cut(word, "=")
		if !named {
			noun, _, _ := strings.Cut(words[0], ".")
			said[subjects[noun]] = word
			continue
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		said[key] = value
	}
	s.assume(kind, said)
	payload := events.Kinds()[at].New()
	data, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(payload); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return payload
}

// assume fills in what a script leaves out.
func (s *scenario) assume(kind events.Kind, said map[string]any) {
	state := s.core.State()
	assume := func(field string, value any) {
		if _, known := said[field]; !known {
			said[field] = value
		}
	}
	for _, p := range state.Definition.Parameters {
		if value, ok := said[p.Name]; ok {
			delete(said, p.Name)
			assume("parameters", map[string]any{})
			said["parameters"].(map[string]any)[p.Name] = value
		}
	}
	if strings.HasPrefix(string(kind), "question.") {
		s.assumeQuestion(kind, said, assume)
	}
	id, _ := said["experiment"].(string)
	x := state.Experiment(id)
	switch kind {
	case events.KindExperimentRequested:
		assume("origin", events.OriginPolicy)
		assume("replicate", 1)
	case events.KindExperimentDispatched:
		assume("command", state.Name+"/"+id)
		assume("instrument", "robot")
	case events.KindExperimentMeasured:
		assume("requested", x.Parameters)
		assume("actual", x.Parameters)
		objective := state.Definition.Objective
		said["objective"] = map[string]any{"name": objective.Name, "unit": objective.Unit, "value": said["value"]}
		delete(said, "value")
		fallthrough
	case events.KindExperimentStarted, events.KindExperimentFailed, events.KindExperimentInfeasible,
		events.KindExperimentDeferred, events.KindExperimentUnresolved, events.KindInstrumentStalled,
		events.KindInstrumentSignalled, events.KindInstrumentAnswered:
		assume("command", x.Command.ID)
		assume("instrument", "robot")
	case events.KindCancellationOrdered, events.KindCancellationAnswered:
		assume("command", x.Command.ID)
	}
}

// assumeQuestion has a composition stand for the one that a label is about, or for the
// pinpointed one, and an answer be about what was asked.
func (s *scenario) assumeQuestion(kind events.Kind, said map[string]any, assume func(string, any)) {
	composition, told := said["parameters"]
	delete(said, "parameters")
	switch {
	case !told:
	case kind == events.KindQuestionAsked:
		said["options"] = []any{map[string]any{"parameters": composition}}
	case said["form"] == string(events.FormPinpoint):
		said["answer"] = map[string]any{"point": composition}
	default:
		said["options"] = []any{composition}
	}
	id, _ := said["question"].(string)
	q := s.core.State().Question(id)
	if q == nil || kind == events.KindQuestionAsked || kind == events.KindQuestionExpired || kind == events.KindQuestionWithdrawn {
		return
	}
	assume("form", q.Form)
	assume("expert", q.Expert)
	if q.Options != nil {
		assume("options", q.Points())
	}
	if q.Scale != nil {
		assume("scale", q.Scale)
	}
}

// fields splits a line at blanks that are neither within quotes nor within brackets.
func fields(line string) []string {
	var words []string
	depth, quoted, begun := 0, false, true
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case strings.ContainsRune("{[", r):
			depth++
		case strings.ContainsRune("}]", r):
			depth--
		case r == ' ' && depth == 0:
			begun = true
			continue
		}
		if begun {
			words, begun = append(words, ""), false
		}
		words[len(words)-1] += string(r)
	}
	return words
}

// notation writes a payload as scripts do.
func notation(t *testing.T, payload events.Payload) string {
	data, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	var stored yaml.MapSlice // JSON is YAML, and this keeps the order
	if err := yaml.UnmarshalWithOptions(data, &stored, yaml.UseOrderedMap()); err != nil {
		t.Fatal(err)
	}
	noun, _, _ := strings.Cut(string(events.KindOf(payload)), ".")
	words := []string{string(events.KindOf(payload))}
	for _, item := range stored {
		key := item.Key.(string)
		switch parameters, composition := item.Value.(yaml.MapSlice); {
		case slices.Contains(unsaid[events.KindOf(payload)], key):
		case key == subjects[noun]:
			words = append(words, brief(item.Value))
		case key == "parameters" && composition:
			for _, p := range parameters {
				words = append(words, fmt.Sprintf("%s=%s", p.Key, brief(p.Value)))
			}
		default:
			words = append(words, fmt.Sprintf("%s=%s", key, brief(item.Value)))
		}
	}
	return strings.Join(words, " ")
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_./:+-]+$`)

// brief writes a value: numbers to three digits, times on the script's clock.
func brief(value any) string {
	switch v := value.(type) {
	case yaml.MapSlice:
		members := make([]string, len(v))
		for i, item := range v {
			members[i] = fmt.Sprintf("%s: %s", item.Key, brief(item.Value))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case []any:
		elements := make([]string, len(v))
		for i := range v {
			elements[i] = brief(v[i])
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case float64:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return clock(at)
		}
		if !plain.MatchString(v) {
			return strconv.Quote(v)
		}
		return v
	}
	return fmt.Sprint(value)
}

// parseRequest reads a request of a script.
func parseRequest(t *testing.T, line string) (request engine.Request) {
	var said any
	if err := yaml.Unmarshal([]byte(line), &said); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	data, err := json.Marshal(said)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return request
}

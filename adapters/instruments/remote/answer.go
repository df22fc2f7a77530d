package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/units"
)

// Device settings say what a device is, where it does not say so itself.
type DeviceSettings struct {
	// Name of the instrument in the log.
	Name string `json:"name" jsonschema:"required"`
	// Identity of the device: model, serial number. A device is locked by it, and it must stay
	// what it is when the device is switched off and on.
	Identity string `json:"identity,omitempty"`
	// Capacity is how many commands it works on at once. Default 1.
	Capacity int `json:"capacity,omitempty" jsonschema:"minimum=1"`
	// Simulated says that nothing physical takes place. Default false.
	Simulated bool `json:"simulated,omitempty"`
	// Parameters that it takes, with their limits: a composition outside is never sent. Default: those
	// of the campaign.
	Parameters []instruments.ParameterSpec `json:"parameters,omitempty"`
}

// Description returns the device as the settings describe it.
func (s DeviceSettings) Description() instruments.Description {
	return instruments.Description{
		Name: s.Name, Identity: s.Identity, Capacity: max(1, s.Capacity), Simulated: s.Simulated,
		Parameters: slices.Clone(s.Parameters),
	}
}

// State says where an answer tells how far a command is, and what its words mean. A word that is
// listed nowhere counts as under way, and as no sign of life.
type State struct {
	// At is the place of the state.
	At string `json:"at" jsonschema:"required"`
	// Running, Measured, Failed, Infeasible, Deferred and Cancelled list the words that stand for each
	// (docs/process-instrument.md, outcomes). Deferred and cancelled say that nothing took place.
	Running    []string `json:"running,omitempty"`
	Measured   []string `json:"measured" jsonschema:"required,minItems=1"`
	Failed     []string `json:"failed,omitempty"`
	Infeasible []string `json:"infeasible,omitempty"`
	Deferred   []string `json:"deferred,omitempty"`
	Cancelled  []string `json:"cancelled,omitempty"`
	// Cause is the place of the reason why a command was not measured.
	Cause string `json:"cause,omitempty"`
}

// words are the lists, in the order of the fields.
func (s *State) words() []struct {
	status instruments.Status
	list   []string
} {
	return []struct {
		status instruments.Status
		list   []string
	}{
		{running, s.Running}, {instruments.Measured, s.Measured}, {instruments.Failed, s.Failed},
		{instruments.Infeasible, s.Infeasible}, {instruments.Deferred, s.Deferred}, {instruments.Cancelled, s.Cancelled},
	}
}

// running stands for a command under way where a status is wanted.
const running = instruments.Status("running")

// Reading is the place of a quantity in an answer.
type Reading struct {
	// At is its place.
	At string `json:"at" jsonschema:"required"`
	// Unit that the device gives it in, which has to be the campaign's.
	Unit string `json:"unit,omitempty"`
	// SD is the place of its standard deviation, in the same unit.
	SD string `json:"sd,omitempty"`
}

// Values say where an answer holds what was measured.
type Values struct {
	// Quantities are the places of the measured quantities, the objective among them, by name.
	Quantities map[string]Reading `json:"quantities" jsonschema:"required"`
	// Actual are the places of the parameters as they were really made, by name. Default: as they were
	// asked for.
	Actual map[string]string `json:"actual,omitempty"`
}

// Outputs are the quantities of a campaign that answers hold.
func (v *Values) Outputs(def *definition.Campaign) (outputs []instruments.OutputSpec) {
	for _, q := range def.Declared() {
		if r, ok := v.Quantities[q.Name]; ok {
			outputs = append(outputs, instruments.OutputSpec{Name: q.Name, Unit: r.Unit})
		}
	}
	return outputs
}

// Document is an answer of a device, whose places hold values of JSON; nil for none.
type Document interface {
	At(place string) any
	// String is the answer as it was written.
	String() string
}

// Tree is an answer in JSON. Its places are JSON Pointers (RFC 6901).
type Tree struct {
	root any
	text []byte
}

// ParseTree reads an answer. NaN and Infinity, which JSON does not have and several libraries write,
// are read as null.
func ParseTree(text []byte) (Tree, error) {
	t := Tree{text: text}
	if !json.Valid(text) {
		text, _ = program.WithoutNonFinite(text)
	}
	err := json.Unmarshal(text, new(json.RawMessage)) // the whole of it: a decoder stops at its end
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber() // a handle of 20 digits keeps them all
		err = decoder.Decode(&t.root)
	}
	return t, err
}

// String implements [Document].
func (t Tree) String() string { return string(t.text) }

// At implements [Document].
func (t Tree) At(place string) any {
	v := t.root
	for token := range jsontext.Pointer(place).Tokens() {
		switch in := v.(type) {
		case map[string]any:
			v = in[token]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(in) {
				return nil
			}
			v = in[n]
		default:
			return nil
		}
	}
	return v
}

// TextAt returns the value of a place as text; empty for a missing one.
func TextAt(d Document, place string) string {
	if place == "" {
		return ""
	}
	return textOf(d.At(place))
}

// Of returns the state of a command by an answer; listed is false for a word that is listed nowhere. The
// outcome has no measurement yet.
func (s *State) Of(d Document) (o *instruments.Outcome, word string, listed bool) {
	word = TextAt(d, s.At)
	for _, w := range s.words() {
		if !slices.Contains(w.list, word) {
			continue
		}
		if w.status == running {
			return nil, word, true
		}
		o = &instruments.Outcome{Status: w.status}
		if w.status != instruments.Measured {
			o.Cause = fmt.Sprintf("the device says %q", word)
			if cause := TextAt(d, s.Cause); cause != "" {
				o.Cause += ": " + cause
			}
		}
		return o, word, true
	}
	return nil, word, false
}

// Outcome is the measurement that an answer holds for a campaign. One without a single value has
// failed, and the answer is kept with it.
func (v *Values) Outcome(def *definition.Campaign, d Document, requested definition.Point) instruments.Outcome {
	m := events.Measurement{Actual: maps.Clone(requested), Quantities: []definition.Quantity{}}
	unread := func(name string, value any, why string) {
		m.Unread = append(m.Unread, events.Unread{Field: name, Text: textOf(value), Reason: why})
	}
	for _, name := range slices.Sorted(maps.Keys(v.Quantities)) {
		r := v.Quantities[name]
		x, err := Number(d.At(r.At))
		if err != nil {
			m.Missing = append(m.Missing, events.Missing{Name: name, Reason: fmt.Sprintf("at %q the device's answer has %v", r.At, err)})
			if value := d.At(r.At); value != nil {
				unread(name, value, err.Error())
			}
			continue
		}
		q := definition.Quantity{Name: name, Value: x, Unit: r.Unit}
		if r.SD != "" {
			sd, err := Number(d.At(r.SD))
			if err == nil {
				q.SD = &sd
			} else {
				unread(name+".sd", d.At(r.SD), err.Error())
			}
		}
		m.Quantities = append(m.Quantities, q)
	}
	failed := func(cause string) instruments.Outcome {
		return instruments.Outcome{Status: instruments.Failed, Cause: cause, Rejected: d.String()}
	}
	if len(m.Quantities) == 0 {
		var why []string
		for _, missing := range m.Missing {
			why = append(why, missing.Name+": "+missing.Reason)
		}
		return failed("nothing that was measured can be read: " + strings.Join(why, "; "))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Actual)) {
		made := d.At(v.Actual[name])
		if _, category := requested[name].Float(); !category {
			m.Actual[name] = definition.Category(textOf(made))
			continue
		}
		x, err := Number(made)
		if err != nil {
			return failed(fmt.Sprintf("%s as it was made cannot be read: at %q the device's answer has %v", name, v.Actual[name], err))
		}
		m.Actual[name] = definition.Number(x)
	}
	m = instruments.Arranged(def, m)
	return instruments.Outcome{Status: instruments.Measured, Measurement: &m}
}

// Number reads a number of an answer, also where it is written as a text.
func Number(v any) (float64, error) {
	switch v := v.(type) {
	case nil:
		return 0, fmt.Errorf("no value")
	case json.Number:
		return v.Float64()
	case string:
		return format.ReadNumber(v)
	}
	return 0, fmt.Errorf("%s, which is not a number", program.Clip([]byte(textOf(v))))
}

// Faults collects what makes no sense in settings.
type Faults struct {
	Def  *definition.Campaign
	List []definition.Fault
}

// Add reports a fault.
func (f *Faults) Add(at definition.Path, problem, remedy string) {
	f.List = append(f.List, definition.Fault{At: at, Problem: problem, Remedy: remedy})
}

// Pointer checks a place in JSON.
func (f *Faults) Pointer(at definition.Path, place string) {
	if place != "" && !jsontext.Pointer(place).IsValid() {
		f.Add(at, fmt.Sprintf("%q is not a JSON Pointer (RFC 6901)", place), `write the place as "/result/0/value"`)
	}
}

// Device checks the settings of the device. durable needs an identity.
func (f *Faults) Device(at definition.Path, s DeviceSettings, identified, durable bool) {
	if s.Name == "" {
		f.Add(at.To("name"), "the instrument has no name", "write name: as the log shall call it")
	}
	if durable && s.Identity == "" && !identified {
		f.Add(at, "a ledger is durable for one device, and the device has no identity", "write identity: model and serial number")
	}
}

// State checks where the state is and what its words mean.
func (f *Faults) State(at definition.Path, s *State, place func(definition.Path, string)) {
	place(at.To("at"), s.At)
	place(at.To("cause"), s.Cause)
	if s.At == "" {
		f.Add(at.To("at"), "the place of the state is missing", "write at: with its place in the answer")
	}
	if len(s.Measured) == 0 {
		f.Add(at.To("measured"), "no word says that a command was measured", "write measured: [done], or as the device says it")
	}
	seen := make(map[string]bool)
	for _, w := range s.words() {
		for k, word := range w.list {
			if seen[word] {
				f.Add(at.To(string(w.status), k), fmt.Sprintf("%q has two meanings", word), "list it once")
			}
			seen[word] = true
		}
	}
}

// Values checks where the values are, and that they are the campaign's.
func (f *Faults) Values(at definition.Path, v *Values, place func(definition.Path, string)) {
	var known, parameters []string
	learned := false
	for _, q := range f.Def.Declared() {
		known = append(known, q.Name)
		if _, ok := v.Quantities[q.Name]; ok && !q.Record {
			learned = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Quantities)) {
		r, here := v.Quantities[name], at.To("quantities", name)
		place(here.To("at"), r.At)
		place(here.To("sd"), r.SD)
		if r.At == "" {
			f.Add(here.To("at"), "the place of "+name+" is missing", "write at: with its place in the answer")
		}
		if q := f.Def.Quantity(name); q != nil && !units.Same(r.Unit, q.Unit) {
			f.Add(here.To("unit"), fmt.Sprintf("%s comes in %q, and the campaign has it in %q", name, r.Unit, q.Unit),
				"write the unit that the device gives, and the campaign's objective in the same: nothing is converted")
		}
	}
	if !learned {
		f.Add(at.To("quantities"), "none of the quantities that the campaign learns from has a place",
			"write quantities: {"+strings.Join(known, ", ")+": {at: …, unit: …}}")
	}
	for _, p := range f.Def.Parameters {
		parameters = append(parameters, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Actual)) {
		here := at.To("actual", name)
		place(here, v.Actual[name])
		if !slices.Contains(parameters, name) {
			f.List = append(f.List, definition.Fault{At: here, Problem: fmt.Sprintf("%q is not a parameter", name),
				Unknown: name, Known: parameters})
		}
	}
}

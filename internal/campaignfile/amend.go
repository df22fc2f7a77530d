package campaignfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/registry"
)

// Diff lists the differences between two completed definitions: each change at
// the deepest field that differs, as a JSON pointer, fields in alphabetical
// order and list entries in theirs.
func Diff(from, to definition.Campaign) []events.Change {
	var changes []events.Change
	diff("", plain(from), plain(to), &changes)
	return changes
}

// plain is a definition, or a part of one, as maps, slices and json.Numbers.
func plain(def any) any {
	data, err := json.Marshal(def)
	if err != nil {
		panic("campaignfile: a definition that was read from JSON cannot be written: " + err.Error())
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		panic("campaignfile: " + err.Error())
	}
	return tree
}

// absent stands for a missing field.
type absent struct{}

func diff(pointer string, from, to any, changes *[]events.Change) {
	if reflect.DeepEqual(from, to) {
		return
	}
	if a, ok := from.(map[string]any); ok {
		if b, ok := to.(map[string]any); ok {
			names := sortedKeys(a)
			for _, name := range sortedKeys(b) {
				if _, both := a[name]; !both {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			for _, name := range names {
				step := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
				diff(step, member(a, name), member(b, name), changes)
			}
			return
		}
	}
	if a, ok := from.([]any); ok {
		if b, ok := to.([]any); ok {
			for i := range max(len(a), len(b)) {
				diff(pointer+"/"+strconv.Itoa(i), element(a, i), element(b, i), changes)
			}
			return
		}
	}
	*changes = append(*changes, events.Change{Path: pointer, From: text(from), To: text(to)})
}

func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

// text is a value as JSON, empty for an absent one.
func text(v any) string {
	if _, ok := v.(absent); ok {
		return ""
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic("campaignfile: " + err.Error())
	}
	return strings.TrimSpace(b.String())
}

// AmendError reports changes that a running campaign does not allow.
type AmendError struct {
	// Refused is never empty.
	Refused []Refusal
}

// Refusal is one change that is not allowed.
type Refusal struct {
	events.Change
	// Reason says why not, and what can be done instead.
	Reason string
}

func (e *AmendError) Error() string {
	var b strings.Builder
	b.WriteString("the campaign is under way and cannot be changed so:")
	for _, r := range e.Refused {
		b.WriteString("\n  " + r.Path)
		switch {
		case r.From == "" && r.To == "":
		case r.From == "":
			b.WriteString(": " + r.To + " added")
		case r.To == "":
			b.WriteString(": " + r.From + " removed")
		default:
			b.WriteString(": " + r.From + " → " + r.To)
		}
		b.WriteString("\n      " + r.Reason)
	}
	b.WriteString("\nNothing was changed. For another campaign, give the file another name.")
	return b.String()
}

// defaultInitial is how a campaign would begin if its file said nothing about the
// experts' initial answers: it follows from the policy.
func defaultInitial(reg registry.Registry, def definition.Campaign) definition.Initial {
	def.Initial.Labels, def.Initial.Comparisons, def.Initial.Estimates = nil, nil, nil
	return Complete(reg, def).Initial
}

// timesOfExperts are the settings of an expert that can change under way.
var timesOfExperts = []string{"answer_within", "meanwhile", "time", "answer_takes"}

// Amend returns the changes that lead from one completed definition of a
// campaign to another, if all of them are allowed while it is under way:
//
//   - budget, stop, policy and model, with all their settings;
//   - min and max of a parameter, inward;
//   - further excluded regions;
//   - how long initial answers are waited for; answer_within, meanwhile, time and answer_takes of an expert, and the instrument's stall_after, give_up_after,
//     reply_within and the environment of its program;
//   - descriptions.
//
// Otherwise it fails with an *[AmendError] that names each forbidden change
// with its reason; it also fails if the new definition does not pass
// [Validate]. Equal definitions give no changes and no error.
func Amend(reg registry.Registry, old, new definition.Campaign) ([]events.Change, error) {
	changes := Diff(old, new)
	before, after := defaultInitial(reg, old), defaultInitial(reg, new)
	follow := map[string]bool{
		"labels":      *before.Labels != *after.Labels,
		"comparisons": *before.Comparisons != *after.Comparisons,
		"estimates":   !reflect.DeepEqual(before.Estimates, after.Estimates),
	}
	var refused []Refusal
	regions := false
	for _, c := range changes {
		steps := strings.Split(c.Path, "/")[1:]
		if steps[0] == "excluded" {
			regions = true // compared as a whole below
			continue
		}
		if why := refuse(c, steps, follow); why != "" {
			refused = append(refused, Refusal{Change: c, Reason: why})
		}
	}
	if regions {
		for i, r := range old.Excluded {
			kept := slices.ContainsFunc(new.Excluded, func(s definition.Region) bool { return reflect.DeepEqual(r, s) })
			if !kept {
				refused = append(refused, Refusal{
					Change: events.Change{Path: fmt.Sprintf("/excluded/%d", i), From: jsonOf(r)},
					Reason: "an excluded region stays as it is for the whole campaign; only further ones can be added",
				})
			}
		}
	}
	if len(refused) == 0 && len(changes) > 0 {
		for _, f := range Validate(reg, new) {
			reason := f.Message
			if f.Remedy != "" {
				reason += "; " + f.Remedy
			}
			refused = append(refused, Refusal{Change: events.Change{Path: pointer(f.Path)}, Reason: reason})
		}
	}
	if len(refused) > 0 {
		return nil, &AmendError{Refused: refused}
	}
	return changes, nil
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("campaignfile: " + err.Error())
	}
	return string(data)
}

// pointer writes a path as a JSON pointer.
func pointer(p path) string {
	var b strings.Builder
	for _, step := range p {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step)))
	}
	return b.String()
}

// refuse says why a change is not allowed, "" if it is. follow names the initial
// settings whose default changes with the policy.
func refuse(c events.Change, steps []string, follow map[string]bool) string {
	last := steps[len(steps)-1]
	switch steps[0] {
	case "budget", "stop", "policy", "model", "description":
		return ""
	case "parameters":
		return refuseParameter(c, steps)
	case "initial":
		if follow[last] || last == "wait" {
			return ""
		}
		return "the initial design has been made already; only wait can change"
	case "instrument":
		if len(steps) == 2 && (last == "stall_after" || last == "give_up_after") ||
			len(steps) == 3 && last == "reply_within" ||
			len(steps) > 2 && steps[1] == "process" && steps[2] == "environment" {
			return ""
		}
		return "measurements of one campaign come from one instrument with one setting; " +
			"only stall_after, give_up_after, reply_within and the process's environment can change"
	case "experts":
		if len(steps) == 3 && slices.Contains(timesOfExperts, last) {
			return ""
		}
		return "the labels so far are those of these experts; only answer_within, meanwhile, time and answer_takes can change"
	case "constraints":
		return "what was suggested so far satisfies these constraints and no others; " +
			"tighten bounds or exclude a region instead"
	case "candidates":
		return "the list of candidates belongs to the campaign; exclude a region instead"
	case "objective":
		return "the measurements so far are of this objective"
	case "replicates":
		return "the experiments so far were repeated so often"
	case "seed":
		return "every decision so far was made with this seed"
	case "name":
		return "the name is the campaign's identity"
	}
	return "this cannot be changed while the campaign is under way"
}

func refuseParameter(c events.Change, steps []string) string {
	if len(steps) < 3 {
		return "parameters can neither be added nor removed; " +
			"tighten min and max until they nearly meet to hold one fixed"
	}
	from, errFrom := strconv.ParseFloat(c.From, 64)
	to, errTo := strconv.ParseFloat(c.To, 64)
	numbers := errFrom == nil && errTo == nil
	switch steps[2] {
	case "description":
		return ""
	case "min":
		if numbers && to > from {
			return ""
		}
		return "bounds can only become tighter: min can rise"
	case "max":
		if numbers && to < from {
			return ""
		}
		return "bounds can only become tighter: max can fall"
	case "values", "categories":
		return "the list stays as it is; exclude a region to leave one of them out"
	}
	return "the measurements so far are in these parameters"
}

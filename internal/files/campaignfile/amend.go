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
	"github.com/campaignd/campaignd/internal/files/registry"
)

// Diff lists the differences between two completed definitions. Each change
// names the deepest field that differs, as a JSON pointer; fields come in
// alphabetical order, and entries of lists in theirs. Categories and values of
// a parameter that were added or removed are changes of their own, wherever in
// the list they stand; they have the index of the list that has them.
//
// It works on the JSON of both, so that a setting of any driver, channel or
// method is compared without this package knowing its type.
func Diff(from, to definition.Campaign) []events.Change {
	var changes []events.Change
	diff("", plain(from), plain(to), &changes)
	return changes
}

// plain is a definition, or a part of one, as maps, slices and json.Numbers. It panics on
// values that cannot be written as JSON: a definition was read from it. Numbers keep their text
// (json.Number): two that differ in the last digit are a change.
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

// absent stands for a missing field, which is not the same as a null.
type absent struct{}

// diff appends the changes between two trees of [plain], both at the pointer. The order of the
// changes is fixed, since they are recorded. Objects and lists are compared by their entries if
// both sides are one; any other difference is one change, as is a number that became an object.
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
			if grows(pointer) && diffGrown(pointer, a, b, changes) {
				return
			}
			for i := range max(len(a), len(b)) {
				diff(pointer+"/"+strconv.Itoa(i), element(a, i), element(b, i), changes)
			}
			return
		}
	}
	*changes = append(*changes, events.Change{Path: pointer, From: text(from), To: text(to)})
}

// grows reports whether a pointer leads to a list that can grow while the
// campaign is under way: the categories or the values of a parameter.
func grows(pointer string) bool {
	steps := strings.Split(pointer, "/")
	return len(steps) == 4 && steps[1] == "parameters" && (steps[3] == "categories" || steps[3] == "values")
}

// diffGrown appends the additions to a list and the removals. It reports false, and appends
// nothing, if these do not describe the change: entries were renamed, or stand in another
// order.
//
// Without it a category that is added in front would look like a change of every
// category behind it.
func diffGrown(pointer string, from, to []any, changes *[]events.Change) bool {
	var found []events.Change
	has := func(list []any, entry any) bool {
		return slices.ContainsFunc(list, func(x any) bool { return reflect.DeepEqual(x, entry) })
	}
	var stayed, stay []any
	for i, entry := range from {
		if has(to, entry) {
			stayed = append(stayed, entry)
			continue
		}
		found = append(found, events.Change{Path: pointer + "/" + strconv.Itoa(i), From: text(entry)})
	}
	for i, entry := range to {
		if has(from, entry) {
			stay = append(stay, entry)
			continue
		}
		found = append(found, events.Change{Path: pointer + "/" + strconv.Itoa(i), To: text(entry)})
	}
	// Something removed and something added at once may be a renaming: that is
	// shown entry by entry, as changes.
	renamed := slices.ContainsFunc(found, func(c events.Change) bool { return c.From != "" }) &&
		slices.ContainsFunc(found, func(c events.Change) bool { return c.To != "" })
	if renamed || !reflect.DeepEqual(stayed, stay) {
		return false
	}
	*changes = append(*changes, found...)
	return true
}

// member is a field of an object, absent where it has none. An amendment that
// removes a setting and one that sets it to null are different changes.
func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

// element is an entry of a list, absent beyond its end.
func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

// text is a value as JSON, as it stands in an event; empty for an absent one. Auditors read it:
// HTML characters stay as they are.
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

// AmendError reports changes that are not allowed while the campaign is under
// way. It lists all of them. All of them, so that a person mends the file once.
type AmendError struct {
	// Refused is never empty.
	Refused []Refusal
	// Imagined is set where the changes were only to be imagined.
	Imagined bool
}

// Refusal holds the forbidden changes at one place, for one reason.
type Refusal struct {
	// Place says where, as in `parameters[0] "solvent"`, `initial` or `budget`.
	Place string
	// Changes are the forbidden changes there; none if the new definition itself has a fault.
	Changes []events.Change
	// Reason gives the reason, and the remedy.
	Reason string
}

// What describes the forbidden change, relative to the place: "categories: DMF removed". It is
// empty where that is the place itself.
func (r Refusal) What() string {
	parts := make([]string, len(r.Changes))
	for i, c := range r.Changes {
		steps := strings.Split(c.Path, "/")[1:]
		if parts[i] = change(c); len(steps) > elementSteps(steps) {
			within := inWords(steps[elementSteps(steps):])
			if grows("/" + strings.Join(steps[:len(steps)-1], "/")) {
				within = steps[2]
			}
			parts[i] = within + ": " + parts[i]
		}
	}
	return strings.Join(parts, ", ")
}

// Text gives the forbidden change and the reason, in a line. It is for pages and programs; a
// terminal shows two lines.
func (r Refusal) Text() string {
	if what := r.What(); what != "" {
		return what + ": " + r.Reason
	}
	return r.Reason
}

// elementSteps is the number of steps of a path that name an element of the file: an entry of a
// list of named things, or a key. A message names the place up to there, and the change behind
// it.
func elementSteps(steps []string) int {
	if len(steps) < 2 {
		return len(steps)
	}
	switch steps[0] {
	case "parameters", "constraints", "experts", "excluded", "instruments", "procedure",
		"reference_experiments":
		return 2
	}
	return 1
}

// inWords writes the steps of a path as people write them:
// "process.command[0]". A step that is a number is taken for an entry of a
// list.
func inWords(steps []string) string {
	var b strings.Builder
	for i, step := range steps {
		switch _, err := strconv.Atoi(step); {
		case err == nil:
			b.WriteString("[" + step + "]")
		case i > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return b.String()
}

// placeOf names the element of the file that a path leads to. The name is added, since people
// know their parameters by name and not by number. The definition is the one before the change,
// whose indices the person knows.
func placeOf(def definition.Campaign, steps []string) string {
	n := elementSteps(steps)
	place := inWords(steps[:n])
	if n < 2 {
		return place
	}
	i, err := strconv.Atoi(steps[1])
	if err != nil {
		return place
	}
	name := ""
	switch list := steps[0]; {
	case list == "parameters" && i < len(def.Parameters):
		name = def.Parameters[i].Name
	case list == "constraints" && i < len(def.Constraints):
		name = def.Constraints[i].Name
	case list == "experts" && i < len(def.Experts):
		name = def.Experts[i].Name
	case list == "excluded" && i < len(def.Excluded):
		name = def.Excluded[i].Name
	case list == "procedure" && i < len(def.Procedure):
		name = def.Procedure[i].Name
	}
	if name != "" {
		place += " " + strconv.Quote(name)
	}
	return place
}

// change writes a value's change. For an entry with a name it writes the name alone.
func change(c events.Change) string {
	short := func(value string) string {
		var named struct{ Name string }
		if json.Unmarshal([]byte(value), &named) == nil && named.Name != "" {
			return named.Name
		}
		return value
	}
	switch {
	case c.From == "":
		return short(c.To) + " added"
	case c.To == "":
		return short(c.From) + " removed"
	}
	return c.From + " → " + c.To
}

// Error has a line for each place and one for the reason below it; a terminal
// prints it as it is.
func (e *AmendError) Error() string {
	var b strings.Builder
	first, last := "the campaign is under way and cannot be changed so:",
		e.Consequence()+" For another campaign, give the file another name."
	if e.Imagined {
		first, last = "the campaign cannot be imagined so:", e.Consequence()
	}
	b.WriteString(first)
	for _, r := range e.Refused {
		b.WriteString("\n  " + r.Place)
		if what := r.What(); what != "" {
			b.WriteString(": " + what)
		}
		b.WriteString("\n      " + r.Reason)
	}
	return b.String() + "\n" + last
}

// Consequence gives the consequence of the refusal in a sentence.
func (e *AmendError) Consequence() string {
	if e.Imagined {
		return "Nothing was imagined."
	}
	return "Nothing was changed."
}

// defaultInitial is the beginning of a campaign whose file does not mention the experts'
// initial answers: the policy determines their numbers. All three are pointers: nil where the
// file leaves them out. The definition is a copy, whose pointers are replaced and not written
// through.
func defaultInitial(reg registry.Registry, def definition.Campaign) definition.Initial {
	def.Initial.Labels = nil
	def.Initial.Comparisons = nil
	def.Initial.Estimates = nil
	return Complete(reg, def).Initial
}

// timesOfExperts are the settings of an expert that can change while the campaign is under way.
// None of them changes the meaning of an answer.
var timesOfExperts = []string{"answer_within", "meanwhile", "time", "answer_takes"}

// Amend returns the changes that lead from one completed definition of a
// campaign to another, if all of them are allowed while it is under way:
//
//   - budget, cost, stop, policy and model, with all their settings;
//   - stocks, and what experiments draw from them; the size of batches;
//   - reference experiments, from then on;
//   - the costs of sources;
//   - further quantities, whose values reported before count; all of a quantity but its name
//     and unit; the objective, and the constraints on outcomes;
//   - min and max of a parameter, further categories (with descriptors where its
//     others have them) and further values;
//   - further excluded regions;
//   - the quantities that an expert estimates;
//   - how long initial answers are waited for; answer_within, meanwhile, time and
//     answer_takes of an expert, and the instrument's stall_after, give_up_after,
//     reply_within and the environment of its program;
//   - descriptions.
//
// Otherwise it fails with an *[AmendError] that names each forbidden change
// with its reason; it also fails if the new definition does not pass
// [Validate], and the old one did. Equal definitions give no changes and no error, and
// neither do other spellings of units ([Respelled]).
//
// A change is allowed if it does not alter the meaning of the measurements and answers so far.
// Both definitions must be complete; neither is changed.
func Amend(reg registry.Registry, old, new definition.Campaign) ([]events.Change, error) {
	new = Respelled(old, new)
	changes := Diff(old, new)
	refused := forbidden(reg, old, new, changes)
	// A definition that only has allowed changes must be sound as well. With a
	// forbidden change, faults would mostly be its consequences.
	if len(refused) == 0 && len(changes) > 0 {
		refused = Unsound(reg, old, new)
	}
	if len(refused) > 0 {
		return nil, &AmendError{Refused: refused}
	}
	return changes, nil
}

// Forbidden returns the changes between two definitions that [Amend] would refuse, whether or
// not the new one passes [Validate]; nil where all are allowed.
func Forbidden(reg registry.Registry, old, new definition.Campaign) []Refusal {
	return forbidden(reg, old, new, Diff(old, new))
}

// Unsound returns the faults that [Validate] finds in a new definition and not in the old one,
// each with its place and remedy.
func Unsound(reg registry.Registry, old, new definition.Campaign) (refused []Refusal) {
	for _, f := range further(reg, old, new) {
		reason := f.Message
		if f.Remedy != "" {
			reason += "; " + f.Remedy
		}
		refused = refuseAs(refused, f.Path.String(), reason)
	}
	return refused
}

// refuseAs appends a refusal. One cause at one place is mentioned once.
func refuseAs(refused []Refusal, place, reason string, changes ...events.Change) []Refusal {
	for i := range refused {
		if r := &refused[i]; r.Place == place && r.Reason == reason {
			r.Changes = append(r.Changes, changes...)
			return refused
		}
	}
	return append(refused, Refusal{place, changes, reason})
}

// forbidden is [Forbidden], given the differences.
func forbidden(
	reg registry.Registry, old, new definition.Campaign, changes []events.Change,
) (refused []Refusal) {
	// A policy brings its own defaults of initial answers. Where an amended
	// policy changes these the difference follows from the file's policy, and
	// is not the person's change of the initial design.
	before, after := defaultInitial(reg, old), defaultInitial(reg, new)
	follow := map[string]bool{
		"labels":      *before.Labels != *after.Labels,
		"comparisons": *before.Comparisons != *after.Comparisons,
		"estimates":   !reflect.DeepEqual(before.Estimates, after.Estimates),
	}
	// Excluded regions have no identity but their content: their index may
	// change when one is added in front. So they are compared as a whole,
	// below.
	regions := false
	for _, c := range changes {
		steps := strings.Split(c.Path, "/")[1:]
		if steps[0] == "excluded" {
			regions = true // compared as a whole below
			continue
		}
		why := refuse(c, steps, follow)
		if steps[0] == "objective" {
			why = refuseObjective(&old, &new)
		}
		if why != "" {
			refused = refuseAs(refused, placeOf(old, steps), why, c)
		}
	}
	if !regions {
		return refused
	}
	for i, r := range old.Excluded {
		kept := slices.ContainsFunc(new.Excluded,
			func(s definition.Region) bool { return reflect.DeepEqual(r, s) })
		if !kept {
			refused = refuseAs(refused, placeOf(old, []string{"excluded", strconv.Itoa(i)}),
				"an excluded region stays as it is for the whole campaign; only further ones can be added")
		}
	}
	return refused
}

// pointer writes a path as a JSON pointer. Its escapes are those of RFC 6901, as
// in [diff].
func pointer(p path) string {
	var b strings.Builder
	for _, step := range p {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step)))
	}
	return b.String()
}

// refuse gives the reason that a change is not allowed, "" if it is. follow names the initial
// settings whose default changes with the policy.
//
// A field that has no case is refused: a new setting has to be allowed here on
// purpose.
func refuse(c events.Change, steps []string, follow map[string]bool) string {
	last := steps[len(steps)-1]
	switch steps[0] {
	case "budget", "cost", "stop", "policy", "model", "description", "stocks", "reference_experiments":
		return ""
	case "parameters":
		return refuseParameter(c, steps)
	case "initial":
		if follow[last] || last == "wait" {
			return ""
		}
		return "the initial design has been made already; only wait can change"
	case "instrument":
		return refuseInstrument(steps[1:])
	case "instruments":
		return refuseInstrument(steps[min(2, len(steps)):])
	case "procedure":
		if len(steps) > 2 && steps[2] == "draws" {
			return ""
		}
		return "the experiments of one campaign go through one procedure; only draws can change"
	case "batch":
		return ""
	case "experts":
		if len(steps) == 3 && slices.Contains(timesOfExperts, last) || len(steps) > 2 && steps[2] == "quantities" {
			return ""
		}
		return "the labels so far are those of these experts; only quantities, answer_within, meanwhile, time and answer_takes can change"
	case "constraints":
		return "what was suggested so far satisfies these constraints and no others; " +
			"change bounds or exclude a region instead"
	case "candidates":
		return "the list of candidates belongs to the campaign; exclude a region instead"
	case "quantities":
		return refuseQuantity(c, steps)
	case "constraints_on_outcomes", "reference":
		return ""
	case "fidelity":
		if last == "cost" || last == "unit" {
			return ""
		}
		return "the model of the experiments so far is of this fidelity and its target; only what sources cost can change"
	case "replicates":
		return "the experiments so far were repeated so often"
	case "seed":
		return "every decision so far was made with this seed"
	case "name":
		return "the name is the campaign's identity"
	}
	return "this cannot be changed while the campaign is under way"
}

// refuseInstrument is refuse for a change of an instrument, by the steps below it.
func refuseInstrument(steps []string) string {
	switch {
	case len(steps) == 1 && (steps[0] == "stall_after" || steps[0] == "give_up_after"),
		len(steps) == 2 && steps[1] == "reply_within",
		len(steps) > 0 && steps[0] == "draws",
		len(steps) > 1 && steps[0] == "process" && steps[1] == "environment":
		return ""
	}
	return "measurements of one campaign come from one instrument with one setting; " +
		"only stall_after, give_up_after, draws, reply_within and the process's environment can change"
}

// refuseParameter is refuse for a change of a parameter. Bounds may move both ways:
// compositions measured outside stay measured, and are not requested any more.
//
// The parameters are the models' coordinates: none can come or go. Further values and
// categories add compositions and leave the measured ones unchanged.
func refuseParameter(c events.Change, steps []string) string {
	if len(steps) < 3 {
		return "parameters can neither be added nor removed; " +
			"tighten min and max until they nearly meet to hold one fixed"
	}
	switch steps[2] {
	case "description":
		return ""
	case "min", "max":
		if c.From != "" && c.To != "" {
			return ""
		}
		return "a number between bounds stays one, and a list a list"
	case "values", "categories":
		switch {
		case len(steps) == 4 && c.From == "" && grows(strings.Join(append([]string{""}, steps[:3]...), "/")):
			return ""
		case len(steps) == 3:
			return "a number between bounds stays one, and a list a list"
		case len(steps) == 4 && c.To == "":
			return "what was measured with it stays; exclude a region to leave it out from now on"
		}
		return "further ones can be added; those that are there stay as they are, in their order"
	}
	return "the measurements so far are in these parameters"
}

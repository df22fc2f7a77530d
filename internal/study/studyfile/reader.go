package studyfile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// reader turns nodes into a File and collects the faults.
//
// Its methods make functions that read a node into a place, for the lists of fields. arms, baseline
// and sizes are read last: they refer to definitions of the others.
type reader struct {
	file   *File
	faults []yamltree.Fault

	arms, baseline, sizes *yamltree.Node
}

// report adds a fault and returns it, for a remedy to be set. The pointer holds
// until the next report.
func (r *reader) report(n *yamltree.Node, format string, args ...any) *yamltree.Fault {
	r.faults = append(r.faults, n.Fault(fmt.Sprintf(format, args...), ""))
	return &r.faults[len(r.faults)-1]
}

// field is a key that a mapping may have.
type field struct {
	name string
	read func(*yamltree.Node)
}

// fieldNames are the keys that a mapping may have.
func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// mapping reads the fields of a mapping and reports every other key. It is false for other nodes.
func (r *reader) mapping(n *yamltree.Node, fields ...field) bool {
	if !n.IsMapping() {
		r.wrongType(n, "object")
		return false
	}
	names := fieldNames(fields)
	for _, key := range n.Keys() {
		value := n.Field(key)
		i := slices.Index(names, key)
		switch {
		case i < 0:
			message, remedy := yamltree.UnknownKey(key, names)
			r.faults = append(r.faults, value.KeyFault(message, remedy))
		case value.Faulty: // and reported
		default:
			fields[i].read(value)
		}
	}
	return true
}

// wrongType reports that a value has none of the wanted types.
func (r *reader) wrongType(n *yamltree.Node, wanted ...string) {
	message, remedy := yamltree.WrongType(n.Plain(), wanted...)
	r.faults = append(r.faults, n.Fault(message, remedy))
}

func (r *reader) value(to any) func(*yamltree.Node) {
	return func(n *yamltree.Node) { r.faults = append(r.faults, n.Decode(to)...) }
}

// text reads a text and refuses an empty one.
func (r *reader) text(to *string) func(*yamltree.Node) {
	return func(n *yamltree.Node) {
		r.value(to)(n)
		if n.Value == "" {
			r.report(n, "the text is empty")
		}
	}
}

// number reads a number between two bounds, both included.
func (r *reader) number(least, greatest float64, to func(float64)) func(*yamltree.Node) {
	return func(n *yamltree.Node) {
		var x float64
		faults := n.Decode(&x)
		switch {
		case len(faults) > 0:
			r.faults = append(r.faults, faults...)
		case x < least || x > greatest:
			r.report(n, "%s is not possible here", n.Value).
				Remedy = fmt.Sprintf("it goes from %g to %g", least, greatest)
		default:
			to(x)
		}
	}
}

// whole reads a whole number that is at least least.
func (r *reader) whole(least int, to func(int)) func(*yamltree.Node) {
	return func(n *yamltree.Node) {
		var k int
		faults := n.Decode(&k)
		switch {
		case len(faults) > 0:
			r.faults = append(r.faults, faults...)
		case k < least:
			message, remedy := yamltree.TooSmall(float64(k), float64(least), false)
			r.faults = append(r.faults, n.Fault(message, remedy))
		default:
			to(k)
		}
	}
}

// list reads the items of a list that is not empty.
func (r *reader) list(read func(*yamltree.Node)) func(*yamltree.Node) {
	return func(n *yamltree.Node) {
		switch {
		case !n.IsList():
			r.wrongType(n, "array")
		case len(n.Items) == 0:
			message, remedy := yamltree.TooFewItems(0, 1)
			r.faults = append(r.faults, n.Fault(message, remedy))
		}
		for _, item := range n.Items {
			if !item.Faulty { // and reported
				read(item)
			}
		}
	}
}

// named reads a mapping from names to sections of a campaign file.
func (r *reader) named(add func(name string, n *yamltree.Node)) func(*yamltree.Node) {
	return func(n *yamltree.Node) {
		if !n.IsMapping() || len(n.Keys()) == 0 {
			r.report(n, "it must be a mapping of names, and this is %s", n.Describe())
			return
		}
		for _, name := range n.Keys() {
			value := n.Field(name)
			if !labelForm.MatchString(name) {
				r.faults = append(r.faults,
					value.KeyFault(fmt.Sprintf("%q is not a name", name), labelAdvice))
			}
			if !value.Faulty { // and reported
				add(name, value)
			}
		}
	}
}

// labelForm is the form of names of tasks, policies, panels and sizes, which
// only people read.
var labelForm = regexp.MustCompile(`^[^/\pC\s]([^/\pC]{0,58}[^/\pC\s])?$`)

const labelAdvice = "a name has up to 60 characters on one line and no slash"

// nameForm is the form of names of studies and campaigns, which name files and
// streams.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`)

const nameAdvice = "a name begins with a letter or digit and goes on with letters, digits, dot, dash and underscore"

// name reads a text of a form; a number is also a name.
func (r *reader) name(to *string, form *regexp.Regexp, advice string) func(*yamltree.Node) {
	return func(n *yamltree.Node) {
		if number, ok := n.Value.(json.Number); ok {
			*to = string(number)
		} else {
			r.text(to)(n)
		}
		if *to != "" && !form.MatchString(*to) {
			r.report(n, "%q is not a name", *to).Remedy = advice
		}
	}
}

package studyfile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reader turns nodes into a File and gathers what is wrong.
type reader struct {
	file   *File
	faults []Fault

	arms, baseline, sizes *node
}

func (r *reader) report(n *node, format string, args ...any) *Fault {
	r.faults = append(r.faults, n.fault(fmt.Sprintf(format, args...), ""))
	return &r.faults[len(r.faults)-1]
}

// field is a key that a mapping may have.
type field struct {
	name string
	read func(*node)
}

// mapping reads the fields of a mapping and reports every other key.
func (r *reader) mapping(n *node, fields ...field) bool {
	if !n.isMapping() {
		r.report(n, "it must be a mapping (key: value), and this is %s", n.describe())
		return false
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	for _, key := range n.keys {
		i := slices.Index(names, key)
		if i < 0 {
			r.report(n.fields[key], "unknown key %q", key).Advice = "the keys here are " + strings.Join(names, ", ")
			continue
		}
		fields[i].read(n.fields[key])
	}
	return true
}

func (r *reader) text(to *string) func(*node) {
	return func(n *node) {
		s, ok := n.value.(string)
		if !ok || s == "" {
			r.report(n, "it must be text, and this is %s", n.describe())
			return
		}
		*to = s
	}
}

func (r *reader) flag(to *bool) func(*node) {
	return func(n *node) {
		b, ok := n.value.(bool)
		if !ok {
			r.report(n, "it must be true or false, and this is %s", n.describe())
		}
		*to = b
	}
}

func (r *reader) number(least, greatest float64, to func(float64)) func(*node) {
	return func(n *node) {
		text, ok := n.value.(json.Number)
		x, err := strconv.ParseFloat(string(text), 64)
		switch {
		case !ok:
			r.report(n, "it must be a number, and this is %s", n.describe())
		case err != nil || x < least || x > greatest:
			r.report(n, "%s is not possible here", text).Advice = fmt.Sprintf("it goes from %g to %g", least, greatest)
		default:
			to(x)
		}
	}
}

func (r *reader) whole(least int, to func(int)) func(*node) {
	return func(n *node) {
		text, ok := n.value.(json.Number)
		k, err := strconv.Atoi(string(text))
		switch {
		case !ok || err != nil:
			r.report(n, "it must be a whole number, and this is %s", n.describe())
		case k < least:
			r.report(n, "%d is too small", k).Advice = fmt.Sprintf("the least is %d", least)
		default:
			to(k)
		}
	}
}

// list reads the items of a list that is not empty.
func (r *reader) list(read func(*node)) func(*node) {
	return func(n *node) {
		if !n.isList || len(n.items) == 0 {
			r.report(n, "it must be a list with at least one entry, and this is %s", n.describe())
			return
		}
		for _, item := range n.items {
			read(item)
		}
	}
}

// named reads a mapping from names to sections of a campaign file.
func (r *reader) named(add func(name string, n *node)) func(*node) {
	return func(n *node) {
		if !n.isMapping() || len(n.keys) == 0 {
			r.report(n, "it must be a mapping of names, and this is %s", n.describe())
			return
		}
		for _, name := range n.keys {
			if !labelForm.MatchString(name) {
				r.report(n.fields[name], "%q is not a name", name).Advice = labelAdvice
			}
			add(name, n.fields[name])
		}
	}
}

// labelForm is that of tasks, policies, panels and sizes, which only people read.
var labelForm = regexp.MustCompile(`^[^/\pC\s]([^/\pC]{0,58}[^/\pC\s])?$`)

const labelAdvice = "a name has up to 60 characters on one line and no slash"

// nameForm is that of studies and campaigns, which name files and streams.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`)

const nameAdvice = "a name begins with a letter or digit and goes on with letters, digits, dot, dash and underscore"

// name reads a text of a form; a number is a name too.
func (r *reader) name(to *string, form *regexp.Regexp, advice string) func(*node) {
	return func(n *node) {
		if number, ok := n.value.(json.Number); ok {
			n.value = string(number)
		}
		r.text(to)(n)
		if *to != "" && !form.MatchString(*to) {
			r.report(n, "%q is not a name", *to).Advice = advice
		}
	}
}

package yamledit

import (
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// text is a file as characters, with the index of the first one of each line.
type text struct {
	runes []rune
	lines []int
}

// newText divides a file into lines.
func newText(source string) *text {
	t := &text{runes: []rune(source), lines: []int{0}}
	for i, r := range t.runes {
		if r == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// at returns the index of the character at a place, or -1.
func (t *text) at(p yamltree.Place) int {
	if p.Line < 1 || p.Line > len(t.lines) {
		return -1
	}
	i := t.lines[p.Line-1] + p.Column - 1
	if p.Column < 1 || i > len(t.runes) {
		return -1
	}
	return i
}

// lineStart and lineEnd are the ends of the line of a character, without the line break.
func (t *text) lineStart(i int) int {
	for i > 0 && t.runes[i-1] != '\n' {
		i--
	}
	return i
}

func (t *text) lineEnd(i int) int {
	for i < len(t.runes) && t.runes[i] != '\n' {
		i++
	}
	return i
}

// indent is how far the line of a character is indented, a dash of a list not counted.
func (t *text) indent(i int) int {
	start := t.lineStart(i)
	n := 0
	for start+n < len(t.runes) && t.runes[start+n] == ' ' {
		n++
	}
	return n
}

// with returns the file with a part replaced.
func (t *text) with(from, to int, by string) string {
	return string(t.runes[:from]) + by + string(t.runes[to:])
}

// isFlow reports whether a value at a character is written in one line.
func (t *text) isFlow(i int) bool {
	return i >= 0 && i < len(t.runes) && (t.runes[i] == '{' || t.runes[i] == '[')
}

// end returns the index behind the last character of a value; within is set if it stands in a list
// or mapping in one line. The result is a guess, which is checked by reading again.
func (t *text) end(n *yamltree.Node, within bool) int {
	start := t.at(n.Place)
	switch {
	case start < 0:
		return -1
	case t.isFlow(start):
		return t.closing(start)
	case n.IsMapping() && len(n.Keys()) > 0:
		keys := n.Keys()
		return t.end(n.Field(keys[len(keys)-1]), within)
	case n.IsList() && len(n.Items) > 0:
		return t.end(n.Items[len(n.Items)-1], within)
	case start < len(t.runes) && (t.runes[start] == '"' || t.runes[start] == '\''):
		return t.closingQuote(start)
	}
	depth := t.indent(start)
	if key := t.at(n.Key); key >= 0 {
		depth = key - t.lineStart(key)
	}
	return t.plainEnd(start, depth, within)
}

// closing is behind the bracket that closes the one at a character.
func (t *text) closing(start int) int {
	depth := 0
	for i := start; i < len(t.runes); i++ {
		switch t.runes[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			if i > start && strings.ContainsRune(" ,{[:\n", t.runes[i-1]) {
				i = t.closingQuote(i) - 1
			}
		case '#':
			if t.runes[i-1] == ' ' || t.runes[i-1] == '\n' {
				i = t.lineEnd(i)
			}
		}
	}
	return len(t.runes)
}

// closingQuote is behind the quote that closes the one at a character.
func (t *text) closingQuote(start int) int {
	quote := t.runes[start]
	for i := start + 1; i < len(t.runes); i++ {
		switch {
		case quote == '"' && t.runes[i] == '\\':
			i++
		case t.runes[i] != quote:
		case quote == '\'' && i+1 < len(t.runes) && t.runes[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(t.runes)
}

// plainEnd is behind a scalar without quotes, or one of several lines: those below that
// are indented further than its key, or its dash, belong to it.
func (t *text) plainEnd(start, depth int, within bool) int {
	if within {
		i := start
		for i < len(t.runes) && !strings.ContainsRune(",}]\n", t.runes[i]) {
			i++
		}
		return t.trimmed(start, i)
	}
	i := t.lineEnd(start)
	for k := start + 1; k < i; k++ {
		if t.runes[k] == '#' && t.runes[k-1] == ' ' {
			return t.trimmed(start, k)
		}
	}
	end := t.trimmed(start, i)
	literal := start < len(t.runes) && strings.ContainsRune("|>", t.runes[start])
	for i < len(t.runes) {
		next := i + 1
		stop := t.lineEnd(next)
		line := strings.TrimSpace(string(t.runes[min(next, len(t.runes)):stop]))
		if line != "" {
			if t.indent(next) <= depth || line[0] == '#' && !literal {
				break
			}
			end = t.trimmed(start, stop)
		}
		i = stop
	}
	return end
}

// trimmed is the end of what stands before a character, without space.
func (t *text) trimmed(start, i int) int {
	for i > start && (t.runes[i-1] == ' ' || t.runes[i-1] == '\t' || t.runes[i-1] == '\n') {
		i--
	}
	return i
}

// splice makes a change in the text. It returns false if it does not know how.
func splice(source string, root *yamltree.Node, c Change) (string, bool) {
	t := newText(source)
	parent, rest := root.Find(c.Path[:len(c.Path)-1])
	if len(rest) > 0 { // missing parents are made, too
		value := c.Value
		if value == nil {
			return source, true
		}
		inner := c.Path[len(c.Path)-len(rest):]
		made, err := changed(nil, inner, value)
		if err != nil {
			return "", false
		}
		c.Path, c.Value = c.Path[:len(c.Path)-len(inner)], made
		return splice(source, root, c)
	}
	step := c.Path[len(c.Path)-1]
	old, missing := parent.Find(c.Path[len(c.Path)-1:])
	switch {
	case len(missing) > 0 && c.Value == nil:
		return source, true
	case len(missing) > 0:
		return t.add(root, parent, step, c)
	case c.Value == nil:
		return t.remove(parent, step)
	}
	return t.replace(parent, old, step, c.Value)
}

// inline reports whether the entries of a node stand in one line.
func (t *text) inline(n *yamltree.Node) bool { return t.isFlow(t.at(n.Place)) }

// replace writes a value in the place of another.
func (t *text) replace(parent, old *yamltree.Node, step any, value *yamltree.Node) (string, bool) {
	within := t.inline(parent)
	from, to := t.at(old.Place), t.end(old, within)
	if from < 0 || to < from {
		return "", false
	}
	if old.IsNull() && old.Key != (yamltree.Place{}) && old.Place == old.Key { // "key:"
		key := t.at(old.Key)
		colon := slices.Index(t.runes[key:t.lineEnd(key)], ':')
		if colon < 0 {
			return "", false
		}
		return t.with(key+colon+1, key+colon+1, " "+flow(value)), true
	}
	key, isKey := step.(string)
	if within || !isKey || !long(old) || t.isFlow(from) {
		if line := flow(value); within || !isKey || !long(value) ||
			fits(line, from-t.lineStart(from)) {
			return t.with(from, to, line), true
		}
	}
	// A value of several lines, with its key.
	start := t.at(old.Key)
	if start < 0 {
		return "", false
	}
	indent := start - t.lineStart(start)
	return t.with(start, to, entry(key, value, indent)), true
}

// add writes a missing key or item.
func (t *text) add(root, parent *yamltree.Node, step any, c Change) (string, bool) {
	key, isKey := step.(string)
	write := func(indent int) string {
		if isKey {
			return entry(key, c.Value, indent)
		}
		if text := flow(c.Value); fits(text, indent+2) || !long(c.Value) {
			return "- " + text
		}
		return "- " + strings.TrimSpace(block(c.Value, indent+2))
	}
	if len(parent.Keys()) == 0 && len(parent.Items) == 0 {
		if parent == root {
			return t.with(len(t.runes), len(t.runes), t.newline()+write(0)+"\n"), true
		}
		return "", false // the one around it is written anew
	}
	at := t.at(parent.Place)
	if at < 0 {
		return "", false
	}
	if t.isFlow(at) {
		last := t.trimmed(at, t.closing(at)-1)
		text := flow(c.Value)
		if isKey {
			text = written(key) + ": " + text
		}
		separator := ", "
		if t.runes[last-1] == ',' {
			separator = " "
		}
		return t.with(last, last, separator+text), true
	}
	end := t.end(t.before(root, parent, step, c.Order), false)
	if end < 0 {
		return "", false
	}
	end = t.lineEnd(end)
	indent := at - t.lineStart(at)
	return t.with(end, end, "\n"+strings.Repeat(" ", indent)+write(indent)), true
}

// newline is a line break where the file does not end with one.
func (t *text) newline() string {
	if n := len(t.runes); n > 0 && t.runes[n-1] != '\n' {
		return "\n"
	}
	return ""
}

// before returns the value behind which a new entry goes: the last one, or at the first level of
// the file that of the last key that usually stands before it.
func (t *text) before(root, parent *yamltree.Node, step any, order []string) *yamltree.Node {
	if parent.IsList() {
		return parent.Items[len(parent.Items)-1]
	}
	keys := parent.Keys()
	last := parent.Field(keys[len(keys)-1])
	if parent != root {
		return last
	}
	mine := slices.Index(order, step.(string))
	for _, key := range slices.Backward(keys) {
		if i := slices.Index(order, key); mine >= 0 && i >= 0 && i < mine {
			return parent.Field(key)
		}
	}
	return last
}

// remove takes out a key or an item, with its line.
func (t *text) remove(parent *yamltree.Node, step any) (string, bool) {
	old, _ := parent.Find(yamltree.Path{step})
	within := t.inline(parent)
	from, to := t.at(old.Place), t.end(old, within)
	if old.Key != (yamltree.Place{}) {
		from = t.at(old.Key)
	}
	if from < 0 || to < from || len(parent.Keys())+len(parent.Items) == 1 {
		return "", false // the one around it is written anew
	}
	if within {
		for to < len(t.runes) && t.runes[to] == ' ' {
			to++
		}
		switch {
		case to < len(t.runes) && t.runes[to] == ',': // with the comma behind it
			to++
			for to < len(t.runes) && t.runes[to] == ' ' {
				to++
			}
		default: // or the one before it
			for from > 0 && (t.runes[from-1] == ' ' || t.runes[from-1] == ',') {
				from--
			}
		}
		return t.with(from, to, ""), true
	}
	start := t.lineStart(from)
	before := strings.TrimSpace(string(t.runes[start:from]))
	if _, isKey := step.(string); isKey && before != "" || !isKey && before != "-" {
		return "", false // it stands behind a dash, with others
	}
	stop := t.lineEnd(to)
	if stop < len(t.runes) {
		stop++
	}
	return t.with(start, stop, ""), true
}

package yamltree

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// A file beyond these bounds is refused before it is read further. They are far above the needs of
// a campaign, and keep a hostile or broken file from taking minutes and gigabytes: the YAML
// parser's time and memory grow with the square of the depth and of the keys of one mapping.
const (
	// MaxSize is the maximum size of a file, in bytes.
	MaxSize = 4 << 20
	// maxDepth is the maximum depth of nested lists and mappings.
	maxDepth = 100
	// maxNodes is the maximum number of values of a file with its aliases expanded.
	maxNodes = 200_000
	// maxKeys is the maximum number of keys of a mapping, and maxTokens that of words, numbers and
	// signs of a file.
	maxKeys = 2_000
	// maxKey is the maximum length of a key, in bytes.
	maxKey    = 200
	maxTokens = 400_000
)

// outOfBounds returns why a YAML file is too large or too deep to be read, or nil. It takes time
// and memory in proportion to the file. It reads tokens, not a tree: building the tree could take
// too long. It ends at the first fault: a file that is too large is not worth reading on.
func outOfBounds(data []byte) *Fault {
	if len(data) > MaxSize {
		return &Fault{
			Message: fmt.Sprintf("the file has more than %d MiB", MaxSize>>20),
			Remedy: "long lists of compositions go into a CSV file: " +
				"instrument: {table: {file: …}}, or campaignd import",
		}
	}
	var at nesting
	for n, t := range lexer.Tokenize(string(data)) {
		if n >= maxTokens {
			return faultAt(t, "the file is too long", "long lists of compositions go into a CSV file")
		}
		if t.Position == nil {
			continue
		}
		if key := at.last; t.Type == token.MappingValueType && key != nil && len(key.Value) > maxKey {
			return faultAt(key, fmt.Sprintf("this key has %d bytes, more than %d", len(key.Value), maxKey),
				"a key is a name; a long text is its value, after a colon and a space")
		}
		at.take(t)
		if innermost := at.innermost(); innermost != nil && innermost.keys > maxKeys {
			return faultAt(t, fmt.Sprintf("this mapping has more than %d keys", maxKeys),
				"a campaign needs no more than a few dozen")
		}
		if len(at.open) > maxDepth || at.marks > maxDepth {
			return faultAt(t, fmt.Sprintf("lists and mappings lie more than %d deep in each other here", maxDepth),
				"a bracket may be missing, or doubled, before this place")
		}
	}
	return nil
}

// faultAt is a fault at the place of a token. It has no path, since no tree was
// built yet.
func faultAt(t *token.Token, message, remedy string) *Fault {
	f := &Fault{Message: message, Remedy: remedy}
	if t.Position != nil {
		f.Line, f.Column = t.Position.Line, t.Position.Column
	}
	return f
}

// nesting tracks the open lists and mappings, token by token. It does without the parser, which a
// deep file would overwhelm. It need not be exact for files that are not YAML: those the parser
// refuses. marks counts nesting without a bracket or an indentation, which needs a bound of its
// own.
type nesting struct {
	open  []nest
	last  *token.Token
	marks int // consecutive tags and anchors: the parser descends into each
}

// innermost returns the innermost open nest, or nil.
func (n *nesting) innermost() *nest {
	if len(n.open) == 0 {
		return nil
	}
	return &n.open[len(n.open)-1]
}

// isBlockAt reports whether the innermost is a list or mapping, without brackets, whose entries
// begin at a column.
func (n *nesting) isBlockAt(column int) bool {
	in := n.innermost()
	return in != nil && !in.flow && in.column == column
}

// take processes one token. A new document begins at the outermost level again.
func (n *nesting) take(t *token.Token) {
	if t.Type == token.TagType || t.Type == token.AnchorType {
		n.marks++
	} else if n.last != nil && n.last.Type != token.AnchorType { // an anchor's name follows it
		n.marks = 0
	}
	switch t.Type {
	case token.DocumentHeaderType, token.DocumentEndType:
		n.open = n.open[:0]
	case token.SequenceStartType, token.MappingStartType:
		n.open = append(n.open, nest{flow: true})
	case token.SequenceEndType, token.MappingEndType:
		n.closeFlow()
	case token.SequenceEntryType:
		n.entry(t.Position.Column)
	case token.MappingKeyType, token.MappingValueType:
		column := t.Position.Column
		if t.Type == token.MappingValueType && n.last != nil && n.last.Position != nil {
			column = n.last.Position.Column // that of the key
		}
		n.key(column)
	}
	n.last = t
}

// closeFlow closes the innermost brackets, and everything opened within them. A bracket closes
// whatever blocks were begun inside of it. A surplus bracket is left for the parser to refuse.
func (n *nesting) closeFlow() {
	for len(n.open) > 0 {
		flow := n.innermost().flow
		n.open = n.open[:len(n.open)-1]
		if flow {
			return
		}
	}
}

// leave closes all nests that begin further right than a column. Brackets stop it: inside of them
// columns mean nothing.
func (n *nesting) leave(column int) {
	for len(n.open) > 0 && !n.innermost().flow && n.innermost().column > column {
		n.open = n.open[:len(n.open)-1]
	}
}

// entry processes the dash of a list. A dash further left ends everything opened further right of
// it.
func (n *nesting) entry(column int) {
	n.leave(column)
	if !n.isBlockAt(column) || !n.innermost().list {
		n.open = append(n.open, nest{column: column, list: true})
	}
}

// key processes a key of a mapping. A list may be indented as far as the key it belongs to: the
// next key at that column ends it.
func (n *nesting) key(column int) {
	if in := n.innermost(); in == nil || !in.flow {
		n.leave(column)
		if in := n.innermost(); in != nil && in.column == column && in.list { // of the key before
			n.open = n.open[:len(n.open)-1]
		}
		if !n.isBlockAt(column) {
			n.open = append(n.open, nest{column: column})
		}
	}
	n.innermost().keys++
}

// nest is a list or mapping that is open at some place of a file: one in brackets, or one whose
// entries begin at a column.
type nest struct {
	flow, list bool
	column     int
	keys       int
}

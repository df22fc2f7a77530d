package yamltree

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// A file beyond these bounds is refused before it is read further. They are far above
// what a campaign can use, and keep a hostile or broken file from taking minutes and
// gigabytes: the YAML parser's time and memory grow with the square of the depth and
// of the keys of one mapping.
const (
	// MaxSize is how large a file may be, in bytes.
	MaxSize = 4 << 20
	// maxDepth is how deep lists and mappings may lie in each other.
	maxDepth = 100
	// maxNodes is how many values a file may hold once its aliases are written out.
	maxNodes = 200_000
	// maxKeys is how many keys a mapping may have, and maxTokens how many words, numbers
	// and signs a file may have.
	maxKeys   = 2_000
	maxTokens = 400_000
)

// outOfBounds says what makes a YAML file too large or too deep to be read; nil where
// nothing does. It takes time and memory in proportion to the file.
func outOfBounds(data []byte) *Fault {
	if len(data) > MaxSize {
		return &Fault{
			Message: fmt.Sprintf("the file has more than %d MiB", MaxSize>>20),
			Remedy: "long lists of compositions go into a CSV file: " +
				"instrument: {table: {file: …}}, or campaignd import",
		}
	}
	var (
		open  []nest // what lies in each other at this place
		last  *token.Token
		count int // of tags and anchors in a row
	)
	for n, t := range lexer.Tokenize(string(data)) {
		fault := func(message, remedy string) *Fault {
			f := &Fault{Message: message, Remedy: remedy}
			if t.Position != nil {
				f.Line, f.Column = t.Position.Line, t.Position.Column
			}
			return f
		}
		if n >= maxTokens {
			return fault("the file is too long", "long lists of compositions go into a CSV file")
		}
		if t.Position == nil {
			continue
		}
		top := func() *nest {
			if len(open) == 0 {
				return nil
			}
			return &open[len(open)-1]
		}
		column := t.Position.Column
		// leave closes what begins further right than a column.
		leave := func(column int) {
			for len(open) > 0 && !top().flow && top().column > column {
				open = open[:len(open)-1]
			}
		}
		if t.Type == token.TagType || t.Type == token.AnchorType {
			count++
		} else if last != nil && last.Type != token.AnchorType { // an anchor's name follows it
			count = 0
		}
		switch t.Type {
		case token.DocumentHeaderType, token.DocumentEndType:
			open = open[:0]
		case token.SequenceStartType, token.MappingStartType:
			open = append(open, nest{flow: true})
		case token.SequenceEndType, token.MappingEndType:
			for len(open) > 0 {
				flow := top().flow
				if open = open[:len(open)-1]; flow {
					break
				}
			}
		case token.SequenceEntryType:
			leave(column)
			if !(top() != nil && !top().flow && top().column == column && top().list) {
				open = append(open, nest{column: column, list: true})
			}
		case token.MappingKeyType, token.MappingValueType:
			if t.Type == token.MappingValueType && last != nil && last.Position != nil {
				column = last.Position.Column // that of the key
			}
			if top() == nil || !top().flow {
				leave(column)
				if top() != nil && top().column == column && top().list { // the list of the key before
					open = open[:len(open)-1]
				}
				if !(top() != nil && !top().flow && top().column == column) {
					open = append(open, nest{column: column})
				}
			}
			if top().keys++; top().keys > maxKeys {
				return fault(fmt.Sprintf("this mapping has more than %d keys", maxKeys),
					"a campaign needs no more than a few dozen")
			}
		}
		if len(open) > maxDepth || count > maxDepth {
			return fault(fmt.Sprintf("lists and mappings lie more than %d deep in each other here", maxDepth),
				"a bracket may be missing, or doubled, before this place")
		}
		last = t
	}
	return nil
}

// nest is a list or mapping that is open at some place of a file: one in brackets, or
// one whose entries begin at a column.
type nest struct {
	flow, list bool
	column     int
	keys       int
}

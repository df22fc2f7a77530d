package program

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Subject is the subject of a line that cannot be read: the request it answers or the command whose
// result it is. Both are empty where it names neither.
type Subject struct {
	ID      *uint64
	Command string
	// Object: the line begins like a message. Any other line answers nothing.
	Object bool
}

// SubjectOf finds the subject of a line, even if it is cut off, damaged or not JSON.
func SubjectOf(line []byte) Subject {
	var s scanner
	s.Write(line)
	return s.Subject()
}

// scanner finds the fields "id" and "command" of an object of any length, and keeps nothing else.
// It does not parse: of damaged JSON it finds what it can, so that a command is not left waiting
// for an answer that has come. It takes a byte at a time and can be fed in parts, since a line that
// is too long is never in memory as a whole. The last of several fields of a name counts, as in
// encoding/json.
type scanner struct {
	depth             int
	begun, object     bool
	inString, escaped bool
	value             bool   // of a field of the object, not its name
	name              string // of the field
	text              []byte // of the string or number at depth 1
	id                *uint64
	command           string
}

// In bytes, of a name or a value at depth 1: a longer one cannot be ours.
const longestText = 4 << 10

// Write takes the next part of the line. Depth counts both kinds of brackets
// alike: what does not match is damaged, and only "id" and "command" of the
// outermost object are looked for.
func (s *scanner) Write(part []byte) {
	for _, c := range part {
		switch {
		case s.inString:
			s.keep(c)
			switch {
			case s.escaped:
				s.escaped = false
			case c == '\\':
				s.escaped = true
			case c == '"':
				s.inString = false
				s.endOfString()
			}
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case !s.begun:
			s.begun, s.object = true, c == '{'
		}
		switch c {
		case '"':
			s.inString, s.text = true, s.text[:0]
			s.keep(c)
		case '{', '[':
			s.depth++
		case '}', ']':
			s.endOfNumber()
			s.depth--
		case ':':
			if s.depth == 1 {
				s.value, s.text = true, s.text[:0]
			}
		case ',':
			s.endOfNumber()
			if s.depth == 1 {
				s.value = false
			}
		default:
			s.keep(c)
		}
	}
}

// keep remembers a byte of a name or value of the object itself, up to a bound.
func (s *scanner) keep(c byte) {
	if s.depth == 1 && len(s.text) < longestText {
		s.text = append(s.text, c)
	}
}

// endOfString takes a string for a name or for the value of the name before.
// The string is decoded with its quotes, so that escapes are resolved as in a
// whole message; one that was cut off by the bound gives no text.
func (s *scanner) endOfString() {
	if s.depth != 1 {
		return
	}
	var text string
	_ = json.Unmarshal(s.text, &text)
	s.text = s.text[:0]
	switch {
	case !s.value:
		s.name = text
	case strings.EqualFold(s.name, "command"):
		s.command = text
	}
}

// endOfNumber takes the kept digits for the number of an id. Called at each comma and closing
// bracket, before the depth changes.
func (s *scanner) endOfNumber() {
	if s.depth != 1 || !s.value || !strings.EqualFold(s.name, "id") {
		return
	}
	if id, err := strconv.ParseUint(string(s.text), 10, 64); err == nil {
		s.id = &id
	}
	s.name = ""
}

// Subject returns the fields found so far. It may be called in the middle of a line.
func (s *scanner) Subject() Subject {
	if !s.object {
		return Subject{}
	}
	return Subject{ID: s.id, Command: s.command, Object: true}
}

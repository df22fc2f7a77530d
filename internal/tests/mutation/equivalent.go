package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// entry says of one mutant why no test can tell it from the program.
type entry struct {
	key    string
	reason string
	line   int
}

// readEquivalent reads a list of equivalent mutants, by their keys. An entry is
// a line with the key of the mutant and indented lines that say why; lines that
// begin with # are comments. No file is an empty list. A reason is required: an
// entry without one could hide a missing test.
func readEquivalent(path string) (map[string]*entry, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := make(map[string]*entry)
	var last *entry
	for i, line := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimSpace(line)
		indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ")
		switch {
		case trimmed == "" || strings.HasPrefix(line, "#"):
		case indented && last == nil:
			return nil, fmt.Errorf("%s:%d: a reason without a mutant before it", path, i+1)
		case indented:
			last.reason = strings.TrimSpace(last.reason + " " + trimmed)
		case all[line] != nil:
			return nil, fmt.Errorf("%s:%d: the mutant is listed already in line %d",
				path, i+1, all[line].line)
		default:
			last = &entry{key: line, line: i + 1}
			all[line] = last
		}
	}
	for _, e := range all {
		if e.reason == "" {
			return nil, fmt.Errorf("%s:%d: say in indented lines below why the mutant is equivalent",
				path, e.line)
		}
	}
	return all, nil
}

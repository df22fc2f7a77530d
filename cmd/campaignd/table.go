package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
)

// sheet is a CSV file of compositions, with the columns that were asked for.
type sheet struct {
	name string
	rows []sheetRow
}

type sheetRow struct {
	line  int
	point events.Point
	// extra holds the further columns, by name.
	extra map[string]string
}

// maxFaults is how many faulty rows are named.
const maxFaults = 20

// readSheet reads a CSV file whose header names every parameter and the further
// columns, and nothing else. All faulty rows are named, with file and line. The
// name "-" is standard input.
func (a *app) readSheet(def *events.Definition, path string, extra ...string) (*sheet, error) {
	in := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, inputError{err}
		}
		defer f.Close()
		in = f
	} else {
		path = "standard input"
	}
	reader := csv.NewReader(in)
	reader.TrimLeadingSpace = true
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, badInput("%s is empty: its first line names the columns: %s", path, columnNames(def, extra))
	}
	if err != nil {
		return nil, badInput("%s:%w", path, err)
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff") // as spreadsheets write it
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	if err := checkHeader(def, path, header, extra); err != nil {
		return nil, err
	}
	s := &sheet{name: path}
	var faults []error
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badInput("%s: %w; nothing was changed", path, err)
		}
		line, _ := reader.FieldPos(0)
		row := sheetRow{line: line, point: make(events.Point), extra: make(map[string]string)}
		for i, name := range header {
			if slices.Contains(extra, name) {
				row.extra[name] = strings.TrimSpace(record[i])
				continue
			}
			v, err := parameterFrom(def, name, record[i])
			if err != nil {
				faults = append(faults, fmt.Errorf("%s:%d: %w", path, line, err))
			}
			row.point[name] = v
		}
		s.rows = append(s.rows, row)
	}
	if len(faults) > 0 {
		return nil, rowFaults(faults)
	}
	if len(s.rows) == 0 {
		return nil, badInput("%s has no rows below its header", path)
	}
	return s, nil
}

// rowFaults reports faulty rows, not too many.
func rowFaults(faults []error) error {
	more := ""
	if n := len(faults) - maxFaults; n > 0 {
		faults = faults[:maxFaults]
		more = fmt.Sprintf("and %d more\n", n)
	}
	return linesError{badInput("%w\n%sNothing was changed.", errors.Join(faults...), more)}
}

func checkHeader(def *events.Definition, path string, header, extra []string) error {
	var wanted []string
	for _, par := range def.Parameters {
		wanted = append(wanted, par.Name)
	}
	wanted = append(wanted, extra...)
	var faults []string
	for i, name := range header {
		switch {
		case !slices.Contains(wanted, name):
			faults = append(faults, fmt.Sprintf("there is no %q", name))
		case slices.Contains(header[:i], name):
			faults = append(faults, fmt.Sprintf("%q is there twice", name))
		}
	}
	for _, name := range wanted {
		if !slices.Contains(header, name) {
			faults = append(faults, fmt.Sprintf("%q is missing", name))
		}
	}
	if faults != nil {
		return badInput("%s:1: the columns: %s; they must be %s", path, strings.Join(faults, ", "), columnNames(def, extra))
	}
	return nil
}

func columnNames(def *events.Definition, extra []string) string {
	names := parameterNames(def)
	if len(extra) > 0 {
		names += ", " + strings.Join(extra, ", ")
	}
	return names
}

package problem

import (
	"fmt"
	"strings"
)

// RowFault is the fault of one of many rows that were sent together.
type RowFault struct {
	// Row counts them from 1, as people do.
	Row int
	Err error
}

// RowFaults are the faults of the rows of a request, in their order, at least one. All of them are
// reported at once, so that they are mended at once.
type RowFaults []RowFault

// Add notes the fault of the row at an index; a nil err is no fault.
func (f *RowFaults) Add(index int, err error) {
	if err != nil {
		*f = append(*f, RowFault{Row: index + 1, Err: err})
	}
}

// All returns them as an error, nil without any.
func (f RowFaults) All() error {
	if f == nil {
		return nil
	}
	return f
}

// shownRows is how many faulty rows a message names.
const shownRows = 20

// Error names them: "row 3: e7 has a result already; row 5: …".
func (f RowFaults) Error() string {
	var texts []string
	for _, fault := range f[:min(len(f), shownRows)] {
		texts = append(texts, fmt.Sprintf("row %d: %v", fault.Row, fault.Err))
	}
	if more := len(f) - shownRows; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the faults of the rows, the first first: its code and its remedies are those of
// the whole.
func (f RowFaults) Unwrap() []error {
	all := make([]error, len(f))
	for i, fault := range f {
		all[i] = fault.Err
	}
	return all
}

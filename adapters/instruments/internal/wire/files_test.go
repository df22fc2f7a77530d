package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// Law: an outcome of any status names files, by path or by URI; whatever is wrong with one costs
// neither the others nor the result, and is said.
func TestFilesOfAnOutcome(t *testing.T) {
	const files = `"files": ["a.csv", {"path": "b.csv", "quantity": "y", "comment": "hot"}, {"uri": "s3://b/c", "size": 7},
		7, {"path": "d", "uri": "s3://d"}, {}, {"path": "e", "lines": 3}, null]`
	measured := `{"status": "measured", "measurement": {"objective": {"name": "y", "value": 1}}, ` + files + `}`
	failed := `{"status": "failed", "cause": "a leak", ` + files + `}`
	for text, status := range map[string]instruments.Status{measured: instruments.Measured, failed: instruments.Failed} {
		o := DecodeOutcome([]byte(text), instruments.Command{Parameters: definition.Point{"x": definition.Number(1)}})
		if o.Status != status || o.Cause != map[bool]string{true: "a leak"}[status == instruments.Failed] {
			t.Errorf("it became %+v", o)
		}
		if o.Measurement != nil && o.Measurement.Unread != nil {
			t.Errorf("the files count as unread: %v", o.Measurement.Unread)
		}
		var got []string
		for _, f := range o.Files {
			got = append(got, fmt.Sprint(f.Path, f.URI, " ", f.Quantity, f.Size))
		}
		if want := "a.csv 0, b.csv y0, s3://b/c 7"; strings.Join(got, ", ") != want {
			t.Errorf("the files are %q, want %q", got, want)
		}
		if len(o.Remarks) != 5 || !strings.Contains(o.Remarks[0], "files 4") || !strings.Contains(o.Remarks[3], "lines") {
			t.Errorf("the remarks are %q", o.Remarks)
		}
	}
	for text, want := range map[string]int{`{"a": 1}`: 1, `"a.csv"`: 1, `null`: 0, `[]`: 0} {
		o := DecodeOutcome([]byte(`{"status": "failed", "cause": "c", "files": `+text+`}`), instruments.Command{})
		if len(o.Files) != 0 || len(o.Remarks) != want || o.Cause != "c" {
			t.Errorf("%s: %+v", text, o)
		}
	}
	many := strings.TrimSuffix(strings.Repeat(`"a",`, 150), ",")
	if o := DecodeOutcome([]byte(`{"status": "failed", "cause": "c", "files": [`+many+`]}`), instruments.Command{}); len(o.Files) != 100 || len(o.Remarks) != 1 {
		t.Errorf("of 150 files %d are named, with the remarks %q", len(o.Files), o.Remarks)
	}
}

package app

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: whatever a request can carry, and so whatever the API and the browser can record, the
// command line can say: by a flag, or as an argument.
func TestCommandsSayWhatRequestsCarry(t *testing.T) {
	a := &app{registry: Builtin()}
	const argument = "" // it is not a flag
	for _, c := range []struct {
		request any
		command *cobra.Command
		flags   map[string]string // of fields whose flag has another name
	}{
		{engine.Tell{}, tellCommand.of(a, ""), map[string]string{"experiment": argument, "infeasible": "cannot", "notes": "comment", "quantities": "quantity"}},
		{engine.Correct{}, correctCommand.of(a, ""), map[string]string{"experiment": argument, "outcome": "not-performed", "quantities": "quantity", "leave_out": "leave-out"}},
		{engine.Resolve{}, resolveCommand.of(a, ""), map[string]string{"experiment": argument, "resolution": argument, "quantities": "quantity"}},
		{engine.Exclude{}, excludeCommand.of(a, ""), map[string]string{"point": "at", "region": "where", "about": argument}},
		{engine.Allow{}, allowCommand.of(a, ""), map[string]string{"exclusion": argument}},
		{engine.Anchors{}, anchorCommand.of(a, ""), map[string]string{"points": "at"}},
		{engine.Note{}, noteCommand.of(a, ""), map[string]string{"text": argument}},
		{engine.Attach{}, attachCommand.of(a, ""), map[string]string{"experiment": argument, "": argument}},
		{events.Attachment{}, attachCommand.of(a, ""), map[string]string{"media_type": "media-type", "uri": argument}},
		{engine.Count{}, stockCommand.of(a, ""), map[string]string{"stock": argument, "labels": argument, "amount": argument}},
		{engine.Withdraw{}, withdrawCommand.of(a, ""), map[string]string{"file": argument}},
	} {
		fields := reflect.TypeOf(c.request)
		for i := range fields.NumField() {
			field, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
			flag, renamed := c.flags[field]
			if !renamed {
				flag = field
			}
			if flag != argument && c.command.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no --%s, for the %s of %T", c.command.Name(), flag, field, c.request)
			}
		}
	}
}

// Law: a further quantity is a number with its unit; what could be read in two ways is refused.
func TestFurtherQuantities(t *testing.T) {
	for text, want := range map[string]definition.Quantity{
		"viscosity=3.1mPas":  {Name: "viscosity", Value: 3.1, Unit: "mPas"},
		"viscosity=3,1 mPas": {Name: "viscosity", Value: 3.1, Unit: "mPas"},
		"pH=7.":              {Name: "pH", Value: 7},
	} {
		got, err := parseQuantities("--further", []string{text})
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s is read as %v, want %v: %v", text, got, want, err)
		}
	}
	for _, text := range []string{"v=3.1.2", "v=1,234,5", "v=1.234,5", "v=3..1", "v=1e5.2", "v=high", "3.1"} {
		if got, err := parseQuantities("--further", []string{text}); exitCode(err) != exitInput {
			t.Errorf("%s is taken for %v: %v", text, got, err)
		}
	}
}

// Law: a file that is larger than what is read of one is refused, and not cut.
func TestLargeFileIsNotCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.checkpoint")
	for size, fits := range map[int64]bool{64 << 20: true, 64<<20 + 1: false} {
		err := os.WriteFile(path, nil, 0o600)
		if err == nil {
			err = os.Truncate(path, size)
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, err := readAll(path); fits != (err == nil) || fits && int64(len(text)) != size ||
			!fits && exitCode(err) != exitInput {
			t.Errorf("of %d bytes %d are read: %v", size, len(text), err)
		}
	}
}

// Law: all that the flags for a result say stands in the request, and what is not named of a
// composition stays as it stood.
func TestFlagsFillTheRequest(t *testing.T) {
	typed := measuredFlags{value: "2,5", sd: "0.25", further: []string{"viscosity=3.1mPas"}}
	f := reportedResult{measuredFlags: typed, unit: "mL/s", comment: "cloudy"}
	f.anyway = true
	tell := must.Get(f.result("e1"))(t)
	for i, name := range []string{"Parameters", "Actual", "Failed", "Infeasible", "Again"} { // named otherwise, or instead
		field := reflect.ValueOf(tell).Elem().FieldByName(name)
		if !field.IsZero() {
			t.Errorf("%d: %s is %v, unsaid", i, name, field)
		}
	}
	if *tell.Value != 2.5 || *tell.SD != 0.25 || tell.Unit != "mL/s" || len(tell.Further) != 1 || !tell.Anyway ||
		len(tell.Notes) != 1 || tell.Experiment != "e1" {
		t.Errorf("%+v", tell)
	}
	for _, wrong := range []reportedResult{
		{}, {failed: "it leaked", again: "no argon"}, {failed: "it leaked", measuredFlags: typed},
	} {
		if _, err := wrong.result("e1"); exitCode(err) != exitInput {
			t.Errorf("%+v is taken: %v", wrong, err)
		}
	}
}

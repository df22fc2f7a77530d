package app

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/internal/engine"
)

// Law: whatever a request can carry, and so whatever the API and the browser can record, the
// command line can say: by a flag, or as an argument.
func TestCommandsSayWhatRequestsCarry(t *testing.T) {
	a := &app{registry: Builtin()}
	const argument = "" // it is no flag
	for _, c := range []struct {
		request any
		command *cobra.Command
		flags   map[string]string // of fields whose flag has another name
	}{
		{engine.Tell{}, a.tellCommand(), map[string]string{"experiment": argument, "infeasible": "cannot", "notes": "comment"}},
		{engine.Correct{}, a.correctCommand(), map[string]string{"experiment": argument, "outcome": "not-performed"}},
		{engine.Resolve{}, a.resolveCommand(), map[string]string{"experiment": argument, "resolution": argument}},
		{engine.Exclude{}, a.excludeCommand(), map[string]string{"point": "at", "region": "where", "about": argument}},
		{engine.Allow{}, a.allowCommand(), map[string]string{"exclusion": argument}},
		{engine.Anchors{}, a.anchorCommand(), map[string]string{"points": "at"}},
		{engine.Note{}, a.noteCommand(), map[string]string{"text": argument}},
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

// Law: all that the flags for a result say stands in the request, and what is not named of a
// composition stays as it stood.
func TestFlagsFillTheRequest(t *testing.T) {
	typed := measuredFlags{value: "2,5", sd: "0.25", further: []string{"viscosity=3.1mPas"}}
	f := reportedResult{measuredFlags: typed, unit: "mL/s", comment: "cloudy"}
	f.anyway = true
	tell, err := f.result("e1")
	if err != nil {
		t.Fatal(err)
	}
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

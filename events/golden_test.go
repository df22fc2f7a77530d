package events_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// A golden file holds one encoded payload of each kind and version. It is kept
// for ever: what was once written must stay readable and mean the same. Encoding
// the payload of the newest version again gives the same bytes.
func TestGolden(t *testing.T) {
	known := map[string]bool{}
	for _, info := range events.Kinds() {
		for version := 1; version <= info.Version; version++ {
			name := fmt.Sprintf("%s.v%d.json", info.Kind, version)
			known[name] = true
			t.Run(name, func(t *testing.T) {
				want, err := os.ReadFile(filepath.Join("testdata", "golden", name))
				if err != nil {
					t.Fatalf("every kind and version has a golden file: %v", err)
				}
				want = bytes.TrimSuffix(want, []byte("\n"))
				payload, err := events.Decode(events.Event{Kind: info.Kind, Version: version, Data: want})
				if err != nil {
					t.Fatal(err)
				}
				if version < info.Version {
					return
				}
				got, err := json.Marshal(payload)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("encoded again it is\n%s\nand was\n%s", got, want)
				}
				if reflect.TypeOf(payload) != reflect.TypeOf(info.New()) {
					t.Errorf("decoded as %T, want %T", payload, info.New())
				}
				for _, field := range empty("", reflect.ValueOf(payload)) {
					t.Errorf("%s is empty: fill it, so that the file pins its form", field)
				}
			})
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !known[filepath.Base(file)] {
			t.Errorf("%s belongs to no kind in the table: a kind is never removed", file)
		}
	}
}

// empty lists the fields of a payload that hold nothing. Of a definition, whose
// choices exclude each other, only the top level counts.
func empty(prefix string, v reflect.Value) []string {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.NumField() == 0 {
		return nil
	}
	var fields []string
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		name := strings.TrimPrefix(prefix+"."+field.Name, ".")
		switch {
		case v.Field(i).IsZero():
			if name != "Definition.Candidates" { // the definition has a design of its own
				fields = append(fields, name)
			}
		case v.Type() != reflect.TypeFor[definition.Campaign]():
			fields = append(fields, empty(name, v.Field(i))...)
		}
	}
	return fields
}

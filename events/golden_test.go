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
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: what was once written stays readable and means the same. A golden file holds an
// encoded payload of a kind and version: KIND.vN.json, and further ones, KIND.vN.NAME.json,
// where not every field goes with every other. Encoding a payload of a version
// that is written today again gives the same bytes, and between them the files of a kind fill every field.
func TestGolden(t *testing.T) {
	known := map[string]bool{}
	for _, info := range events.Kinds() {
		lacking, written := map[string]int{}, 0
		for version := 1; version <= info.Version; version++ {
			name := fmt.Sprintf("%s.v%d", info.Kind, version)
			t.Run(name, func(t *testing.T) {
				files := must.Get(filepath.Glob(filepath.Join("testdata", "golden", name+"*.json")))(t)
				if len(files) == 0 {
					t.Fatalf("write testdata/golden/%s.json, with every field filled", name)
				}
				for _, file := range files {
					known[file] = true
					payload, today := golden(t, file, info, version)
					if !today {
						continue
					}
					written++
					for _, field := range empty("", reflect.ValueOf(payload)) {
						lacking[field]++
					}
				}
			})
		}
		for field, n := range lacking {
			if n == written {
				t.Errorf("%s: %s is empty: fill it, so that a file pins its form", info.Kind, field)
			}
		}
	}
	files := must.Get(filepath.Glob(filepath.Join("testdata", "golden", "*.json")))(t)
	for _, file := range files {
		if !known[file] {
			t.Errorf("%s belongs to no kind in the table: a kind is never removed", file)
		}
	}
}

// golden reads a golden file and encodes what it holds again. today is set where it is written in
// this version today.
func golden(t *testing.T, file string, info events.KindInfo, version int) (payload events.Payload, today bool) {
	t.Helper()
	want := must.Get(os.ReadFile(file))(t)
	want = bytes.TrimSuffix(want, []byte("\n"))
	payload = must.Get(events.Decode(events.Event{Kind: info.Kind, Version: version, Data: want}))(t)
	if version != events.VersionOf(payload) {
		return payload, false
	}
	got := must.Get(json.Marshal(payload))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("%s: encoded again it is\n%s\nand was\n%s", file, got, want)
	}
	if reflect.TypeOf(payload) != reflect.TypeOf(info.New()) || events.KindOf(payload) != info.Kind {
		t.Errorf("%s: decoded as %T, want %T", file, payload, info.New())
	}
	return payload, true
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
		if !field.IsExported() || field.Tag.Get("json") == "-" { // it is not recorded
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

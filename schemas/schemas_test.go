package schemas

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compile compiles the schema in a file, formats included.
func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	content, ok := File(name)
	if !ok {
		t.Fatalf("there is no schema %s", name)
	}
	plain := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(content)))(t)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must.Do(t, c.AddResource("urn:test:"+name, plain))
	definition, _ := File("definition.json")
	whole := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(definition)))(t)
	// Events hold the definition by reference.
	must.Do(t, c.AddResource(definitionURN, whole))
	return must.Get(c.Compile("urn:test:" + name))(t)
}

func validate(t *testing.T, schema *jsonschema.Schema, document []byte) {
	t.Helper()
	value := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(document)))(t)
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v", err)
	}
}

// names returns the names of all schema files, sorted.
func names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}

// Every schema compiles and has an identity.
func TestSchemasCompile(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			compile(t, name)
			content, _ := File(name)
			if !bytes.Contains(content, []byte(`"$id": "urn:campaignd:schema:`)) {
				t.Error("it has no $id")
			}
		})
	}
}

// The golden payload of every kind and version satisfies its schema, and so
// does its envelope.
func TestGoldenPayloads(t *testing.T) {
	envelope := compile(t, "event.json")
	for _, info := range events.Kinds() {
		for version := 1; version <= info.Version; version++ {
			name := EventFile(info.Kind, version)
			t.Run(name, func(t *testing.T) {
				payload := must.Get(os.ReadFile(filepath.Join("..", "events", "testdata", "golden", name)))(t)
				if _, ok := Event(info.Kind, version); !ok {
					t.Fatal("it has no schema")
				}
				validate(t, compile(t, name), payload)

				line := must.Get(events.MarshalCloudEvent(events.Event{
					Position: 7, Campaign: "golden", Sequence: 7, ID: "7", Kind: info.Kind, Version: version,
					Time: time.Date(2026, 3, 14, 9, 26, 53, 589793000, time.UTC), Actor: "engine", Cause: "6", Simulated: true,
					Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Data: bytes.TrimSpace(payload),
				}))(t)
				validate(t, envelope, line)
			})
		}
	}
}

// A payload that lacks what it must have, or has it in another type, does not
// satisfy its schema; one with a member of a newer version does.
func TestSchemasRefuse(t *testing.T) {
	schema := compile(t, EventFile(events.KindExperimentRequested, 1))
	tests := []struct {
		name, payload string
		ok            bool
	}{
		{"as it should be", `{"experiment":"e1","parameters":{"x":1,"salt":"LiPF6"},"origin":"policy","replicate":1}`, true},
		{"with a newer member", `{"experiment":"e1","parameters":{},"origin":"policy","replicate":1,"urgency":3}`, true},
		{"without its experiment", `{"parameters":{},"origin":"policy","replicate":1}`, false},
		{"a value that is neither number nor name", `{"experiment":"e1","parameters":{"x":true},"origin":"policy","replicate":1}`, false},
		{"an empty category", `{"experiment":"e1","parameters":{"x":""},"origin":"policy","replicate":1}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			value := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader([]byte(test.payload))))(t)
			if err := schema.Validate(value); (err == nil) != test.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

// An editor that checks the examples by the published schema, short forms and
// all, finds no fault.
func TestExamplesSatisfyTheSchema(t *testing.T) {
	campaign, lab := compile(t, "campaign.json"), compile(t, "lab.json")
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := must.Get(os.ReadFile(file))(t)
			document := must.Get(yaml.YAMLToJSON(text))(t)
			schema := campaign
			if filepath.Base(file) == "lab.yaml" {
				schema = lab
			}
			validate(t, schema, document)
		})
	}
}

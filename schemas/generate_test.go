package schemas

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine/shown"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

var update = flag.Bool("update", false, "write the schemas")

// The schemas in this folder are those of the Go types.
func TestCurrent(t *testing.T) {
	want := generate(t)
	for name, content := range want {
		if *update {
			must.Do(t, os.WriteFile(name, content, 0o644))
			continue
		}
		got, ok := File(name)
		if !ok {
			t.Errorf("%s does not exist: run go generate ./schemas", name)
		} else if !bytes.Equal(got, content) {
			t.Errorf("%s is not what package events says: run go generate ./schemas", name)
		}
	}
	for _, name := range names() {
		if want[name] == nil && !isOlderVersion(name) {
			t.Errorf("%s belongs to no kind of event: remove it", name)
		}
	}
}

// isOlderVersion says whether a file is the schema of a version of a kind that
// has a newer one.
func isOlderVersion(name string) bool {
	for _, info := range events.Kinds() {
		for version := 1; version < info.Version; version++ {
			if name == EventFile(info.Kind, version) {
				return true
			}
		}
	}
	return false
}

// generate returns all schema files by name.
func generate(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	write := func(name string, schema *jsonschema.Schema) {
		// Only the schema of JSON Schema itself knows "$schema"; the library
		// indents nothing.
		plain := must.Get(json.Marshal(schema))(t)
		var b bytes.Buffer
		must.Do(t, json.Indent(&b, plain, "", "  "))
		b.WriteByte('\n')
		out[name] = b.Bytes()
	}

	strict := reflector(t)
	campaign := strict.Reflect(definition.Campaign{})
	for _, driver := range builtin.Registry().Instruments {
		addRow(strict, campaign, "Instrument", driver.Name, driver.Settings())
	}
	for _, channel := range builtin.Registry().Experts {
		addRow(strict, campaign, "Expert", channel.Name, channel.Settings())
	}
	addRules(strict, campaign)
	// policy: {process: …} is short for policy: {next: {process: …}}.
	program, _ := campaign.Definitions["Next"].Properties.Get(next.ProcessName)
	campaign.Definitions["Policy"].Properties.Set(next.ProcessName, program)
	campaign.ID = "urn:campaignd:schema:campaign"
	campaign.Title = "campaignd campaign file"
	references(campaign)
	shortForms(campaign)
	write("campaign.json", campaign)
	write("lab.json", lab(strict))

	tolerant := reflector(t)
	tolerant.AllowAdditionalProperties = true
	whole := tolerant.Reflect(definition.Campaign{})
	whole.ID = definitionURN
	whole.Title = "campaignd definition of a campaign"
	write("definition.json", whole)
	view := tolerant.Reflect(shown.View{})
	view.ID = "urn:campaignd:schema:view"
	view.Title = "campaignd view of a campaign, as programs are shown it"
	write("view.json", view)
	tolerant.Mapper = byReference(tolerant.Mapper)
	for _, info := range events.Kinds() {
		schema := tolerant.ReflectFromType(reflect.TypeOf(info.New()).Elem())
		schema.ID = jsonschema.ID(events.SchemaURN(info.Kind, info.Version))
		schema.Title = string(info.Kind)
		write(EventFile(info.Kind, info.Version), schema)
	}

	tolerant.Anonymous = true
	envelope := tolerant.Reflect(envelope{})
	envelope.ID = "urn:campaignd:schema:event"
	envelope.Title = "campaignd event, CloudEvents 1.0"
	write("event.json", envelope)
	return out
}

// lab is the schema of the lab file.
func lab(r *jsonschema.Reflector) *jsonschema.Schema {
	lab := r.Reflect(labfile.Lab{})
	one := uint64(1)
	for _, driver := range builtin.Registry().Instruments {
		addRow(r, lab, "Instrument", driver.Name, driver.Settings())
	}
	for _, channel := range builtin.Registry().Experts {
		addRow(r, lab, "Expert", channel.Name, channel.Settings())
	}
	for _, holder := range []string{"Instrument", "Expert"} {
		lab.Definitions[holder].MinProperties = &one // the choice
	}
	lab.ID = "urn:campaignd:schema:lab"
	lab.Title = "campaignd lab file"
	adapterShortForms(lab)
	var drivers, channels []any
	for _, name := range builtin.Registry().DriverNames() {
		drivers = append(drivers, name)
	}
	for _, name := range builtin.Registry().ChannelNames() {
		channels = append(channels, name)
	}
	orBare(lab, "Instrument", &jsonschema.Schema{Type: "string", Enum: drivers})
	orBare(lab, "Expert", &jsonschema.Schema{Type: "string", Enum: channels})
	return lab
}

// references adds what a campaign file can take from the lab file.
func references(campaign *jsonschema.Schema) {
	named := func(what string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "object"}, Description: what}
	}
	both := jsonschema.NewProperties()
	both.Set("instruments", named("Instruments by name, as in lab.yaml."))
	both.Set("experts", named("Experts by name, as in lab.yaml."))
	campaign.Properties.Set("lab", &jsonschema.Schema{
		Type: "object", Properties: both, AdditionalProperties: jsonschema.FalseSchema,
		Description: "What the names stand for that lab: refers to. A campaign is recorded with it; elsewhere lab.yaml says so.",
	})
	campaign.Definitions["Instrument"].Properties.Set("lab", &jsonschema.Schema{
		Type: "string", MinLength: length(1), Description: "The name of an instrument in lab.yaml. Further keys here hold in place of those there.",
	})
	campaign.Definitions["Expert"].Properties.Set("lab", &jsonschema.Schema{
		AnyOf: []*jsonschema.Schema{
			{Type: "object", AdditionalProperties: jsonschema.FalseSchema},
			{Type: "null"},
			{Type: "string", MinLength: length(1), Description: "The name there, where it is another."},
		},
		Description: "The expert is the one of this name in lab.yaml. Further keys here hold in place of those there.",
	})
}

// envelope is the CloudEvents form of an event, as events.MarshalCloudEvent
// writes it. A test below holds it against what is written.
type envelope struct {
	SpecVersion string `json:"specversion" jsonschema:"enum=1.0" jsonschema_description:"Version of CloudEvents."`
	ID          string `json:"id" jsonschema:"minLength=1" jsonschema_description:"Identifies the event within its campaign."`
	Type        string `json:"type" jsonschema:"pattern=^campaignd\\." jsonschema_description:"The kind of event after the prefix campaignd."`
	Source      string `json:"source" jsonschema:"pattern=^/campaigns/" jsonschema_description:"The campaign: /campaigns/NAME, escaped as in a URL."`
	Subject     string `json:"subject,omitempty" jsonschema_description:"What the event is about: an experiment, a question or a decision."`
	Time        string `json:"time" jsonschema:"format=date-time" jsonschema_description:"When the writer recorded the event, UTC."`
	DataSchema  string `json:"dataschema,omitempty" jsonschema_description:"Names the schema of data: urn:campaignd:schema:KIND:VERSION."`
	ContentType string `json:"datacontenttype,omitempty" jsonschema_description:"Media type of data."`
	Position    uint64 `json:"position" jsonschema:"minimum=1" jsonschema_description:"Place in the log, over all campaigns."`
	Sequence    uint64 `json:"sequence" jsonschema:"minimum=1" jsonschema_description:"Place within the campaign."`
	Actor       string `json:"actor,omitempty" jsonschema_description:"Who made it happen."`
	Account     string `json:"account,omitempty" jsonschema_description:"The system's user, or the server's account, that told it."`
	Request     string `json:"request,omitempty" jsonschema_description:"The identifier that the caller gave the request of which this is the first event: it is recorded once."`
	Digest      string `json:"requestdigest,omitempty" jsonschema_description:"A digest of what the request asked for."`
	Cause       string `json:"cause,omitempty" jsonschema_description:"The ID of the event of the same campaign that led to this one."`
	Simulated   bool   `json:"simulated" jsonschema_description:"Whether the fact is about a simulated world."`
	TraceParent string `json:"traceparent,omitempty" jsonschema_description:"W3C trace context."`
	Data        any    `json:"data,omitempty" jsonschema_description:"The payload: see dataschema."`
	DataBase64  string `json:"data_base64,omitempty" jsonschema_description:"The payload where it is not JSON on one line."`
}

// definitionURN names the schema of a recorded definition, which events hold by
// reference.
const definitionURN = "urn:campaignd:schema:definition"

// byReference has a definition stand for its schema.
func byReference(mapper func(reflect.Type) *jsonschema.Schema) func(reflect.Type) *jsonschema.Schema {
	return func(t reflect.Type) *jsonschema.Schema {
		if t == reflect.TypeFor[definition.Campaign]() {
			return &jsonschema.Schema{Ref: definitionURN}
		}
		return mapper(t)
	}
}

// addRow adds what a row of the program's table says to the definition that chooses
// it: an instrument's or an expert's.
func addRow(r *jsonschema.Reflector, campaign *jsonschema.Schema, holder, name string, settings definition.Settings) {
	row := r.Reflect(settings)
	row.Version, row.ID = "", ""
	for part, schema := range row.Definitions {
		campaign.Definitions[part] = schema
	}
	row.Definitions = nil
	defined := definedAs(name, holder)
	campaign.Definitions[defined] = row
	campaign.Definitions[holder].Properties.Set(name, &jsonschema.Schema{Ref: "#/$defs/" + defined})
}

// definedAs is the name of the definition of a row, in what holds its choice.
func definedAs(name, holder string) string {
	return strings.ToUpper(name[:1]) + name[1:] + holder
}

// parts of a policy.
var parts = []policies.Part{policies.Next, policies.Trust, policies.Handover, policies.Duel}

// holderOf is the name of the definition of a part of a policy.
func holderOf(part policies.Part) string {
	return strings.ToUpper(string(part[:1])) + string(part[1:])
}

// addRules adds the rules that each part of a policy can choose.
func addRules(r *jsonschema.Reflector, campaign *jsonschema.Schema) {
	policy := campaign.Definitions["Policy"].Properties
	for _, part := range parts {
		holder := holderOf(part)
		said, _ := policy.Get(string(part))
		campaign.Definitions[holder] = &jsonschema.Schema{
			Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
			Description: said.Description,
		}
		policy.Set(string(part), &jsonschema.Schema{Ref: "#/$defs/" + holder})
		for _, name := range builtin.Registry().Methods.RuleNames(part) {
			rule, _ := builtin.Registry().Methods.Rule(part, name)
			addRow(r, campaign, holder, name, rule.Settings())
		}
	}
}

const (
	eventsPath     = "github.com/campaignd/campaignd/events"
	definitionPath = eventsPath + "/definition"
)

var docLink = regexp.MustCompile(`\[([A-Z][A-Za-z.]*)\]`)

// reflector knows the types whose JSON form is their own, gives every type a
// name of its own, and takes descriptions from the comments of package events.
func reflector(t *testing.T) *jsonschema.Reflector {
	t.Helper()
	r := &jsonschema.Reflector{ExpandedStruct: true}
	// From this folder, so that the path of a type is that of its import.
	for _, folder := range []string{"../events", "../adapters", "../policies", "../projections", "../internal/files/labfile"} {
		if err := r.AddGoComments("github.com/campaignd/campaignd/schemas", filepath.FromSlash(folder), jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range r.CommentMap {
		text = strings.Join(strings.Fields(text), " ")
		r.CommentMap[name] = docLink.ReplaceAllString(text, "$1")
	}
	if r.CommentMap[definitionPath+".Campaign"] == "" {
		t.Fatal("the comments of package events were not found")
	}
	r.Namer = func(t reflect.Type) string {
		if t.Name() == "" || t.PkgPath() == "" || t.PkgPath() == eventsPath || t.PkgPath() == definitionPath || t.PkgPath() == reflect.TypeOf(envelope{}).PkgPath() || t.PkgPath() == reflect.TypeFor[labfile.Lab]().PkgPath() {
			return t.Name()
		}
		// Types of equal names from different packages would silently become one.
		return strings.NewReplacer("/", "_", ".", "_").Replace(t.PkgPath()) + "_" + t.Name()
	}
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		switch t {
		case reflect.TypeFor[definition.Value]():
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, {Type: "string", MinLength: length(1)}},
				Description: "A number in the parameter's unit, or the name of a category."}
		case reflect.TypeFor[labfile.Secret](), reflect.TypeFor[labfile.Token]():
			return &jsonschema.Schema{Type: "string", MinLength: length(1),
				Examples: []any{"ntfy://ntfy.sh/our-lab", "${ADA_SLACK}", "file:/etc/campaignd/ada"}}
		case reflect.TypeFor[definition.Choice]():
			one := uint64(1)
			return &jsonschema.Schema{Type: "object", MinProperties: &one, MaxProperties: &one}
		case reflect.TypeFor[definition.Draw]():
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "integer", Minimum: "1"}, {Type: "string", MinLength: length(1)}},
				Description: r.CommentMap[definitionPath+".Draw"]}
		case reflect.TypeFor[definition.Duration]():
			return &jsonschema.Schema{Type: "string", Pattern: definition.DurationPattern,
				Examples: []any{"90s", "15m", "36h"}, Description: r.CommentMap[definitionPath+".Duration"]}
		}
		return nil
	}
	return r
}

func length(n uint64) *uint64 { return &n }

// orBare lets a definition be written in a shorter way too.
func orBare(schema *jsonschema.Schema, name string, short ...*jsonschema.Schema) {
	long := schema.Definitions[name]
	if long == nil {
		panic("schemas: there is no definition " + name)
	}
	schema.Definitions[name] = &jsonschema.Schema{AnyOf: append([]*jsonschema.Schema{long}, short...), Description: long.Description}
	long.Description = ""
}

// shortForms adds what only a campaign file allows: a bare name for a choice
// with its default settings, a bare value for a choice with one main setting.
func shortForms(schema *jsonschema.Schema) {
	bare := func(name string, short ...*jsonschema.Schema) { orBare(schema, name, short...) }
	choice := func(name string) {
		long := schema.Definitions[name]
		var names []any
		for pair := long.Properties.Oldest(); pair != nil; pair = pair.Next() {
			names = append(names, pair.Key)
		}
		one := uint64(1)
		long.MinProperties, long.MaxProperties = &one, &one
		bare(name, &jsonschema.Schema{Type: "string", Enum: names})
	}
	for _, part := range parts {
		for _, name := range builtin.Registry().Methods.RuleNames(part) {
			bare(definedAs(name, holderOf(part)), &jsonschema.Schema{Type: "null"})
		}
		choice(holderOf(part))
	}
	var aims []*jsonschema.Schema
	var methods []any
	for _, m := range builtin.Registry().Methods.Methods() {
		methods = append(methods, m.Name)
	}
	bare("Policy", &jsonschema.Schema{Type: "string", Enum: methods, Description: "A method by name."})
	named := &jsonschema.Schema{Type: "string", MinLength: length(1), Description: "The quantity that is sought, by its name, or a formula of quantities."}
	for _, goal := range []string{definition.Maximize, definition.Minimize} {
		properties := jsonschema.NewProperties()
		properties.Set(goal, named)
		aims = append(aims, &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{goal},
			AdditionalProperties: jsonschema.FalseSchema})
	}
	for _, share := range []struct{ of, name string }{
		{"Stop", "improvement"}, {"Stop", "gain"}, {"Growth", "improvement"}, {"QuantityDef", "noise"}, {"Objective", "noise"},
	} {
		perCent(schema, share.of, share.name)
	}
	for _, whole := range []string{"tradeoff", "desirability", "preference"} { // name and goal follow
		list, _ := schema.Definitions["Objective"].Properties.Get(whole)
		properties := jsonschema.NewProperties()
		properties.Set(whole, list)
		aims = append(aims, &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{whole},
			AdditionalProperties: jsonschema.FalseSchema})
	}
	bare("Objective", aims...)
	var ofTradeoff []*jsonschema.Schema
	worst, _ := schema.Definitions["Aim"].Properties.Get("worst")
	for _, goal := range []string{definition.Maximize, definition.Minimize} {
		properties := jsonschema.NewProperties()
		properties.Set(goal, &jsonschema.Schema{Type: "string", MinLength: length(1), Description: "A declared quantity."})
		properties.Set("worst", worst)
		ofTradeoff = append(ofTradeoff, &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{goal},
			AdditionalProperties: jsonschema.FalseSchema})
	}
	bare("Aim", ofTradeoff...)
	bare("OutcomeConstraint", &jsonschema.Schema{Type: "string", MinLength: length(1), Description: "What is required, with the default confidence."})
	stop := schema.Definitions["Stop"].Properties
	target, _ := stop.Get("target")
	reach, _ := stop.Get("reach")
	stop.Set("target", &jsonschema.Schema{
		AnyOf:       []*jsonschema.Schema{{Type: "array", Items: reach.Items, MinItems: length(1)}, {Type: "number"}, {Type: "string"}},
		Description: target.Description + " Texts, one or a list, are bounds: see reach.",
	})
	bare("Cost", &jsonschema.Schema{Type: "string", MinLength: length(1), Description: "A formula of parameters, or a declared quantity."})
	bare("CategoryDef", &jsonschema.Schema{Type: "string", MinLength: length(1)})
	bare("Instrument", &jsonschema.Schema{Type: "string", Enum: []any{"manual"}})
	bare("Expert", &jsonschema.Schema{Type: "string", MinLength: length(1), Description: "The name of an expert in lab.yaml."})
	bare("Place", &jsonschema.Schema{Type: "string", MinLength: length(1), Description: "The name of a place with room for one batch."})
	procedure(schema)
	adapterShortForms(schema)
}

// procedure lets stages be a mapping by their names, and what they come after be names, or names with
// ranges of times.
func procedure(schema *jsonschema.Schema) {
	ranges := &jsonschema.Schema{Type: "object", Description: "Stages, with the range of times after each.",
		AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string", Pattern: `^[0-9a-zµ.]*\.\.[0-9a-zµ.]*$`, Examples: []any{"2h..3h", "2h..", "..3h"}},
			{Type: "null"},
		}}}
	name := &jsonschema.Schema{Type: "string", MinLength: length(1), Description: "The name of a stage."}
	or := func(of *jsonschema.Schema, property string, short ...*jsonschema.Schema) {
		long, _ := of.Properties.Get(property)
		of.Properties.Set(property, &jsonschema.Schema{AnyOf: append([]*jsonschema.Schema{long}, short...), Description: long.Description})
		long.Description = ""
	}
	stage := schema.Definitions["Stage"]
	or(stage, "gives", name)
	or(stage, "after", name, ranges)
	orBare(schema, "Edge", name, ranges)
	named := *stage // by its key
	named.Properties = jsonschema.NewProperties()
	named.Required = []string{"on"}
	for pair := stage.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if pair.Key != "name" {
			named.Properties.Set(pair.Key, pair.Value)
		}
	}
	schema.Definitions["NamedStage"] = &named
	or(schema, "procedure", &jsonschema.Schema{Type: "object",
		AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/NamedStage"}})
}

// perCent lets a share be written as a text such as "2%".
func perCent(schema *jsonschema.Schema, of, name string) {
	properties := schema.Definitions[of].Properties
	number, _ := properties.Get(name)
	text := &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]*)?\s*%$`}
	properties.Set(name, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, text}, Description: number.Description})
	number.Description = ""
}

// adapterShortForms adds a bare value for the main setting of an instrument or a channel.
func adapterShortForms(schema *jsonschema.Schema) {
	bare := func(name string, short ...*jsonschema.Schema) { orBare(schema, name, short...) }
	bare("SimulatedInstrument", &jsonschema.Schema{Type: "string", Description: "The task."})
	bare("TableInstrument", &jsonschema.Schema{Type: "string", Description: "The file."})
	bare("ProcessInstrument", &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, MinItems: length(1), Description: "The command."})
	for _, name := range []string{"ManualInstrument", "SimulatedExpert", "TerminalExpert"} {
		bare(name, &jsonschema.Schema{Type: "null"})
	}
}

package campaignfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// schemaURL identifies the schema to the compiler; nothing is fetched.
const schemaURL = "urn:campaignd:schema:campaign"

// compiledSchema is the schema of the campaign file, compiled to validate with,
// and as plain JSON, to find the names it knows.
type compiledSchema struct {
	schema *jsonschema.Schema
	plain  any
}

// compiled holds the schemas of the registries used so far, by the identity of their rows:
// compiling one takes longer than reading most files. It may be used from any goroutine.
var compiled sync.Map

// schemaOf returns the compiled schema of a registry.
func schemaOf(reg registry.Registry) compiledSchema {
	key := reg.Identity()
	if c, ok := compiled.Load(key); ok {
		return c.(compiledSchema)
	}
	c := compile(reg)
	compiled.Store(key, c)
	return c
}

// compile panics on a schema that does not compile: it is generated, and its
// test fails first.
func compile(reg registry.Registry) compiledSchema {
	text, err := Schema(reg)
	if err != nil {
		panic("campaignfile: " + err.Error())
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic("campaignfile: the schema is not JSON: " + err.Error())
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaURL, plain); err != nil {
		panic("campaignfile: " + err.Error())
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		panic("campaignfile: the schema does not compile: " + err.Error())
	}
	return compiledSchema{schema, plain}
}

// checkSchema checks an expanded tree against the schema of the campaign file,
// and returns its faults.
//
// Faults are in the order in which the library finds them; yamltree sorts them
// by their places.
func checkSchema(reg registry.Registry, tree map[string]any) []formFault {
	schema := schemaOf(reg)
	err := schema.schema.Validate(tree)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	find := faultFinder{plain: schema.plain, tree: tree}
	find.collect(invalid)
	faults := find.faults

	// Where a key is misspelled the right one is missing, too: the first fault
	// says enough.
	meant := map[string]bool{} // what was misspelled, by its pointer
	for _, f := range faults {
		if !f.onKey {
			continue
		}
		parent, name := f.at[:len(f.at)-1], f.at[len(f.at)-1].(string)
		if nearest := format.Nearest(name, f.known); nearest != "" {
			meant[pointer(parent.To(nearest))] = true
		}
	}
	for i := range faults {
		faults[i].implied = faults[i].missing && meant[pointer(faults[i].at)]
	}
	return faults
}

// faultFinder turns a validation error of the library, which follows the
// schema's structure, into faults that a person understands.
type faultFinder struct {
	plain, tree any // the schema, and what was checked against it
	faults      []formFault
}

// report adds a fault at a place.
func (f *faultFinder) report(at path, problem, advice string) {
	f.faults = append(f.faults, formFault{Fault: fault(at, problem, advice), at: at})
}

// collect adds the faults of the leaves of a validation error.
//
// The library's errors form a tree that follows the schema; a person can act on the leaves, and
// the nodes above them are left out unless they have a case here.
func (f *faultFinder) collect(e *jsonschema.ValidationError) {
	where, value := locate(f.tree, e.InstanceLocation)
	if name, ok := value.(string); ok && isPolicy(where) { // expand has written out those that there are
		f.unknownMethod(where, name)
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		f.noBranch(e, where, value)
		return
	case *kind.Type:
		f.wrongType(e, where, value, k.Want)
	case *kind.Required:
		for _, name := range k.Missing {
			missing := fault(where, yamltree.Missing(name), missingAdvice(name))
			f.faults = append(f.faults, formFault{Fault: missing, at: where.To(name), missing: true})
		}
	case *kind.AdditionalProperties:
		f.unknownKeys(e, where, value, k.Properties)
	case *kind.MinProperties:
		f.report(where, "it is empty", choices(f.plain, where, e))
	case *kind.MaxProperties:
		f.report(where, "it names more than one", choices(f.plain, where, e))
	default:
		if problem, advice := wrongValue(k, where); problem != "" {
			f.report(where, problem, advice)
		} else if len(e.Causes) == 0 {
			f.report(where, "it does not match the schema", "")
		}
	}
	for _, cause := range e.Causes {
		f.collect(cause)
	}
}

// isPolicy reports whether a place is the file's policy.
func isPolicy(where path) bool { return len(where) == 1 && where[0] == "policy" }

// wrongValue describes the fault of a value of the right type; "" for other kinds of error. The
// words are yamltree's, which the lab file and studies use as well.
func wrongValue(k jsonschema.ErrorKind, where path) (problem, advice string) {
	switch k := k.(type) {
	case *kind.Enum:
		var names []string
		for _, name := range k.Want {
			names = append(names, fmt.Sprint(name))
		}
		return yamltree.NotAmong(k.Got, names)
	case *kind.Minimum:
		return yamltree.TooSmall(float(k.Got), float(k.Want), false)
	case *kind.ExclusiveMinimum:
		return yamltree.TooSmall(float(k.Got), float(k.Want), true)
	case *kind.Maximum:
		return yamltree.TooLarge(float(k.Got), float(k.Want), false)
	case *kind.ExclusiveMaximum:
		return yamltree.TooLarge(float(k.Got), float(k.Want), true)
	case *kind.MaxItems:
		problem, advice := yamltree.TooManyItems(k.Got, k.Want)
		if slices.Equal(where, at("objective", "tradeoff")) {
			problem = fmt.Sprintf("a trade-off has two to four objectives, and this one %d", k.Got)
			advice = "make a bound of what only has to be good enough: constraints_on_outcomes: [viscosity <= 5]"
		}
		return problem, advice
	case *kind.MinItems:
		return yamltree.TooFewItems(k.Got, k.Want)
	case *kind.MinLength:
		return "the text is empty", "give it a name"
	case *kind.MaxLength:
		return yamltree.TooLong(k.Got, k.Want)
	case *kind.Pattern:
		return yamltree.WrongForm(k.Got), patternAdvice(where)
	}
	return "", ""
}

// unknownMethod reports a policy that does not name a method.
func (f *faultFinder) unknownMethod(where path, name string) {
	advice := yamltree.Suggest(name, methodNames(f.plain))
	if strings.HasPrefix(advice, "choose") { // from dozens: a command shows them better
		advice = "`campaignd methods` lists them"
	}
	f.report(where, fmt.Sprintf("there is no method %q", name), advice)
}

// noBranch reports a value that matches none of several forms. The first form is the long one,
// into which expand has turned every short one, so its faults are those that help. Where all
// forms want another type these are named together.
func (f *faultFinder) noBranch(e *jsonschema.ValidationError, where path, value any) {
	var want []string
	for _, cause := range e.Causes {
		if k, ok := typeOf(cause, len(e.InstanceLocation)); ok {
			want = append(want, k.Want...)
		}
	}
	if len(want) == len(e.Causes) {
		problem, advice := yamltree.WrongType(value, want...)
		f.report(where, problem, cmp.Or(hintForValue(where, value), advice))
		return
	}
	if len(e.Causes) > 0 {
		f.collect(e.Causes[0])
	}
}

// wrongType reports a value of another type than is wanted. A duration is a text
// with a pattern in the schema, known here by its µs.
func (f *faultFinder) wrongType(e *jsonschema.ValidationError, where path, value any, want []string) {
	problem, advice := yamltree.WrongType(value, want...)
	advice = cmp.Or(hintForValue(where, value), advice)
	pattern, _ := schemaAt(f.plain, e.SchemaURL)["pattern"].(string)
	if value != nil && strings.Contains(pattern, "µs") {
		problem, advice = fmt.Sprintf("%v is not a time", value), durationAdvice
	}
	f.report(where, problem, advice)
}

// unknownKeys reports keys that a mapping cannot have.
func (f *faultFinder) unknownKeys(e *jsonschema.ValidationError, where path, value any, names []string) {
	known := propertiesOf(f.plain, e.SchemaURL)
	for _, name := range names {
		if isChoice(where) {
			f.report(where, fmt.Sprintf("there is no rule %q", name), yamltree.Suggest(name, known))
			continue
		}
		problem, advice := yamltree.UnknownKey(name, known)
		advice = cmp.Or(hintForKey(where, name, value), advice)
		if isPolicy(where) && slices.Contains(methodNames(f.plain), name) {
			advice = fmt.Sprintf("write policy: %s, or its parts with their settings: "+
				"`campaignd methods %s` prints them",
				name, name)
		}
		at := where.To(name)
		f.faults = append(f.faults, formFault{
			Fault: fault(at, problem, advice), at: at, onKey: true, known: known,
		})
	}
}

// typeOf returns the type error that a branch of an AnyOf comes down to, if it
// is about the same value: one that lies depth steps deep. A deeper type error
// means that the branch fits the value itself and only something within it does
// not.
func typeOf(e *jsonschema.ValidationError, depth int) (*kind.Type, bool) {
	for len(e.Causes) == 1 {
		e = e.Causes[0]
	}
	k, ok := e.ErrorKind.(*kind.Type)
	return k, ok && len(e.InstanceLocation) == depth
}

// isChoice reports whether the keys at p are names of rules.
func isChoice(p path) bool {
	return len(p) == 2 && p[0] == "policy"
}

// choices lists the names that an object can have one of.
func choices(plain any, p path, e *jsonschema.ValidationError) string {
	names := propertiesOf(plain, e.SchemaURL)
	return "choose one of " + strings.Join(names, ", ")
}

// missingAdvice shows a missing key by an example.
func missingAdvice(name string) string {
	switch name {
	case "parameters":
		return "list what may be varied: parameters: [{name: salt, unit: mol/kg, min: 0.2, max: 2.1}]"
	case "objective":
		return "say what is sought: objective: {name: conductivity, unit: mS/cm, goal: maximize}"
	case "budget":
		return "say how many experiments at most: budget: {experiments: 25}"
	case "instrument":
		return "say what measures: simulated, table, manual or process"
	case "goal":
		return "write goal: maximize or goal: minimize"
	}
	return ""
}

// patternAdvice describes the form that a text must have, a name's or a time's.
func patternAdvice(p path) string {
	last := ""
	if len(p) > 3 && p[0] == "procedure" && p[2] == "after" {
		return "write a range of times: 2h..3h, 2h.. for at least, ..3h for at most"
	}
	for _, step := range p {
		if name, ok := step.(string); ok {
			last = name
		}
	}
	if last == "name" {
		if p[0] == "parameters" {
			return "a name begins with a letter and goes on with letters, digits, dot, dash and underscore; " +
				"say the rest in description"
		}
		return "a name begins with a letter or digit and goes on with letters, digits, dot, dash and underscore"
	}
	return durationAdvice
}

// durationAdvice is for every time in a campaign file.
const durationAdvice = `write a time with its unit: "90s", "15m", "36h" or "14d"`

// propertiesOf returns the properties that the schema at a location knows,
// sorted.
func propertiesOf(plain any, location string) []string {
	properties, _ := schemaAt(plain, location)["properties"].(map[string]any)
	return sortedKeys(properties)
}

// schemaAt returns the part of the schema at a location that validation
// reports. A step that leads nowhere is skipped, so that the nearest part above
// is returned.
func schemaAt(plain any, location string) map[string]any {
	_, fragment, _ := strings.Cut(location, "#")
	node := plain
	for _, step := range strings.Split(strings.Trim(fragment, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch n := node.(type) {
		case map[string]any:
			if next, ok := n[step]; ok {
				node = next
			}
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i < len(n) {
				node = n[i]
			}
		}
	}
	schema, _ := node.(map[string]any)
	return schema
}

// locate follows the location that a validation error gives, and returns it as
// a path with the value there.
func locate(tree any, location []string) (path, any) {
	p := path{}
	for _, step := range location {
		switch n := tree.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(n) {
				return p, nil
			}
			p, tree = append(p, i), n[i]
		case map[string]any:
			p, tree = append(p, step), n[step]
		}
	}
	return p, tree
}

// float is a bound of the schema as messages write it.
func float(r *big.Rat) float64 {
	x, _ := r.Float64()
	return x
}

package campaignfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/internal/yamltree"
)

const schemaURL = "urn:campaignd:schema:campaign"

// compiledSchema is the schema of the campaign file, ready to validate, and as
// plain JSON, to find the names it knows.
type compiledSchema struct {
	schema *jsonschema.Schema
	plain  any
}

// compiled holds the schemas of the registries that were asked for, by the identity of
// their rows. To compile one takes longer than to read most files.
var compiled sync.Map

func schemaOf(reg registry.Registry) compiledSchema {
	key := reg.Identity()
	if c, ok := compiled.Load(key); ok {
		return c.(compiledSchema)
	}
	c := compile(reg)
	compiled.Store(key, c)
	return c
}

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

// checkSchema holds an expanded tree against the schema of the campaign file.
func checkSchema(reg registry.Registry, tree map[string]any) []formFault {
	schema := schemaOf(reg)
	err := schema.schema.Validate(tree)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	var faults []formFault
	collect(schema.plain, tree, invalid, &faults)

	// Where a key is misspelled and another missing, the first fault says
	// enough.
	meant := map[string]bool{} // what was misspelled, by its pointer
	for _, f := range faults {
		if !f.onKey {
			continue
		}
		parent, name := f.at[:len(f.at)-1], f.at[len(f.at)-1].(string)
		if nearest := yamltree.Nearest(name, f.known); nearest != "" {
			meant[pointer(parent.To(nearest))] = true
		}
	}
	for i := range faults {
		faults[i].implied = faults[i].missing && meant[pointer(faults[i].at)]
	}
	return faults
}

// collect turns the leaves of a validation error into faults.
func collect(plain, tree any, e *jsonschema.ValidationError, faults *[]formFault) {
	where, value := locate(tree, e.InstanceLocation)
	report := func(p path, problem, advice string) {
		*faults = append(*faults, formFault{Fault: fault(p, problem, advice), at: p})
	}
	policy := len(where) == 1 && where[0] == "policy"
	if name, ok := value.(string); ok && policy { // expand has written those out that there are
		advice := yamltree.Suggest(name, methodNames(plain))
		if strings.HasPrefix(advice, "choose") {
			advice = "`campaignd methods` lists them"
		}
		report(where, fmt.Sprintf("there is no method %q", name), advice)
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		// The first branch is the long form, which expand has made of every
		// short one; where all branches want another type, say which ones.
		var want []string
		for _, cause := range e.Causes {
			if k, ok := typeOf(cause, len(e.InstanceLocation)); ok {
				want = append(want, k.Want...)
			}
		}
		if len(want) == len(e.Causes) {
			problem, advice := yamltree.WrongType(value, want...)
			if hint := hintForValue(where, value); hint != "" {
				advice = hint
			}
			report(where, problem, advice)
			return
		}
		if len(e.Causes) > 0 {
			collect(plain, tree, e.Causes[0], faults)
		}
		return
	case *kind.Type:
		problem, advice := yamltree.WrongType(value, k.Want...)
		if hint := hintForValue(where, value); hint != "" {
			advice = hint
		}
		if node, _ := schemaAt(plain, e.SchemaURL)["pattern"].(string); value != nil && strings.Contains(node, "µs") {
			problem, advice = fmt.Sprintf("%v is not a time", value), durationAdvice
		}
		report(where, problem, advice)
	case *kind.Required:
		for _, name := range k.Missing {
			f := fault(where, yamltree.Missing(name), missingAdvice(name))
			*faults = append(*faults, formFault{Fault: f, at: where.To(name), missing: true})
		}
	case *kind.AdditionalProperties:
		known := propertiesOf(plain, e.SchemaURL)
		for _, name := range k.Properties {
			problem, advice := yamltree.UnknownKey(name, known)
			if hint := hintForKey(where, name, value); hint != "" {
				advice = hint
			}
			if policy && slices.Contains(methodNames(plain), name) {
				advice = fmt.Sprintf("write policy: %s, or its parts with their settings: "+
					"`campaignd methods %s` prints them",
					name, name)
			}
			if isChoice(where) {
				report(where, fmt.Sprintf("there is no rule %q", name), yamltree.Suggest(name, known))
				continue
			}
			at := where.To(name)
			*faults = append(*faults, formFault{Fault: fault(at, problem, advice), at: at, onKey: true, known: known})
		}
	case *kind.Enum:
		var names []string
		for _, name := range k.Want {
			names = append(names, fmt.Sprint(name))
		}
		problem, advice := yamltree.NotAmong(k.Got, names)
		report(where, problem, advice)
	case *kind.Minimum:
		problem, advice := yamltree.TooSmall(float(k.Got), float(k.Want), false)
		report(where, problem, advice)
	case *kind.ExclusiveMinimum:
		problem, advice := yamltree.TooSmall(float(k.Got), float(k.Want), true)
		report(where, problem, advice)
	case *kind.Maximum:
		problem, advice := yamltree.TooLarge(float(k.Got), float(k.Want), false)
		report(where, problem, advice)
	case *kind.ExclusiveMaximum:
		problem, advice := yamltree.TooLarge(float(k.Got), float(k.Want), true)
		report(where, problem, advice)
	case *kind.MinItems:
		problem, advice := yamltree.TooFewItems(k.Got, k.Want)
		report(where, problem, advice)
	case *kind.MinProperties:
		report(where, "it is empty", choices(plain, where, e))
	case *kind.MaxProperties:
		report(where, "it names more than one", choices(plain, where, e))
	case *kind.MinLength:
		report(where, "the text is empty", "give it a name")
	case *kind.MaxLength:
		problem, advice := yamltree.TooLong(k.Got, k.Want)
		report(where, problem, advice)
	case *kind.Pattern:
		report(where, yamltree.WrongForm(k.Got), patternAdvice(where))
	default:
		if len(e.Causes) == 0 {
			report(where, "it does not match the schema", "")
		}
	}
	for _, cause := range e.Causes {
		collect(plain, tree, cause, faults)
	}
}

// typeOf returns the type error that a branch of an AnyOf amounts to, if it is
// about the same value, which lies depth steps deep.
func typeOf(e *jsonschema.ValidationError, depth int) (*kind.Type, bool) {
	for len(e.Causes) == 1 {
		e = e.Causes[0]
	}
	k, ok := e.ErrorKind.(*kind.Type)
	return k, ok && len(e.InstanceLocation) == depth
}

// isChoice says whether the keys at p are names to choose from.
func isChoice(p path) bool {
	return len(p) == 2 && p[0] == "policy"
}

func choices(plain any, p path, e *jsonschema.ValidationError) string {
	names := propertiesOf(plain, e.SchemaURL)
	return "choose one of " + strings.Join(names, ", ")
}

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

// patternAdvice says which form a text must have.
func patternAdvice(p path) string {
	last := ""
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

const durationAdvice = `write a time with its unit: "90s", "15m", "36h" or "14d"`

// propertiesOf returns the properties that the schema at a location knows,
// sorted.
func propertiesOf(plain any, location string) []string {
	properties, _ := schemaAt(plain, location)["properties"].(map[string]any)
	return sortedKeys(properties)
}

// schemaAt returns the part of the schema at a location that validation reports.
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

// locate follows a validation error's location.
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

func float(r *big.Rat) float64 {
	x, _ := r.Float64()
	return x
}

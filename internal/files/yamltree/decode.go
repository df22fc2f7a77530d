package yamltree

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/ground/format"
)

// Decode decodes the node into the value that to points to, most often a struct with json tags. It
// reports every fault; to then holds the values without a fault. Values that the tree does not
// mention stay as they are, so that to may hold defaults.
//
// It is strict: an unknown key, a key without a value and a value of another type are faults, and
// so is a breach of a constraint in a field's jsonschema tag: required, enum, pattern, minLength,
// maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minItems, maxItems, uniqueItems.
// Constraints on a list's items are in the tag of the list. A type with an UnmarshalJSON or
// UnmarshalText of its own decodes itself, and its error is the fault.
//
// A type that cannot be decoded, or an unknown constraint, panics. A fault of a file never panics;
// a type that cannot be decoded is a mistake of the program, and is found by the first file.
func (n *Node) Decode(to any) []Fault {
	v := reflect.ValueOf(to)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		panic(fmt.Sprintf("yamltree: Decode into a %T", to))
	}
	var d decoder
	d.value(n, v.Elem())
	return d.faults
}

// decoder collects faults and goes on, so that all of a file are reported at once.
type decoder struct{ faults []Fault }

// fault notes a fault of a node's value and goes on.
func (d *decoder) fault(n *Node, message, remedy string) {
	d.faults = append(d.faults, n.Fault(message, remedy))
}

// value decodes n into v; false after a fault. v must be settable. byItself comes before the kinds:
// a struct that decodes itself may be written as a text.
func (d *decoder) value(n *Node, v reflect.Value) bool {
	if n.Faulty { // and reported
		return false
	}
	before := len(d.faults)
	if v.Kind() == reflect.Pointer {
		d.pointer(n, v)
		return len(d.faults) == before
	}
	if n.IsNull() {
		d.wrongType(n, v)
		return false
	}
	if d.byItself(n, v) {
		return len(d.faults) == before
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, v)
	case reflect.Map:
		d.mapping(n, v)
	case reflect.Slice:
		d.list(n, v)
	case reflect.Interface:
		v.Set(reflect.ValueOf(n.Plain()))
	default:
		d.scalar(n, v)
	}
	return len(d.faults) == before
}

// pointer decodes into a copy of the value v points to, which others may share. On a fault v stays
// as it was. Defaults that several definitions share must not change with one file.
func (d *decoder) pointer(n *Node, v reflect.Value) {
	to := reflect.New(v.Type().Elem())
	if !v.IsNil() {
		to.Elem().Set(v.Elem())
	}
	if d.value(n, to.Elem()) {
		v.Set(to)
	}
}

// byItself decodes a type that has a method for it; false if it has none. It goes through JSON, so
// that a type needs one decoder for files, requests and events.
func (d *decoder) byItself(n *Node, v reflect.Value) bool {
	to := v.Addr().Interface()
	switch to.(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
	default:
		return false
	}
	text, err := json.Marshal(n.Plain())
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		d.fault(n, err.Error(), "")
	}
	return true
}

// wrongType reports that n does not have the type of v. The words are the same wherever a type is
// wrong.
func (d *decoder) wrongType(n *Node, v reflect.Value) {
	message, remedy := WrongType(n.Plain(), wanted(v)...)
	d.fault(n, message, remedy)
}

// wanted returns the type of v in JSON Schema; none if it decodes itself.
func wanted(v reflect.Value) []string {
	switch v.Addr().Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return nil
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map:
		return []string{"object"}
	case reflect.Slice:
		return []string{"array"}
	case reflect.String:
		return []string{"string"}
	case reflect.Bool:
		return []string{"boolean"}
	case reflect.Float32, reflect.Float64:
		return []string{"number"}
	case reflect.Interface:
		return nil
	}
	return []string{"integer"}
}

// scalar decodes a value without parts. Nothing is converted: a number is not accepted as a text,
// nor "1" as a number. Numbers keep their written text until here, so that an integer beyond 2⁵³ is
// not rounded on the way.
func (d *decoder) scalar(n *Node, v reflect.Value) {
	number, isNumber := n.Value.(json.Number)
	switch {
	case v.Kind() == reflect.Bool:
		b, ok := n.Value.(bool)
		if !ok {
			d.wrongType(n, v)
			return
		}
		v.SetBool(b)
	case v.Kind() == reflect.String:
		s, ok := n.Value.(string)
		if !ok {
			d.wrongType(n, v)
			return
		}
		v.SetString(s)
	case !isNumber && (v.CanInt() || v.CanUint() || v.CanFloat()):
		d.wrongType(n, v)
	case v.CanFloat():
		x, err := number.Float64()
		if err != nil || v.OverflowFloat(x) {
			d.fault(n, string(number)+" is too large a number", "")
			return
		}
		v.SetFloat(x)
	case v.CanInt():
		k, err := strconv.ParseInt(string(number), 10, v.Type().Bits())
		if err != nil {
			d.notInteger(n, v)
			return
		}
		v.SetInt(k)
	case v.CanUint():
		k, err := strconv.ParseUint(string(number), 10, v.Type().Bits())
		if err != nil {
			d.notInteger(n, v)
			return
		}
		v.SetUint(k)
	default:
		panic(fmt.Sprintf("yamltree: a %s cannot be decoded", v.Type()))
	}
}

// notInteger reports a number that v cannot hold: one with a fraction, or out of range. The two
// need different remedies.
func (d *decoder) notInteger(n *Node, v reflect.Value) {
	text := string(n.Value.(json.Number))
	switch {
	case strings.Contains(text, ".") || strings.Contains(text, "e-"):
		d.wrongType(n, v)
	case strings.HasPrefix(text, "-") && v.CanUint():
		d.fault(n, text+" is too small", "the least is 0")
	default:
		d.fault(n, text+" is too large a number", "")
	}
}

// mapping decodes into a map with text keys, in the order of the file, so that faults are in order.
// Entries with a fault are left out.
func (d *decoder) mapping(n *Node, v reflect.Value) {
	if !n.IsMapping() {
		d.wrongType(n, v)
		return
	}
	if v.Type().Key().Kind() != reflect.String {
		panic(fmt.Sprintf("yamltree: a %s cannot be decoded", v.Type()))
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.keys))
	for _, key := range n.keys {
		item := reflect.New(v.Type().Elem()).Elem()
		if d.value(n.fields[key], item) {
			out.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), item)
		}
	}
	v.Set(out)
}

// list decodes into a slice. An item with a fault holds its readable parts. Its length is that of
// the file, so that indices in later faults are right.
func (d *decoder) list(n *Node, v reflect.Value) {
	if !n.IsList() {
		d.wrongType(n, v)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.value(item, out.Index(i))
	}
	v.Set(out)
}

// structure decodes into the fields of a struct. A missing key that was probably misspelled is
// reported once, as unknown. Constraints are checked only on parts decoded without a fault: one
// mistake, one message.
func (d *decoder) structure(n *Node, v reflect.Value) {
	if !n.IsMapping() {
		d.wrongType(n, v)
		return
	}
	fields := fieldsOf(v.Type())
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	meant := map[string]bool{} // misspelled keys, which are not missing
	for _, key := range n.keys {
		i := slices.Index(names, key)
		if i < 0 {
			message, remedy := UnknownKey(key, names)
			d.faults = append(d.faults, n.fields[key].KeyFault(message, remedy))
			meant[format.Nearest(key, names)] = true
			continue
		}
		if d.value(n.fields[key], v.FieldByIndex(fields[i].index)) {
			d.check(n.fields[key], fields[i])
		}
	}
	for _, f := range fields {
		if f.required && n.fields[f.name] == nil && !meant[f.name] {
			d.fault(n, Missing(f.name), "")
		}
	}
}

// field is a field of a struct as it is written in a file.
type field struct {
	name        string
	index       []int
	required    bool
	ofList      []constraint // of the list itself
	enum        []string     // the possible values; none for all
	constraints []constraint // further ones, of the value or of each item of a list
}

// constraint is one of a jsonschema tag: minimum=0.
type constraint struct{ name, value string }

// fieldsOf returns the fields of a struct, including those of embedded structs. Names are those of
// encoding/json; fields without a tag have their Go names. An embedded struct with a name in its
// tag is a field like others.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
			continue
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		out := field{name: name, index: f.Index}
		for _, c := range constraintsOf(f.Tag.Get("jsonschema")) {
			switch c.name {
			case "required":
				out.required = true
			case "enum":
				out.enum = append(out.enum, c.value)
			case "minItems", "maxItems", "uniqueItems":
				out.ofList = append(out.ofList, c)
			default:
				out.constraints = append(out.constraints, c)
			}
		}
		fields = append(fields, out)
	}
	return fields
}

// constraintsOf returns the constraints of a tag. They are separated by commas;
// a comma within a constraint is written with a backslash. The form is that of
// the package that makes the schemas, which reads the same tags.
func constraintsOf(tag string) []constraint {
	var list []constraint
	for _, word := range strings.Split(strings.ReplaceAll(tag, `\,`, "\x00"), ",") {
		name, value, _ := strings.Cut(strings.ReplaceAll(word, "\x00", ","), "=")
		if name != "" {
			list = append(list, constraint{name, value})
		}
	}
	return list
}

// check checks a value without a fault against the constraints of its field. A list's own
// constraints are dropped before its items are checked, so that they do not apply to nested lists.
func (d *decoder) check(n *Node, f field) {
	for _, c := range f.ofList {
		if message, remedy := broken(n, c); message != "" {
			d.fault(n, message, remedy)
		}
	}
	if n.IsList() {
		f.ofList = nil
		for _, item := range n.Items {
			d.check(item, f)
		}
		return
	}
	if f.enum != nil && n.kind == scalarKind && !n.Faulty && !slices.Contains(f.enum, fmt.Sprint(n.Value)) {
		message, remedy := NotAmong(n.Value, f.enum)
		d.fault(n, message, remedy)
	}
	for _, c := range f.constraints {
		if message, remedy := broken(n, c); message != "" {
			d.fault(n, message, remedy)
		}
	}
}

// broken returns how a node breaks a constraint, or no message. A constraint on another type than
// the node's is not broken by it. The words are those of package yamltree for all readers, see
// words.go.
func broken(n *Node, c constraint) (message, remedy string) {
	text, isText := n.Value.(string)
	length := utf8.RuneCountInString(text)
	number, isNumber := n.Value.(json.Number)
	x, _ := number.Float64()
	switch c.name {
	case "minimum":
		if isNumber && x < c.float() {
			return TooSmall(x, c.float(), false)
		}
	case "exclusiveMinimum":
		if isNumber && x <= c.float() {
			return TooSmall(x, c.float(), true)
		}
	case "maximum":
		if isNumber && x > c.float() {
			return TooLarge(x, c.float(), false)
		}
	case "exclusiveMaximum":
		if isNumber && x >= c.float() {
			return TooLarge(x, c.float(), true)
		}
	case "pattern":
		if isText && !regexp.MustCompile(c.value).MatchString(text) {
			return WrongForm(text), "it must match " + c.value
		}
	case "minLength":
		if isText && length < c.count() {
			return TooShort(length, c.count())
		}
	case "maxLength":
		if isText && length > c.count() {
			return TooLong(length, c.count())
		}
	case "minItems":
		if n.IsList() && len(n.Items) < c.count() {
			return TooFewItems(len(n.Items), c.count())
		}
	case "maxItems":
		if n.IsList() && len(n.Items) > c.count() {
			return fmt.Sprintf("the list has %d entries", len(n.Items)),
				fmt.Sprintf("at most %d are possible", c.count())
		}
	case "uniqueItems":
		return twice(n)
	case "title", "description", "default", "example", "format": // annotations without a requirement
	default:
		panic("yamltree: unknown constraint " + c.name)
	}
	return "", ""
}

// twice returns the item of a list that occurs more than once. Items are equal if their JSON is.
// The first repeat is named; maps are equal in any order of keys, since JSON sorts them.
func twice(n *Node) (message, remedy string) {
	seen := make(map[string]bool, len(n.Items))
	for _, item := range n.Items {
		text, err := json.Marshal(item.Plain())
		if err == nil && seen[string(text)] {
			return string(text) + " is in the list twice", "keep one of them"
		}
		seen[string(text)] = true
	}
	return "", ""
}

// float returns the value of a constraint on numbers.
func (c constraint) float() float64 {
	x, err := strconv.ParseFloat(c.value, 64)
	if err != nil {
		panic(fmt.Sprintf("yamltree: the constraint %s=%s: %v", c.name, c.value, err))
	}
	return x
}

// count returns the value of a constraint on lengths.
func (c constraint) count() int {
	k, err := strconv.Atoi(c.value)
	if err != nil {
		panic(fmt.Sprintf("yamltree: the constraint %s=%s: %v", c.name, c.value, err))
	}
	return k
}

package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Choice is a choice from an open set (an instrument, the channel to an expert,
// a rule of a policy): a name, and settings that only the owner of the name can
// read. Its JSON is an object with the name as its one key:
//
//	{"process": {"command": ["./pump"]}}
//
// The zero Choice chooses nothing.
type Choice struct {
	// Name of the chosen rule, model or adapter.
	Name string
	// settings is a JSON object, compact, as its owner wrote it.
	settings string
}

// NewChoice returns the choice of a name with settings that its owner wrote: a
// struct, or nil for none. It panics where settings have no JSON.
func NewChoice(name string, settings any) Choice {
	if settings == nil {
		return Choice{Name: name, settings: "{}"}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		panic(fmt.Sprintf("definition: settings of %s: %v", name, err))
	}
	return Choice{Name: name, settings: string(text)}
}

// IsZero reports whether nothing is chosen.
func (c Choice) IsZero() bool { return c == Choice{} }

// Equal reports whether both choose the same, with settings of the same text.
func (c Choice) Equal(d Choice) bool { return c == d }

// Settings returns the settings as a JSON object.
func (c Choice) Settings() json.RawMessage {
	if c.settings == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.settings)
}

// Decode reads the settings into a pointer to the owner's struct. A setting
// that the struct does not have is an error.
func (c Choice) Decode(into any) error {
	d := json.NewDecoder(bytes.NewReader(c.Settings()))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the settings of %s: %w", c.Name, err)
	}
	return nil
}

// SettingsOf returns the settings of a choice as its owner's struct S.
func SettingsOf[S any](c Choice) (S, error) {
	var s S
	err := c.Decode(&s)
	return s, err
}

// SettingsIf returns the settings of a choice as its owner's struct S, where
// the choice is of that name; a zero S where it is not, or where they cannot be
// read.
func SettingsIf[S any](c Choice, name string) (s S, ok bool) {
	if c.Name != name {
		return s, false
	}
	s, err := SettingsOf[S](c)
	return s, err == nil
}

// MarshalJSON writes an object with the name as its one key; null for no
// choice.
func (c Choice) MarshalJSON() ([]byte, error) {
	if c.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(map[string]json.RawMessage{c.Name: c.Settings()})
}

// UnmarshalJSON reads an object with one key.
func (c *Choice) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	choice, err := choiceOf(members)
	if err != nil {
		return err
	}
	*c = choice
	return nil
}

// choiceOf returns the choice of the one member that there is, or none.
func choiceOf(members map[string]json.RawMessage) (Choice, error) {
	if len(members) > 1 {
		return Choice{}, errors.New("it chooses more than one")
	}
	for name, settings := range members {
		var compact bytes.Buffer
		if err := json.Compact(&compact, settings); err != nil {
			return Choice{}, err
		}
		text := compact.String()
		if text == "null" {
			text = "{}"
		}
		if !strings.HasPrefix(text, "{") {
			return Choice{}, fmt.Errorf("the settings of %s are not an object", name)
		}
		return Choice{Name: name, settings: text}, nil
	}
	return Choice{}, nil
}

// marshalBeside writes a choice and, in the same object after it, the fields of
// a struct.
func marshalBeside(c Choice, siblings any) ([]byte, error) {
	rest, err := json.Marshal(siblings)
	if err != nil || c.IsZero() {
		return rest, err
	}
	first, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if string(rest) == "{}" {
		return first, nil
	}
	return append(append(first[:len(first)-1], ','), rest[1:]...), nil
}

// unmarshalBeside reads an object that holds the fields of a struct, and
// besides them at most one choice.
func unmarshalBeside(data []byte, c *Choice, siblings any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	if err := json.Unmarshal(data, siblings); err != nil {
		return err
	}
	t := reflect.TypeOf(siblings).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		delete(members, name)
	}
	choice, err := choiceOf(members)
	*c = choice
	return err
}

// Settings are the settings of one choice. The package that owns the choice has
// a struct for them: json tags name the settings, doc comments and jsonschema
// tags describe them. A pointer to the struct implements Settings.
type Settings interface {
	// Complete writes out every default. The other parts of the campaign may
	// lack theirs, and anything may be wrong with them. It may complete those
	// parts of the campaign that follow from the choice.
	Complete(def *Campaign)
	// Check returns what makes no sense, in a campaign whose defaults are
	// written out. here is where the settings stand.
	Check(def *Campaign, here Path) []Fault
	// Words describes the choice in one line, for people.
	Words(def *Campaign) string
}

// Confined is implemented by settings that say whether they name nothing
// outside the campaign: no program that is run, no file that is read, no
// address that is called. What does not say so counts as naming some: who may
// write it can have this machine do it.
type Confined interface {
	Settings
	Confined() bool
}

// Shortened is implemented by settings that one of them can stand for: in a campaign file its bare
// value replaces the object.
type Shortened interface {
	// Short returns the name of that setting.
	Short() string
}

// Filed is implemented by settings that name files.
type Filed interface {
	// CheckFiles validates the files themselves. Relative paths start from folder; here is the
	// place of the settings.
	CheckFiles(folder string, here Path) []Fault
}

// Remarkable is implemented by settings that can be possible and still not be
// meant.
type Remarkable interface {
	// Remarks says so, a line each. Relative paths start from folder; here is
	// where the settings stand.
	Remarks(folder string, here Path) []string
}

// Path is a place in a campaign's definition: names of fields and parameters
// (strings), and indices (ints).
type Path []any

// At returns a path from the top of the definition.
func At(steps ...any) Path { return steps }

// To returns the path with further steps. The result shares nothing with p.
func (p Path) To(steps ...any) Path { return append(slices.Clone(p), steps...) }

// Within says whether p leads to the same place as q or below it.
func (p Path) Within(q Path) bool { return len(p) >= len(q) && slices.Equal(p[:len(q)], q) }

// String writes the path as a person would: "parameters[1].min".
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// Fault is one thing that makes no sense in a definition.
type Fault struct {
	// At is the place.
	At Path
	// Problem describes the fault, Remedy how to mend it, if that is known.
	Problem, Remedy string
	// Unknown is a name that does not exist, where that is the problem, and
	// Known those that do: the nearest is then the remedy.
	Unknown string
	Known   []string
}

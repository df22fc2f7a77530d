package definition

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Stage is a step of the procedure that experiments go through: one act at one instrument.
type Stage struct {
	// Name of the stage, unique in the procedure.
	Name string `json:"name" jsonschema:"required,pattern=^[A-Za-z_][A-Za-z0-9_-]*$,maxLength=64"`
	// On is the instrument that performs it, one of the campaign's instruments.
	On string `json:"on" jsonschema:"required"`
	// Together is set where one act serves the whole batch: a plate that is loaded. Else each
	// experiment has an act of its own.
	Together bool `json:"together,omitempty"`
	// After are the stages that must have been done before, with the time that has to pass. In a
	// campaign file a name, or names with ranges of times: {load: 2h..3h}, {load: 2h..},
	// {load: ..3h}.
	After []Edge `json:"after,omitempty" jsonschema:"minItems=1"`
	// Holds is the place that the batch occupies from the dispatch of this act on.
	Holds string `json:"holds,omitempty"`
	// Frees is the place that the batch leaves with the end of this act.
	Frees string `json:"frees,omitempty"`
	// Draws says how much it uses up for each experiment, by stock: see [Instrument.Draws].
	Draws map[string]Draw `json:"draws,omitempty"`
	// Gives are the quantities that it measures.
	Gives []string `json:"gives,omitempty" jsonschema:"minItems=1"`
	// Repeatable is set where an act that failed may be made again without harm.
	Repeatable bool `json:"repeatable,omitempty"`
	// Tries is how often the act is made at most. Default 1; of a repeatable stage 2.
	Tries int `json:"tries,omitempty" jsonschema:"minimum=1,maximum=100"`
	// Always is set where it is performed for each batch at its end, also where its experiments
	// have failed: cleaning.
	Always bool `json:"always,omitempty"`
	// Parameters are those that the instrument is sent. Absent: all.
	Parameters []string `json:"parameters,omitempty" jsonschema:"minItems=1"`
	// Set are further settings that the instrument is sent, the same for each experiment.
	Set Point `json:"set,omitempty"`
}

// Place is something that matter occupies over several acts.
type Place struct {
	Name string `json:"name" jsonschema:"required,pattern=^[A-Za-z_][A-Za-z0-9_-]*$,maxLength=64"`
	// Room is how many batches it has room for. Default 1. lab.yaml says it of a place of the lab.
	Room int `json:"room,omitempty" jsonschema:"minimum=1,maximum=384"`
	// Lab is the name of a place of the lab that this one is, which the lab's campaigns share.
	Lab string `json:"lab,omitempty" jsonschema:"maxLength=64"`
}

// Edge is the order of two stages: a stage comes after another, so long after its end.
type Edge struct {
	// Stage that comes before.
	Stage string `json:"stage" jsonschema:"required"`
	// From is the time that has to pass since its end.
	From Duration `json:"from,omitempty"`
	// Until is the time after which it is too late. Absent: it never is.
	Until Duration `json:"until,omitempty"`
}

// Batch says which experiments go through the procedure together.
type Batch struct {
	// Of is how many they are. Default 1.
	Of int `json:"of,omitempty" jsonschema:"minimum=1,maximum=384"`
	// AtLeast is how many suffice once Within has passed since the last of them was requested.
	// Absent: all of them.
	AtLeast int `json:"at_least,omitempty" jsonschema:"minimum=1"`
	// Within is how long the others are waited for.
	Within Duration `json:"within,omitempty"`
}

// Size is how many experiments go through the procedure together.
func (b Batch) Size() int { return max(1, b.Of) }

// IsZero reports whether nothing is said about batches.
func (b Batch) IsZero() bool { return b == Batch{} }

// Tried is how often an act of the stage may be made for an experiment.
func (s *Stage) Tried() int { return max(1, s.Tries) }

// Stage returns the stage of a name, nil without one.
func (c *Campaign) Stage(name string) *Stage {
	i := slices.IndexFunc(c.Procedure, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Procedure[i]
}

// Resources are the names of the instruments that the campaign's experiments need, in order: of a
// campaign without a procedure the one instrument, which has no name.
func (c *Campaign) Resources() []string {
	if len(c.Procedure) == 0 {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(c.Instruments))
}

// At is the instrument of a name in the procedure; of the empty name the campaign's only one.
func (c *Campaign) At(resource string) Instrument {
	if resource == "" {
		return c.Instrument
	}
	return c.Instruments[resource]
}

// PathOf is where an instrument stands in a definition.
func PathOf(resource string) Path {
	if resource == "" {
		return At("instrument")
	}
	return At("instruments", resource)
}

// Giving is the definition as it is for a stage that gives some of the quantities: the objective has
// no name where it is not among them.
func (c *Campaign) Giving(names []string) *Campaign {
	own := *c
	if c.Several() {
		own.Quantities = slices.DeleteFunc(slices.Clone(c.Declared()),
			func(q QuantityDef) bool { return !slices.Contains(names, q.Name) })
	}
	if !slices.Contains(names, c.Objective.Name) {
		own.Objective = Objective{}
	}
	return &own
}

// For is the definition as one of its instruments knows it, which takes the place of the only one:
// with its stages, the quantities that they give, and the parameters that they are sent. Where not all
// parameters are sent, constraints, excluded regions and candidates are left out. The instrument of
// "" is the only one.
func (c *Campaign) For(resource string) *Campaign {
	if resource == "" {
		return c
	}
	var gives, sent []string
	all := false
	var set []Parameter
	for i := range c.Procedure {
		s := &c.Procedure[i]
		if s.On != resource {
			continue
		}
		gives, sent, all = append(gives, s.Gives...), append(sent, s.Parameters...), all || s.Parameters == nil
		for _, name := range slices.Sorted(maps.Keys(s.Set)) {
			set = fixed(set, name, s.Set[name])
		}
	}
	own := c.Giving(gives)
	own.Instrument = c.At(resource)
	own.Procedure = slices.DeleteFunc(slices.Clone(c.Procedure), func(s Stage) bool { return s.On != resource })
	if !all {
		own.Parameters = slices.DeleteFunc(slices.Clone(c.Parameters),
			func(p Parameter) bool { return !slices.Contains(sent, p.Name) })
		own.Constraints, own.Excluded, own.Candidates = nil, nil, nil
	}
	own.Parameters = append(slices.Clip(own.Parameters), set...)
	return own
}

// Together is the first stage that one act performs for the whole batch, or nil.
func (c *Campaign) Together() *Stage {
	i := slices.IndexFunc(c.Procedure, func(s Stage) bool { return s.Together })
	if i < 0 {
		return nil
	}
	return &c.Procedure[i]
}

// OneByOne is the fault of a campaign, as one of its instruments knows it, where the instrument
// performs one experiment with each command, and a stage of its is done together. settings is where
// the instrument's stand.
func (c *Campaign) OneByOne(settings Path) []Fault {
	stage := c.Together()
	if stage == nil {
		return nil
	}
	return []Fault{{
		At:      settings,
		Problem: fmt.Sprintf("stage %s is done for the batch together, and this instrument takes one experiment at a time", stage.Name),
		Remedy:  "remove `together` from the stage, or use a program that says `batches`",
	}}
}

// fixed adds a setting to parameters: a value of one that does not vary.
func fixed(among []Parameter, name string, value Value) []Parameter {
	i := slices.IndexFunc(among, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		i, among = len(among), append(among, Parameter{Name: name})
	}
	if x, number := value.Float(); number {
		among[i].Values = append(among[i].Values, x)
	} else {
		among[i].Categories = append(among[i].Categories, CategoryDef{Name: value.Name()})
	}
	return among
}

// Room is how many batches of the campaign a place has room for. That of a place of the lab is known
// to the lab's log alone.
func (c *Campaign) Room(place string) int {
	switch p := c.Place(place); {
	case p == nil:
		return 1
	case p.Lab != "":
		return math.MaxInt
	default:
		return max(1, p.Room)
	}
}

// Place returns the place of a name, nil without one.
func (c *Campaign) Place(name string) *Place {
	i := slices.IndexFunc(c.Places, func(p Place) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Places[i]
}

// LabPlaces are the names of the places of the lab that the campaign's batches occupy, in the order in
// which they may be held.
func (c *Campaign) LabPlaces() (names []string) {
	for _, p := range c.Places {
		if p.Lab != "" {
			names = append(names, p.Lab)
		}
	}
	return names
}

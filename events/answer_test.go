package events_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// scales are those of the forms that have one.
var scales = map[events.Form]*events.Scale{
	events.FormEstimate: events.ScaleOf(definition.Objective{Name: "y", Unit: "mS", Goal: definition.Maximize}, false),
}

// Law: each form has answers of its own, and "can't tell" answers every form; what
// answers none is refused with ErrAnswer.
func TestAnswerCheck(t *testing.T) {
	point := definition.Point{"x": definition.Number(1)}
	answers := map[string]events.Answer{
		"accept": {Label: events.LabelAccept}, "reject": {Label: events.LabelReject}, "refuse": {Label: "refuse"},
		"unsure": {}, "order": {Order: []int{2, 0, 1}}, "best": {Order: []int{2}}, "twice": {Order: []int{2, 2}},
		"outside": {Order: []int{3}}, "below": {Order: []int{-1}}, "point": {Point: point},
		"point and order": {Point: point, Order: []int{0}}, "labeled order": {Label: events.LabelAccept, Order: []int{0}},
		"labeled point": {Label: events.LabelAccept, Point: point},
		"numbers":       {Estimates: []events.Estimate{{Option: 0, Value: 2}, {Option: 1, Value: -1e9}, {Option: 2, Value: 0.5}}},
		"some numbers":  {Estimates: []events.Estimate{{Option: 2, Value: 11.2}}},
		"marks":         {Estimates: []events.Estimate{{Option: 0, Value: 5}, {Option: 1, Value: 1}}},
		"half a mark":   {Estimates: []events.Estimate{{Option: 0, Value: 4.5}}},
		"two for one":   {Estimates: []events.Estimate{{Option: 1, Value: 1}, {Option: 1, Value: 2}}},
		"no order":      {Estimates: []events.Estimate{{Option: 2, Value: 1}, {Option: 0, Value: 2}}},
		"of nothing":    {Estimates: []events.Estimate{{Option: 3, Value: 1}}},
		"before all":    {Estimates: []events.Estimate{{Option: -1, Value: 1}}},
		"not a number":  {Estimates: []events.Estimate{{Option: 0, Value: math.NaN()}}},
		"no end":        {Estimates: []events.Estimate{{Option: 0, Value: math.Inf(-1)}}},
		"too great":     {Estimates: []events.Estimate{{Option: 0, Value: 1e101}}},
		"labeled marks": {Label: events.LabelAccept, Estimates: []events.Estimate{{Option: 0, Value: 5}}},
	}
	right := map[events.Form][]string{
		events.FormLabel:      {"unsure", "accept", "reject"},
		events.FormComparison: {"unsure", "order", "best"},
		events.FormPinpoint:   {"unsure", "point"},
		events.FormEstimate:   {"unsure", "numbers", "some numbers", "marks", "half a mark"},
		events.FormOutcomes:   {"unsure", "order", "best"},
	}
	for _, form := range events.Forms() {
		if right[form] == nil {
			t.Errorf("no answers to a %s are here: add them", form)
		}
		for name, a := range answers {
			err := a.Check(form, 3, scales[form])
			if (err == nil) != slices.Contains(right[form], name) || err != nil && !errors.Is(err, events.ErrAnswer) {
				t.Errorf("%q to a %s: %v", name, form, err)
			}
		}
	}
	marks := events.ScaleOf(definition.Objective{Name: "y", Unit: "mS", Goal: definition.Minimize}, true)
	for name, a := range answers {
		err := a.Check(events.FormEstimate, 3, marks)
		if (err == nil) != (name == "unsure" || name == "marks") || err != nil && !errors.Is(err, events.ErrAnswer) {
			t.Errorf("%q where marks are asked for: %v", name, err)
		}
	}
	if err := answers["marks"].Check(events.FormEstimate, 3, nil); !errors.Is(err, events.ErrAnswer) {
		t.Errorf("numbers on no scale: %v", err)
	}
	if err := answers["accept"].Check("", 1, nil); !errors.Is(err, events.ErrAnswer) {
		t.Errorf("an answer to a question of no form: %v", err)
	}
}

// Law: a label is about one composition, a comparison about two at least, a pinpoint
// about none, an estimate about two to a hundred, outcomes are two, and there are no other forms.
func TestFormCheck(t *testing.T) {
	for form, want := range map[events.Form][]int{
		events.FormLabel: {1}, events.FormComparison: {2, 3, 4, 100, 101}, events.FormPinpoint: {0},
		events.FormEstimate: {2, 3, 4, 100}, events.FormOutcomes: {2}, "": nil, "ranking": nil,
	} {
		for _, options := range []int{0, 1, 2, 3, 4, 100, 101} {
			if err := form.Check(options, scales[form]); (err == nil) != slices.Contains(want, options) {
				t.Errorf("a %q about %d compositions: %v", form, options, err)
			}
		}
	}
}

// Law: an estimate has a scale that says what its numbers mean, and no other form has one.
// Whatever the campaign seeks, 5 is the best mark.
func TestScaleCheck(t *testing.T) {
	least := definition.Objective{Name: "viscosity", Unit: "mPa·s", Goal: definition.Minimize}
	unit, marks := events.ScaleOf(least, false), events.ScaleOf(least, true)
	if want := (events.Scale{Quantity: "viscosity", Unit: "mPa·s", Better: "lower"}); !unit.Equal(&want) {
		t.Errorf("what is to be little is estimated as %+v", *unit)
	}
	if want := (events.Scale{Quantity: "viscosity", Better: "higher", Marks: 5}); !marks.Equal(&want) {
		t.Errorf("marks are given as %+v", *marks)
	}
	for _, form := range events.Forms() {
		options := map[events.Form]int{events.FormLabel: 1, events.FormPinpoint: 0}
		n, known := options[form]
		if !known {
			n = 2
		}
		for _, scale := range []*events.Scale{nil, unit, marks} {
			if err := form.Check(n, scale); (err == nil) != ((scale != nil) == (form == events.FormEstimate)) {
				t.Errorf("a %s with the scale %+v: %v", form, scale, err)
			}
		}
	}
	for name, wrong := range map[string]func(*events.Scale){
		"of nothing": func(s *events.Scale) { s.Quantity = "" }, "no better": func(s *events.Scale) { s.Better = "" },
		"a goal": func(s *events.Scale) { s.Better = "minimize" }, "one mark": func(s *events.Scale) { s.Marks = 1 },
		"less than none": func(s *events.Scale) { s.Marks = -1 }, "mS of marks": func(s *events.Scale) { s.Unit = "mS" },
		"a mark of 1 is best": func(s *events.Scale) { s.Better = "lower" },
	} {
		scale := *marks
		wrong(&scale)
		if err := events.FormEstimate.Check(2, &scale); err == nil {
			t.Errorf("%s: %+v is taken for a scale", name, scale)
		}
	}
}

// Law: an answer is stored as the part that it is, and as nothing where the expert
// cannot tell.
func TestAnswerJSON(t *testing.T) {
	for want, a := range map[string]events.Answer{
		`{}`:                  {},
		`{"label":"accept"}`:  {Label: events.LabelAccept},
		`{"order":[1,0]}`:     {Order: []int{1, 0}},
		`{"point":{"x":0.5}}`: {Point: definition.Point{"x": definition.Number(0.5)}},
		`{"estimates":[{"option":0,"value":0},{"option":2,"value":11.2}]}`: {
			Estimates: []events.Estimate{{}, {Option: 2, Value: 11.2}}},
	} {
		text, err := json.Marshal(a)
		if err != nil || string(text) != want {
			t.Errorf("%v is stored as %s, %v, want %s", a, text, err, want)
		}
		var back events.Answer
		if err := json.Unmarshal(text, &back); err != nil || !back.Equal(a) || back.Unsure() != (want == "{}") {
			t.Errorf("%s was read as %v, %v", text, back, err)
		}
	}
}

// Law: an answer is named in words by the part that it is: the order, the composition, or
// accept or reject; where the expert cannot tell, that is said.
func TestAnswerString(t *testing.T) {
	for _, c := range []struct {
		a    events.Answer
		want string
	}{
		{events.Answer{}, "unsure"},
		{events.Answer{Label: events.LabelAccept}, "accept"},
		{events.Answer{Label: events.LabelReject}, "reject"},
		{events.Answer{Order: []int{2, 0, 1}}, "[2 0 1]"},
		{events.Answer{Order: []int{0}}, "[0]"},
		{events.Answer{Estimates: []events.Estimate{{Option: 0, Value: 11.2}, {Option: 2, Value: -9}}}, "[0=11.2 2=-9]"},
		{events.Answer{Point: definition.Point{"x": definition.Number(0.5), "solvent": definition.Category("EC")}}, "map[solvent:EC x:0.5]"},
	} {
		if got := c.a.String(); got != c.want {
			t.Errorf("%#v is %q, want %q", c.a, got, c.want)
		}
	}
}

// Law: a table takes numbers of its columns alone, along the rows, each at most once, and of what is modelled by its
// logarithm those greater than 0. Its rows take half a judgment for each number.
func TestColumns(t *testing.T) {
	def := definition.Campaign{
		Objective: definition.Objective{Name: "conductivity", Goal: definition.Maximize},
		Quantities: []definition.QuantityDef{{Name: "conductivity", Unit: "mS/cm"},
			{Name: "viscosity", Unit: "mPa·s", Scale: definition.ScaleLog}},
	}
	scale := events.ScaleOfQuantities(&def, []string{"conductivity", "viscosity"})
	if err := events.FormEstimate.Check(2, scale); err != nil || scale.Better != "higher" || scale.Columns[1].Better != "" || !scale.Columns[1].Positive {
		t.Fatalf("%+v: %v", scale, err)
	}
	number := func(option int, quantity string, value float64) events.Estimate {
		return events.Estimate{Option: option, Value: value, Quantity: quantity}
	}
	a, b := number(0, "conductivity", -1), number(0, "viscosity", 2)
	for name, c := range map[string]struct {
		said []events.Estimate
		ok   bool
	}{
		"some": {[]events.Estimate{b, number(1, "conductivity", 3)}, true}, "all": {[]events.Estimate{a, b, number(1, "viscosity", 1)}, true},
		"against the rows": {[]events.Estimate{b, a}, false}, "twice": {[]events.Estimate{a, a}, false},
		"of no column": {[]events.Estimate{number(0, "ph", 7)}, false}, "of none": {[]events.Estimate{number(0, "", 7)}, false},
		"without a logarithm": {[]events.Estimate{number(0, "viscosity", 0)}, false},
		"of a third row":      {[]events.Estimate{number(2, "viscosity", 1)}, false},
	} {
		if err := (events.Answer{Estimates: c.said}).Check(events.FormEstimate, 2, scale); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	for columns, want := range map[int]time.Duration{0: 10, 1: 10, 2: 10, 3: 15} {
		s := events.Scale{Columns: make([]events.Column, columns)}
		if got := s.Time(10, 1); got != want {
			t.Errorf("10 rows of %d columns take %d judgments, want %d", columns, got, want)
		}
	}
}

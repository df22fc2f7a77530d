package console

import (
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// pointField is the field of a parameter, in a form for a composition.
type pointField struct {
	Name, Unit, Description, Typed string
	Min, Max, Step                 string   // of a slider; empty for none
	Choices                        []string // instead of a slider
	Suggested                      string   // the campaign's own choice
}

// pointFields are the fields of a composition that the expert names, filled with the typed text,
// else with the given answer, else with the campaign's own choice. A range has a slider, which
// moves by the parameter's step, or freely where it has none.
func (p *questionPage) pointFields(core *engine.Core, q *campaign.Question) (fields []pointField) {
	def := core.State().Definition
	from := q.Answer.Point
	if from == nil && q.Suggestion != nil {
		from = q.Suggestion.Parameters
	}
	write := format.CompositionsToMake(def)
	for i, par := range def.Parameters {
		f := pointField{Name: par.Name, Unit: par.Unit, Description: par.Description,
			Typed: p.Typed("answer", prefixPoint+par.Name)}
		if q.Suggestion != nil {
			f.Suggested, _ = write.Value(i, q.Suggestion.Parameters)
		}
		if f.Typed == "" && from != nil {
			f.Typed, _ = write.Value(i, from)
		}
		number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
		switch {
		case par.Categories != nil:
			for _, c := range par.Categories {
				f.Choices = append(f.Choices, c.Name)
			}
		case par.Values != nil:
			for _, v := range par.Values {
				f.Choices = append(f.Choices, definition.Number(v).String())
			}
		case par.Min != nil && par.Max != nil:
			f.Min = number(*par.Min)
			f.Max = number(*par.Max)
			f.Step = "any"
			if step := def.Steps()[par.Name]; step > 0 {
				f.Step = number(step)
			}
		}
		fields = append(fields, f)
	}
	return fields
}

// sendFeasible says whether a composition can be measured, as JSON for the sliders.
// It asks the campaign's own space, by which an answer will be judged. It is a
// GET with the fields in the address and records nothing, and needs no more
// than to see the campaign.
func sendFeasible(v *visit) error {
	answer := struct {
		OK   bool   `json:"ok"`
		Text string `json:"text"`
	}{}
	v.of.Read(func(core *engine.Core) {
		def := core.State().Definition
		point, err := pointOf(def, v.r.URL.Query(), prefixPoint)
		if err == nil {
			err = core.Space().Contains(point)
		}
		if err != nil {
			answer.Text = view.Sentence(strings.TrimPrefix(err.Error(), space.ErrOutside.Error()+": "))
			return
		}
		answer.OK = true
		b := newReference(core)
		var near card
		near.near(b, point)
		answer.Text = strings.TrimSpace("It can be measured. " + near.Near)
	})
	return v.answer(answer)
}

package console

import (
	"net/http"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// resultsPage is the page on which results are entered by hand: of experiments
// that a person is to make, and of any that a person made unasked.
type resultsPage struct {
	*shell
	Objective, Unit string
	// To are the experiments to be measured by hand, Shown one of them.
	To      []toMeasure
	Shown   *toMeasure
	Waits   string // why the list is empty
	Ways    []way
	Batch   string // size of the batch, as typed
	CanTell bool
	Ended   bool
	// Awaits is set where an experiment may give everything later.
	Awaits bool
	Own    []pointField // of an experiment that the person chose
	// Measured and OwnMeasured are the fields for further quantities: of the
	// experiment that is shown, and of the person's own.
	Measured, OwnMeasured measuredFields
}

// toMeasure is an experiment that a person is to make and measure, written as a
// recipe.
type toMeasure struct {
	ID, Why   string
	Predicted string
	Rows      []amount
	// Shares is set where the parameters' amounts follow from the size of the batch; Rest is the
	// remainder that their sum leaves to the whole, if any.
	Shares    bool
	Sum       string
	Replicate int
	// Already reports that it was measured, and the result.
	Already string
	// Uses names its parts of the stocks: the vial, the well.
	Uses string
	// Late are quantities of an experiment that has ended, which are still to
	// arrive; empty for one that is to be measured.
	Late []lateField
}

// lateField is a quantity that arrives after its experiment has ended. Value and Why, the reason
// for a missing value, are as they were typed.
type lateField struct{ Name, Unit, Until, Value, Why string }

// amount is a parameter of a composition; Amount is the amount to weigh in for the batch, empty
// where that does not follow.
type amount struct{ Name, Unit, Value, Description, Amount string }

// showResults shows the experiments to be measured by hand, and why a result was refused.
// ?experiment= chooses which one is shown, ?batch= the size of the batch that amounts are for. An
// experiment that has not been sent to its instrument yet can be measured by hand, too. One whose
// fate is unknown is settled on its own page.
func showResults(v *visit) error {
	p := &resultsPage{shell: v.shell("Results of " + v.of.Name())}
	p.in(v.of, pageResults)
	wanted := v.r.URL.Query().Get("experiment")
	p.Batch = v.r.URL.Query().Get("batch")
	if v.refusal != nil {
		wanted, p.Batch = text(v.r, "experiment"), text(v.r, "batch")
	}
	log, err := v.of.Timeline(v.r.Context())
	if err != nil {
		return err
	}
	batch, err := exchange.BatchSize(p.Batch)
	if err != nil {
		batch = 0
	}
	p.CanTell = p.May(Run)
	standing := v.of.Standing()
	v.of.Read(func(core *engine.Core) {
		s := core.State()
		def := s.Definition
		sought := def.Sought()
		p.Objective, p.Unit = sought.Name, sought.Unit
		p.Ended = s.Status.Ended()
		for _, x := range standing.UnderWay {
			if engine.ByHand(s, &x) {
				p.To = append(p.To, measureOf(core, &x, log, batch))
			}
		}
		p.Awaits = def.Awaits()
		for i := range s.Experiments {
			if x := &s.Experiments[i]; s.Awaited(x) != nil {
				t := measureOf(core, x, log, 0)
				t.Late = p.lateOf(s, x)
				p.To = append(p.To, t)
			}
		}
		p.own(s, p.WasTyped("tell") && wanted == "")
		for i := range p.To {
			if p.To[i].ID == wanted || p.Shown == nil {
				p.Shown = &p.To[i]
			}
		}
		if p.Shown != nil {
			typed := p.WasTyped("tell") && wanted == p.Shown.ID
			p.Measured = p.measuredFieldsOf("", s, s.Experiment(p.Shown.ID), typed)
			p.Measured.Remarks = true
		}
	})
	if p.Shown == nil {
		p.Waits, p.Ways = waitsOf(standing)
	}
	return v.write(drawResults(p))
}

// lateOf are the fields for the values that an experiment is still to give, with their input.
func (p *resultsPage) lateOf(s *campaign.State, x *campaign.Experiment) (fields []lateField) {
	var typed map[string]string
	if p.Typed("tell", "experiment") == x.ID {
		typed = make(map[string]string)
		for _, row := range quantityRows(p.form) {
			typed[row.Name] = row.Value
		}
	}
	for _, a := range s.Awaited(x) {
		f := lateField{Name: a.Quantity, Unit: s.Definition.Quantity(a.Quantity).Unit, Value: typed[a.Quantity]}
		if !a.Until.IsZero() {
			f.Until = format.Time(a.Until)
		}
		if typed != nil {
			f.Why = p.Typed("tell", prefixMissing+a.Quantity)
		}
		fields = append(fields, f)
	}
	return fields
}

// own fills in the form of an experiment that the person chose; typed says whether it was refused.
// A campaign that has ended takes no further experiment.
func (p *resultsPage) own(s *campaign.State, typed bool) {
	p.OwnMeasured = p.measuredFieldsOf("own-", s, nil, typed)
	p.OwnMeasured.Own, p.OwnMeasured.Remarks = true, true
	if p.Ended || !s.Definition.Measures() {
		return
	}
	for _, par := range s.Definition.Parameters {
		f := pointField{Name: par.Name, Unit: par.Unit, Description: par.Description,
			Typed: p.Typed("tell", "own."+par.Name)}
		for _, category := range par.Categories {
			f.Choices = append(f.Choices, category.Name)
		}
		p.Own = append(p.Own, f)
	}
}

// measureOf returns an experiment to be measured, with the amounts to weigh in where a batch size
// is given (0: none).
func measureOf(
	core *engine.Core, x *campaign.Experiment, log *view.Timeline, batch float64,
) toMeasure {
	def := core.State().Definition
	t := toMeasure{ID: x.ID, Replicate: x.Replicate, Already: view.Sentence(view.AlreadyText(engine.MeasuredAs(core.At(engine.World{}), x))), Shares: exchange.SharesOfWhole(def) != nil}
	row := exchange.RowToMake(def, x, batch)
	t.Uses = row.Uses
	for k, par := range def.Parameters {
		t.Rows = append(t.Rows, amount{par.Name, par.Unit, row.Values[k], par.Description, row.Amounts[k]})
	}
	if made, ok := log.Decision(x.Decision); ok {
		t.Why, t.Predicted = made.Reason, foreseen(made)
	}
	return t
}

// waitsOf says why a campaign waits, and names the remedies.
func waitsOf(s lab.Standing) (text string, ways []way) {
	for _, remedy := range s.Run.Remedies {
		ways = append(ways, wayOf(remedy, s.Campaign.Campaign))
	}
	return s.WaitingFor, ways
}

// foreseen is the expected outcome of an experiment when it was chosen; empty where nothing was
// expected.
func foreseen(made view.Decided) string {
	switch p := made.Prediction; {
	case made.Outcomes != nil:
		return format.List(view.Expects(made.Outcomes)...)
	case p != nil:
		return format.PlusMinus(p.Mean, p.SD, p.Unit)
	}
	return ""
}

// result reads the form of a result: a value, or why it is missing. Both at once is a fault: one of
// them was left from before, and no one should guess which. An experiment of several quantities may
// have some although it failed. Whether a value is missing, or doubtful, the engine judges.
func result(r *http.Request, of *lab.Campaign) (engine.Request, error) {
	tell := &engine.Tell{Experiment: text(r, "experiment"), Anyway: text(r, "anyway") != ""}
	def := definitionOf(of)
	var requested definition.Point
	adds := false // to an existing result
	if tell.Experiment != "" {
		x, err := experimentOf(of, tell.Experiment)
		if err != nil {
			return engine.Request{}, err
		}
		requested, adds = x.Parameters, !x.Status.Open()
	} else {
		var err error
		if tell.Parameters, err = pointOf(def, r.PostForm, "own."); err != nil {
			return engine.Request{}, problem.New(problem.Invalid, "the composition: %w", err)
		}
		requested = tell.Parameters
	}
	typed, err := resultOf(r, of, requested)
	if err != nil {
		return engine.Request{}, err
	}
	if remark := text(r, fieldRemark); remark != "" {
		tell.Notes = []string{remark}
	}
	why := text(r, "why")
	outcome := text(r, "outcome")
	if outcome == "failed" {
		typed = typed.named(def)
	}
	gave := outcome == "failed" && typed.Quantities != nil
	switch outcome {
	case "", "measured":
		tell.Value = typed.Value
		tell.SD = typed.SD
		tell.Quantities = typed.Quantities
		tell.Missing = typed.Missing
		tell.Further = typed.Further
		tell.Actual = typed.Actual
		if tell.Later = text(r, "later") != ""; !tell.Later && !adds {
			err = whole(r, def, tell.Experiment)
		}
	case "failed", "infeasible", "again":
		switch {
		case typed.any() && !gave:
			return engine.Request{}, problem.New(problem.Invalid,
				"there is no result, and something is typed of one: empty that, or record the value").About(tell.Experiment)
		case why == "":
			return engine.Request{}, problem.New(problem.Invalid,
				"say in a word or two why there is no result").About(tell.Experiment)
		}
		switch outcome {
		case "failed":
			tell.Failed = why
			tell.Quantities = typed.Quantities
			tell.Missing = typed.Missing
			tell.Further = typed.Further
			tell.Actual = typed.Actual
		case "infeasible":
			tell.Infeasible = why
		default:
			tell.Again = why
		}
	default:
		return engine.Request{}, problem.New(problem.Invalid, "%q is not how an experiment ends", outcome)
	}
	return engine.Request{Tell: tell}, err
}

// definitionOf is how a campaign is defined now.
func definitionOf(of *lab.Campaign) (def *definition.Campaign) {
	of.Read(func(core *engine.Core) { def = core.State().Definition })
	return def
}

package console

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/space"
)

// Names of the form's fields of a region; the parameter's name follows.
const (
	prefixMin = "min."
	prefixMax = "max."
	prefixIs  = "is."
)

// sampled is how many compositions are drawn to estimate the region's share of the space. The
// standard error of a share is below 1.2 %: √(p(1−p)/2000) at p = ½. They are drawn from the
// compositions that may be suggested now, so that the share refers to these and not to the box of
// all ranges.
const sampled = 2000

// noReason is recorded for a missing reason: an exclusion says why.
const noReason = "no reason was given"

// regionPage is the page that excludes a part of the space, in two steps: the first shows the
// compositions and experiments that the region concerns, the second excludes it.
type regionPage struct {
	*shell
	Sides    []regionSide
	CanDo    bool
	Reason   string
	Looked   bool
	Region   string        // in words
	Measured []known       // the measured experiments in it
	Hidden   int           // how many more of those are not listed
	All      int           // all measured experiments
	Best     *known        // the best so far, if it lies in the region
	Under    []string      // experiments under way in it
	Share    string        // the region's part of the compositions that may be suggested now
	Fields   []hiddenField // the region that was looked at
	Holding  []exclusionRow
}

// regionSide holds the fields of a parameter in the form of a region.
type regionSide struct {
	Name, Unit, Description string
	Low, High               string // its range
	Choices                 []string
	Min, Max, Is            string // as typed
}

// hiddenField carries data from one step of a form to the next.
type hiddenField struct{ Name, Value string }

// mostListed is how many measured experiments in a region are named; the others
// are counted.
const mostListed = 30

// regionOf reads a region from the fields of each parameter. It fails where
// none is filled in, or a number cannot be read; all such faults are named at
// once. A side that is left empty is not limited. Whether the region makes
// sense, the engine judges.
func regionOf(def *definition.Campaign, form url.Values) (map[string]definition.RegionSide, error) {
	region := make(map[string]definition.RegionSide)
	var faults []string
	end := func(par, what, text string) *float64 {
		x, err := exchange.OptionalNumber(par+", "+what, text)
		if err != nil {
			faults = append(faults, err.Error())
		}
		return x
	}
	for _, par := range def.Parameters {
		var side definition.RegionSide
		if par.Categories != nil {
			side.Is = strings.TrimSpace(form.Get(prefixIs + par.Name))
		} else {
			side.Min = end(par.Name, "from", form.Get(prefixMin+par.Name))
			side.Max = end(par.Name, "to", form.Get(prefixMax+par.Name))
		}
		if side != (definition.RegionSide{}) {
			region[par.Name] = side
		}
	}
	switch {
	case faults != nil:
		return nil, problem.New(problem.Invalid, "%s", strings.Join(faults, "; "))
	case len(region) == 0:
		return nil, problem.New(problem.Invalid, "the region names no parameter").
			With(problem.Remedy{Text: "fill in at least one side: an empty one is not limited"})
	}
	return region, nil
}

// showRegion shows the form, and the effect of a region that was filled in. It works on a core of
// its own, since a sample of the space takes a while. The region is in the address, so that it can
// be sent to a colleague before it is excluded.
func showRegion(v *visit) error {
	form := v.r.URL.Query()
	if v.refusal != nil {
		form = v.r.PostForm
	}
	p := &regionPage{shell: v.shell("Exclude a region of " + v.of.Name()), Reason: form.Get("reason")}
	p.CanDo = p.May(Run)
	core, err := v.of.Load(v.r.Context())
	if err != nil {
		return err
	}
	s := core.State()
	filled := false
	for _, par := range s.Definition.Parameters {
		side := regionSide{Name: par.Name, Unit: par.Unit, Description: par.Description,
			Min: form.Get(prefixMin + par.Name), Max: form.Get(prefixMax + par.Name),
			Is: form.Get(prefixIs + par.Name)}
		filled = filled || side.Min+side.Max+side.Is != ""
		for _, category := range par.Categories {
			side.Choices = append(side.Choices, category.Name)
		}
		switch {
		case par.Min != nil && par.Max != nil:
			side.Low, side.High = plain(*par.Min), plain(*par.Max)
		case len(par.Values) > 0:
			side.Low, side.High = plain(slices.Min(par.Values)), plain(slices.Max(par.Values))
		}
		p.Sides = append(p.Sides, side)
	}
	p.Holding = exclusionRows(s.Definition, view.Exclusions(s))
	if v.refusal == nil && (filled || form.Has("look")) {
		if err = p.look(core, form); err != nil {
			v.refuseAnew(p.shell, err, "region")
		}
	}
	return v.write(drawRegion(p))
}

// look works out the effect of a region. It fails where the campaign would refuse to exclude it: it
// asks the engine, with a reason in place of the one that is yet to be typed, and drops the events.
func (p *regionPage) look(core *engine.Core, form url.Values) error {
	s := core.State()
	def := s.Definition
	where, err := regionOf(def, form)
	if err != nil {
		return err
	}
	request := engine.Request{Actor: p.Visitor.Actor(),
		Exclude: &engine.Exclude{Region: where, Reason: noReason}}
	if _, err := core.Handle(request); err != nil {
		return err
	}
	// A space in which only this region is excluded decides whether a point lies in it, by the same
	// rules that will exclude it.
	alone := *def
	alone.Excluded = []definition.Region{{Where: where}}
	excluding, err := space.New(alone)
	if err != nil {
		return problem.New(problem.NotPossible, "%w", err)
	}
	in := func(point definition.Point) bool {
		_, excluded := excluding.Excluded(point)
		return excluded
	}
	p.lies(core, in)
	// Sampled with a fixed seed: the page shows the same share each time.
	points, err := core.Space().Sample(sampled, 1)
	if err != nil {
		return err
	}
	n := 0
	for _, point := range points {
		if in(point) {
			n++
		}
	}
	p.Share = format.Percent(float64(n) / sampled)
	p.Looked = true
	p.Region = format.CompositionsOf(def).Region(definition.Region{Where: where})
	p.Fields = hiddenFieldsOf(where)
	return nil
}

// lies lists the experiments that lie in a region: measured ones by the composition as made, others
// by the requested one. Of those under way, an exclusion calls off the ones that were only
// requested; those at an instrument go on.
func (p *regionPage) lies(core *engine.Core, in func(definition.Point) bool) {
	s := core.State()
	write := format.CompositionsOf(s.Definition)
	best := core.Counts().BestMeasured
	for i := range s.Experiments {
		x := &s.Experiments[i]
		switch {
		case x.Measurement != nil:
			p.All++
			if !in(x.Measurement.Actual) {
				continue
			}
			value, _ := s.Value(x)
			shown := known{x.ID, format.Result(value), write.LineWithUnits(x.Measurement.Actual)}
			if best != nil && best.Experiment == x.ID {
				p.Best = &shown
			}
			if len(p.Measured) < mostListed {
				p.Measured = append(p.Measured, shown)
			} else {
				p.Hidden++
			}
		case x.Status.Open() && in(x.Parameters):
			p.Under = append(p.Under, x.ID)
		}
	}
}

// hiddenFieldsOf are the fields that say the same region again, in the order of their names, with
// all digits: the excluded region is exactly the one that was looked at.
func hiddenFieldsOf(where map[string]definition.RegionSide) (fields []hiddenField) {
	for _, name := range slices.Sorted(maps.Keys(where)) {
		side := where[name]
		end := func(prefix string, x *float64) {
			if x != nil {
				fields = append(fields, hiddenField{prefix + name, plain(*x)})
			}
		}
		end(prefixMin, side.Min)
		end(prefixMax, side.Max)
		if side.Is != "" {
			fields = append(fields, hiddenField{prefixIs + name, side.Is})
		}
	}
	return fields
}

// plain writes a number as people type it, with all its digits.
func plain(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Count is how many measured experiments lie in the region.
func (p *regionPage) Count() int { return len(p.Measured) + p.Hidden }

// excludeRegion excludes the region that was looked at. The region is read anew from the form and
// judged by the engine: parameters may have been amended since the first step.
func excludeRegion(v *visit) error {
	var where map[string]definition.RegionSide
	var err error
	v.of.Read(func(core *engine.Core) { where, err = regionOf(core.State().Definition, v.r.PostForm) })
	if err == nil {
		reason := text(v.r, "reason")
		if reason == "" {
			reason = noReason
		}
		exclude := &engine.Exclude{Region: where, Reason: reason}
		_, err = v.of.Submit(v.r.Context(), requested(v.r, engine.Request{Exclude: exclude}))
	}
	if err != nil {
		forgetRequest(v.r, err)
		v.refusal, v.action = err, "region"
		return showRegion(v)
	}
	return v.redirect(address(v.of)+"#exclusions", "excluded")
}

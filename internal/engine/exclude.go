package engine

import (
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Exclude is a person's "won't": nothing in a region is suggested any more. One
// of Point, Region and About says which.
type Exclude struct {
	// The neighborhood of Point is within a twentieth of the range of each
	// parameter with bounds, exactly it in the others.
	Point  definition.Point                 `json:"point,omitempty" doc:"A composition whose neighborhood is excluded."`
	Region map[string]definition.RegionSide `json:"region,omitempty" doc:"A box that is excluded, by parameters."`
	// A question in About is about one composition. With Point or Region, About
	// is only a reference.
	About  string `json:"about,omitempty" doc:"An experiment or question whose neighborhood is excluded."`
	Reason string `json:"reason" minLength:"1"`
}

// check returns an error that names the missing part.
func (r *Exclude) check() error {
	switch {
	case strings.TrimSpace(r.Reason) == "":
		return invalid("an exclusion needs a reason").With(giveReason)
	case r.Region != nil && len(r.Region) == 0:
		return invalid("region is empty: give an interval or a category for a parameter")
	}
	return CheckComposition("point", r.Point)
}

// Allow takes an exclusion back.
type Allow struct {
	Exclusion string `json:"exclusion"`
	Reason    string `json:"reason,omitempty"`
}

func (r *Exclude) record(c Now, _ *Request) ([]events.Payload, error) {
	point := r.Point
	x, q := c.Experiment(r.About), c.Question(r.About)
	switch {
	case r.Point != nil && r.Region != nil:
		return nil, notPossible("a composition or a region is excluded, not both at once")
	case r.About != "" && x == nil && q == nil:
		return nil, notFound(r.About, "there is no experiment or question %s", r.About)
	case r.Point != nil || r.Region != nil:
	case x != nil:
		point = x.Parameters
	case q != nil && q.Composition() != nil:
		point = q.Composition()
	case q != nil:
		return nil, notPossible("%s is about several compositions", q.ID).About(q.ID).
			With(problem.Remedy{
				Text: "name the one that is to be excluded", Action: problem.Complete,
				Ways: []string{problem.WayPoint},
			})
	default:
		return nil, notPossible(
			"it says neither a composition nor a region, experiment or question that is to be excluded",
		)
	}
	excluded, err := exclusion(c, point, r.Region, r.About, r.Reason)
	if err != nil {
		return nil, err
	}
	return []events.Payload{excluded}, nil
}

func (r *Allow) record(c Now, _ *Request) ([]events.Payload, error) {
	i := slices.IndexFunc(c.Exclusions, func(n campaign.Exclusion) bool { return n.ID == r.Exclusion })
	switch {
	case i < 0:
		return nil, notFound(r.Exclusion, "there is no exclusion %s", r.Exclusion)
	case c.Exclusions[i].Lifted:
		return nil, conflict(r.Exclusion, "%s was taken back before", r.Exclusion)
	}
	return []events.Payload{&events.RegionAllowed{Exclusion: r.Exclusion, Reason: r.Reason}}, nil
}

// exclusionReach is the reach of the exclusion of one composition in each parameter with
// bounds, as a share of the parameter's range: far enough that the next best composition is
// another one.
const exclusionReach = 0.05

// exclusion is the event by which nothing in a region is suggested any more. A
// nil region is the neighborhood of the composition.
func exclusion(
	c Now, point definition.Point, region map[string]definition.RegionSide, about, reason string,
) (*events.RegionExcluded, error) {
	if region == nil {
		if _, err := c.space.Encode(point); err != nil {
			return nil, notPossible("%w", err)
		}
		region = neighborhood(c.Definition.Parameters, point)
	} else if err := CheckRegion(c.Definition.Parameters, region); err != nil {
		return nil, err
	}
	excluded := definition.Region{Name: reason, Where: region}
	bounded := c.Bounded()
	bounded.Excluded = append(slices.Clone(bounded.Excluded), excluded)
	if _, err := space.New(bounded); err != nil {
		return nil, notPossible(
			"without it nothing would be left to suggest (%w); stop the campaign instead, or exclude less",
			err,
		)
	}
	return &events.RegionExcluded{
		Exclusion: events.ExclusionID(len(c.Exclusions) + 1), Region: excluded, About: about, Reason: reason,
	}, nil
}

// CheckRegion validates a region that a person named.
func CheckRegion(parameters []definition.Parameter, region map[string]definition.RegionSide) error {
	if len(region) == 0 {
		return notPossible("the region names no parameter")
	}
	known := 0
	for _, p := range parameters {
		side, ok := region[p.Name]
		if !ok {
			continue
		}
		known++
		finite := func(x *float64) bool { return x == nil || !math.IsNaN(*x) && !math.IsInf(*x, 0) }
		interval := side.Min != nil || side.Max != nil
		switch {
		case interval == (side.Is != ""):
			return notPossible("%s needs an interval or a category", p.Name)
		case interval && p.Categories != nil:
			return notPossible("%s has categories: name one", p.Name)
		case !interval && p.Categories == nil:
			return notPossible("%s is a number: give an interval", p.Name)
		case !interval && !slices.ContainsFunc(p.Categories,
			func(c definition.CategoryDef) bool { return c.Name == side.Is }):
			return notPossible("%s has no category %q", p.Name, side.Is)
		case !finite(side.Min) || !finite(side.Max) || side.Min != nil && side.Max != nil &&
			*side.Min > *side.Max:
			return notPossible("the interval of %s holds nothing", p.Name)
		}
	}
	if known != len(region) {
		return notPossible("the region names a parameter that the campaign does not have")
	}
	return nil
}

// neighborhood is the box around a composition within exclusionReach.
func neighborhood(
	parameters []definition.Parameter, point definition.Point,
) map[string]definition.RegionSide {
	box := make(map[string]definition.RegionSide)
	for _, p := range parameters {
		value := point[p.Name]
		number, numeric := value.Float()
		if !numeric {
			box[p.Name] = definition.RegionSide{Is: value.Name()}
			continue
		}
		reach := 0.0
		if p.Min != nil && p.Max != nil {
			reach = exclusionReach * (*p.Max - *p.Min)
		}
		lower, upper := number-reach, number+reach
		box[p.Name] = definition.RegionSide{Min: &lower, Max: &upper}
	}
	return box
}

// amendable says why an amended definition cannot be accepted: together with people's
// exclusions it must leave something to suggest.
func amendable(s *campaign.State, def definition.Campaign) error {
	if _, err := space.New(def); err != nil {
		return notPossible("the amended space: %w", err)
	}
	def.Excluded = append(slices.Clone(def.Excluded), s.Excluded()...)
	if _, err := space.New(def); err != nil {
		return notPossible("the amended space, without what people have excluded: %w", err).
			With(problem.Remedy{Text: "take an exclusion back", Action: problem.Allow})
	}
	return nil
}

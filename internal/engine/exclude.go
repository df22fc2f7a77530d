package engine

import (
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/space"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Exclude is a person's wish that nothing in a region is suggested any more. One
// of Point, Region and About says which.
type Exclude struct {
	// Point is a composition whose neighbourhood is excluded: within a twentieth of
	// the range of each parameter with bounds, exactly it in the others.
	Point definition.Point `json:"point,omitempty"`
	// Region is a box.
	Region map[string]definition.RegionSide `json:"region,omitempty"`
	// About is an experiment, or a question about one composition, whose
	// neighbourhood is excluded. Beside Point or Region it is only a reference.
	About  string `json:"about,omitempty"`
	Reason string `json:"reason"`
}

// Allow takes an exclusion back.
type Allow struct {
	Exclusion string `json:"exclusion"`
	Reason    string `json:"reason,omitempty"`
}

func (c *Core) exclude(r *Exclude) ([]events.Payload, error) {
	s := c.State()
	point := r.Point
	x, q := s.Experiment(r.About), s.Question(r.About)
	switch {
	case r.Point != nil && r.Region != nil:
		return nil, refuse("a refusal is of a composition or of a region, not of both")
	case r.About != "" && x == nil && q == nil:
		return nil, refuse("there is no experiment or question %s", r.About)
	case r.Point != nil || r.Region != nil:
	case x != nil:
		point = x.Parameters
	case q != nil && q.Composition() != nil:
		point = q.Composition()
	case q != nil:
		return nil, refuse("%s is about several compositions: name the one that you refuse (--at)", q.ID)
	default:
		return nil, refuse("say what is refused: a composition, a region, an experiment or a question")
	}
	excluded, err := c.exclusion(point, r.Region, r.About, r.Reason)
	if err != nil {
		return nil, err
	}
	return []events.Payload{excluded}, nil
}

func (c *Core) allow(r *Allow) ([]events.Payload, error) {
	s := c.State()
	i := slices.IndexFunc(s.Exclusions, func(n campaign.Exclusion) bool { return n.ID == r.Exclusion })
	switch {
	case i < 0:
		return nil, refuse("there is no refusal %s", r.Exclusion)
	case s.Exclusions[i].Lifted:
		return nil, refuse("%s was taken back before", r.Exclusion)
	}
	return []events.Payload{&events.RegionAllowed{Exclusion: r.Exclusion, Reason: r.Reason}}, nil
}

// exclusionReach is how far an exclusion of one composition reaches in each
// parameter with bounds, as a share of the parameter's range: far enough that the
// next best composition is another one.
const exclusionReach = 0.05

// exclusion is the event by which nothing in a region is suggested any more. A nil
// region is the neighbourhood of the composition.
func (c *Core) exclusion(point definition.Point, region map[string]definition.RegionSide, about, reason string) (*events.RegionExcluded, error) {
	s := c.State()
	if strings.TrimSpace(reason) == "" {
		return nil, refuse("a refusal needs a reason (--reason)")
	}
	if region == nil {
		if _, err := c.space.Encode(point); err != nil {
			return nil, refuse("%w", err)
		}
		region = neighbourhood(s.Definition.Parameters, point)
	} else if err := checkRegion(s.Definition.Parameters, region); err != nil {
		return nil, err
	}
	excluded := definition.Region{Name: reason, Where: region}
	bounded := s.Bounded()
	bounded.Excluded = append(slices.Clone(bounded.Excluded), excluded)
	if _, err := space.New(bounded); err != nil {
		return nil, refuse("without it nothing would be left to suggest (%w); stop the campaign instead, or refuse less", err)
	}
	return &events.RegionExcluded{
		Exclusion: campaign.ExclusionID(len(s.Exclusions)), Region: excluded, About: about, Reason: reason,
	}, nil
}

// checkRegion says what is wrong with a region that a person named.
func checkRegion(parameters []definition.Parameter, region map[string]definition.RegionSide) error {
	if len(region) == 0 {
		return refuse("the region names no parameter")
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
			return refuse("%s needs an interval or a category", p.Name)
		case interval && p.Categories != nil:
			return refuse("%s has categories: name one", p.Name)
		case !interval && p.Categories == nil:
			return refuse("%s is a number: give an interval", p.Name)
		case !interval && !slices.ContainsFunc(p.Categories, func(c definition.CategoryDef) bool { return c.Name == side.Is }):
			return refuse("%s has no category %q", p.Name, side.Is)
		case !finite(side.Min) || !finite(side.Max) || side.Min != nil && side.Max != nil && *side.Min > *side.Max:
			return refuse("the interval of %s holds nothing", p.Name)
		}
	}
	if known != len(region) {
		return refuse("the region names a parameter that the campaign does not have")
	}
	return nil
}

// neighbourhood is the box around a composition within exclusionReach.
func neighbourhood(parameters []definition.Parameter, point definition.Point) map[string]definition.RegionSide {
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

// amendable says why an amended definition cannot be taken: together with what
// people have refused it must leave something to suggest.
func (c *Core) amendable(def definition.Campaign) error {
	if _, err := space.New(def); err != nil {
		return refuse("the amended space: %w", err)
	}
	def.Excluded = append(slices.Clone(def.Excluded), c.State().Excluded()...)
	if _, err := space.New(def); err != nil {
		return refuse("the amended space, without what people have refused: %w; `campaignd allow` takes a refusal back", err)
	}
	return nil
}

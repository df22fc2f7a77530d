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

// Refuse is a person's "won't": nothing in a region is suggested any more. One
// of Point, Region and About says which.
type Refuse struct {
	// Point is a composition whose neighbourhood is refused: within a twentieth of
	// the range of each parameter with bounds, exactly it in the others.
	Point definition.Point `json:"point,omitempty"`
	// Region is a box.
	Region map[string]definition.RegionSide `json:"region,omitempty"`
	// About is an experiment, or a question about one composition, whose
	// neighbourhood is refused. Beside Point or Region it is only a reference.
	About  string `json:"about,omitempty"`
	Reason string `json:"reason"`
}

// Allow takes a refusal back.
type Allow struct {
	Refusal string `json:"refusal"`
	Reason  string `json:"reason,omitempty"`
}

func (c *Core) refuse(r *Refuse) ([]events.Payload, error) {
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
	case q != nil && q.Parameters != nil:
		point = q.Parameters
	case q != nil:
		return nil, refuse("%s is about several compositions: name the one that you refuse (--at)", q.ID)
	default:
		return nil, refuse("say what is refused: a composition, a region, an experiment or a question")
	}
	refused, err := c.refusal(point, r.Region, r.About, r.Reason)
	if err != nil {
		return nil, err
	}
	return []events.Payload{refused}, nil
}

func (c *Core) allow(r *Allow) ([]events.Payload, error) {
	s := c.State()
	i := slices.IndexFunc(s.Refusals, func(n campaign.Refusal) bool { return n.ID == r.Refusal })
	switch {
	case i < 0:
		return nil, refuse("there is no refusal %s", r.Refusal)
	case s.Refusals[i].Lifted:
		return nil, refuse("%s was taken back before", r.Refusal)
	}
	return []events.Payload{&events.RegionAllowed{Refusal: r.Refusal, Reason: r.Reason}}, nil
}

// refusalReach is how far a refusal of one composition reaches in each
// parameter with bounds, as a share of the parameter's range: far enough that the
// next best composition is another one.
const refusalReach = 0.05

// refusal is the event by which nothing in a region is suggested any more. A nil
// region is the neighbourhood of the composition.
func (c *Core) refusal(point definition.Point, region map[string]definition.RegionSide, about, reason string) (*events.RegionRefused, error) {
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
	refused := definition.Region{Name: reason, Where: region}
	bounded := s.Bounded()
	bounded.Excluded = append(slices.Clone(bounded.Excluded), refused)
	if _, err := space.New(bounded); err != nil {
		return nil, refuse("without it nothing would be left to suggest (%w); stop the campaign instead, or refuse less", err)
	}
	return &events.RegionRefused{
		Refusal: campaign.RefusalID(len(s.Refusals)), Region: refused, About: about, Reason: reason,
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

// neighbourhood is the box around a composition within refusalReach.
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
			reach = refusalReach * (*p.Max - *p.Min)
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
	def.Excluded = append(slices.Clone(def.Excluded), c.State().Refused()...)
	if _, err := space.New(def); err != nil {
		return refuse("the amended space, without what people have refused: %w; `campaignd allow` takes a refusal back", err)
	}
	return nil
}

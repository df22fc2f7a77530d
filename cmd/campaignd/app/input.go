package app

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// optionalTarget is the target of a command that takes no other argument.
func (a *app) optionalTarget(args []string) (target, error) {
	if len(args) == 0 {
		return a.target("")
	}
	return a.target(args[0])
}

// requestWith is request for a request that depends on the state of the campaign. build is called
// once, also where the request has to be sent again.
//
// build sees the campaign as it was when the store was opened; the engine judges the request by its
// state then.
func (a *app) requestWith(
	ctx context.Context, t target, build func(*campaign.State) (engine.Request, error),
) error {
	return a.record(ctx, t, func(s *session) (engine.Request, error) {
		core, err := s.core(ctx)
		if err != nil {
			return engine.Request{}, err
		}
		return build(core.State())
	})
}

// number reads a finite number, with a decimal point or comma; what names it in messages.
func number(what, text string) (float64, error) {
	x, err := exchange.Number(what, text)
	if errors.Is(err, format.ErrNotFinite) {
		return 0, badInput("%w; where there is no result, say --failed \"why\"", err)
	}
	return x, err
}

// optionalNumber is number, nil for an empty text. A flag that was not given
// has an empty text.
func optionalNumber(what, text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	x, err := number(what, text)
	if err != nil {
		return nil, err
	}
	return &x, nil
}

// parsePoint reads a composition, "lipf6=1.1,ec=0.3,dmc=1", in the parameters' own units. what
// names the flag in messages. With all it must name every parameter; otherwise the others are left
// out. An empty text gives nil. Bounds are not checked: the composition as really made may lie
// outside them. A parameter that is there twice is refused: no one knows which of the two was
// meant.
func parsePoint(def *definition.Campaign, what, text string, all bool) (definition.Point, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	point := make(definition.Point)
	for _, part := range assignments(text) {
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if !ok {
			return nil, badInput("%s: %q is not NAME=VALUE; write it as in lipf6=1.1,ec=0.3", what, part)
		}
		if _, twice := point[name]; twice {
			return nil, badInput("%s: %s is there twice", what, name)
		}
		v, err := exchange.Value(def, name, value)
		if err != nil {
			return nil, badInput("%s: %w", what, err)
		}
		point[name] = v
	}
	if all {
		for _, par := range def.Parameters {
			if _, ok := point[par.Name]; !ok {
				return nil, badInput("%s: %s is missing; the parameters are %s",
					what, par.Name, exchange.ParameterNames(def))
			}
		}
	}
	return point, nil
}

// assignments splits "lipf6=1,1,ec=0.3" at the commas between NAME=VALUE. A part without = belongs
// to the value before it, so that a decimal comma does not separate.
func assignments(text string) (parts []string) {
	for _, part := range strings.Split(text, ",") {
		if n := len(parts); n > 0 && !strings.Contains(part, "=") && strings.Contains(parts[n-1], "=") {
			parts[n-1] += "," + part
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

// quantityValue is a number, in group 1, with its unit behind it in group 2.
var quantityValue = regexp.MustCompile(`^([+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?)\s*(.*)$`)

// parseQuantities reads quantities, one a text: "viscosity=3.1mPas". The unit is kept as it was
// typed; flag is the name for them in messages.
func parseQuantities(flag string, texts []string) ([]definition.Quantity, error) {
	var quantities []definition.Quantity
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, badInput("%s: %q is not NAME=VALUE; write it as in viscosity=3.1mPas", flag, text)
		}
		parts := quantityValue.FindStringSubmatch(strings.TrimSpace(value))
		if parts == nil {
			return nil, badInput("%s: %s: %q is not a number; where it is not a number, say it with `campaignd note`",
				flag, name, strings.TrimSpace(value))
		}
		// A second comma or point, as in "1,234,5" and "3.1.2": no reading of such a text would be
		// safe, and no unit begins with either.
		if parts[2] != "" && strings.Contains(",.", parts[2][:1]) {
			return nil, badInput("%s: %s: %q is not a number; write it with a decimal point",
				flag, name, strings.TrimSpace(value))
		}
		x, err := number(flag+": "+name, parts[1])
		if err != nil {
			return nil, err
		}
		quantities = append(quantities, definition.Quantity{Name: name, Value: x, Unit: parts[2]})
	}
	return quantities, nil
}

// known refuses the identifier of an experiment, question or decision that does
// not exist. That is a slip of the person (exit code 2), and not a state of the
// campaign that might change (exit code 1). Lists and ranges of experiments,
// "e1-e4,e7", are checked as a whole.
//
// It is called before the request is sent; the engine looks again, with words of
// its own.
func known(s *campaign.State, id string) error {
	switch {
	case strings.HasPrefix(id, "e") && strings.ContainsAny(id, "-,"):
		if _, err := events.ParseExperimentList(id, len(s.Experiments)); err != nil {
			return badInput("%w; %s", err, upTo('e', len(s.Experiments)))
		}
	case strings.HasPrefix(id, "e") && s.Experiment(id) == nil:
		return badInput("there is no experiment %s; %s", id, upTo('e', len(s.Experiments)))
	case strings.HasPrefix(id, "q") && s.Question(id) == nil:
		return badInput("there is no question %s; %s", id, upTo('q', len(s.Questions)))
	case strings.HasPrefix(id, "d") && !s.HasDecision(id):
		return badInput("there is no decision %s; %s", id, upTo('d', s.Decisions))
	case id == "" || !strings.ContainsAny(id[:1], "eqd"):
		return badInput("%q is neither an experiment (e7), a question (q3) nor a decision (d12)", id)
	}
	return nil
}

// knownSubject is [known] for commands that also take acts and batches.
func knownSubject(s *campaign.State, id string) error {
	switch {
	case len(s.Batches) == 0:
		return known(s, id)
	case s.Act(id) != nil || s.Batch(id) != nil:
		return nil
	case strings.HasPrefix(id, "a"):
		return badInput("act %s does not exist; %s", id, upTo('a', len(s.Acts)))
	case strings.HasPrefix(id, "b"):
		return badInput("batch %s does not exist; %s", id, upTo('b', len(s.Batches)))
	}
	return known(s, id)
}

// upTo names the known identifiers, as the end of a message. Identifiers are numbered without gaps,
// so that the last one is enough.
func upTo(letter byte, n int) string {
	switch n {
	case 0:
		return "there are none yet"
	case 1:
		return "there is only " + string(letter) + "1"
	}
	return "they go from " + string(letter) + "1 to " + string(letter) + strconv.Itoa(n)
}

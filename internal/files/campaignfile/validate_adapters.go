package campaignfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/belief"
)

// steps checks the steps of each instrument: of parameters between bounds, and finer
// than these.
//
// A step that is wider than the range leaves one value, which is most likely a
// step in another unit than the parameter's: the remedy says so.
func (v *validator) steps() {
	doses := make(map[string]string) // the instrument by the parameter
	for _, resource := range v.def.Resources() {
		in, here := v.def.For(resource).Instrument, definition.PathOf(resource).To("steps")
		if len(in.Steps) > 0 && len(v.def.Candidates) > 0 {
			v.report(here, "candidates are measured as they are listed, not in steps", "remove steps")
			continue
		}
		for _, name := range sortedKeys(in.Steps) {
			v.step(here.To(name), name, in.Steps[name])
			if other, twice := doses[name]; twice {
				v.report(here.To(name), fmt.Sprintf("%s has steps of %s, too", other, name),
					"keep those of one of them: a composition has one step for each parameter")
			}
			doses[name] = resource
		}
	}
}

// step checks the resolution of a parameter.
func (v *validator) step(here path, name string, step float64) {
	switch p := parameterOf(&v.def, name); {
	case p == nil:
		v.report(here, fmt.Sprintf("there is no parameter %q", name),
			yamltree.Suggest(name, namesOf(&v.def, continuous)))
	case !continuous(*p):
		v.report(here, fmt.Sprintf("%q has its own list of values", name),
			"steps are for parameters with min and max")
	case !(step > 0) || !finite(&step):
		v.report(here, fmt.Sprintf("a step of %s is not possible", format.Setting(step)),
			"it must be more than 0")
	case p.Min != nil && p.Max != nil && step > *p.Max-*p.Min && *p.Max > *p.Min:
		v.report(here,
			fmt.Sprintf("the step %s is wider than the range of %q, %s to %s",
				format.SettingIn(step, p.Unit), name, format.Setting(*p.Min),
				format.SettingIn(*p.Max, p.Unit)),
			"it is in the parameter's unit")
	}
}

// instrument checks the only instrument.
func (v *validator) instrument() { v.instrumentOf("") }

// instrumentOf checks that a driver is named, and has its owner check the settings. Facts that only
// the device knows, such as its limits, are compared when it has described itself.
//
// Each case ends the check: without a known driver its settings cannot be checked.
func (v *validator) instrumentOf(resource string) {
	own, here := v.def.For(resource), definition.PathOf(resource)
	in := &own.Instrument
	drivers := strings.Join(v.reg.DriverNames(), ", ")
	if in.Driver.IsZero() {
		problem, advice := "it does not say what measures",
			"choose one of "+drivers+"; or a policy that learns from comparisons alone, such as mr-lpf"
		if resource != "" {
			problem, advice = "it does not say what it is", "choose one of "+drivers+", or lab: and a name"
		}
		v.report(here, problem, advice)
		return
	}
	driver, known := v.reg.Driver(in.Driver.Name)
	if !known {
		v.report(here.To(in.Driver.Name), fmt.Sprintf("there is no instrument %q", in.Driver.Name),
			yamltree.Suggest(in.Driver.Name, v.reg.DriverNames()))
		return
	}
	if in.ByHand != driver.ByHand {
		v.report(here.To("by_hand"), "it follows from the instrument", "remove it")
	}
	if in.GiveUpAfter > 0 && in.StallAfter > in.GiveUpAfter {
		v.report(here.To("give_up_after"), "it is shorter than stall_after",
			"a campaign first says that the instrument is silent, and gives up later")
	}
	before := len(v.faults)
	v.choice(here, in.Driver, own, driver.Settings())
	if resource == "" {
		return
	}
	// One of several sees a part of the campaign: its places are not those of the file.
	for i := range v.faults[before:] {
		if f := &v.faults[before+i]; !f.Path.Within(here) {
			f.Path = here.To(in.Driver.Name)
		}
	}
}

// choice has the owner of a choice check its settings, in the campaign as the owner sees it. here is
// the object that holds the choice. Only the driver, channel or rule knows the meaning of settings; this package adds
// their place in the file.
func (v *validator) choice(
	here path, c definition.Choice, def *definition.Campaign, settings definition.Settings,
) {
	v.settings(here, c, def, settings, settings.Check)
}

// settings reads the settings of a choice and has them checked.
func (v *validator) settings(
	here path, c definition.Choice, def *definition.Campaign, settings definition.Settings,
	check func(*definition.Campaign, definition.Path) []definition.Fault,
) {
	here = here.To(c.Name)
	if err := c.Decode(settings); err != nil {
		v.report(here, err.Error(), "")
		return
	}
	v.faults = append(v.faults, faultsOf(check(def, here))...)
}

// faultsOf returns the faults that a choice's owner found as those of the file,
// with a suggestion for an unknown name.
func faultsOf(found []definition.Fault) []yamltree.Fault {
	faults := make([]yamltree.Fault, len(found))
	for i, f := range found {
		remedy := f.Remedy
		if f.Known != nil {
			remedy = yamltree.Suggest(f.Unknown, f.Known)
		}
		faults[i] = fault(f.At, f.Problem, remedy)
	}
	return faults
}

// time checks the budget of an expert's time: it has to suffice for the initial questions.
//
// A comparison is of two compositions, and each of them takes AnswerTakes. A simulated expert's
// labels are examples and take none.
func (v *validator) time(here path, e definition.Expert) {
	switch {
	case e.Time == 0 && e.AnswerTakes > 0:
		v.report(here.To("answer_takes"),
			fmt.Sprintf("nothing limits how much of %s's time is asked for", e.Name),
			"add time, or remove answer_takes")
		return
	case e.Time == 0:
		return
	}
	compositions := 0
	in := v.def.Initial
	if in.Estimates != nil {
		compositions += *in.Estimates
		if columns := len(e.Quantities); columns > 1 { // see events.Scale.Time
			compositions += (*in.Estimates*columns+1)/2 - *in.Estimates
		}
	}
	if in.Labels != nil && e.Asked() {
		compositions += *in.Labels
	}
	if in.Comparisons != nil && (e.Asked() || !v.def.Measures()) {
		compositions += 2 * *in.Comparisons
	}
	if first := definition.Duration(compositions) * e.AnswerTakes; first > e.Time {
		v.report(here.To("time"), fmt.Sprintf("%s is less than the %s that %s is asked for at first: %s, %s each",
			e.Time, first, e.Name, format.Count(compositions, "composition"), e.AnswerTakes),
			"raise it, or lower what initial asks for")
	}
}

// experts checks names, channels, anchors and stated beliefs.
//
// Checks that do not depend on the channel come first, so that a mistyped channel hides no
// other fault.
func (v *validator) experts() {
	for i, e := range v.def.Experts {
		here := at("experts", i)
		if slices.ContainsFunc(v.def.Experts[:i],
			func(f definition.Expert) bool { return f.Name == e.Name }) {
			v.report(here.To("name"), fmt.Sprintf("another expert is called %q too", e.Name),
				"give each expert a name of their own")
		}
		v.anchors(here, e)
		v.statedBelief(here, e)
		v.time(here, e)
		v.estimated(here, e)
		if e.Channel.IsZero() {
			v.report(here, fmt.Sprintf("it does not say how %s is asked", e.Name),
				"add terminal: {} for a person, web: {} for one in a browser, process: [PROGRAM] for a program, or simulated: {}")
			continue
		}
		channel, known := v.reg.Channel(e.Channel.Name)
		if !known {
			v.report(here.To(e.Channel.Name),
				fmt.Sprintf("there is no way to ask called %q", e.Channel.Name),
				yamltree.Suggest(e.Channel.Name, v.reg.ChannelNames()))
			continue
		}
		if e.Person != channel.Person {
			v.report(here.To("person"), "it follows from how they are asked", "remove it")
		}
		if e.Program != channel.Program {
			v.report(here.To("program"), "it follows from how they are asked", "remove it")
		}
		v.choice(here, e.Channel, &v.def, channel.Settings())
	}
}

// anchors checks the compositions at which an expert trusts their own judgment:
// a rule must read them, and the space must contain them. Anchors may lie
// outside constraints: they say where a judgment is good, and are not measured.
func (v *validator) anchors(here path, e definition.Expert) {
	if len(e.Anchors) > 0 && !modelsUtility(v.def) {
		v.report(here.To("anchors"), "no rule of this policy reads anchors",
			"choose policy: raeubo, rahbo, anpei or another that models a utility, or remove anchors")
	}
	for i, p := range e.Anchors {
		if v.points == nil {
			return
		}
		if _, err := v.points.Encode(p); err != nil {
			v.report(here.To("anchors", i), reason(err), "correct or remove the anchor")
		}
	}
}

// statedBelief checks the normal distribution that an expert states: a mean in
// the space, and a standard deviation for each number.
//
// Each number needs a standard deviation of its own: no default width suits a person's
// certainty. Categories have none, since the mean names one.
func (v *validator) statedBelief(here path, e definition.Expert) {
	if e.Belief == nil {
		return
	}
	here = here.To("belief")
	if !belief.Reads(v.def.Policy.Trust, belief.FeedbackGaussian) {
		v.report(here, "no rule of this policy reads a stated belief",
			"write feedback: gaussian under policy.trust, or remove the belief")
	}
	if v.points != nil {
		if _, err := v.points.Encode(e.Belief.Mean); err != nil {
			v.report(here.To("mean"), reason(err), "correct it")
		}
	}
	for _, name := range sortedKeys(e.Belief.SD) {
		sd, p := e.Belief.SD[name], parameterOf(&v.def, name)
		switch {
		case p == nil:
			v.report(here.To("sd", name), fmt.Sprintf("there is no parameter %q", name),
				yamltree.Suggest(name, namesOf(&v.def, numeric)))
		case !numeric(*p):
			v.report(here.To("sd", name), fmt.Sprintf("%q is categorical", name), "remove it")
		case !(sd > 0) || !finite(&sd):
			v.report(here.To("sd", name), "a standard deviation is a positive number", "correct it")
		}
	}
	for _, p := range v.def.Parameters {
		if _, ok := e.Belief.SD[p.Name]; numeric(p) && !ok {
			v.report(here.To("sd"), fmt.Sprintf("it says nothing of %q", p.Name),
				"give the standard deviation of each numeric parameter")
		}
	}
}

package campaignfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// pump are the settings of a driver that the embedded schema knows nothing of.
type pump struct {
	Port  string              `json:"port" jsonschema:"required"`
	Mode  string              `json:"mode,omitempty" jsonschema:"enum=slow,enum=fast"`
	Rate  float64             `json:"rate,omitempty" jsonschema:"exclusiveMinimum=0"`
	Purge definition.Duration `json:"purge,omitempty"`
}

func (*pump) Short() string                 { return "port" }
func (*pump) Complete(*definition.Campaign) {}

func (p *pump) Check(_ *definition.Campaign, here definition.Path) []definition.Fault {
	if p.Mode == "fast" && p.Rate == 0 {
		return []definition.Fault{{At: here.To("rate"), Problem: "a fast pump has a rate", Remedy: "add it"}}
	}
	return nil
}

func (p *pump) Words(*definition.Campaign) string { return "the pump at " + p.Port }

func withPump() registry.Registry {
	reg := builtin.Registry()
	reg.Instruments = append(reg.Instruments, instruments.Driver{
		Name:     "pump",
		Settings: func() definition.Settings { return new(pump) },
	})
	return reg
}

// Law: the settings of a driver that campaignd does not bring along are held to their tags
// and to their owner's checks like those that it does: every fault at its place, with what
// to do.
func TestRowsOfOthers(t *testing.T) {
	for _, c := range []struct{ instrument, want string }{
		{"{pump: {prot: a}}",
			`f.yaml:5:21: instrument.pump.prot: unknown key "prot"` + "\n" + `= did you mean "port"?`},
		{"{pump: {mode: slow}}", `f.yaml:5:20: instrument.pump: "port" is missing`},
		{"{pump: {port: 3}}",
			`f.yaml:5:27: instrument.pump.port: it must be text, and this is a number` + "\n" + `= a name that looks like a number goes in quotes: "3"`},
		{"{pump: {port: a, mode: fats}}",
			`f.yaml:5:36: instrument.pump.mode: "fats" is not possible here` + "\n" + `= did you mean "fast"?`},
		{"{pump: {port: a, rate: 0}}", "f.yaml:5:36: instrument.pump.rate: 0 is too small\n= it must be more than 0"},
		{"{pump: {port: a, purge: 3}}", "f.yaml:5:37: instrument.pump.purge: 3 is not a time\n= " + durationAdvice},
		{"{pump: {port: a, mode: fast}}", "f.yaml:5:20: instrument.pump.rate: a fast pump has a rate\n= add it"},
		{"{pump: [a]}", "f.yaml:5:20: instrument.pump: it must be a mapping (key: value), and this is a list"},
		{"{pump: a, manual: }",
			"f.yaml:5:13: instrument: it names more than one instrument\n= keep one of manual, pump"},
		{"{pmup: a}", `f.yaml:5:14: instrument.pmup: unknown key "pmup"` + "\n" + `= did you mean "pump"?`},
	} {
		text := "name: n\nparameters: [{name: a, min: 0, max: 1}]\nobjective: {name: y, goal: maximize}\nbudget: {experiments: 5}\ninstrument: " + c.instrument + "\n"
		_, err := Parse(withPump(), "f.yaml", []byte(text))
		var faulty *yamltree.Error
		if !errors.As(err, &faulty) || len(faulty.Faults) != 1 {
			t.Errorf("%s: %v, want one fault", c.instrument, err)
			continue
		}
		for part := range strings.SplitSeq(c.want, "\n") {
			if !strings.Contains(err.Error(), part+"\n") {
				t.Errorf("%s:\n%v\nwant %s", c.instrument, err, part)
			}
		}
	}
}

// Law: a mapping that must name something and names nothing is refused, with what to write.
func TestEmptyMappings(t *testing.T) {
	rest := "objective: {name: y, goal: maximize}\nbudget: {experiments: 5}\ninstrument: manual\nparameters: [{name: a, min: 0, max: 1}]\n"
	for _, c := range []struct{ section, want string }{
		{"constraints: [{terms: {}, at_most: 1}]", "constraints[0].terms: the constraint has no terms\n"},
		{"excluded: [{where: {}}]", "excluded[0].where: the region has no sides and would exclude everything\n"},
		{"experts: [{name: ada, terminal: , belief: {mean: {a: 0.5}, sd: {}}}]",
			`experts[0].belief.sd: it says nothing of "a"` + "\n"},
	} {
		_, err := Parse(builtin.Registry(), "f.yaml", []byte("name: n\n"+rest+c.section+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant %s", c.section, err, c.want)
		}
	}
}

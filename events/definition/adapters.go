package definition

import (
	"fmt"
	"time"
)

// Instrument names what measures, and how it is driven. Its JSON has the driver
// as one key among the others: {"process": {…}, "stall_after": "10m"}.
type Instrument struct {
	// Driver is the kind of instrument with its settings, which the driver's
	// package owns.
	Driver Choice `json:"-"`

	// Steps is the resolution the instrument can dose in, by parameter, in the
	// parameter's unit: suggestions are multiples of it.
	Steps map[string]float64 `json:"steps,omitempty"`
	// StallAfter is how long the instrument may be silent before the campaign
	// says so. Default "10m"; by hand: no limit.
	StallAfter Duration `json:"stall_after,omitempty"`
	// GiveUpAfter is how long a silent experiment is waited for before its fate
	// counts as unknown. Default "24h"; by hand: no limit.
	GiveUpAfter Duration `json:"give_up_after,omitempty"`
	// Draws says how much each command uses up, by stock. Of an amount below 0 nothing.
	Draws map[string]Draw `json:"draws,omitempty"`
	// ByHand says that a person carries the experiments out. It follows from
	// the driver.
	ByHand bool `json:"by_hand,omitempty"`
}

// instrumentFields are the fields of an Instrument other than its driver.
type instrumentFields Instrument

// MarshalJSON writes the driver's key and then the others.
func (i Instrument) MarshalJSON() ([]byte, error) {
	return marshalBeside(i.Driver, instrumentFields(i))
}

// UnmarshalJSON reads an object in which one key names the driver.
func (i *Instrument) UnmarshalJSON(data []byte) error {
	var fields instrumentFields
	if err := unmarshalBeside(data, &fields.Driver, &fields); err != nil {
		return fmt.Errorf("instrument: %w", err)
	}
	*i = Instrument(fields)
	return nil
}

// Silence is how long the instrument may be silent before the campaign says so,
// and before the fate of its command counts as unknown; 0 for no limit.
func (i Instrument) Silence() (stall, giveUp time.Duration) {
	return time.Duration(i.StallAfter), time.Duration(i.GiveUpAfter)
}

// IsZero reports whether no instrument is described.
func (i Instrument) IsZero() bool {
	return i.Driver.IsZero() && len(i.Steps) == 0 && len(i.Draws) == 0 && i.StallAfter == 0 && i.GiveUpAfter == 0 &&
		!i.ByHand
}

// Expert is a person, or a simulated one, who answers questions. Its JSON has
// the channel as one key among the others: {"name": "ada", "terminal": {}}.
type Expert struct {
	// Name of the expert, for example "ada".
	Name string `json:"name" jsonschema:"required,pattern=^[A-Za-z0-9][A-Za-z0-9._-]*$,maxLength=64"`

	// Channel is how the expert is asked, with settings that the channel's
	// package owns.
	Channel Choice `json:"-"`

	// Anchors are compositions at which the expert trusts their own judgment
	// (Sinaga et al. 2026, §4).
	Anchors []Point `json:"anchors,omitempty"`
	// Belief is where the expert expects the best composition, for feedback:
	// gaussian.
	Belief *StatedBelief `json:"belief,omitempty"`

	// Quantities are the declared quantities that the expert estimates for compositions: a table
	// with a column for each, in which a number is data about its quantity alone. Not for marks.
	// Absent: the expert estimates the objective.
	Quantities []string `json:"quantities,omitempty" jsonschema:"minItems=1,maxItems=4"`

	// AnswerWithin is how long a question waits before the campaign goes on without it. Default
	// "2m" for people. No limit by default where people answer when they come by (web), where
	// nothing is measured, and where experiments are run by hand, one suggestion at a time; where
	// several compositions are estimated at once the default is for each. Simulated experts answer
	// at once.
	AnswerWithin Duration `json:"answer_within,omitempty"`
	// Meanwhile is how many experiments the campaign may choose by itself while
	// a question to the expert is open: what it would measure if they were not
	// there. The answer counts whenever it comes. Default: 3 for people who are
	// not at a terminal, otherwise the campaign waits for the answer, or for
	// the end of AnswerWithin.
	Meanwhile *int `json:"meanwhile,omitempty" jsonschema:"minimum=0,maximum=100000"`
	// Time is how much of the expert's time the campaign may ask for, for
	// example "30m": once it is spent they are asked no more. It is not
	// measured, since a question may wait while its expert sleeps on it, but
	// counted: of each question they were asked and have answered, can't tell
	// included, or are being asked, the compositions to judge, AnswerTakes
	// each; of a table with several columns half of that for each number. Absent: no
	// limit.
	Time Duration `json:"time,omitempty"`
	// AnswerTakes is how long judging one composition takes. Default "20s"
	// where there is a Time.
	AnswerTakes Duration `json:"answer_takes,omitempty"`
	// Person says that a person answers, not a simulation. It follows from the
	// channel.
	Person bool `json:"person,omitempty"`
	// Program says that a program of the user's answers, neither a person nor a
	// simulation of campaignd's own. It follows from the channel.
	Program bool `json:"program,omitempty"`
}

// Asked reports whether the expert is asked from outside, a person or a program:
// they may be late, absent or wrong, and their answers are not known beforehand.
func (e *Expert) Asked() bool { return e.Person || e.Program }

// Expert is the expert of a name; nil for none.
func (c *Campaign) Expert(name string) *Expert {
	for i := range c.Experts {
		if c.Experts[i].Name == name {
			return &c.Experts[i]
		}
	}
	return nil
}

// expertFields are the fields of an Expert other than the channel.
type expertFields Expert

// MarshalJSON writes the channel's key and then the others.
func (e Expert) MarshalJSON() ([]byte, error) {
	return marshalBeside(e.Channel, expertFields(e))
}

// UnmarshalJSON reads an object in which one key names the channel.
func (e *Expert) UnmarshalJSON(data []byte) error {
	var fields expertFields
	if err := unmarshalBeside(data, &fields.Channel, &fields); err != nil {
		return fmt.Errorf("expert: %w", err)
	}
	*e = Expert(fields)
	return nil
}

// DefaultAnswerTakes is how long judging one composition takes, where it counts
// against an expert's time.
const DefaultAnswerTakes = Duration(20 * time.Second)

// DefaultMeanwhile is how many experiments a campaign chooses by itself while
// an expert is asked who answers when they come by.
const DefaultMeanwhile = 3

// DefaultInitialWait is how long a campaign that measures waits for what people
// are asked at first: a weekend lies within it.
const DefaultInitialWait = Duration(72 * time.Hour)

// DefaultAnswerWithin is how long a campaign that goes on by itself waits for a
// person who is given no other time, unless their channel is unhurried (the
// reviewers' contract says which). Package campaignfile writes it into the
// definition, and engine.Core.Expiry makes a time of it; of a campaign that is
// run by hand, a definition that holds this very value has no deadline.
const DefaultAnswerWithin = Duration(2 * time.Minute)

// StatedBelief is a normal distribution over the numeric parameters (Xu et al.
// 2024, App. H). In categorical parameters it says nothing.
type StatedBelief struct {
	// Mean is the composition that is expected to be best.
	Mean Point `json:"mean" jsonschema:"required"`
	// SD is the standard deviation of each parameter, in its unit.
	SD map[string]float64 `json:"sd" jsonschema:"required"`
}

package humans_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/humantest"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// cautiousSettings are what a campaign file says of a cautious expert:
//
//	experts: [{name: ada, cautious: {most: 200}}]
type cautiousSettings struct {
	// Most is the highest temperature that the expert accepts, in °C. Default 200.
	Most float64 `json:"most,omitempty"`
}

func (s *cautiousSettings) Complete(*definition.Campaign) { definition.Default(&s.Most, 200) }

func (*cautiousSettings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

func (s *cautiousSettings) Words(*definition.Campaign) string {
	return fmt.Sprintf("rejects what is hotter than %g °C", s.Most)
}

// cautious answers questions to one expert by a rule.
type cautious struct {
	expert string
	most   float64
}

func (c cautious) Describe() humans.Description {
	return humans.Description{Expert: c.expert, Simulated: true}
}

func (c cautious) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	if err := ctx.Err(); err != nil {
		return humans.Reply{}, err
	}
	if q.Expert != c.expert {
		return humans.Reply{}, fmt.Errorf("question %s is to %s, not to %s", q.ID, q.Expert, c.expert)
	}
	if q.Form != events.FormLabel {
		return humans.Reply{}, nil // can't tell
	}
	temperature, _ := q.Options[0].Parameters["temperature"].Float()
	label := events.LabelAccept
	if temperature > c.most {
		label = events.LabelReject
	}
	return humans.Reply{Answer: events.Answer{Label: label}}, nil
}

func openCautious(
	_ context.Context, expert definition.Expert, _ definition.Campaign, _ humans.Environment,
) (humans.Reviewer, error) {
	settings, err := definition.SettingsOf[cautiousSettings](expert.Channel)
	if err != nil {
		return nil, err
	}
	return cautious{expert: expert.Name, most: settings.Most}, nil
}

// A channel is a row of the program's table: settings that it owns, and what opens the reviewer
// of an expert. humantest puts the reviewer to its obligations.
func ExampleChannel() {
	channel := humans.Channel{
		Name:     "cautious",
		Settings: func() definition.Settings { return new(cautiousSettings) },
		Open:     openCautious,
	}

	ctx := context.Background()
	ada := definition.Expert{Name: "ada", Channel: definition.NewChoice(channel.Name, cautiousSettings{Most: 210})}
	reviewer, err := channel.Open(ctx, ada, definition.Campaign{}, humans.Environment{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var questions []humans.Question
	for _, temperature := range []float64{200, 220} {
		q := humans.Question{
			ID:       fmt.Sprintf("bread/q%d", len(questions)+1),
			Campaign: "bread",
			Expert:   "ada",
			Form:     events.FormLabel,
			Options:  []events.Option{{Parameters: definition.Point{"temperature": definition.Number(temperature)}}},
		}
		reply, err := reviewer.Ask(ctx, q)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(q.ID, reply.Answer.Label)
		questions = append(questions, q)
	}

	results, err := humantest.Examine(ctx, humantest.Env{
		Open:      func() humans.Reviewer { return reviewer },
		Questions: questions,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	broken := 0
	for _, r := range results {
		if r.Err != nil && !errors.Is(r.Err, humantest.ErrSkipped) {
			fmt.Println(r.Check.Law, r.Err)
			broken++
		}
	}
	fmt.Println("obligations broken:", broken)
	// Output:
	// bread/q1 accept
	// bread/q2 reject
	// obligations broken: 0
}

package engine

import (
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// What commands use up is drawn from the campaign's stocks with the dispatch, in one event, as IDs
// are: a crash costs a tip and never hands one out twice. It stays used up, whatever became of the
// command: a robot that was killed in the middle does not know which tips it had taken. A person who
// has looked says what there is (Count).

// Drawn are the parts of stocks that the command of an experiment uses up; a [Shortage] names the one
// that does not suffice. Those of stocks of the lab were taken before, or are left out.
func Drawn(s *campaign.State, x *campaign.Experiment, of LabStocks) (drawn []events.Drawn, short *Shortage) {
	// The experiment may be of a reader whose state has none: messages fold the stocks alone.
	needs, err := computed.Draws(s.Definition, s.Definition.Draws(), x.Parameters)
	if err != nil {
		return nil, &Shortage{Experiment: x.ID, Why: err.Error()}
	}
	return parts(s, needs, x.ID, x.ID, of)
}

// draws are the draws of a command for some experiments: so much of each stock for each of them.
func draws(
	s *campaign.State, uses map[string]definition.Draw, experiments []string,
) (draws []computed.Draw, short *Shortage) {
	for _, id := range experiments {
		own, err := computed.Draws(s.Definition, uses, s.Experiment(id).Parameters)
		if err != nil {
			return nil, &Shortage{Experiment: events.ExperimentList(experiments), Why: err.Error()}
		}
		draws = computed.Sum(draws, own)
	}
	return draws, nil
}

// drawn are the parts of stocks that the command of an experiment or an act uses up, for some
// experiments.
func drawn(
	s *campaign.State, uses map[string]definition.Draw, subject string, experiments []string, of LabStocks,
) (drawn []events.Drawn, short *Shortage) {
	needs, short := draws(s, uses, experiments)
	if short != nil {
		return nil, short
	}
	return parts(s, needs, subject, events.ExperimentList(experiments), of)
}

// parts are those that satisfy draws, for a command whose shortage is of who.
func parts(
	s *campaign.State, needs []computed.Draw, subject, who string, of LabStocks,
) (drawn []events.Drawn, short *Shortage) {
	for _, d := range needs {
		if lab := s.Definition.Stocks[d.Stock].Lab; lab != "" {
			part, short := of.part(subject, who, d, lab)
			if short != nil {
				return nil, short
			}
			if part != nil {
				drawn = append(drawn, *part)
			}
			continue
		}
		stock := s.Stock(d.Stock)
		if why := Lacks(stock, d); why != "" {
			return nil, &Shortage{Experiment: who, Stock: d.Stock, Why: why}
		}
		one := events.Drawn{Stock: d.Stock, Amount: d.Amount, Unit: d.Unit}
		if d.Labels > 0 {
			one.Labels = stock.Labels[:d.Labels:d.Labels]
		}
		drawn = append(drawn, one)
	}
	return drawn, nil
}

// Lacks says why a stock does not suffice for a draw, or "".
func Lacks(stock *campaign.Stock, d computed.Draw) string {
	switch {
	case d.Unit == "" && d.Labels > len(stock.Labels):
		return fmt.Sprintf("it needs %d of %s, and %s", d.Labels, d.Stock, LeftOf(stock))
	case d.Unit != "" && d.Amount > stock.Amount:
		return fmt.Sprintf("it needs %s of %s, and %s", format.SettingIn(d.Amount, d.Unit), d.Stock, LeftOf(stock))
	}
	return ""
}

// LeftOf puts the rest of a stock into words.
func LeftOf(s *campaign.Stock) string {
	switch {
	case s.Left() == 0:
		return "none is left"
	case s.Unit != "":
		return format.SettingIn(s.Amount, s.Unit) + " are left"
	case len(s.Labels) == 1:
		return "1 is left"
	}
	return fmt.Sprintf("%d are left", len(s.Labels))
}

// Shortage is that a stock does not suffice for an experiment.
type Shortage struct {
	Experiment string
	// Stock is empty where it cannot be worked out how much the experiment uses up. Lab is its name in
	// the lab, where it is one of the lab.
	Stock, Lab string
	// Fault is set where nothing can be taken from the lab's stocks for now. It is tried again.
	Fault bool
	// Why gives its need and the rest.
	Why string
}

// String says which experiment cannot be begun, and why.
func (s *Shortage) String() string { return s.Experiment + " cannot be begun: " + s.Why }

// Remedy is a person's way out of it.
func (s *Shortage) Remedy() problem.Remedy {
	if s.Stock == "" {
		return problem.Remedy{Text: "correct instrument.draws", Action: problem.Amend}
	}
	if s.Lab != "" {
		return problem.Remedy{Text: "refill it, and count it", Action: problem.CountLab, Subject: s.Lab}
	}
	return problem.Remedy{Text: "refill it, and count it", Action: problem.Count, Subject: s.Stock}
}

// Short is why the next experiment waits that is to be dispatched; nil where the stocks suffice.
// Others behind it wait, too: they need the same stocks. An Eager campaign is without people who
// would refill them, and uses up only what there is.
func Short(c Now) *Shortage {
	x := firstWith(c.State, campaign.Requested)
	if x == nil || c.Definition.Draws() == nil || c.Eager || heldBack(c.State, x) {
		return nil
	}
	_, short := Drawn(c.State, x, c.LabStocks)
	return short
}

// nextStock waits for a person where a stock does not suffice: the experiment is only requested, so
// that it uses up no number and no budget while it waits.
func nextStock(c Now) (Step, error) {
	if c.Status.Ended() || c.Count(underway...) > 0 {
		return nil, nil
	}
	short := Short(c)
	if short == nil {
		return nil, nil
	}
	if short.Fault {
		return Wait{For: "the lab's stocks: " + short.String(), Until: Deadline(c)}, nil
	}
	return Wait{
		For:      "a person: " + short.String(),
		Remedies: []problem.Remedy{short.Remedy()},
		Until:    Deadline(c),
	}, nil
}

// Count is a person's word on what there is of a stock.
type Count struct {
	Stock string `json:"stock" doc:"Its name in the campaign file."`
	// Labels and Amount are texts as in the campaign file; exactly one of them is set.
	Labels string `json:"labels,omitempty" doc:"The labels that are there, as in the campaign file: A1-H12. \"none\" for none." maxLength:"100000"`
	Amount string `json:"amount,omitempty" doc:"How much is there, with the unit of the stock: 1800 mL." maxLength:"100"`
	Lot    string `json:"lot,omitempty" doc:"What stands on the package." maxLength:"200"`
	Reason string `json:"reason,omitempty" maxLength:"10000"`
}

// none is the word for an empty stock of labels.
const none = "none"

func (n *Count) check() error { return n.Check() }

// Check returns an error where it does not say how much there is.
func (n *Count) Check() error {
	if (n.Labels == "") == (n.Amount == "") {
		return invalid("a count gives the labels that are there, or the amount").
			With(problem.Remedy{
				Text: "name the labels, as in A1-H12, or an amount with its unit, as in 1800 mL",
			})
	}
	return nil
}

// record takes the place of what was known of the stock. It is taken in every state: a stock is
// counted at the bench, whether or not the campaign runs.
func (n *Count) record(c Now, _ *Request) ([]events.Payload, error) {
	stock := c.Stock(n.Stock)
	if lab := c.Definition.Stocks[n.Stock].Lab; lab != "" {
		return nil, notPossible("%s is the stock %s of the lab, which campaigns share", n.Stock, lab).
			With(problem.Remedy{Text: "count it there", Action: problem.CountLab, Subject: lab})
	}
	if stock == nil {
		return nil, notFound(n.Stock, "stock %q is not declared: %s", n.Stock, stocksOf(c.State))
	}
	counted, err := n.Of(stock)
	if err != nil {
		return nil, err
	}
	return []events.Payload{counted}, nil
}

// Of returns the event that it makes for a stock.
func (n *Count) Of(stock *campaign.Stock) (*events.StockCounted, error) {
	counted := &events.StockCounted{Stock: n.Stock, Lot: strings.TrimSpace(n.Lot), Reason: n.Reason}
	switch {
	case stock.Unit == "" && n.Labels == "":
		return nil, notPossible(
			"%s is a stock of labels: name those that are there, as in A1-H12, or none", n.Stock)
	case stock.Unit != "" && n.Amount == "":
		return nil, notPossible("%s is an amount: say how much is there, in %s", n.Stock, stock.Unit)
	case stock.Unit != "":
		amount, unit, err := definition.ParseAmount(n.Amount)
		switch {
		case err != nil:
			return nil, notPossible("%w", err)
		case unit != stock.Unit:
			return nil, notPossible("%s is in %s, not in %q", n.Stock, stock.Unit, unit)
		case amount > math.MaxFloat32:
			return nil, notPossible("%s of %s cannot be meant", n.Amount, n.Stock)
		}
		counted.Amount = &amount
	case strings.TrimSpace(n.Labels) != none:
		labels, err := definition.ParseLabels(n.Labels)
		if err != nil {
			return nil, notPossible("%w", err)
		}
		counted.Labels = labels
	}
	return counted, nil
}

// stocksOf lists the stocks of a campaign, for a message.
func stocksOf(s *campaign.State) string {
	if len(s.Stocks) == 0 {
		return "the campaign file declares no stocks"
	}
	names := make([]string, len(s.Stocks))
	for i := range s.Stocks {
		names[i] = s.Stocks[i].Name
	}
	return "the campaign's are " + strings.Join(names, ", ")
}

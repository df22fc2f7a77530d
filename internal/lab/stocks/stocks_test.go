package stocks_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var declared = stocks.Declared{
	Stocks: map[string]definition.Stock{"rack": {Labels: "A1-H1"}, "solvent": {Amount: "10 mL"}},
	Places: []definition.Place{{Name: "press"}, {Name: "oven", Room: 2}},
}

// process is a process of a lab whose log others append to, too. It is not told of that, so that it
// is refused, and looks again.
func process(t *testing.T, log *memory) *stocks.Stocks {
	own := must.Get(lablog.Open("postgres://db/lab/.campaignd", lablog.Options{
		Open: func(string) (events.Store, error) { return log, nil },
	}))(t)
	return stocks.New(own, func() (stocks.Declared, error) { return declared, nil })
}

func tips(n int) []computed.Draw { return []computed.Draw{{Stock: "rack", Labels: n}} }

var ada = engine.Request{Actor: "person:ada"}

// Law: a label is handed out once, whichever processes take it and in whichever order, until a person
// counts: a command that takes again what it has taken gets the same, and what does not suffice is not
// taken in part. The shelf is a fold of its log, which holds no fault.
func TestNoLabelTwice(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		log := newMemory()
		both := []*stocks.Stocks{process(t, log), process(t, log)}
		there := must.Get(definition.ParseLabels(declared.Stocks["rack"].Labels))(t)
		amount, rivals := 10.0, 0
		had := make(map[string]string) // by the command, as text
		for range 40 {
			s := both[rng.IntN(2)]
			if rng.IntN(12) == 0 {
				both[rng.IntN(2)] = process(t, log) // started again
				continue
			}
			if rng.IntN(8) == 0 {
				must.Do(t, s.Count(engine.Count{Stock: "rack", Labels: "A1-E1"}, ada))
				there = []string{"A1", "B1", "C1", "D1", "E1"}
				continue
			}
			name := []string{"a", "b"}[rng.IntN(2)]
			command := fmt.Sprintf("%s/e%d", name, 1+rng.IntN(9))
			parts := append(tips(1+rng.IntN(3)), computed.Draw{Stock: "solvent", Amount: 0.5, Unit: "mL"})
			if other := process(t, log).Store("x.campaign").Campaign("c"); rng.IntN(3) == 0 {
				log.rival = func() {
					rivals++
					if taken := must.Get(other.Take("e1", fmt.Sprint("c/e", rivals), tips(1)))(t); taken != nil {
						there = there[1:]
					}
				}
			}
			taken, err := s.Store("x.campaign").Campaign(name).Take("e1", command, parts)
			if log.rival = nil; err != nil {
				t.Fatal(err)
			}
			n := parts[0].Labels
			key := fmt.Sprint(command, " ", n)
			switch want := had[key]; {
			case want != "":
				if fmt.Sprint(taken) != want {
					t.Fatalf("seed %d: %s takes %v again, and had %s", seed, command, taken, want)
				}
			case len(there) < n || amount < 0.5:
				if taken != nil {
					t.Fatalf("seed %d: %v was taken of %v", seed, taken, there)
				}
			default:
				if taken == nil || !slices.Equal(taken[0].Labels, there[:n]) {
					t.Fatalf("seed %d: %v was taken, and %v are next", seed, taken, there)
				}
				there, amount = there[n:], amount-0.5
				for other := range had { // it needs another number now
					if strings.HasPrefix(other, command+" ") {
						delete(had, other)
					}
				}
				had[key] = fmt.Sprint(taken)
			}
		}
		left, _, err := both[0].Store("").Campaign("").Left([]string{"rack", "solvent", "none"})
		if err != nil || len(left) > 2 {
			t.Fatal(left, err)
		}
		both[0].Hear() // the other may have been the last
		left, _, _ = both[0].Store("").Campaign("").Left([]string{"rack", "solvent"})
		if !slices.Equal(left["rack"].Labels, there) || left["solvent"].Amount != amount {
			t.Errorf("seed %d: %v and %v are left, not %v and %v", seed, left["rack"].Labels, left["solvent"].Amount, there, amount)
		}
		shelf := stocks.NewShelf()
		for e := range must.Each(t, log.ReadCampaign(t.Context(), events.StocksStream, 0)) {
			if fault, err := shelf.Apply(e); fault != "" || err != nil {
				t.Errorf("seed %d: %s, %v", seed, fault, err)
			}
		}
	}
}

// Law: the same command in another store is another command: a copy of a store has a robot of its own.
func TestCopiedStore(t *testing.T) {
	s := process(t, newMemory())
	one := must.Get(s.Store("a.campaign").Campaign("a").Take("e1", "a/X/e1", tips(1)))(t)
	two := must.Get(s.Store("copy.campaign").Campaign("a").Take("e1", "a/X/e1", tips(1)))(t)
	if one[0].Labels[0] == two[0].Labels[0] {
		t.Errorf("both were given %v", one)
	}
}

// Law: a take whose fate is not known, since the log answered with an error though it was stored, is
// found again by the same command.
func TestUncertainTake(t *testing.T) {
	log := newMemory()
	s := process(t, log)
	must.Do(t, s.Count(engine.Count{Stock: "rack", Labels: "A1, B1"}, ada))
	log.uncertain = true
	c := s.Store("a.campaign").Campaign("a")
	if taken, err := c.Take("e1", "a/X/e1", tips(1)); err == nil || taken != nil {
		t.Fatalf("it took %v", taken)
	}
	log.uncertain = false
	taken := must.Get(c.Take("e1", "a/X/e1", tips(1)))(t)
	if left := must.Get(s.List())(t)[0].Labels; taken[0].Labels[0] != "A1" || !slices.Equal(left, []string{"B1"}) {
		t.Errorf("it took %v, and %v are left", taken, left)
	}
}

// memory is the log of a lab in memory. While uncertain is set it stores what it is given, and answers
// that it may not have.
type memory struct {
	events.Store // nil: nothing else is asked of it
	log          *memlog.Log
	uncertain    bool
	rival        func() // comes between the look and the append, once
}

func newMemory() *memory { return &memory{log: memlog.New()} }

func (m *memory) Append(
	ctx context.Context, stream string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if rival := m.rival; rival != nil {
		m.rival = nil
		rival()
	}
	stored, err := m.log.Append(ctx, stream, expected, batch...)
	if m.uncertain {
		return nil, events.ErrUncertain
	}
	return stored, err
}

func (m *memory) ReadCampaign(ctx context.Context, stream string, after events.Sequence) iter.Seq2[events.Event, error] {
	return events.ReadCampaign(ctx, m.log, stream, after)
}

func (m *memory) Last() events.Position { return m.log.Last() }
func (m *memory) Err() error            { return nil }
func (m *memory) Probe() error          { return nil }

// Law: a count is a person's word; it is in the unit of lab.yaml; a repeat of the request that made it
// changes nothing, so that labels that were taken since do not come back.
func TestCount(t *testing.T) {
	s := process(t, newMemory())
	c := s.Store("a.campaign").Campaign("a")
	twice := ada.Identified("one")
	for range 2 {
		must.Do(t, s.Count(engine.Count{Stock: "rack", Labels: "A1-C1"}, twice))
		must.Get(c.Take("e1", "a/e1", tips(2)))(t)
	}
	if left := must.Get(s.List())(t)[0]; !slices.Equal(left.Labels, []string{"C1"}) || left.CountedBy != "person:ada" {
		t.Errorf("left is %+v", left)
	}
	other := ada
	other.ID, other.Digest = "one", "another"
	for text, c := range map[string]struct {
		n  engine.Count
		by engine.Request
	}{
		`the lab has no stock "tubes"`: {engine.Count{Stock: "tubes", Labels: "A1"}, ada},
		"is an amount":                 {engine.Count{Stock: "solvent", Labels: "A1"}, ada},
		"is in mL, not in":             {engine.Count{Stock: "solvent", Amount: "3 L"}, ada},
		"came with another request":    {engine.Count{Stock: "rack", Labels: "A1"}, other},
		"gives the labels":             {engine.Count{Stock: "rack"}, ada},
		"must be person:NAME":          {engine.Count{Stock: "rack", Labels: "A1"}, engine.Request{Actor: "engine"}},
	} {
		if err := s.Count(c.n, c.by); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := s.Count(engine.Count{Stock: "tubes", Labels: "A1"}, ada); len(problem.RemediesOf(err)) == 0 || !errors.Is(err, problem.NotFound) {
		t.Errorf("%v has no remedy", err)
	}
}

// Law: what no honest log has is named.
func TestFaultsOfTheLog(t *testing.T) {
	shelf := stocks.NewShelf()
	for i, c := range []struct {
		actor   string
		kind    events.Kind
		payload events.Payload
		fault   string
	}{
		{"engine", events.KindStockCounted, counted("A1", "B1", "C1"), ""},
		{"engine", events.KindStockTaken, taken("a/e1", "rack", "A1"), ""},
		{"engine", events.KindStockTaken, taken("a/e2", "rack", "A1"), "a/e2 takes [A1] of rack, which are not its next ones"},
		{"engine", events.KindStockTaken, taken("a/e3", "rack", "C1"), "a/e3 takes [C1] of rack, which are not its next ones"},
		{"engine", events.KindStockTaken, taken("a/e4", "tubes", "C1"), `a/e4 takes tubes in "", which the lab does not have`},
		{"engine", events.KindStockCounted, counted("A1"), "lab.yaml counts rack again, which was counted before"},
		{"person:ada", events.KindStockCounted, counted("A1"), ""},
		{"engine", events.KindStockTaken, taken("a/e5", "rack", "A1"), ""},
	} {
		e := must.Get(events.Lab.New(events.StocksStream, c.kind, c.payload))(t)
		e.Actor, e.Sequence = c.actor, events.Sequence(i+1)
		if fault, err := shelf.Apply(e); err != nil || fault != c.fault {
			t.Errorf("event %d: %q, %v", i, fault, err)
		}
	}
}

func counted(labels ...string) *events.LabStockCounted {
	return &events.LabStockCounted{StockCounted: events.StockCounted{Stock: "rack", Labels: labels}}
}

func taken(command, stock, label string) *events.StockTaken {
	return &events.StockTaken{Campaign: "a", Command: command, Taken: []events.Drawn{{Stock: stock, Labels: []string{label}}}}
}

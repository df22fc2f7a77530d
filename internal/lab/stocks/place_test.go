package stocks_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: no more batches are in a place of the lab than it has room for, whichever processes take and free
// it, in whichever order and between one another's look and append. A batch has its place until it is
// freed, also where its process was started again; the log holds no fault.
func TestPlaceIsNeverTooFull(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		log := newMemory()
		both := []*stocks.Stocks{process(t, log), process(t, log)}
		room := map[string]int{"press": 1, "oven": 2}
		in := map[string][]string{} // by place: the campaigns whose b1 is there
		for range 60 {
			i := rng.IntN(2)
			if rng.IntN(12) == 0 {
				both[i] = process(t, log) // started again
			}
			place := []string{"press", "oven"}[rng.IntN(2)]
			name := []string{"a", "b", "c", "d"}[rng.IntN(4)]
			c := both[i].Store("x.campaign").Campaign(name)
			rival := ""
			if rng.IntN(3) == 0 {
				log.rival = func() {
					rival = fmt.Sprint("r", rng.Uint32())
					must.Do(t, process(t, log).Store("x.campaign").Campaign(rival).Occupy(place, "", "b1"))
				}
			}
			there := slices.Contains(in[place], name)
			if rng.IntN(2) == 0 {
				must.Do(t, c.Occupy(place, "", "b1"))
				if rival != "" && len(in[place]) < room[place] {
					in[place] = append(in[place], rival)
				}
				if !there && len(in[place]) < room[place] {
					in[place] = append(in[place], name)
				}
			} else {
				must.Do(t, c.Vacate(place, "", "b1"))
				// A rival comes while the place is as it was, before it is freed.
				if rival != "" && len(in[place]) < room[place] {
					in[place] = append(in[place], rival)
				}
				in[place] = slices.DeleteFunc(in[place], func(n string) bool { return n == name })
			}
			log.rival = nil
			both[0].Hear()
			for _, p := range must.Get(both[0].Places())(t) {
				var names []string
				for _, o := range p.In {
					names = append(names, o.Campaign)
				}
				if !slices.Equal(names, in[p.Name]) || len(names) > room[p.Name] {
					t.Fatalf("seed %d: in %s are %v, not %v", seed, p.Name, names, in[p.Name])
				}
			}
		}
		shelf := stocks.NewShelf()
		for e := range must.Each(t, log.ReadCampaign(t.Context(), events.StocksStream, 0)) {
			if fault, err := shelf.Apply(e); fault != "" || err != nil {
				t.Errorf("seed %d: %s, %v", seed, fault, err)
			}
		}
	}
}

// Law: batches of the same name in another store, of another campaign or of one that was begun again are
// others: each has a place of its own, and frees its own alone.
func TestOccupants(t *testing.T) {
	s := process(t, newMemory())
	first := s.Store("a.campaign").Campaign("a")
	must.Do(t, first.Occupy("oven", "K3JD", "b1"))
	must.Do(t, first.Vacate("oven", "ZZZZ", "b1"))
	must.Do(t, s.Store("copy.campaign").Campaign("a").Vacate("oven", "K3JD", "b1"))
	must.Do(t, first.Vacate("press", "K3JD", "b1"))
	places := must.Get(first.Places([]string{"oven", "cellar"}, "K3JD"))(t)
	if len(places) != 1 || !slices.Equal(places["oven"].Batches, []string{"b1"}) || places["oven"].Room != 2 {
		t.Errorf("it is %+v", places)
	}
	again := must.Get(first.Places([]string{"oven"}, "ZZZZ"))(t)
	if !slices.Equal(again["oven"].Others, []string{"b1 of a"}) || again["oven"].Batches != nil {
		t.Errorf("for the campaign that was begun again it is %+v", again)
	}
}

// Law: a person frees the place of a campaign that goes on no more, once, and by name; nobody else's
// batch leaves with it.
func TestFreedByAPerson(t *testing.T) {
	s := process(t, newMemory())
	must.Do(t, s.Store("a.campaign").Campaign("a").Occupy("oven", "", "b1"))
	must.Do(t, s.Store("a.campaign").Campaign("b").Occupy("oven", "", "b1"))
	gone := stocks.Free{Place: "oven", Campaign: "a", Batch: "b1", Reason: "taken out"}
	for range 2 {
		must.Do(t, s.Free(gone, ada.Identified("one")))
	}
	if p := must.Get(s.Places())(t)[1]; p.Words() == "" || len(p.In) != 1 || p.In[0].Campaign != "b" {
		t.Errorf("in it is %+v", p)
	}
	if err := s.Free(gone, ada); !errors.Is(err, problem.NotFound) {
		t.Errorf("freed again: %v", err)
	}
	gone.Campaign = "b"
	by := ada
	if by.Actor = "engine"; s.Free(gone, by) == nil {
		t.Error("the engine spoke as a person")
	}
}

// Law: what no honest log has is named.
func TestFaultsOfPlaces(t *testing.T) {
	shelf := stocks.NewShelf()
	one, two := events.Occupant{Campaign: "a", Batch: "b1"}, events.Occupant{Campaign: "b", Batch: "b1"}
	for i, c := range []struct {
		kind    events.Kind
		payload events.Payload
		fault   string
	}{
		{events.KindPlaceTaken, &events.PlaceTaken{Occupant: one, Place: "press", Room: 1}, ""},
		{events.KindPlaceTaken, &events.PlaceTaken{Occupant: one, Place: "press", Room: 2}, "b1 of a is in press already"},
		{events.KindPlaceTaken, &events.PlaceTaken{Occupant: two, Place: "press", Room: 1}, "b1 of b takes press, which is full"},
		{events.KindPlaceFreed, &events.PlaceFreed{Occupant: two, Place: "oven"}, "b1 of b leaves oven, and is not in it"},
		{events.KindPlaceFreed, &events.PlaceFreed{Occupant: one, Place: "press"}, ""},
		{events.KindPlaceFreed, &events.PlaceFreed{Occupant: one, Place: "press"}, "b1 of a leaves press, and is not in it"},
	} {
		e := must.Get(events.Lab.New(events.StocksStream, c.kind, c.payload))(t)
		e.Actor, e.Sequence = "engine", events.Sequence(i+1)
		if fault, err := shelf.Apply(e); err != nil || fault != c.fault {
			t.Errorf("event %d: %q, %v", i, fault, err)
		}
	}
}

// Law: the loop of a campaign, which asks at each turn, does not have lab.yaml read each time; a file with
// a fault is read again at once.
func TestLabFileIsNotReadEachTime(t *testing.T) {
	read, fault := 0, errors.New("line 3")
	own := must.Get(lablog.Open("postgres://db/lab/.campaignd", lablog.Options{
		Open: func(string) (events.Store, error) { return newMemory(), nil },
	}))(t)
	c := stocks.New(own, func() (stocks.Declared, error) { read++; return declared, fault }).Store("a.campaign").Campaign("a")
	for range 2 {
		if _, err := c.Places([]string{"oven"}, ""); !errors.Is(err, fault) {
			t.Errorf("with a fault: %v", err)
		}
	}
	fault = nil
	for range 100 {
		if places := must.Get(c.Places([]string{"oven"}, ""))(t); places["oven"].Room != 2 {
			t.Fatalf("it is %+v", places)
		}
	}
	if read > 10 { // 3, and one for each further second
		t.Errorf("it was read %d times", read)
	}
}

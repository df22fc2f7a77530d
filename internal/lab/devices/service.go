package devices

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Service has the last word on each of the lab's instruments, by their names: a pure fold of
// [events.ServiceStream].
type Service map[string]engine.Service

// Apply implements [lablog.Fold].
func (s Service) Apply(e events.Event) (fault string, err error) {
	payload, err := events.Lab.Decode(e)
	if err != nil {
		return "", err
	}
	p, ok := payload.(*events.ResourceServiced)
	if !ok {
		return fmt.Sprintf("%s is not about the service of an instrument", e.Kind), nil
	}
	before := s[p.Resource]
	s[p.Resource] = engine.Service{ResourceServiced: *p, At: e.Time, By: e.Actor}
	switch renewed := !p.CalibratedUntil.Equal(before.CalibratedUntil); {
	case engine.CheckActor(e.Actor) != nil:
		return fmt.Sprintf("%q says whether %s is in service, and is not a person", e.Actor, p.Resource), nil
	case renewed && p.Out:
		return p.Resource + " is out of service, and its calibration another one", nil
	case renewed && !p.CalibratedUntil.IsZero() && !e.Time.Before(p.CalibratedUntil):
		return fmt.Sprintf("%s is said to be calibrated until a time that was over", p.Resource), nil
	}
	return "", nil
}

// Services are the words of people on the lab's instruments, as this process knows them. Its methods may be
// called by several goroutines.
type Services struct{ *lablog.Stream[Service] }

// NewServices returns those in a lab's log.
func NewServices(own *lablog.Log) *Services {
	return &Services{lablog.NewStream(own, events.ServiceStream, func() Service { return make(Service) })}
}

// Of returns the service of instruments, by other names for them, and a channel that is closed once that
// may have changed. Where the log cannot be read they are withheld: one of them may be open.
func (s *Services) Of(names map[string]string, fresh bool) (all map[string]engine.Service, changed <-chan struct{}) {
	changed = s.Changed()
	all = make(map[string]engine.Service, len(names))
	err := s.Read(fresh, func(said Service) error {
		for name, of := range names {
			all[name] = said[of]
		}
		return nil
	})
	if err != nil {
		for name, of := range names {
			all[name] = engine.Service{ResourceServiced: events.ResourceServiced{Resource: of}, Unread: err.Error()}
		}
		again := make(chan struct{})
		time.AfterFunc(retryAfter, func() { close(again) })
		changed = again
	}
	return all, changed
}

// List returns the service of the lab's instruments, in the order of their names: those of lab.yaml, and
// others that people have spoken of.
func (s *Services) List(names []string) (all []engine.Service, err error) {
	err = s.Read(false, func(said Service) error {
		all = said.List(names)
		return nil
	})
	return all, err
}

// List is [Services.List].
func (s Service) List(names []string) (all []engine.Service) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(names, slices.Collect(maps.Keys(s)))))) {
		one := s[name]
		one.Resource = name
		all = append(all, one)
	}
	return all
}

// Say records a person's word on an instrument. names are those of lab.yaml. A request that was recorded
// before changes nothing.
func (s *Services) Say(word engine.Serviced, names []string, by engine.Request) error {
	if err := engine.CheckActor(by.Actor); err != nil {
		return err
	}
	return s.Change(func(said Service) ([]events.Event, error) {
		before, known := said[word.Resource]
		if !known && !slices.Contains(names, word.Resource) {
			remedy := "declare it in lab.yaml under instruments, and name it in campaign files: instrument: {lab: NAME}"
			if len(names) > 0 {
				remedy = "choose from those of lab.yaml: " + strings.Join(names, ", ")
			}
			return nil, problem.New(problem.NotFound, "the lab has no instrument %q", word.Resource).
				With(problem.Remedy{Text: remedy})
		}
		now := clock.Now()
		payload, err := word.Of(before, now)
		if err != nil {
			return nil, err
		}
		e, err := events.Lab.New(events.ServiceStream, events.KindResourceServiced, payload)
		e.Actor, e.Account, e.Time = by.Actor, by.Account, engine.Stamp(now)
		e.Request, e.RequestDigest = by.ID, by.Digest
		return []events.Event{e}, err
	})
}

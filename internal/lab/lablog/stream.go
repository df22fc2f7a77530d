package lablog

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Fold is the state of a stream of the lab's log, folded from its events.
type Fold interface {
	// Apply folds an event. fault names what no honest log has, for an audit.
	Apply(e events.Event) (fault string, err error)
}

// Stream is a stream of the lab's log with its fold, as this process knows it. Its methods may be
// called by several goroutines.
type Stream[F Fold] struct {
	own   *Log
	name  string
	begin func() F

	mu    sync.Mutex
	log   events.Store // from which fold was folded; nil before that
	fold  F
	last  events.Sequence      // of the newest event in fold
	asked map[[2]string]string // digests of requests, by actor and identifier
	stale bool                 // another process has appended something

	wait    sync.Mutex
	changed chan struct{} // closed and replaced at each event
}

// NewStream returns a stream of a lab's log. begin returns the fold before the first event.
func NewStream[F Fold](own *Log, name string, begin func() F) *Stream[F] {
	return &Stream[F]{own: own, name: name, begin: begin, changed: make(chan struct{})}
}

// Changed returns a channel that is closed once the stream may have changed.
func (s *Stream[F]) Changed() <-chan struct{} {
	s.wait.Lock()
	defer s.wait.Unlock()
	return s.changed
}

// Hear reports that another process has appended to the stream.
func (s *Stream[F]) Hear() {
	s.mu.Lock()
	s.stale = true
	s.mu.Unlock()
	s.tell()
}

// tell wakes those who wait.
func (s *Stream[F]) tell() {
	s.wait.Lock()
	defer s.wait.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// streamWithin is the time limit of the log for an answer.
const streamWithin = 10 * time.Second

// Read calls do with the fold, after the events that this process knows of; with fresh set, after those
// that other processes have just appended, too.
func (s *Stream[F]) Read(fresh bool, do func(F) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), streamWithin)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = s.stale || fresh && s.own.Shared()
	if err := s.read(ctx); err != nil {
		return err
	}
	return do(s.fold)
}

// read folds the new events of the stream, where there may be some. The caller holds mu.
func (s *Stream[F]) read(ctx context.Context) error {
	log, err := s.own.Store()
	if err != nil || log == s.log && !s.stale {
		return err
	}
	if log != s.log {
		s.fold, s.last, s.asked = s.begin(), 0, make(map[[2]string]string)
	}
	for e, err := range log.ReadCampaign(ctx, s.name, s.last) {
		if err == nil {
			_, err = s.fold.Apply(e) // the audit names the fault
		}
		if err != nil {
			s.log = nil
			return Fault(err)
		}
		s.last = e.Sequence
		if e.Request != "" {
			s.asked[[2]string{e.Actor, e.Request}] = e.RequestDigest
		}
	}
	s.log, s.stale = log, false
	return nil
}

// Change appends the events that decide derives from the fold, until no other process is quicker.
// Without events nothing is appended, nor for a request that was recorded before.
func (s *Stream[F]) Change(decide func(F) ([]events.Event, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), streamWithin)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = s.stale || s.own.Shared() // what another process has done is not done again
	for {
		if err := s.read(ctx); err != nil {
			return err
		}
		batch, err := decide(s.fold)
		if err != nil || len(batch) == 0 {
			return err
		}
		if before, err := s.recorded(batch); before || err != nil {
			return err
		}
		_, err = s.log.Append(ctx, s.name, s.last, batch...)
		s.stale = true // also after an error: it may be stored nevertheless
		if late := new(events.ConflictError); errors.As(err, &late) {
			continue
		}
		if err != nil {
			return Fault(err)
		}
		s.tell()
		return s.read(ctx)
	}
}

// recorded reports whether the request of a batch was recorded before.
func (s *Stream[F]) recorded(batch []events.Event) (bool, error) {
	for _, e := range batch {
		if before, err := s.Recorded(e.Actor, e.Request, e.RequestDigest); before || err != nil {
			return before, err
		}
	}
	return false, nil
}

// Recorded reports whether a request was recorded before: one of an actor, by its identifier. The same
// identifier with another digest is an error. It is for the function that is given to [Stream.Change].
func (s *Stream[F]) Recorded(actor, id, digest string) (bool, error) {
	known, before := s.asked[[2]string{actor, id}]
	if before && known != digest {
		return true, problem.New(problem.NotPossible, "the identifier %q came with another request before", id)
	}
	return before, nil
}

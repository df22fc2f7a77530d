package forward

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/relay"
)

const (
	// closeWithin is the time limit of a broker for closing a connection.
	closeWithin = 2 * time.Second
	// idle is how long an unused connection is kept: a lab may have many stores, few of them
	// active.
	idle = time.Minute
)

// sender sends one event at a time to a target. After any failure it begins with a new
// connection: the clients of brokers differ in what they recover from by themselves.
type sender struct {
	to     labfile.Forward
	within time.Duration

	mu    sync.Mutex
	now   *relay.Process // nil while an event is sent, and without a connection
	leave *time.Timer    // closes an idle connection
}

// send sends an event and returns once the target has accepted it. It is cut off after its time
// limit, or when ctx is done. Sends do not overlap: the caller sends one event after the other.
func (s *sender) send(ctx context.Context, e relay.Event) error {
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	err := s.pass(ctx, e)
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("it has not taken the event within %s", s.within)
	}
	return err
}

// pass sends an event over HTTP, or through the program with the clients of brokers. The address is
// resolved for each connection, so that a changed password in its file is noticed.
func (s *sender) pass(ctx context.Context, e relay.Event) error {
	p := s.take()
	if p == nil {
		address, err := s.to.To.Reveal()
		if err != nil {
			return err
		}
		u, err := url.Parse(address)
		if err != nil {
			return errors.New("invalid address")
		}
		if u.Scheme == "http" || u.Scheme == "https" {
			return post(ctx, u, s.to.Token, e)
		}
		if p, err = relay.Start(); err != nil {
			return err
		}
		if err := p.Ask(ctx, relay.Request{Open: &relay.Target{Address: address, Topic: s.to.Topic}}); err != nil {
			return err
		}
	}
	if err := p.Ask(ctx, relay.Request{Event: &e}); err != nil {
		return err
	}
	s.keep(p)
	return nil
}

// take returns the present connection, or nil; it then belongs to the caller.
func (s *sender) take() *relay.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leave != nil {
		s.leave.Stop()
	}
	p := s.now
	s.now = nil
	return p
}

// keep returns a connection for reuse.
func (s *sender) keep(p *relay.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = p
	s.leave = time.AfterFunc(idle, s.drop)
}

// drop closes the connection, if there is one.
func (s *sender) drop() {
	if p := s.take(); p != nil {
		p.Close(closeWithin)
	}
}

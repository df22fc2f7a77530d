package forward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

const (
	// dialWithin is how long a broker may take to accept a connection.
	dialWithin = 10 * time.Second
	// closeWithin is how long a broker may take to let go of one.
	closeWithin = 2 * time.Second
	// idle is how long a connection is kept on which nothing is sent: a lab may
	// have many stores, of which few are at work.
	idle = time.Minute
)

// sender publishes one message at a time. After any failure it begins with a
// new connection: publishers differ in what they recover from by themselves.
//
// A client that hangs cannot be called off: its network connections are cut
// instead, and whatever it does then is waited for in the background.
type sender struct {
	open   func(w *wires) (message.Publisher, error)
	within time.Duration

	mu    sync.Mutex
	now   *connection // nil while a message is sent, and where there is none
	leave *time.Timer // closes an idle connection
}

// connection is a publisher and the wires that it uses.
type connection struct {
	*wires
	publisher message.Publisher // nil before the target has accepted it
}

// send publishes a message and returns once the target has taken it. What does
// not end in time, or when ctx is done, is cut off. Sends do not overlap: the
// caller sends one event after the other.
func (s *sender) send(ctx context.Context, topic string, msg *message.Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	msg.SetContext(ctx)
	c := s.take()
	if c == nil {
		c = &connection{wires: new(wires)}
	}
	done := make(chan error, 1)
	go func() { done <- c.publish(s.open, topic, msg) }()
	select {
	case err := <-done:
		if err == nil {
			s.keep(c)
			return nil
		}
		c.wires.close()
		c.end()
		if ctx.Err() == nil {
			return err
		}
	case <-ctx.Done():
		c.wires.close() // so that what waits for the target fails
		go func() {
			<-done
			c.end()
		}()
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("it has not taken the event within %s", s.within)
	}
	return context.Cause(ctx)
}

// take returns the connection that there is, nil for none; it is the caller's.
func (s *sender) take() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leave != nil {
		s.leave.Stop()
	}
	c := s.now
	s.now = nil
	return c
}

// keep has a connection be used again.
func (s *sender) keep(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = c
	s.leave = time.AfterFunc(idle, s.drop)
}

// drop closes the connection, if there is one.
func (s *sender) drop() {
	if c := s.take(); c != nil {
		c.end()
	}
}

// publish publishes a message, on a connection that is opened first where it
// was not before. A publisher's panic is its failure.
func (c *connection) publish(
	open func(*wires) (message.Publisher, error), topic string, msg *message.Message,
) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the publisher failed: %v", p)
		}
	}()
	if c.publisher == nil {
		publisher, err := open(c.wires)
		if err != nil {
			// What came with the error is not kept: it may be a nil pointer in
			// an interface that is not nil, which cannot be closed.
			return err
		}
		c.publisher = publisher
	}
	return c.publisher.Publish(topic, msg)
}

// end closes the connection in the background, on which nothing is sent any
// more. What the target has not confirmed is sent again.
func (c *connection) end() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		defer func() { _ = recover() }() // a publisher's panic ends its connection, and no process
		if c.publisher != nil {
			_ = c.publisher.Close() // there is nothing that it could lose
		}
	}()
	go func() {
		select {
		case <-closed:
		case <-time.After(closeWithin):
		}
		c.wires.close()
	}()
}

// wires are the network connections of a publisher, so that they can be cut.
type wires struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// Dial opens a connection, as the clients of brokers have it done. A connection
// that is established just after the cut is closed at once.
func (w *wires) Dial(network, address string) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, dialWithin)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	w.conns = append(w.conns, conn)
	return conn, nil
}

// close closes every connection, and any that would be opened.
func (w *wires) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, conn := range w.conns {
		_ = conn.Close() // it may be closed already
	}
	w.conns = nil
}

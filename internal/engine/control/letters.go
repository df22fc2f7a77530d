package control

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// A store in a database may be held by a process on another machine. Requests
// and answers of the protocol go there as letters in the database, whole:
// nothing is streamed, since all read the log where it is.

// trustedKey marks requests whose account is believed: anyone who can write letters can write the
// log, too.
type trustedKey struct{}

// letters is the connection to the process that holds a store in a database.
type letters struct {
	database *store.Database
	name     string
}

// dialDatabase is [Dial] for a store in a database.
func dialDatabase(ctx context.Context, address string) (*Client, error) {
	database, name, err := store.Split(address)
	if err != nil {
		return nil, err
	}
	d, err := store.OpenDatabase(database)
	if err != nil {
		return nil, err
	}
	c := &Client{base: "http://store", who: "the process that holds the store", trusted: true}
	c.http.Transport = &letters{d, name}
	c.release = d.Close
	asking, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := c.call(asking, http.MethodGet, "/v1/status", nil, &c.status); err != nil {
		err = errors.Join(err, d.Close())
		if errors.Is(err, store.ErrNobody) || errors.Is(err, events.ErrUncertain) {
			return nil, ErrNobody // or it is just ending
		}
		if asking.Err() != nil && ctx.Err() == nil { // it has died, perhaps, and is believed alive for a moment
			return nil, fmt.Errorf("%w: the process that holds it does not answer within %s", events.ErrInUse, dialTimeout)
		}
		return nil, fmt.Errorf("control: %w", err)
	}
	return c, nil
}

// RoundTrip implements [http.RoundTripper].
func (l *letters) RoundTrip(r *http.Request) (*http.Response, error) {
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		return nil, err
	}
	answer, err := l.database.AskHolder(r.Context(), l.name, text.Bytes())
	switch {
	case errors.Is(err, store.ErrNobody):
		return nil, fmt.Errorf("%w: %w", events.ErrClosed, err) // nothing was done
	case errors.Is(err, events.ErrUncertain):
		return nil, fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err) // as a connection that was cut
	case err != nil:
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), r)
}

// serveDatabase is [Serve] for a store in a database.
func serveDatabase(address string, service Service, closing chan struct{}) (*Server, error) {
	database, name, err := store.Split(address)
	if err != nil {
		return nil, err
	}
	d, err := store.OpenDatabase(database)
	if err != nil {
		return nil, err
	}
	h := Handler(service)
	answer := func(ctx context.Context, request []byte) []byte { return answerLetter(ctx, h, request) }
	stop := d.Serve(name, answer, func() any {
		status := service.Status()
		status.Last = 0 // others see it in the log, and each change is written
		return status
	})
	s := &Server{closing: closing, done: make(chan struct{})}
	close(s.done) // it has no goroutine of its own
	s.remove = func() { stop(); _ = d.Close() }
	return s, nil
}

// answerLetter passes a request to a handler and returns its answer.
func answerLetter(ctx context.Context, h http.Handler, request []byte) []byte {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	w := &letterWriter{header: make(http.Header), status: http.StatusOK}
	if err != nil {
		answer(w, nil, problem.New(problem.Invalid, "the process that runs the campaign does not understand the request: %w", err))
	} else {
		h.ServeHTTP(w, r.WithContext(context.WithValue(ctx, trustedKey{}, true)))
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "HTTP/1.1 %d %s\r\n", w.status, http.StatusText(w.status))
	w.header.Set("Content-Length", strconv.Itoa(w.body.Len()))
	_ = w.header.Write(&text) // to memory
	text.WriteString("\r\n")
	text.Write(w.body.Bytes())
	return text.Bytes()
}

// letterWriter keeps an answer.
type letterWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (w *letterWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *letterWriter) WriteHeader(status int) { w.status = status }

// Write implements [http.ResponseWriter].
func (w *letterWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Service is the owner's side of a store, for other commands. Its functions are called from several
// goroutines at once.
type Service struct {
	// Log is the store's log.
	Log events.Log
	// Submit fulfills a person's request on a campaign of the store.
	Submit func(ctx context.Context, campaign string, r engine.Request) ([]events.Event, error)
	// Attach is Submit for a request that attaches a file, whose bytes content gives. Nil if
	// clients put the bytes into the store's folder themselves.
	Attach func(
		ctx context.Context, campaign string, r engine.Request, content io.Reader,
	) ([]events.Event, error)
	// OpenFile opens a stored file of a campaign, by its identifier. Nil if clients read the
	// store's folder themselves.
	OpenFile func(ctx context.Context, campaign, file string) (io.ReadCloser, error)
	// Status returns the owner's activity.
	Status func() Status
	// Closing, if set, ends the streams of events when it is closed; they then
	// say that the owner releases the store.
	Closing <-chan struct{}
}

// Server serves one store. It is closed before the store's lock is given up, so that no client
// reaches a store that another process holds by then.
type Server struct {
	http    http.Server
	closing chan struct{} // ends the streams
	remove  func()
	done    chan struct{}
	once    sync.Once
}

// maxRequest is the longest body of a request, in bytes.
const maxRequest = 64 << 20

// Handler returns the protocol as a handler, for any listener. It trusts everyone who connects, and
// knows the account behind a request only on connections that [Serve] accepts: a server elsewhere
// must take care of both.
func Handler(service Service) http.Handler {
	h := handler{service}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", h.status)
	mux.HandleFunc("GET /v1/events", h.events)
	mux.HandleFunc("GET /v1/sequence", h.sequence)
	mux.HandleFunc("POST /v1/requests", h.submit)
	mux.HandleFunc("POST /v1/files", h.attach)
	mux.HandleFunc("GET /v1/files/{file}", h.file)
	return mux
}

// Serve listens on the socket of a store that the caller holds, or answers the letters about one in
// a database, until Close, which replaces the service's Closing.
func Serve(address string, service Service) (*Server, error) {
	closing := make(chan struct{})
	service.Closing = closing
	if store.InDatabase(address) {
		return serveDatabase(address, service, closing)
	}
	return serve(address, Handler(service), closing)
}

// ServeHandler listens on the socket of a folder that the caller holds, until Close, with another
// protocol. Only the user of this process can connect, and root; [Peer] identifies the user to the
// handler.
func ServeHandler(folder string, h http.Handler) (*Server, error) {
	return serve(folder, h, make(chan struct{}))
}

// serve opens the socket and answers on it in a goroutine of its own.
func serve(folder string, h http.Handler, closing chan struct{}) (*Server, error) {
	listener, remove, err := listen(folder)
	if err != nil {
		return nil, fmt.Errorf("control: the socket of %s: %w", folder, err)
	}
	s := &Server{closing: closing, remove: remove, done: make(chan struct{})}
	s.http.Handler = h
	s.http.ConnContext = withPeer
	s.http.ReadHeaderTimeout = 10 * time.Second
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // ends with Close; a lost socket must not end the campaign
	}()
	return s, nil
}

// Close ends the streams, lets running requests finish, and removes the socket. Streams end first:
// they would otherwise outlast the patience of two seconds.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close()
		}
		<-s.done
		s.remove()
	})
}

// handler is the protocol, without a connection.
type handler struct{ service Service }

// closing reports whether the owner is releasing the store.
func (h handler) closing() bool {
	select {
	case <-h.service.Closing:
		return true
	default:
		return false
	}
}

// status also tells a client whether anyone answers at all.
func (h handler) status(w http.ResponseWriter, r *http.Request) {
	status := h.service.Status()
	status.Identifies = true
	answer(w, status, nil)
}

// sequence answers with the newest sequence of a campaign.
func (h handler) sequence(w http.ResponseWriter, r *http.Request) {
	sequence, err := h.service.Log.LastSequence(r.Context(), r.URL.Query().Get("campaign"))
	answer(w, sequence, err)
}

// submit takes a request. The account comes from the system and overwrites the one in the request.
func (h handler) submit(w http.ResponseWriter, r *http.Request) {
	var s submission
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	body.DisallowUnknownFields() // a field of a newer client must not be ignored
	if err := body.Decode(&s); err != nil {
		answer(w, nil, problem.New(problem.Invalid,
			"the process that runs the campaign does not understand the request: %w",
			err))
		return
	}
	s.Request.Received()
	s.Request.Account = peerOf(r.Context())
	if trusted, _ := r.Context().Value(trustedKey{}).(bool); trusted {
		s.Request.Account = s.Account
	}
	stored, err := h.service.Submit(r.Context(), s.Campaign, s.Request)
	answerStored(w, stored, err)
}

// answerStored answers with the recorded events, or an error.
func answerStored(w http.ResponseWriter, stored []events.Event, err error) {
	if err != nil {
		answer(w, nil, err)
		return
	}
	var a accepted
	for _, e := range stored {
		text, err := events.MarshalCloudEvent(e)
		if err != nil {
			answer(w, nil, err)
			return
		}
		a.Events = append(a.Events, text)
	}
	answer(w, a, nil)
}

// answer writes a value, or an error.
func answer(w http.ResponseWriter, value any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		wrong := problem.FromError(err)
		w.WriteHeader(statuses[wrong.Code])
		value = line{Error: wrong}
	}
	_ = json.NewEncoder(w).Encode(value) // the client may have gone
}

// AtOnce marks an answer whose parts are to be passed on as they come. By default nginx holds an
// answer until 4 or 8 kB of it are there, which a quiet campaign never reaches. No cache may keep
// or repeat it.
func AtOnce(h http.Header) {
	h.Set("Cache-Control", "no-cache, no-store")
	h.Set("X-Accel-Buffering", "no")
}

// events streams events, of all kinds or of some. The last line distinguishes a stream that ended
// from one that was cut off. Followers get each event at once; other streams are buffered, which is
// many times as fast.
func (h handler) events(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-h.service.Closing:
			cancel()
		case <-ctx.Done():
		}
	}()

	query := r.URL.Query()
	after, err := strconv.ParseUint(query.Get("after"), 10, 64)
	if err != nil {
		answer(w, nil, problem.New(problem.Invalid, "after: %w", err))
		return
	}
	follow, kinds := query.Get("follow") != "", query["kind"]
	var stream iter.Seq2[events.Event, error]
	switch campaign := query.Get("campaign"); {
	case campaign != "":
		stream = events.ReadCampaign(ctx, h.service.Log, campaign, events.Sequence(after))
	case follow:
		stream = h.service.Log.Follow(ctx, events.Position(after))
	default:
		stream = h.service.Log.Read(ctx, events.Position(after))
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(w, 64<<10)
	flush := func() error { return errors.Join(out.Flush(), http.NewResponseController(w).Flush()) }
	if follow {
		if AtOnce(w.Header()); flush() != nil {
			return
		}
	}
	end := line{End: true}
	for e, err := range stream {
		if err == nil && kinds != nil && !slices.Contains(kinds, string(e.Kind)) {
			continue
		}
		var text []byte
		if err == nil {
			text, err = events.MarshalCloudEvent(e)
		}
		if err != nil {
			end = line{Error: problem.FromError(err)}
			break
		}
		out.Write(text)
		out.WriteByte('\n')
		if follow && flush() != nil {
			return
		}
	}
	if h.closing() {
		end = line{Error: problem.FromError(events.ErrClosed)}
	}
	text, _ := json.Marshal(end)
	out.Write(append(text, '\n'))
	_ = flush()
}

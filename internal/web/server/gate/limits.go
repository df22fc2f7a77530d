package gate

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// Limits of a request.
const (
	// MaxBody is the maximum size of a body, in bytes.
	MaxBody = 8 << 20
	// MaxUpload is the maximum for the upload of a file, including the surrounding form. Files
	// themselves are bounded where they are stored.
	MaxUpload = 52 << 20
	// slowest is the minimum speed of an upload, in bytes per second.
	slowest = 64 << 10
	// maxUnknown is the maximum for an unknown caller, who can only log in.
	maxUnknown = 64 << 10
)

// Patience holds the timeouts of clients. A slower client is cut off, so that it does not hold what
// others need.
type Patience struct {
	Headers, Body time.Duration
	// Write is the timeout for the next piece of an answer, a stream's too.
	Write time.Duration
	// Idle is how long an idle connection is kept.
	Idle time.Duration
	// Stranger is the maximum timeout of a connection without a known caller.
	Stranger time.Duration
}

var usualPatience = Patience{
	Headers: 10 * time.Second, Body: 30 * time.Second, Write: 30 * time.Second,
	Idle: 2 * time.Minute, Stranger: 30 * time.Second,
}

// Limited bounds the body of a request, in size and in time, and the time its answer waits to be
// read.
func (g *Gate) Limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		out := &unhurried{ResponseWriter: w, control: control, each: g.Patience.Write}
		_ = control.SetWriteDeadline(time.Time{}) // that of the request before
		if r.Body != nil && r.ContentLength != 0 {
			most, patience := int64(MaxBody), g.Patience.Body
			if g.Uploads(r) {
				most = MaxUpload
				patience += MaxUpload / slowest * time.Second
			}
			_ = control.SetReadDeadline(time.Now().Add(patience))
			r.Body = &timed{http.MaxBytesReader(w, r.Body, most),
				func() { _ = control.SetReadDeadline(time.Time{}) }}
		}
		if encoding := r.Header.Get("Content-Encoding"); encoding != "" &&
			!strings.EqualFold(encoding, "identity") {
			out.Header().Set("Accept-Encoding", "identity")
			problems.Write(out, problems.New(http.StatusUnsupportedMediaType, problem.Invalid,
				"The body is compressed. Send it as it is, without Content-Encoding."))
			return
		}
		next.ServeHTTP(out, r)
		_ = control.SetWriteDeadline(time.Now().Add(g.Patience.Write)) // for the unsent part
	})
}

// timed is a body whose deadline ends with the body: the work that follows may take longer.
type timed struct {
	io.ReadCloser
	whole func()
}

// Read implements io.Reader. The end of the body removes the deadline: a body that is never read to
// its end keeps it.
func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		t.whole()
	}
	return n, err
}

// piece is the amount of an answer sent at a time, in bytes.
const piece = 64 << 10

// unhurried writes an answer as fast as the client reads it, unless the client stops reading.
type unhurried struct {
	http.ResponseWriter
	control *http.ResponseController
	each    time.Duration
}

// Write implements http.ResponseWriter. Each piece has the whole patience, so that a slow client
// gets a large answer, and one that has stopped reading is cut off after a single piece's time.
func (u *unhurried) Write(p []byte) (n int, err error) {
	for {
		_ = u.control.SetWriteDeadline(time.Now().Add(u.each))
		k, err := u.ResponseWriter.Write(p[n:min(n+piece, len(p))])
		_ = u.control.SetWriteDeadline(time.Time{})
		n += k
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// FlushError serves http.ResponseController.
func (u *unhurried) FlushError() error {
	_ = u.control.SetWriteDeadline(time.Now().Add(u.each))
	defer func() { _ = u.control.SetWriteDeadline(time.Time{}) }()
	return u.control.Flush()
}

// Flush implements http.Flusher.
func (u *unhurried) Flush() { _ = u.FlushError() }

// SetReadDeadline keeps the API's library from setting another deadline: the body has one already.
func (u *unhurried) SetReadDeadline(time.Time) error { return nil }

// Unwrap serves http.ResponseController.
func (u *unhurried) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Formed reads the form of a request for a page, that is, outside the path of the API, so that an
// incomplete one is refused as such and no page takes it for an empty one. Bodies of anonymous
// callers are bounded more tightly.
func (g *Gate) Formed(
	next http.Handler, api string, refuse func(http.ResponseWriter, *http.Request, *problems.Problem),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && !IdentityOf(r.Context()).Known() {
			r.Body = http.MaxBytesReader(w, r.Body, maxUnknown)
		}
		if r.Method == http.MethodPost && !strings.HasPrefix(r.URL.Path, api+"/") {
			if err := r.ParseForm(); err != nil {
				refuse(w, r, problems.UnreadBody(err))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

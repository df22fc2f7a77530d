package gate

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/server/problems"
)

// Limits of a request.
const (
	// MaxBody is the size of a body, in bytes.
	MaxBody = 8 << 20
	// MaxUpload is that of the upload of a file, with what surrounds it in a
	// form. Files themselves are bounded where they are kept.
	MaxUpload = 52 << 20
	// slowest is how fast an upload comes at least, in bytes per second.
	slowest = 64 << 10
	// maxUnknown is that of a caller of whom it is not known who they are: they
	// log in.
	maxUnknown = 64 << 10
)

// Patience is how long the server waits for a client. One that is slower is cut
// off, so that it does not hold what others need.
type Patience struct {
	Headers, Body time.Duration
	// Write is how long it takes to take the next piece of an answer, a
	// stream's too.
	Write time.Duration
	// Idle is how long a connection is kept that asks for nothing.
	Idle time.Duration
	// Stranger is how long a connection is waited for, at most, on which no one
	// is known.
	Stranger time.Duration
}

var usualPatience = Patience{
	Headers: 10 * time.Second, Body: 30 * time.Second, Write: 30 * time.Second,
	Idle: 2 * time.Minute, Stranger: 30 * time.Second,
}

// Limited bounds the body of a request, in size and in time, and how long its
// answer waits to be read.
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
		_ = control.SetWriteDeadline(time.Now().Add(g.Patience.Write)) // for what is not sent yet
	})
}

// timed is a body whose time is over once it is there: the work that follows
// may take longer.
type timed struct {
	io.ReadCloser
	whole func()
}

// Read implements io.Reader. The end of the body is what takes the deadline
// away: a body that is never read to its end keeps it.
func (t *timed) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		t.whole()
	}
	return n, err
}

// piece is how much of an answer is sent at a time, in bytes.
const piece = 64 << 10

// unhurried writes an answer as fast as the client reads it, but for one that
// does not read.
type unhurried struct {
	http.ResponseWriter
	control *http.ResponseController
	each    time.Duration
}

// Write implements http.ResponseWriter. Each piece has the whole patience, so
// that a slow client gets a large answer, and one that has stopped reading is
// cut off after a single piece's time.
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

// FlushError implements what http.ResponseController looks for.
func (u *unhurried) FlushError() error {
	_ = u.control.SetWriteDeadline(time.Now().Add(u.each))
	defer func() { _ = u.control.SetWriteDeadline(time.Time{}) }()
	return u.control.Flush()
}

// Flush implements http.Flusher.
func (u *unhurried) Flush() { _ = u.FlushError() }

// SetReadDeadline keeps the API's library from another limit: the body's time
// is limited already.
func (u *unhurried) SetReadDeadline(time.Time) error { return nil }

// Unwrap implements what http.ResponseController looks for.
func (u *unhurried) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Formed reads the form of a request for a page, which is one outside the path
// of the API, so that one that does not come whole is refused as such and no
// page takes it for an empty one. Bodies of anonymous callers are bounded more
// tightly.
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

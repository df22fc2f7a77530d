package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/wholefile"
)

// A request that records something may carry a key of its sender's choice in the header
// Idempotency-Key. Sent again with it, by the same caller, the same request gets the same
// answer and is not carried out a second time: a caller that lost the answer may simply ask again.
//
// The key is on the disk before the request is carried out, and the answer before it is
// sent. A key without an answer is that of a request during which the server was killed:
// what became of it is not known here, and that is what is said.

const (
	keyHeader    = "Idempotency-Key"
	replayHeader = "Idempotency-Replayed"

	maxKey = 200 // bytes
	// keysFor is how long an answer is kept.
	keysFor = 24 * time.Hour
	// maxKeys and maxKeyBytes bound what is kept, accountShare which part of it is one account's.
	maxKeys      = 100_000
	maxKeyBytes  = 256 << 20
	accountShare = 4
	// sweepEvery is how often those are looked for whose time is over.
	sweepEvery = 10 * time.Minute
)

// keysDescription tells of the header in the description of an operation.
const keysDescription = "With an Idempotency-Key it can be sent again without being carried out twice: " +
	"for 24 hours, also after a restart of the server, the same request of the same caller with the same key " +
	"gets the same answer, marked by the header Idempotency-Replayed; another request with it is refused (422). " +
	"A key whose request was cut off by the end of the server is answered with the code uncertain (409): " +
	"look whether it was recorded (events), and send it with another key if not."

// recording marks an operation that records something: it takes a key.
func (a *api) recording(op huma.Operation) huma.Operation {
	op.Description = strings.TrimSpace(op.Description + "\n\n" + keysDescription)
	one, longest := 1, maxKey
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: keyHeader, In: "header",
		Description: "A text of the sender's choice, other for each request.",
		Schema:      &huma.Schema{Type: huma.TypeString, MinLength: &one, MaxLength: &longest, Pattern: "^[!-~]+$"},
	})
	a.keyed.Handle(op.Method+" "+op.Path, http.NotFoundHandler())
	return op
}

// once carries a request out that carries a key, or answers as it was answered before.
func (a *api) once(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Values(keyHeader)
		if len(given) == 0 || !identityOf(r.Context()).Known() { // nobody is refused, and nothing kept of them
			next.ServeHTTP(w, r)
			return
		}
		if _, pattern := a.keyed.Handler(r); pattern == "" {
			next.ServeHTTP(w, r)
			return
		}
		if len(given) > 1 || !isKey(given[0]) {
			writeProblem(w, refused(http.StatusUnprocessableEntity,
				fmt.Sprintf("%s is one text of 1 to %d visible ASCII characters.", keyHeader, maxKey)).(*Problem))
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			writeProblem(w, unreadBody(err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		hash := sha256.New()
		fmt.Fprintf(hash, "%s\n%s\n%s\n", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"))
		hash.Write(body)
		request := hex.EncodeToString(hash.Sum(nil))

		account := identityOf(r.Context()).Account
		if a.open() {
			account = "" // there is nobody else to take it from
		}
		k, err := a.Server.keys.take(r.Context(), account, callerOf(r.Context()), given[0], request)
		if err != nil {
			writeProblem(w, problemOf(err))
			return
		}
		if k.answer != nil {
			w.Header().Set(replayHeader, "true")
			k.answer.write(w)
			return
		}
		// Whoever has gone will ask again: what was begun is carried out.
		answer := &recorder{header: make(http.Header)}
		defer func() { k.release(answer) }()
		next.ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
		answer.whole = true
		if err := k.keep(answer); err != nil {
			a.options.Log("the answer to an %s was not kept: %v", keyHeader, err)
		}
		answer.result().write(w)
	})
}

func isKey(key string) bool {
	for _, b := range []byte(key) {
		if b < '!' || b > '~' {
			return false
		}
	}
	return 0 < len(key) && len(key) <= maxKey
}

// unreadBody is why a body cannot be read.
func unreadBody(err error) *Problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		text := fmt.Sprintf("The body is larger than %d bytes.", large.Limit)
		return refused(http.StatusRequestEntityTooLarge, text).(*Problem)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refused(http.StatusRequestTimeout, "The body did not come in time.").(*Problem)
	}
	return refused(http.StatusBadRequest, "The body did not come whole.").(*Problem)
}

// recorder holds an answer until it is kept.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	whole  bool // the handler has returned
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// SetReadDeadline lets the API's library limit how long it reads: the body is here already.
func (r *recorder) SetReadDeadline(time.Time) error { return nil }

func (r *recorder) result() *keptAnswer {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return &keptAnswer{Status: r.status, Header: r.header, Body: r.body.Bytes()}
}

// keptAnswer is an answer as it was sent.
type keptAnswer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

func (k *keptAnswer) write(w http.ResponseWriter) {
	for name, values := range k.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(k.Status)
	_, _ = w.Write(k.Body) // the client may have gone
}

// keptKey is a key on the disk.
type keptKey struct {
	// Account is whose share it is kept in; empty for nobody's.
	Account string `json:"account,omitempty"`
	// Request is the hash of the request that it came with.
	Request string    `json:"request"`
	Began   time.Time `json:"began"`
	// Answer is nil until there is one.
	Answer *keptAnswer `json:"answer,omitempty"`
}

// keys are those of a server, a file for each. Its methods may be called by several
// goroutines.
type keys struct {
	folder string
	log    func(format string, args ...any)
	// replace is wholefile.Replace; tests have a disk without room.
	replace func(path string, content []byte, mode fs.FileMode) error

	mu    sync.Mutex
	known map[string]*entry // by the file's name
	all   amount            // of everybody
	of    map[string]amount // of each account
	most  amount
	swept time.Time
}

// amount is how much is kept.
type amount struct {
	keys  int
	bytes int64
}

// reached reports whether a part of a bound is reached.
func (k amount) reached(most amount, part int) bool {
	return k.keys >= most.keys/part || k.bytes >= most.bytes/int64(part)
}

// entry is a key that is known.
type entry struct {
	account string
	began   time.Time
	size    int64
	done    chan struct{} // not nil while its request is carried out; closed at its end
	// answer is one that the disk did not take.
	answer *keptAnswer
}

// count changes how much is kept for an account. k.mu is held, or nobody else has k.
func (k *keys) count(account string, number int, bytes int64) {
	k.all = amount{k.all.keys + number, k.all.bytes + bytes}
	own := amount{k.of[account].keys + number, k.of[account].bytes + bytes}
	if k.of[account] = own; own.keys == 0 {
		delete(k.of, account)
	}
}

// openKeys reads which keys there are. Where that cannot be done there are none, and those
// who send one are told when they do.
func openKeys(folder string, log func(format string, args ...any)) *keys {
	k := &keys{
		folder: folder, log: log, replace: wholefile.Replace, known: make(map[string]*entry),
		of: make(map[string]amount), most: amount{maxKeys, maxKeyBytes},
	}
	files, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		log("the idempotency keys: %v", err)
	}
	for _, f := range files {
		name := f.Name()
		info, err := f.Info()
		if err != nil || len(name) != 2*sha256.Size {
			continue
		}
		kept, err := k.read(name)
		if err != nil { // half a file cannot be: it is not one of ours
			log("the idempotency key %s: %v", name, err)
			continue
		}
		k.known[name] = &entry{account: kept.Account, began: kept.Began, size: info.Size()}
		k.count(kept.Account, 1, info.Size())
	}
	k.sweep(time.Now())
	return k
}

// taken is a key that a request has.
type taken struct {
	keys    *keys
	name    string
	kept    keptKey
	answer  *keptAnswer // of the same request, earlier
	settled bool
}

// take finds what is known of a caller's key; where that is nothing, it is the request's, and
// on the disk.
func (k *keys) take(ctx context.Context, account, caller, key, request string) (*taken, error) {
	sum := sha256.Sum256([]byte(caller + "\x00" + key))
	name := hex.EncodeToString(sum[:])
	var kept keptKey
	var err error
	for {
		k.mu.Lock()
		k.sweep(time.Now())
		e := k.known[name]
		if e == nil {
			defer k.mu.Unlock()
			return k.begin(name, account, request)
		}
		running, unwritten := e.done, e.answer
		k.mu.Unlock()
		if running == nil {
			kept, err = k.read(name)
			if kept.Answer == nil {
				kept.Answer = unwritten
			}
			if !errors.Is(err, os.ErrNotExist) {
				break
			}
			k.mu.Lock() // its time was over just now, or somebody has removed the file
			if k.known[name] == e && e.done == nil {
				k.forget(name)
			}
			k.mu.Unlock()
			continue
		}
		select { // the same request may be under way on another connection
		case <-running:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the %s: %w", keyHeader, err)
	case kept.Request != request:
		return nil, newProblem(http.StatusUnprocessableEntity, problem.Invalid,
			"This "+keyHeader+" came with another request before; take another one for each.")
	case kept.Answer == nil:
		p := newProblem(http.StatusConflict, problem.Uncertain,
			"The server ended while it carried this request out, or before its answer was on the disk: it may be recorded or not.")
		p.Remedies = []Remedy{{
			Text:   "look whether it is recorded, and send it with another " + keyHeader + " if not",
			Action: string(problem.Review),
		}}
		return nil, p
	}
	return &taken{keys: k, answer: kept.Answer, settled: true}, nil
}

// begin notes a request that is about to be carried out. k.mu is held.
func (k *keys) begin(name, account, request string) (*taken, error) {
	whose := ""
	if account != "" && k.of[account].reached(k.most, accountShare) {
		whose = " of " + account
	}
	if whose != "" || k.all.reached(k.most, 1) {
		return nil, problem.New(problem.Unavailable, "too many answers are kept for an %s%s", keyHeader, whose).
			With(problem.Remedy{Text: "send it later, or without one"})
	}
	t := &taken{keys: k, name: name, kept: keptKey{Account: account, Request: request, Began: time.Now()}}
	size, err := k.write(name, t.kept)
	if err != nil {
		return nil, problem.New(problem.Unavailable, "the %s cannot be kept: %w", keyHeader, err).
			With(problem.Remedy{Text: "send it without one"})
	}
	k.known[name] = &entry{account: account, began: t.kept.Began, size: size, done: make(chan struct{})}
	k.count(account, 1, size)
	return t, nil
}

// again reports whether what was answered so was not carried out, and may be asked for again:
// after 503 once the server has recovered, after 401 and 403 once the caller is authenticated or allowed.
func again(status int) bool {
	return status == http.StatusServiceUnavailable || status == http.StatusUnauthorized || status == http.StatusForbidden
}

// keep writes the answer, unless it may be asked for again. One that the disk does not take is
// remembered.
func (t *taken) keep(r *recorder) error {
	if again(r.status) {
		return nil
	}
	t.kept.Answer = r.result()
	size, err := t.keys.write(t.name, t.kept)
	t.keys.mu.Lock()
	defer t.keys.mu.Unlock()
	e := t.keys.known[t.name]
	if err != nil {
		e.answer = t.kept.Answer // until this server ends; then it is one that was cut off
		return err
	}
	t.settled = true
	t.keys.count(e.account, 0, size-e.size)
	e.size = size
	return nil
}

// release lets others have the key, or its answer. A handler that did not return leaves it
// without one.
func (t *taken) release(r *recorder) {
	k := t.keys
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.known[t.name]
	if !t.settled && r.whole && again(r.status) {
		k.remove(t.name)
	}
	close(e.done)
	e.done = nil
}

// sweep removes the keys whose time is over. k.mu is held, or nobody else has k.
func (k *keys) sweep(now time.Time) {
	if now.Sub(k.swept) < sweepEvery {
		return
	}
	k.swept = now
	for name, e := range k.known {
		if now.Sub(e.began) > keysFor && e.done == nil {
			k.remove(name)
		}
	}
}

// remove removes a key. k.mu is held, or nobody else has k.
func (k *keys) remove(name string) {
	if err := os.Remove(k.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		k.log("the idempotency key %s: %v", name, err)
		return
	}
	k.forget(name)
}

// forget takes a key out of what is known. k.mu is held, or nobody else has k.
func (k *keys) forget(name string) {
	k.count(k.known[name].account, -1, -k.known[name].size)
	delete(k.known, name)
}

func (k *keys) path(name string) string { return filepath.Join(k.folder, name) }

func (k *keys) read(name string) (kept keptKey, err error) {
	text, err := os.ReadFile(k.path(name))
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	return kept, err
}

// write writes a key, whole and on the disk.
func (k *keys) write(name string, kept keptKey) (size int64, err error) {
	text, err := json.Marshal(kept)
	if err == nil {
		err = os.MkdirAll(k.folder, 0o700)
	}
	if err == nil {
		err = k.replace(k.path(name), text, 0o600)
	}
	return int64(len(text)), err
}

package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// Protocol is the version of the protocol of programs that are asked one
// question at a time (docs/process-method.md).
const Protocol = 1

// DefaultReplyWithin is how long a program may take to answer the handshake
// where nothing is set.
const DefaultReplyWithin = 10 * time.Second

// ErrClosed is returned by a client that was closed.
var ErrClosed = errors.New("it is closed")

// Roles of a program, as the handshake names them.
const (
	RoleMethod = "method"
	RoleExpert = "expert"
)

// Identity is a program's description of itself, with the facts found about its files.
type Identity struct {
	Name, Version string
	Deterministic bool
	// Files is as in [events.Program].
	Files string
}

// Client asks a program one question at a time. The program is started when it is first asked, and
// again after it has ended; the pauses before a start grow. A program that does not answer in time,
// or floods, is ended: its state is unknown, and the next question finds a new one.
//
// It is for programs that act on nothing: a question may be asked again.
type Client struct {
	host     Host
	role     string
	campaign string
	settings map[string]any
	files    string

	turn chan struct{} // holds a token: one question at a time
	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup

	// Of the holder of the token:
	run       *clientRun
	shortRuns int
	lastExit  time.Time
	id        uint64
	said      Identity
}

// NewClient returns the client of a program in a role, of a campaign of that
// name.
func NewClient(host Host, role, campaign string, settings map[string]any) *Client {
	c := &Client{
		host: host, role: role, campaign: campaign, settings: settings, files: digestOf(&host),
		turn: make(chan struct{}, 1),
	}
	c.said = Identity{Name: host.Name(), Files: c.files}
	c.life, c.end = context.WithCancel(context.Background())
	c.turn <- struct{}{}
	return c
}

// Hurry shortens the client's own times, for tests.
func (c *Client) Hurry() {
	c.host.Pauses = Pauses{
		First: time.Millisecond, Longest: 20 * time.Millisecond, Healthy: time.Hour,
		Drain: 500 * time.Millisecond, Grace: 300 * time.Millisecond,
	}
}

// digestOf is the SHA-256 of a command with the files that it names. A file that
// cannot be read counts by its name alone.
func digestOf(h *Host) string {
	sum := sha256.New()
	for _, arg := range h.Argv {
		fmt.Fprintf(sum, "%d %s\n", len(arg), filepath.Base(arg))
		file, err := os.Open(input.Path(h.Dir, arg))
		if err != nil {
			continue
		}
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			_, _ = io.Copy(sum, file)
		}
		file.Close()
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// clientRun is one run of the program, and the reply that is awaited of it.
type clientRun struct {
	*Run
	client *Client
	// answers has room for one: the listener never waits.
	answers  chan reply
	answered int // of the holder of the token

	mu      sync.Mutex
	awaited uint64 // 0: nothing
	stray   int    // bytes of lines that answer nothing, since the last question
	shown   int    // of those that were reported
}

// reply is a line that answers a question, or why none can be read.
type reply struct {
	line []byte
	err  error
}

// mostStray is how much a program may write that answers nothing before it
// counts as flooding, in bytes for each question.
const mostStray = 8 << 20

// Line implements [Listener].
func (r *clientRun) Line(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	subject := SubjectOf(line)
	r.mu.Lock()
	awaited := r.awaited
	if subject.ID != nil && *subject.ID == awaited && awaited != 0 {
		r.awaited = 0
		r.mu.Unlock()
		r.answers <- reply{line: bytes.Clone(line)}
		return
	}
	r.mu.Unlock()
	why := "it is not an answer; print to standard error instead"
	if subject.ID != nil {
		why = fmt.Sprintf("it answers question %d, which is not open", *subject.ID)
	}
	r.ignore(len(line), why, line)
}

// Long implements [Listener].
func (r *clientRun) Long(o Oversized) {
	r.mu.Lock()
	answers := r.awaited != 0 && o.ID != nil && *o.ID == r.awaited
	if answers {
		r.awaited = 0
	}
	r.mu.Unlock()
	if answers {
		r.answers <- reply{err: fmt.Errorf("it answered with a line of %d bytes, and the longest that is read is %d",
			o.Length, MaxLine)}
		return
	}
	r.ignore(o.Length, "it is too long", o.Head)
}

// ignore reports a line that answers nothing, and ends a program that floods.
func (r *clientRun) ignore(length int, why string, line []byte) {
	r.mu.Lock()
	r.stray += length
	flooding := r.stray > mostStray
	r.shown++
	shown := r.shown
	r.mu.Unlock()
	const most = 20
	switch {
	case flooding:
		r.host.Logf("%s wrote more than %d MiB that answer nothing: it is ended",
			r.host.Name(), mostStray>>20)
		r.Kill()
	case shown <= most:
		r.host.Logf("%s: a line on standard output is ignored, for %s: %s",
			r.host.Name(), why, Clip(line))
	case shown == most+1:
		r.host.Logf("%s: further lines like that are ignored silently", r.host.Name())
	}
}

// Ending and Over implement [Listener].
func (r *clientRun) Ending() {}
func (r *clientRun) Over() {
	if expected, killed := r.Expected(); !expected && !killed {
		r.host.Logf("%s: %v", r.host.Name(), r.ExitErr)
	}
}

// await returns the line that answers a question, within the time for a reply.
func (r *clientRun) await(ctx context.Context, patience time.Duration) ([]byte, error) {
	var limit <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case a := <-r.answers:
		return a.line, a.err
	case <-r.Exited:
		select {
		case a := <-r.answers: // its last word
			return a.line, a.err
		default:
			return nil, r.ExitErr
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-limit:
		return nil, fmt.Errorf("%s did not answer within %v: where it needs longer, raise reply_within in the campaign file",
			r.host.Name(), patience)
	}
}

// Said is an answer of a program.
type Said struct {
	Identity
	// Took is how long it took.
	Took time.Duration
	// Line is the whole answer; nil without an answer that could be read.
	Line []byte
}

// Ask asks the program a question: op with further fields. patience is how long the answer may
// take; 0: as long as the context. Into gets the answer, decoded.
//
// The error gives the reason for a missing or unreadable answer; Said then holds the rest that is
// known.
func (c *Client) Ask(
	ctx context.Context, op string, fields map[string]any, patience time.Duration, into any,
) (said Said, err error) {
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		return Said{Identity: Identity{Name: c.host.Name(), Files: c.files}}, context.Cause(ctx)
	case <-c.life.Done():
		return Said{Identity: Identity{Name: c.host.Name(), Files: c.files}}, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	began := time.Now()
	defer func() {
		said.Took = time.Since(began)
		if err != nil && c.life.Err() != nil {
			err = ErrClosed
		}
	}()
	r, err := c.connected(ctx)
	said.Identity = c.said
	if err != nil {
		return said, err
	}
	worked := r.answered > 1 // not the handshake alone
	said.Line, err = c.exchange(ctx, r, op, fields, patience, into)
	// One that ended by itself after its last answer, as some do after each, may
	// not have read this question at all: it acts on nothing, and is asked anew.
	if worked && errors.Is(err, ErrExited) && ctx.Err() == nil {
		if r, err = c.connected(ctx); err == nil {
			said.Identity = c.said
			said.Line, err = c.exchange(ctx, r, op, fields, patience, into)
		}
	}
	return said, err
}

// Describe starts the program where it does not run, and returns its description of itself.
func (c *Client) Describe(ctx context.Context) (Identity, error) {
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		return Identity{}, context.Cause(ctx)
	case <-c.life.Done():
		return Identity{}, ErrClosed
	}
	_, err := c.connected(ctx)
	return c.said, err
}

// exchange writes a question and reads its answer. Without an answer the program
// is ended: it may be at it still.
func (c *Client) exchange(
	ctx context.Context, r *clientRun, op string, fields map[string]any, patience time.Duration, into any,
) (line []byte, err error) {
	c.id++
	id := c.id
	err = r.Write(ctx, op, func() ([]byte, error) {
		line, err := encode(id, op, fields)
		r.mu.Lock()
		r.awaited, r.stray = id, 0
		r.mu.Unlock()
		return line, err
	})
	if err == nil {
		line, err = r.await(ctx, patience)
	}
	if err != nil {
		c.discard()
		return nil, err
	}
	var envelope struct {
		Error string `json:"error"`
	}
	if err := decode(line, &envelope); err != nil {
		c.discard() // whatever it is at
		return line, err
	}
	r.answered++
	if envelope.Error != "" {
		return line, fmt.Errorf("%s says: %s", c.host.Name(), plaintext.Recorded(envelope.Error, 2000))
	}
	return line, decode(line, into)
}

// encode writes a request; id and op come first, where a person reads them.
func encode(id uint64, op string, fields map[string]any) ([]byte, error) {
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf(`{"id":%d,"op":%q`, id, op)
	if len(fields) == 0 {
		return []byte(head + "}"), nil
	}
	return append([]byte(head+","), rest[1:]...), nil
}

// decode reads an answer. The error is for the author of the program.
func decode(line []byte, into any) error {
	err := json.Unmarshal(line, into)
	if err == nil {
		return nil
	}
	if _, token := WithoutNonFinite(line); token != "" {
		err = &NonFiniteError{Token: token}
	}
	return fmt.Errorf("its answer cannot be read: %w", err)
}

// connected returns the run of the program, ready for questions.
func (c *Client) connected(ctx context.Context) (*clientRun, error) {
	if c.run != nil {
		select {
		case <-c.run.Exited:
			c.discard()
		default:
			return c.run, nil
		}
	}
	timer := time.NewTimer(c.host.PauseAfter(c.shortRuns, c.lastExit))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.said = Identity{Name: c.host.Name(), Files: c.files}
	c.files = digestOf(&c.host) // it may be another one by now
	c.said.Files = c.files
	run, err := c.host.Start()
	if err != nil {
		c.shortRuns++
		c.lastExit = time.Now()
		return nil, err
	}
	r := &clientRun{Run: run, client: c, answers: make(chan reply, 1)}
	c.run = r
	c.wg.Go(func() { run.Supervise(r) })
	if err := c.greet(ctx, r); err != nil {
		c.discard()
		return nil, err
	}
	return r, nil
}

// greet exchanges the handshake.
func (c *Client) greet(ctx context.Context, r *clientRun) error {
	var greeting struct {
		Protocol       int             `json:"protocol"`
		Name           string          `json:"name"`
		Version        string          `json:"version"`
		Deterministic  bool            `json:"deterministic"`
		SettingsSchema json.RawMessage `json:"settings_schema"`
	}
	settings := c.settings
	if settings == nil {
		settings = map[string]any{}
	}
	_, err := c.exchange(ctx, r, "handshake", map[string]any{
		"protocol": Protocol, "role": c.role, "campaign": c.campaign, "settings": settings,
	}, max(c.host.ReplyWithin, DefaultReplyWithin), &greeting)
	switch {
	case err != nil:
		return fmt.Errorf("handshake: %w", err)
	case greeting.Protocol != Protocol:
		return fmt.Errorf("handshake: %s speaks version %d of the protocol and campaignd version %d (docs/process-method.md)",
			c.host.Name(), greeting.Protocol, Protocol)
	}
	if name := plaintext.Recorded(strings.TrimSpace(greeting.Name), 200); name != "" {
		c.said.Name = name
	}
	c.said.Version = plaintext.Recorded(strings.TrimSpace(greeting.Version), 200)
	c.said.Deterministic = greeting.Deterministic
	return checkSettings(greeting.SettingsSchema, settings)
}

// SettingsError says that a program does not take its settings.
type SettingsError struct {
	// Faults are at places below the settings of the program.
	Faults []definition.Fault
}

func (e *SettingsError) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.At.String() + ": " + f.Problem
	}
	return "the program does not take its settings: " + strings.Join(texts, "; ")
}

// checkSettings validates settings against the schema that a program gives of them, if any. The
// schema may name nothing outside itself: it is the program's.
func checkSettings(schema json.RawMessage, settings map[string]any) error {
	if len(schema) == 0 || string(schema) == "null" {
		return nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("handshake: settings_schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	const name = "urn:campaignd:settings"
	if err := compiler.AddResource(name, document); err != nil {
		return fmt.Errorf("handshake: settings_schema: %w", err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return fmt.Errorf("handshake: settings_schema: %w", err)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	err = compiled.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	refused := new(SettingsError)
	collect(refused, invalid)
	return refused
}

// collect takes the leaves of a validation error: a person can act on them.
func collect(into *SettingsError, e *jsonschema.ValidationError) {
	if len(e.Causes) == 0 {
		at := definition.At("settings")
		for _, step := range e.InstanceLocation {
			at = at.To(step)
		}
		text := e.Error()
		if i := strings.LastIndex(text, "': "); i >= 0 {
			text = text[i+3:]
		}
		into.Faults = append(into.Faults,
			definition.Fault{At: at, Problem: plaintext.Recorded(text, 500)})
	}
	for _, cause := range e.Causes {
		collect(into, cause)
	}
}

// noLoader loads nothing.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema names %s, and may name nothing outside itself", url)
}

// discard ends the present run, if any.
func (c *Client) discard() {
	r := c.run
	if r == nil {
		return
	}
	c.run = nil
	select {
	case <-r.Exited:
	default:
		r.Expect()
		r.Kill()
		<-r.Exited
	}
	if time.Since(r.StartedAt) > c.host.Healthy {
		c.shortRuns = 0
	}
	c.shortRuns++
	c.lastExit = time.Now()
}

// KillRun ends the present run from outside, for a conformance suite.
func (c *Client) KillRun() {
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	if c.run != nil {
		c.run.KillFor(false)
		<-c.run.Exited
	}
}

// Close ends the program: by the end of its input, then by SIGTERM, then by
// SIGKILL. It may be called more than once.
func (c *Client) Close() error {
	c.CloseWithin(c.host.Grace)
	return nil
}

// CloseWithin is Close with another grace period, and reports whether the program
// ended with its input.
func (c *Client) CloseWithin(grace time.Duration) (ended bool) {
	c.end()
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	ended = true
	if r := c.run; r != nil {
		c.run = nil
		if ended = r.EndInput(grace); !ended {
			r.Terminate()
		}
	}
	c.wg.Wait()
	return ended
}

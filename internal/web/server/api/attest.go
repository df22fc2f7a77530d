package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/attest"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/board"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// Kept is a file that a person has kept. It travels as text in JSON, not as an upload: checkpoints
// and proofs are short texts, made to be sent by mail and pasted.
type Kept struct {
	File string `json:"file,omitempty" maxLength:"300" doc:"What to call it in the answer."`
	Text string `json:"text" minLength:"1" doc:"Its content."`
}

// AuditWanted holds the options of an audit. All may be absent: then the store is checked against
// itself alone.
type AuditWanted struct {
	Since  []Kept   `json:"since,omitempty" maxItems:"100" doc:"Earlier checkpoints, which the log must extend."`
	Keys   []string `json:"keys,omitempty" maxItems:"100" doc:"Verifier keys: then the checkpoints must be signed by one of them."`
	Files  bool     `json:"files,omitempty" doc:"Compare the bytes of the campaign's files with the log, too."`
	Except []string `json:"except,omitempty" maxItems:"100" doc:"Revisions or versions of campaignd whose decisions are left out, audited with that one."`
}

// AuditRun is a requested audit. Its exported fields change once, from running to done or failed,
// in [audits]; readers get a copy.
type AuditRun struct {
	ID       string            `json:"id"`
	Campaign string            `json:"campaign"`
	State    string            `json:"state" enum:"running,done,failed"`
	Began    time.Time         `json:"began"`
	Passed   *bool             `json:"passed,omitempty" doc:"Whether nothing speaks against the store; absent while it runs."`
	Audit    *attest.Audit     `json:"audit,omitempty" doc:"What was found, as in campaignd audit --json."`
	Problem  *problems.Problem `json:"problem,omitempty" doc:"Why it failed."`

	// request is the key of the request that began it, empty for none.
	request string
}

type auditInput struct {
	InCampaign
	Body *AuditWanted
}

type auditBegun struct {
	Location string `header:"Location"`
	Body     AuditRun
}

type auditStateInput struct {
	Audit string `path:"audit" maxLength:"40" doc:"Its id."`
	Wait  int    `query:"wait" minimum:"0" maximum:"60" doc:"How many seconds to wait for its end."`
}

type auditStateOutput struct{ Body AuditRun }

// audits holds the lab's audits. Each server runs one at a time, since an audit takes a whole
// processor. A single server numbers them from 1 in each process, so that an id of an earlier
// process may name another audit, or none: hence the message for a missing one mentions a restart.
// With several servers, a board shows the audits of all.
type audits struct {
	board *board.Board // nil with a single server

	mu      sync.Mutex
	next    int
	running bool
	runs    []*AuditRun   // the newest last; none with a board
	changed chan struct{} // closed and replaced at each end
}

// keptAudits is the number of remembered audits. Their findings may be large, and can be computed
// again.
const keptAudits = 32

// begin notes an audit, unless another one runs. request, if not empty, is the key of the request:
// see [askedAs]. again is true if the same request has begun this audit before: the caller answers
// with it and starts nothing.
//
// A second audit is refused and not queued: people would not see that theirs has not begun, and an
// audit may take an hour.
func (l *audits) begin(ctx context.Context, campaign, request string) (run AuditRun, again bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	run = AuditRun{Campaign: campaign, State: "running", Began: clock.Now(), request: request}
	known := l.begun(ctx, request)
	switch {
	case known != nil:
		return *known, true, nil
	case l.running:
		// The message does not say which campaign: not everyone may know.
		return run, false, problem.New(problem.NotNow, "another audit runs").
			With(problem.Remedy{Text: "wait for its end, and ask again"})
	case l.board != nil:
		n, again, err := l.board.Begin(ctx, request, func(id string) any {
			run.ID = id
			return run
		})
		if again {
			run, err = l.unpin(n)
		}
		l.running = err == nil && !again
		return run, again, err
	}
	l.next++
	run.ID = "a" + strconv.Itoa(l.next)
	l.runs = append(l.runs, &run)
	if len(l.runs) > keptAudits {
		l.runs = l.runs[1:]
	}
	l.running = true
	return run, false, nil
}

// begun returns the audit that a request began earlier, or nil. The caller holds mu.
func (l *audits) begun(ctx context.Context, request string) *AuditRun {
	if request == "" {
		return nil
	}
	for _, other := range l.runs {
		if other.request == request {
			return other
		}
	}
	if l.board == nil {
		return nil
	}
	all, err := l.board.All(ctx)
	if err != nil {
		return nil // begin will fail, too
	}
	for _, n := range all {
		if n.Request == request {
			if run, err := l.unpin(n); err == nil {
				return &run
			}
		}
	}
	return nil
}

// end notes the result of an audit, and wakes those who wait.
func (l *audits) end(run AuditRun, audit *attest.Audit, err error) error {
	run.State = "failed"
	if err != nil {
		run.Problem = problems.Of(err)
	} else {
		passed := audit.Passed()
		run.State = "done"
		run.Audit = audit
		run.Passed = &passed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = false
	if l.board != nil {
		err := l.board.Put(context.Background(), run.ID, run, true)
		if err == nil {
			return nil
		}
		run.State = "failed"
		run.Audit = nil
		run.Passed = nil
		run.Problem = problems.Of(err)
		return errors.Join(err, l.board.Put(context.Background(), run.ID, run, true))
	}
	for i, other := range l.runs {
		if other.ID == run.ID {
			l.runs[i] = &run
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

// unpin reads an audit from a board. An audit whose process has ended has failed.
func (l *audits) unpin(n *board.Note) (run AuditRun, err error) {
	err = json.Unmarshal(n.Text, &run)
	if l.board.Lost(n) {
		run.State = "failed"
		run.Problem = problems.Of(problem.New(problem.Interrupted, "the server that audited it has ended").
			With(problem.Remedy{Text: "begin another audit"}))
	}
	return run, err
}

// lookEvery is the interval of polling a board for the end of an audit.
const lookEvery = 250 * time.Millisecond

// find returns an audit's present state, and a channel that signals a change.
func (l *audits) find(ctx context.Context, id string) (run AuditRun, again <-chan struct{}, ok bool, err error) {
	if l.board != nil {
		n, err := l.board.Get(ctx, id)
		if n == nil || err != nil {
			return run, nil, false, err
		}
		run, err = l.unpin(n)
		tick := make(chan struct{})
		time.AfterFunc(lookEvery, func() { close(tick) })
		return run, tick, err == nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, run := range l.runs {
		if run.ID == id {
			return *run, l.changed, true, nil
		}
	}
	return AuditRun{}, nil, false, nil
}

// checkpointInput and the following types are the inputs and outputs of the operations below, in
// the library's form.
type checkpointInput struct {
	InCampaign
}

type checkpointOutput struct{ Body *attest.Checkpoint }

type proofInput struct {
	InCampaign
	Event string `path:"event" maxLength:"40" doc:"An experiment e7, a question q3, a decision d12, or a position of the log."`
}

type growthInput struct {
	InCampaign
	Body struct {
		From string `json:"from" minLength:"1" doc:"The text of the earlier checkpoint."`
	}
}

type verifyInput struct {
	Body struct {
		Files []Kept   `json:"files" minItems:"1" maxItems:"100" doc:"Checkpoints and proofs."`
		Keys  []string `json:"keys,omitempty" maxItems:"100" doc:"Verifier keys: what none of them has signed proves nothing."`
	}
}

type verifyOutput struct {
	Body struct {
		Hold bool `json:"hold" doc:"Whether each file proves what it claims, and none contradicts another."`
		*attest.Files
	}
}

// attesting registers the operations that prove a store. They read the store as any reader may,
// next to the process that holds it; none waits for a campaign. A checkpoint covers the whole log,
// including the store's other campaigns, but reveals only their hash.
func (a *API) attesting() {
	begin := operation("begin-audit", http.MethodPost, "/campaigns/{campaign}/audits",
		"Check that nothing was changed, and make every decision again",
		"Of the campaign's store. It may take long and runs beside all else, one at a time; "+
			"the answer says where to look for what it found.")
	begin.DefaultStatus = http.StatusAccepted
	inCampaign(a, a.beginning(begin), a.beginAudit)
	huma.Register(a.huma, operation("get-audit", http.MethodGet, "/audits/{audit}", "What an audit has found",
		"The newest 32 since the start of the server are remembered."), a.auditState)
	huma.Register(a.huma, operation("get-checkpoint", http.MethodGet, "/campaigns/{campaign}/checkpoint",
		"What the log holds now, to be kept elsewhere",
		"A checkpoint of the campaign's store, signed where the server's user has a key."),
		func(ctx context.Context, in *checkpointInput) (*checkpointOutput, error) {
			return a.checkpoint(ctx, in.InCampaign, nil)
		})
	inCampaign(a, operation("prove-event", http.MethodGet, "/campaigns/{campaign}/proofs/{event}",
		"A proof that an event is in the log",
		"The text of the answer is a file that verify checks without the store."),
		func(ctx context.Context, c *lab.Campaign, in *proofInput) (*checkpointOutput, error) {
			p, err := attest.ProveIn(ctx, c.Store(), c.Name(), in.Event, a.Signer())
			if err != nil {
				return nil, problems.Of(err)
			}
			return &checkpointOutput{p}, nil
		})
	huma.Register(a.huma, operation("prove-growth", http.MethodPost, "/campaigns/{campaign}/growth",
		"A proof that the log has only grown since a checkpoint",
		"The text of the answer is a file that verify checks without the store."),
		func(ctx context.Context, in *growthInput) (*checkpointOutput, error) {
			old, err := attest.ReadCheckpoint([]byte(in.Body.From))
			if err != nil {
				return nil, problems.Of(problem.New(problem.Invalid, "from: %w", err))
			}
			return a.checkpoint(ctx, in.InCampaign, func(log events.Store, p *attest.Checkpoint) error {
				contradiction, err := p.Extend(ctx, log, old)
				if contradiction != "" {
					return problem.New(problem.Conflict,
						"the log does not extend the checkpoint: %s", contradiction)
				}
				return err
			})
		})
	huma.Register(a.huma, operation("verify", http.MethodPost, "/verify", "Check checkpoints and proofs",
		"Without any store: nothing is believed but the keys."),
		func(_ context.Context, in *verifyInput) (*verifyOutput, error) {
			keys, err := verifiers(in.Body.Keys)
			if err != nil {
				return nil, problems.Of(err)
			}
			var texts []attest.Text
			for i, f := range in.Body.Files {
				texts = append(texts, attest.Text{File: nameOf(f, i), Bytes: []byte(f.Text)})
			}
			out := new(verifyOutput)
			out.Body.Files = attest.VerifyFiles(texts, keys, len(keys) > 0)
			out.Body.Hold = out.Body.Files.Hold()
			return out, nil
		})
}

// nameOf returns a kept file's name in messages: its own, else its place in the request, counted
// from 1 as people count.
func nameOf(f Kept, i int) string {
	if f.File != "" {
		return f.File
	}
	return fmt.Sprintf("file %d", i+1)
}

// verifiers reads the keys that the caller trusts. An unreadable key is refused, not skipped: with
// fewer keys than the caller named, "not signed by one of them" would mean something else.
func verifiers(keys []string) (known []note.Verifier, err error) {
	for i, text := range keys {
		v, err := note.NewVerifier(text)
		if err != nil {
			return nil, problem.New(problem.Invalid, "keys[%d] is not a verifier key (NAME+HASH+KEY)", i)
		}
		known = append(known, v)
	}
	return known, nil
}

// checkpoint takes a checkpoint of a campaign's store and passes it to more, if set, while the
// store is still open. It first checks every byte of the log, which takes time with the size of the
// log; the request's context ends it.
func (a *API) checkpoint(
	ctx context.Context, in InCampaign, more func(events.Store, *attest.Checkpoint) error,
) (*checkpointOutput, error) {
	c, err := a.find(ctx, in)
	if err != nil {
		return nil, err
	}
	log, err := attest.OpenToRead(c.Store())
	if err != nil {
		return nil, problems.Of(err)
	}
	defer log.Close()
	p, err := attest.TakeCheckpoint(ctx, log, a.Signer())
	if err == nil && more != nil {
		err = more(log, p)
	}
	if err != nil {
		return nil, problems.Of(err)
	}
	return &checkpointOutput{p}, nil
}

// Signer returns the key of the system user who runs the server, nil if it is missing or cannot
// be read. An unreadable key does not fail the request: an unsigned checkpoint still proves, to
// people who keep it, that the log has only grown. The operator's log says why it is unsigned.
func (a *API) Signer() note.Signer {
	if a.options.Signer == nil {
		return nil
	}
	key, err := a.options.Signer()
	if err != nil {
		a.options.Log("checkpoints are not signed: %v", err)
		return nil
	}
	return key
}

// beginAudit checks the request, notes the audit and starts it; the answer comes at once. All
// faults of a request are found before the audit takes its place: a refused one does not keep
// others out. A repeated request is answered with the audit it began.
func (a *API) beginAudit(
	ctx context.Context, c *lab.Campaign, in *auditInput,
) (*auditBegun, error) {
	o := attest.Options{Registry: a.lab.Registry(), Build: a.lab.Build(), Campaign: c.Name()}
	if w := in.Body; w != nil {
		keys, err := verifiers(w.Keys)
		if err != nil {
			return nil, problems.Of(err)
		}
		o.Except = w.Except
		for i, k := range w.Since {
			old, err := attest.ReadCheckpoint([]byte(k.Text), keys...)
			switch {
			case err != nil:
				return nil, problems.Of(problem.New(problem.Invalid, "since[%d]: %w", i, err))
			case len(keys) > 0 && len(old.Signed) == 0:
				return nil, problems.Of(problem.New(problem.Invalid,
					"since[%d] is not signed by one of the keys: it shows nothing", i))
			}
			o.Since = append(o.Since, attest.Earlier{File: nameOf(k, i), Checkpoint: old})
		}
	}
	run, again, err := a.audits.begin(ctx, c.Name(), askedAs(ctx))
	if err != nil {
		return nil, problems.Of(err)
	}
	begun := &auditBegun{Location: Base + "/audits/" + run.ID, Body: run}
	if again {
		replayed(ctx)
		return begun, nil
	}
	// The audit outlives its request, whose caller asks for the result later, but not the server: a
	// shutdown must not wait an hour for it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-a.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	go func() {
		defer cancel()
		audit, err := a.audit(ctx, c, o, in.Body != nil && in.Body.Files)
		if err := a.audits.end(run, audit, err); err != nil {
			a.options.Log("what the audit %s has found is lost: %v", run.ID, err)
		}
	}()
	return begun, nil
}

// audit audits a campaign's store, with the attached files on request. A store that passes gets a
// checkpoint, to be kept elsewhere and given to a later audit. An empty log has none.
//
// A store too damaged to be opened gives a finding, not an error, and the audit did not pass: that
// is the answer the caller came for. A panic ends this audit alone.
func (a *API) audit(
	ctx context.Context, c *lab.Campaign, o attest.Options, files bool,
) (_ *attest.Audit, err error) {
	defer problem.Recover(&err, a.options.Log, "the audit of "+c.Name())
	log, err := attest.OpenToRead(c.Store())
	if errors.Is(err, events.ErrDamaged) {
		r := attest.NewAudit()
		r.Chain, r.Faults = attest.ChainBroken, append(r.Faults, err.Error())
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if files {
		if o.Files, err = store.OpenFiles(c.Store()); err != nil {
			return nil, err
		}
		defer o.Files.Close()
	}
	r, err := attest.Run(ctx, log, o)
	if err != nil || !r.Passed() || r.Events == 0 {
		return r, err
	}
	p, err := attest.TakeCheckpoint(ctx, log, a.Signer())
	if err != nil {
		return nil, err
	}
	r.Checkpoint = p.Text
	return r, nil
}

// auditState shows an audit, and waits for its end on request. Its path names no campaign, so the
// table of permissions cannot protect it: the operation checks the permission itself, for the
// audited campaign.
func (a *API) auditState(ctx context.Context, in *auditStateInput) (*auditStateOutput, error) {
	run, again, ok, err := a.audits.find(ctx, in.Audit)
	if err != nil {
		return nil, problems.Of(err)
	}
	if !ok || !gate.Sees(ctx, run.Campaign) && gate.IdentityOf(ctx).May(accounts.Audit, run.Campaign) != nil {
		// A caller who may audit only some campaigns gets the same answer for others' audits as for
		// missing ones.
		if !gate.IdentityOf(ctx).MaySomewhere(accounts.Audit) {
			return nil, problems.Of(a.Allowed(ctx, accounts.Audit, ""))
		}
		return nil, problems.Of(problem.New(problem.NotFound,
			"audit %q not found: the server may have been restarted", in.Audit).About(in.Audit))
	}
	if err := a.Allowed(ctx, accounts.Audit, run.Campaign); err != nil {
		return nil, problems.Of(err)
	}
	// At most a minute, by the document: a caller who wants to wait longer asks again.
	timeout := time.After(time.Duration(in.Wait) * time.Second)
	for ok && run.State == "running" && in.Wait > 0 {
		select {
		case <-again:
			if run, again, ok, err = a.audits.find(ctx, in.Audit); err != nil {
				return nil, problems.Of(err)
			}
			continue
		case <-timeout:
		case <-a.closing:
		case <-ctx.Done():
		}
		break
	}
	return &auditStateOutput{run}, nil
}

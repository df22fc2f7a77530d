package whatif

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/board"
)

// States of a run.
const (
	Waiting   = "waiting" // for another one to end
	Running   = "running"
	Done      = "done"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Run is the present state of a question to a server.
//
// A copy is handed out, never the run itself, so that readers need no lock.
type Run struct {
	ID       string `json:"id"`
	Campaign string `json:"campaign"`
	// Store is the name of the campaign's store in the lab: names are unique within one.
	Store string `json:"-"`
	Question
	// By is who asked.
	By    string    `json:"by"`
	State string    `json:"state"`
	Asked time.Time `json:"asked"`
	Ended time.Time `json:"ended,omitzero"`
	// Done experiments have been imagined, of Of; Of is 0 where only the
	// suggestion is worked out, and before the run has begun.
	Done int `json:"done"`
	Of   int `json:"of"`
	// Answer is set once the state is Done, Err once it is Failed.
	Answer *Answer `json:"answer,omitempty"`
	Err    error   `json:"-"`
}

// Over reports whether nothing more comes of it.
func (r *Run) Over() bool { return r.State != Waiting && r.State != Running }

// Bounds of [Runs].
const (
	mostWaiting = 8  // questions that are not answered yet
	mostKept    = 32 // questions in all; the oldest answers are forgotten
)

// Runs answers questions in the background, one at a time, and keeps the newest answers for as
// long as the process lives. Its methods may be called by several goroutines.
//
// Nothing of it is kept on the disk: an answer follows from the log, and can be asked for
// again. Each of a lab's servers answers its own questions, and a board shows the answers at
// all of them.
type Runs struct {
	board *board.Board // nil where there is one server

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	turn   chan struct{} // held by the one that runs

	log func(format string, args ...any)

	mu   sync.Mutex
	next int
	runs []*run // the newest last
}

// run is a Run under way. Its fields belong to Runs.mu; over is closed at the
// end, and may be waited for without the lock.
type run struct {
	Run
	request string // as what it was asked for, empty for nothing
	cancel  context.CancelFunc
	over    chan struct{}
	shown   time.Time // when the board last said how far it is
}

const (
	// showEvery is the interval at which a board updates the progress of a run, and lookEvery
	// that at which it is read for the progress of other servers' runs, and for requests about
	// runs here.
	showEvery, lookEvery = time.Second, 250 * time.Millisecond
)

// pinned is a run as a board has it.
type pinned struct {
	Run
	Store      string               `json:"store"`
	Definition *definition.Campaign `json:"definition,omitempty"` // of the answer
	Changed    *definition.Campaign `json:"changed,omitempty"`
	Failed     *problem.Error       `json:"failed,omitempty"`
}

// pin is a run for a board.
func pin(r Run) *pinned {
	p := &pinned{Run: r, Store: r.Store}
	if r.Answer != nil {
		p.Definition, p.Changed = r.Answer.Definition, r.Answer.Changed
	}
	if r.Err != nil {
		p.Failed = problem.FromError(r.Err)
	}
	return p
}

// unpin reads a run from a board. One whose process has ended has failed.
func (r *Runs) unpin(n *board.Note) (Run, error) {
	var p pinned
	if err := json.Unmarshal(n.Text, &p); err != nil {
		return Run{}, err
	}
	p.Run.Store = p.Store
	if p.Answer != nil {
		p.Answer.Definition, p.Answer.Changed = p.Definition, p.Changed
	}
	if p.Failed != nil {
		p.Err = p.Failed
	}
	if r.board.Lost(n) {
		p.State = Failed
		p.Err = problem.New(problem.Interrupted, "the server that worked it out has ended").
			With(problem.Remedy{Text: "ask again"})
	}
	return p.Run, nil
}

// NewRuns returns a Runs, which answers questions until it is closed. log gets mistakes in the
// program; nil drops them. The board is nil if no other server is to show the runs.
func NewRuns(shown *board.Board, log func(format string, args ...any)) *Runs {
	if log == nil {
		log = func(string, ...any) {}
	}
	r := &Runs{board: shown, turn: make(chan struct{}, 1), log: log}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Close cancels the current run, and returns once it has ended.
func (r *Runs) Close() {
	r.cancel()
	r.wg.Wait()
}

// Begin takes a person's question. The input is made when its turn comes. A
// request that is not empty is that of one question, however often it comes.
//
// The bounds keep a server's memory and processors for its campaigns. It returns
// at once; see [Runs.Get].
func (r *Runs) Begin(
	campaign, store, by, request string, q Question, in func() (Input, error),
) (Run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.runs {
		if request != "" && other.request == request {
			return other.Run, nil
		}
	}
	if r.ctx.Err() != nil {
		return Run{}, problem.New(problem.NotNow, "the server is about to end")
	}
	open := 0
	for _, other := range r.runs {
		if !other.Over() {
			open++
		}
	}
	if open >= mostWaiting {
		return Run{}, problem.New(problem.NotNow, "%d questions wait to be worked out", open).
			With(problem.Remedy{Text: "wait for one of them, or cancel it"})
	}
	asked := Run{
		Campaign: campaign, Store: store, Question: q, By: by, State: Waiting, Asked: clock.Now(),
	}
	if r.board == nil {
		r.next++
		asked.ID = "w" + strconv.Itoa(r.next)
	} else {
		n, again, err := r.board.Begin(r.ctx, request, func(id string) any {
			asked.ID = id
			return pin(asked)
		})
		if err != nil {
			return Run{}, err
		}
		if again {
			return r.unpin(n)
		}
	}
	ctx, cancel := context.WithCancel(r.ctx)
	one := &run{request: request, cancel: cancel, over: make(chan struct{}), Run: asked}
	r.runs = append(r.runs, one)
	if len(r.runs) > mostKept { // those that are not over are fewer
		oldest := slices.IndexFunc(r.runs, func(other *run) bool { return other.Over() })
		r.runs = slices.Delete(r.runs, oldest, oldest+1)
	}
	begun := one.Run
	r.wg.Go(func() {
		defer cancel()
		defer close(one.over)
		if r.board != nil {
			r.wg.Go(func() { r.heed(ctx, one) })
		}
		answer, err := r.work(ctx, one, in)
		r.end(one, answer, err, ctx.Err() != nil)
	})
	return begun, nil
}

// work answers a question once it is its turn. A panic of a method ends this
// question alone, with an error.
func (r *Runs) work(ctx context.Context, one *run, in func() (Input, error)) (_ *Answer, err error) {
	defer problem.Recover(&err, r.log, "what if "+one.ID)
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	one.State = Running
	q := one.Question
	r.mu.Unlock()
	r.show(one)
	input, err := in()
	if err != nil {
		return nil, err
	}
	input.Heard = func(done, of int) {
		r.mu.Lock()
		one.Done, one.Of = done, of
		late := time.Since(one.shown) > showEvery
		r.mu.Unlock()
		if late {
			r.show(one)
		}
	}
	return Work(ctx, input, q)
}

// end records how a run ended. An answer that was there before the cancellation
// counts.
func (r *Runs) end(one *run, answer *Answer, err error, cancelled bool) {
	defer r.show(one)
	r.mu.Lock()
	defer r.mu.Unlock()
	one.Ended = clock.Now()
	switch {
	case err == nil:
		one.State, one.Answer = Done, answer
	case cancelled:
		one.State = Cancelled
	default:
		one.State, one.Err = Failed, err
	}
}

// show puts a run's state on the board. A state that the board does not take is still known
// here.
func (r *Runs) show(one *run) {
	if r.board == nil {
		return
	}
	r.mu.Lock()
	one.shown = time.Now()
	p, over := pin(one.Run), one.Over()
	r.mu.Unlock()
	// The end is written also where the server is about to end.
	if err := r.board.Put(context.WithoutCancel(r.ctx), p.ID, p, over); err != nil {
		r.log("what if %s is not shown at other servers: %v", p.ID, err)
	}
}

// heed cancels a run that is cancelled at another server.
func (r *Runs) heed(ctx context.Context, one *run) {
	for {
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return
		}
		if n, err := r.board.Get(ctx, one.ID); err == nil && n != nil && n.Cancelled {
			one.cancel()
		}
	}
}

// elsewhere returns a campaign's run of another server as it is, once it is over
// or ctx is done.
func (r *Runs) elsewhere(ctx context.Context, campaign, store, id string) (Run, error) {
	for {
		n, err := r.board.Get(r.ctx, id)
		if err != nil {
			return Run{}, err
		}
		if n == nil {
			return Run{}, errNone(id)
		}
		one, err := r.unpin(n)
		switch {
		case err != nil:
			return Run{}, err
		case one.Campaign != campaign || one.Store != store:
			return Run{}, errNone(id)
		case one.Over():
			return one, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return one, nil
		}
	}
}

// errNone is returned for a run that there is not, or no longer.
func errNone(id string) error {
	return problem.New(problem.NotFound,
		"there is no what-if %q here: the server may have been started anew, or newer ones have taken its place", id).
		About(id)
}

// find returns a campaign's run. r.mu must be held.
func (r *Runs) find(campaign, store, id string) (*run, error) {
	for _, one := range r.runs {
		if one.ID == id && one.Campaign == campaign && one.Store == store {
			return one, nil
		}
	}
	return nil, errNone(id)
}

// Get returns a campaign's run as it is, once it is over or ctx is done. The end of ctx is not
// an error: the caller asked to wait so long.
func (r *Runs) Get(ctx context.Context, campaign, store, id string) (Run, error) {
	r.mu.Lock()
	one, err := r.find(campaign, store, id)
	r.mu.Unlock()
	if err != nil && r.board != nil {
		return r.elsewhere(ctx, campaign, store, id)
	}
	if err != nil {
		return Run{}, err
	}
	select {
	case <-one.over:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return one.Run, nil
}

// Now returns a campaign's run as it is.
func (r *Runs) Now(campaign, store, id string) (Run, error) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return r.Get(over, campaign, store, id)
}

// Cancel ends a campaign's run; one that is over stays as it is. It returns the
// run as it is then. Work looks at its context between steps, so the end may
// take as long as a fit does to notice it.
func (r *Runs) Cancel(ctx context.Context, campaign, store, id string) (Run, error) {
	r.mu.Lock()
	one, err := r.find(campaign, store, id)
	r.mu.Unlock()
	if err != nil && r.board != nil {
		if _, err := r.Now(campaign, store, id); err != nil {
			return Run{}, err
		}
		if err := r.board.Cancel(ctx, id); err != nil {
			return Run{}, err
		}
		return r.elsewhere(ctx, campaign, store, id)
	}
	if err != nil {
		return Run{}, err
	}
	one.cancel()
	return r.Get(ctx, campaign, store, id)
}

// Of returns the runs of a campaign, the newest first. Where the board cannot be
// read they are those of this server.
func (r *Runs) Of(campaign, store string) []Run {
	all := []Run{}
	for _, one := range slices.Backward(r.all()) {
		if one.Campaign == campaign && one.Store == store {
			all = append(all, one)
		}
	}
	return all
}

// all are the runs that are remembered, the newest last.
func (r *Runs) all() (all []Run) {
	if r.board != nil {
		notes, err := r.board.All(r.ctx)
		for _, n := range notes {
			one, unread := r.unpin(n)
			if err = errors.Join(err, unread); unread == nil {
				all = append(all, one)
			}
		}
		if err == nil {
			return all
		}
		all = nil
		r.log("what is imagined at other servers cannot be read: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.runs {
		all = append(all, one.Run)
	}
	return all
}

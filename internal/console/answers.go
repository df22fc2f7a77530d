package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/internal/clock"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lablog"
	"github.com/campaignd/campaignd/internal/problem"
)

// answersFolder is the folder, in the lab's own one, that holds answers that
// are not recorded in their campaigns yet: a file for each. They are no events
// and no part of the log, for the log is never changed and these are made to be
// taken back. Of a lab in a database they are values of its log.
const answersFolder = "answers"

// Several processes serve a lab in a database. Each sends the answers that it was
// given, and those of another one that has not sent them for some time: it has
// ended. Which of them sends one, or takes it back, is decided by who changes its
// value first.
const (
	// elsewhere is how long after it was due an answer is sent that another
	// process was given.
	elsewhere = 8 * time.Second
	// abandoned is how long another process may have been sending one.
	abandoned = sendingWithin + 10*time.Second
	// lookEvery is how often the values are looked at where no page is asked for, and
	// missedFor how long no page looks after one has in vain.
	lookEvery, missedFor = 2 * time.Second, time.Second
)

// States of an answer that is not recorded.
const (
	waiting = ""        // it will be sent
	undone  = "undone"  // taken back: what was typed is offered again
	refused = "refused" // the campaign did not accept it
	// read marks a piece of news about an answer that the person has put away:
	// see contest.go. It is kept as long as the news would be shown.
	read = "read"
)

// pending is an answer that is on the server's disk, and will be in its
// campaign a moment later. Its JSON is the file that outlives a restart of the
// server, and an upgrade: it stays, though [pending.request] is what it says.
// The unexported fields do not outlive it.
type pending struct {
	Campaign string `json:"campaign"`
	// Instance tells this campaign from another one of its name.
	Instance string `json:"instance"`
	Question string `json:"question"`
	// Source is the event that holds the answer that the person saw; empty if
	// there was none. If another one has been recorded since, this answer does
	// not replace it but is recorded as contested.
	Source  string `json:"source,omitempty"`
	Name    string `json:"name"`
	Account string `json:"account,omitempty"`
	// Request and Digest are those of the form: however often the answer is
	// sent on, it is recorded once. A server before these were kept left them
	// empty.
	Request string       `json:"request,omitempty"`
	Digest  string       `json:"digest,omitempty"`
	Reply   humans.Reply `json:"reply"`
	// Words say what was answered.
	Words string    `json:"words"`
	Given time.Time `json:"given"`
	Due   time.Time `json:"due"` // when it can no longer be taken back
	State string    `json:"state,omitempty"`
	Why   string    `json:"why,omitempty"` // of a refusal
	// Sending is a random word of the process that is recording it, of several.
	Sending string `json:"sending,omitempty"`

	file    string      // its name in the folder
	text    []byte      // what is kept of it; nil where nothing is
	sending bool        // it is being recorded: too late to take it back
	timer   *time.Timer // fires when it is due; nil once that is over
	tries   int         // failed attempts to record it
}

// answers keeps the answers that are not recorded yet, on disk (or in the
// database) and in memory,
// and sends each when it is due. An answer is acknowledged once its file is
// written, and the file is removed only once the campaign holds the answer: a
// crash in between sends it twice, which the request's identifier makes
// harmless. Its methods may be called by several goroutines. Campaigns are read
// and answers submitted without mu, so that a slow store holds up no page; what
// a method changes of an answer that others may look at, it changes in a copy
// or with mu held. closed is set by wait: from then on no timer is set.
type answers struct {
	ctx    context.Context // ends with the console
	lab    *lab.Lab
	undo   time.Duration // from an answer to its recording
	log    func(format string, args ...any)
	keeper keeper
	shared bool           // other processes keep theirs there as well
	self   string         // a random word for this process
	wg     sync.WaitGroup // timers that are set, sends that are under way, and looks

	looking lablog.Look[struct{}] // by a page for all that wait; it takes mu

	mu     sync.Mutex
	all    map[string]*pending // by their files' names
	swaps  int                 // how often something kept was changed here
	unread map[string]bool     // those of which the operator's log has said so
	closed bool
}

// openAnswers reads the answers that an earlier process left, and sends what is
// due. A file that cannot be read stays where it is, and the operator's log
// says so: it may be a person's answer, and a later version may read it. Files
// that begin with a dot are half-written ones.
//
// What was put away is kept for twice as long as its news would be shown, and
// then removed: this is the only place where that is done, which is enough for
// a few bytes each.
func openAnswers(ctx context.Context, o Options) *answers {
	a := &answers{
		ctx: ctx, lab: o.Lab, undo: o.Undo, log: o.Log,
		keeper: folderKeeper(filepath.Join(o.Lab.Private(), answersFolder)),
		self:   rand.Text()[:12],
		all:    make(map[string]*pending),
		unread: make(map[string]bool),

		looking: lablog.Look[struct{}]{Rest: missedFor},
	}
	if o.Lab.Shared() {
		a.keeper, a.shared = logKeeper(o.Lab.Log), true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.look(); err != nil {
		o.Log("the answers that are not recorded yet cannot be read: %v", err)
	}
	for _, p := range a.all {
		if p.State == read && time.Since(p.Given) > 2*newsLasts {
			if err := a.drop(p); err != nil {
				o.Log("what was put away long ago cannot be removed: %v", err)
			}
		}
	}
	if a.shared {
		a.wg.Go(a.lookAgain)
	}
	return a
}

// look takes in what is kept. a.mu is held.
func (a *answers) look() error {
	all, err := a.keeper.list(a.notRead)
	if err != nil && all == nil {
		return err
	}
	a.takeIn(all)
	return err
}

// notRead says of an answer, once, that it cannot be read. a.mu is held.
func (a *answers) notRead(name string, err error) {
	if a.unread[name] {
		return
	}
	a.unread[name] = true
	if folder, ok := a.keeper.(folderKeeper); ok {
		name = filepath.Join(string(folder), name)
	}
	a.log("an answer that is not recorded yet cannot be read, and is not sent: %s: %v", name, err)
}

// takeIn makes what is known what is kept. a.mu is held.
func (a *answers) takeIn(all map[string][]byte) {
	for name, p := range a.all {
		if _, there := all[name]; !there {
			a.unschedule(p)
			delete(a.all, name)
		}
	}
	for name, text := range all {
		before := a.all[name]
		if before != nil && bytes.Equal(before.text, text) {
			continue
		}
		p := &pending{file: name}
		if err := json.Unmarshal(text, p); err != nil {
			a.notRead(name, err)
			continue
		}
		if before != nil {
			a.unschedule(before)
		}
		p.text = text
		a.all[name] = p
		switch {
		case p.State != waiting:
		case !a.shared:
			a.schedule(p, time.Until(p.Due))
		case p.Sending != "":
			a.schedule(p, abandoned)
		default:
			a.schedule(p, max(0, time.Until(p.Due))+elsewhere)
		}
	}
}

// refresh takes in what other processes had kept when a page was asked for. Of the
// pages that wait for that at a time one looks, and who knows what to show does not
// wait for the database: hundreds of pages may be open.
func (a *answers) refresh(asked time.Time) {
	if !a.shared {
		return
	}
	_, _ = a.looking.Since(asked, func(time.Time) (none struct{}, err error) {
		return none, a.lookApart() // with an error, what is known here is shown
	})
}

// lookApart is look without a.mu while the keeper looks.
func (a *answers) lookApart() error {
	for range 3 {
		a.mu.Lock()
		swaps := a.swaps
		a.mu.Unlock()
		all, err := a.keeper.list(func(string, error) {})
		if err != nil {
			return err
		}
		a.mu.Lock()
		current := a.swaps == swaps // else what was found is older than what is known
		if current {
			a.takeIn(all)
		}
		a.mu.Unlock()
		if current {
			return nil
		}
	}
	return nil
}

// lookShared is look where other processes keep answers. a.mu is held.
func (a *answers) lookShared() error {
	if !a.shared {
		return nil
	}
	return a.look()
}

// lookAgain takes in what other processes keep until the console closes.
func (a *answers) lookAgain() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			a.refresh(time.Now())
		case <-a.ctx.Done():
			return
		}
	}
}

// errMoved means that another process has just changed an answer.
var errMoved = problem.New(problem.Unavailable, "the answer was just changed elsewhere: try again")

// anew calls f, and again after a look where another process was quicker. a.mu is
// held.
func (a *answers) anew(f func() error) error {
	for n := 0; ; n++ {
		if err := a.lookShared(); err != nil {
			return err
		}
		if err := f(); !errors.Is(err, errMoved) || n == 5 {
			return err
		}
	}
}

// underWay reports whether an answer is being recorded, here or elsewhere.
func (p *pending) underWay() bool { return p.sending || p.Sending != "" }

// wait returns when no send is under way; nothing is sent afterwards. Answers
// whose timers it stops stay on the disk, for the next process. The context of
// the sends has ended by then (see [Console.Close]), so that none waits for a
// campaign for long.
func (a *answers) wait() {
	a.mu.Lock()
	a.closed = true
	for _, p := range a.all {
		// A timer that was stopped in time will not call Done itself.
		if p.timer != nil && p.timer.Stop() {
			a.wg.Done()
		}
	}
	a.mu.Unlock()
	a.wg.Wait()
}

// fileOf names the file of a person's answer to a question: there is one at a
// time. The name is a hash, since names of people may hold any character. 12
// bytes of it keep names short; the campaign's instance is not part of it, so
// that an answer for an earlier campaign of the name is replaced by one for the
// new, and not sent in its place.
func fileOf(campaign, question, name string) string {
	sum := sha256.Sum256([]byte(campaign + "\x00" + question + "\x00" + name))
	return hex.EncodeToString(sum[:12]) + ".json"
}

// give keeps an answer, which is on the disk when it returns, to be sent once
// it can no longer be taken back. It replaces an earlier answer that was not
// sent yet. Answers that the person gave to other questions are sent now:
// people who go on to the next question no longer doubt the last one.
func (a *answers) give(p pending) error {
	p.file = fileOf(p.Campaign, p.Question, p.Name)
	p.Given = clock.Now().UTC()
	p.Due = p.Given.Add(a.undo)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.anew(func() error { return a.giveNow(p) })
}

// giveNow is give. a.mu is held.
func (a *answers) giveNow(p pending) error {
	before := a.all[p.file]
	if before != nil && before.underWay() {
		if p.Request != "" && before.Request == p.Request && before.Digest == p.Digest {
			return nil // the form was sent twice
		}
		return problem.New(problem.NotNow, "your answer before is just being recorded").About(p.Question).
			With(problem.Remedy{
				Text:   "look at the question again in a moment, and change the answer",
				Action: problem.CorrectAnswer, Subject: p.Question,
			})
	}
	if before != nil {
		p.text = before.text
	}
	if err := a.store(&p); err != nil {
		return err
	}
	// Only now that the new file stands may the earlier timer be stopped: a
	// failure above leaves the earlier answer as it was.
	if before != nil {
		a.unschedule(before)
	}
	a.all[p.file] = &p
	a.schedule(&p, a.undo)
	for _, other := range a.all {
		if other.Name == p.Name && other != &p {
			a.hasten(other)
		}
	}
	return nil
}

// hasten sends a waiting answer now. One that has failed before keeps its
// pause. a.mu is held. Where the timer cannot be stopped any more, it has
// fired, and the send is under way.
func (a *answers) hasten(p *pending) {
	if p.State == waiting && !p.underWay() && p.tries == 0 && p.timer != nil && p.timer.Stop() {
		a.wg.Done()
		a.schedule(p, 0)
	}
}

// sendNow sends a person's answer without waiting whether they take it back; it
// does nothing where there is none.
func (a *answers) sendNow(campaign, question, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.lookShared() // else it is sent when it is due
	if p := a.all[fileOf(campaign, question, name)]; p != nil {
		a.hasten(p)
	}
}

// store keeps an answer in the place of what was kept under its name. a.mu is
// held.
func (a *answers) store(p *pending) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return a.swap(p, append(text, '\n'))
}

// swap changes what is kept of an answer; nil: nothing is. a.mu is held.
func (a *answers) swap(p *pending, text []byte) error {
	a.swaps++
	swapped, err := a.keeper.swap(p.file, p.text, text)
	switch {
	case err != nil:
		return err
	case !swapped:
		return errMoved
	}
	p.text = text
	return nil
}

// schedule sets the timer that sends an answer; it does nothing once the
// console closes, since the file is sent by the next process. a.mu is held.
func (a *answers) schedule(p *pending, in time.Duration) {
	if a.closed {
		return
	}
	a.wg.Add(1)
	p.timer = time.AfterFunc(max(in, 0), func() {
		defer a.wg.Done()
		a.send(p)
	})
}

// unschedule stops the timer of an answer. a.mu is held.
func (a *answers) unschedule(p *pending) {
	if p.timer != nil && p.timer.Stop() {
		a.wg.Done()
	}
	p.timer = nil
}

// take takes an answer back; the file stays, marked, to offer again what was
// typed. It fails with problem.NotNow where the answer is recorded or being
// recorded. Taken back twice is taken back. The file is written before the
// timer is stopped: where that fails, the person learns of it, and the answer
// is sent as if they had not tried.
func (a *answers) take(campaign, question, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.anew(func() error { return a.takeNow(campaign, question, name) })
}

// takeNow is take. a.mu is held.
func (a *answers) takeNow(campaign, question, name string) error {
	p := a.all[fileOf(campaign, question, name)]
	switch {
	case p == nil || p.underWay():
		return problem.New(problem.NotNow,
			"it is too late to take the answer back: it is recorded").About(question).
			With(problem.Remedy{Text: "change the answer instead", Action: problem.CorrectAnswer,
				Subject: question})
	case p.State != waiting:
		return nil
	}
	changed := *p
	changed.State = undone
	if err := a.store(&changed); err != nil {
		return err
	}
	a.unschedule(p)
	changed.timer = nil
	a.all[p.file] = &changed
	return nil
}

// forget removes an answer that was taken back or refused, once its message is
// put away. One that waits is not forgotten: the person was shown that it will
// be sent.
func (a *answers) forget(campaign, question, name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.anew(func() error {
		p := a.all[fileOf(campaign, question, name)]
		if p == nil || p.State == waiting {
			return nil
		}
		return a.drop(p)
	})
}

// drop removes an answer from the disk and from memory. a.mu is held.
func (a *answers) drop(p *pending) error {
	if err := a.swap(p, nil); err != nil {
		return err
	}
	if a.all[p.file] == p {
		delete(a.all, p.file)
	}
	return nil
}

// of returns the answers of a person that are not recorded yet, the newest
// first: copies, which do not change. Those that were taken back or refused are
// among them. Those of other processes are as the newest look has found them.
func (a *answers) of(name string) (list []pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.all {
		if p.Name == name && p.State != read {
			list = append(list, *p)
		}
	}
	slices.SortFunc(list, func(p, q pending) int { return q.Given.Compare(p.Given) })
	return list
}

// to returns the answers to a question that will be sent, of all people and in
// no order.
func (a *answers) to(campaign, question string) (list []pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.all {
		if p.Campaign == campaign && p.Question == question && p.State == waiting {
			list = append(list, *p)
		}
	}
	return list
}

// Pauses between two attempts to send double from the first to the longest; one
// attempt may take sendingWithin.
const (
	firstPause    = 2 * time.Second
	longestPause  = time.Minute
	sendingWithin = time.Minute
)

// send records an answer in its campaign. If that fails for a passing reason
// (the store is busy, the campaign changes hands), it is tried again, for as
// long as the server lives and longer; if the campaign refuses the answer, it
// is kept as refused and the person sees why.
//
// Which reasons pass is a list of those that do not: an unknown failure is
// tried again, since giving up loses an answer that was acknowledged. The
// operator's log hears of the first failure only.
func (a *answers) send(p *pending) {
	a.mu.Lock()
	if !a.claim(p) {
		a.mu.Unlock()
		return
	}
	p.sending = true
	a.mu.Unlock()

	// The lock is not held while the campaign records: pages that list answers
	// do not wait. sending keeps others from changing this one.
	err := a.submit(p)
	a.mu.Lock()
	defer a.mu.Unlock()
	p.sending, p.Sending = false, ""
	if err == nil {
		// If it stays on the disk and is sent again, the campaign refuses the
		// repeat by its identifier.
		if err := a.drop(p); err != nil {
			a.log("an answer that is recorded cannot be removed: %v", err)
		}
		return
	}
	switch problem.CodeOf(err) {
	case problem.Invalid, problem.NotPossible, problem.NotFound, problem.Conflict, problem.Gone:
		p.State, p.Why = refused, sentence(err.Error())
		if err := a.store(p); err != nil {
			a.log("an answer that was refused: %v", err)
		}
		return
	}
	if p.tries == 0 && a.ctx.Err() == nil {
		a.log("the answer to %s of %s is sent later: %v", p.Question, p.Campaign, err)
	}
	if a.shared {
		if err := a.store(p); err != nil {
			return // it stands still, and is sent by who sees that
		}
	}
	p.tries++
	a.schedule(p, min(firstPause<<min(p.tries-1, 10), longestPause))
}

// claim reports whether an answer is to be recorded now, by this process: of
// several the one that says so first. a.mu is held.
func (a *answers) claim(p *pending) bool {
	if a.closed || a.all[p.file] != p || p.State != waiting {
		return false
	}
	if !a.shared {
		return true
	}
	before := p.Sending
	p.Sending = a.self + " " + rand.Text()[:12]
	err := a.store(p)
	if err == nil {
		return true
	}
	if p.Sending = before; !errors.Is(err, errMoved) {
		a.schedule(p, firstPause)
	}
	return false
}

// putAway notes that a person has put away a piece of news. It is kept with the
// answers, since it is the person's and must outlast a restart; its file is
// named by question and news, so that it is not taken for an answer to the
// question.
func (a *answers) putAway(campaign, question, name, news string) error {
	p := &pending{Campaign: campaign, Question: question, Name: name, Source: news, State: read,
		Given: clock.Now().UTC()}
	p.file = fileOf(campaign, question+"\x00"+news, name)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.anew(func() error {
		if before := a.all[p.file]; before != nil {
			p.text = before.text
		}
		if err := a.store(p); err != nil {
			return err
		}
		a.all[p.file] = p
		return nil
	})
}

// wasRead reports whether a person has put away a piece of news.
func (a *answers) wasRead(campaign, question, name, news string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[fileOf(campaign, question+"\x00"+news, name)] != nil
}

// submit records an answer in its campaign, once, by the identifier of its
// form. If the question has another answer than the one the person saw, theirs
// is recorded as contested. A campaign that is not there is a passing reason:
// its store may not be open yet.
func (a *answers) submit(p *pending) error {
	c, err := a.lab.Campaign(p.Campaign)
	if err != nil {
		return problem.New(problem.Unavailable, "%w", err)
	}
	recorded := false
	c.Read(func(core *engine.Core) {
		s := core.State()
		q := s.Question(p.Question)
		switch {
		case s.Instance != p.Instance || q == nil:
			err = problem.New(problem.NotFound, "there is another campaign of that name now")
		case p.Request == "" && q.Source != p.Source:
			// Written by an earlier server without identifiers, just before it
			// ended: the answer counts as recorded if the log has one of this
			// person that is newer.
			recorded = q.AnsweredBy == "person:"+p.Name && q.AnsweredAt.After(p.Given)
		}
	})
	// The campaign's instance was compared, since an answer must never go to
	// another campaign that has got the same name.
	if recorded || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.ctx, sendingWithin)
	defer cancel()
	_, err = c.Submit(ctx, p.request())
	return err
}

// request is the answer as it is recorded. It is the same however often it is
// made, and the one by which [Console.given] asked the campaign.
func (p *pending) request() engine.Request {
	return engine.Request{
		Actor: "person:" + p.Name, Account: p.Account, ID: p.Request, Digest: p.Digest,
		Answer: &engine.Answer{Question: p.Question, Saw: &p.Source, Reply: p.Reply},
	}
}

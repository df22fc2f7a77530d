//go:build unix

package instrumenttest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/draws"
)

// programVariable turns this test binary into a program behind a process instrument.
// Its value is the program's mode.
const programVariable = "INSTRUMENTTEST_PROGRAM"

func TestMain(m *testing.M) {
	if mode := os.Getenv(programVariable); mode != "" {
		newProgram(mode).serve()
		os.Exit(0)
	}
	draws.Waiting(8, 1)
	os.Exit(m.Run())
}

// actLasts is how long an act takes, and actOutlasts where it is to go on until another process
// of the program is up, or another command has begun, also under the race detector.
const (
	actLasts    = 80 * time.Millisecond
	actOutlasts = 2 * time.Second
)

// portHangs is how long a port does not answer, much longer than the line of an act
// that has begun needs to be seen.
const portHangs = 600 * time.Millisecond

// briefReplies is the reply_within of programs whose replies come too late, or never.
const briefReplies = 5 * time.Second

type message map[string]any

// program speaks the protocol of process instruments, in the folder it is started
// in. It works on commands in the background and keeps a durable ledger, which one
// process at a time may write. It is honest in the mode "sound"; each other mode
// differs in one thing, of which docs/process-instrument.md says that it must not be,
// or may be.
type program struct {
	mode    string
	lock    *os.File
	ledger  *os.File
	working sync.WaitGroup
	out     sync.Mutex
	before  runBefore  // of the modes in which a run depends on the one before
	channel sync.Mutex // of the modes "serial" and "other"
	voided  sync.Map   // of the modes "forgetsvoid" and "voidsatend": what was called off, by ID

	drawn sync.Map // what each command was given, by ID
	acts  int      // of this process

	mu       sync.Mutex
	alone    bool // no earlier process is at work
	jobs     map[string]*job
	latest   *job    // the one that ended last
	register float64 // of the mode "onechannel": the composition that was set last
}

// runBefore is what is left of the run before. It is in a file, since processes of
// the program follow each other.
type runBefore struct {
	Runs   int
	Value  float64
	Actual json.RawMessage
	Values map[string]float64 // by composition
}

// next replaces what is left of the run before, and returns it.
func (r *runBefore) next(j *job, value float64) (before runBefore) {
	if data, err := os.ReadFile("before"); err == nil { // the first run finds none
		_ = json.Unmarshal(data, r)
	}
	before = *r
	r.Runs++
	r.Value = value
	r.Actual = json.RawMessage(j.parameters)
	r.Values = maps.Clone(r.Values)
	if r.Values == nil {
		r.Values = map[string]float64{}
	}
	r.Values[j.parameters] = value
	data, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile("before", data, 0o666)
	}
	if err != nil {
		panic(err)
	}
	return before
}

// job is a command that the program knows.
type job struct {
	id         string
	parameters string
	salt       float64
	mine       atomic.Bool // this process works on it, or will
	begun      sync.Once
	cancelled  chan struct{}
	called     sync.Once
	done       chan struct{}
	outcome    message // set when done is closed
}

// entry is a line of the ledger.
type entry struct {
	ID         string  `json:"id"`
	Parameters string  `json:"parameters,omitempty"`
	Outcome    message `json:"outcome,omitempty"`
}

func newProgram(mode string) *program {
	open := func(name string) *os.File {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o666)
		if err != nil {
			panic(err)
		}
		return f
	}
	p := &program{mode: mode, lock: open("lock"), ledger: open("ledger"), jobs: map[string]*job{}}
	p.read()
	switch mode {
	case "homes":
		p.note("acts", "homing")
	case "third": // process that finds a command takes it up
		for _, j := range p.interrupted() {
			p.note("found", j.id)
			if data, _ := os.ReadFile("found"); strings.Count(string(data), j.id+"\n") == 3 {
				p.again(j)
			}
			j.mine.Store(false)
		}
	case "redo":
		p.working.Go(func() {
			p.takeOver()
			for _, j := range p.interrupted() {
				p.begin(j)
			}
		})
	}
	return p
}

// takeOver waits until no earlier process is at work, and reads what it did.
func (p *program) takeOver() {
	p.mu.Lock()
	alone := p.alone
	p.mu.Unlock()
	if alone {
		return
	}
	if err := syscall.Flock(int(p.lock.Fd()), syscall.LOCK_EX); err != nil {
		panic(err)
	}
	p.mu.Lock()
	p.alone = true
	p.mu.Unlock()
	p.read()
}

// tryAlone reports whether no earlier process is at work.
func (p *program) tryAlone() bool {
	if syscall.Flock(int(p.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false
	}
	p.takeOver()
	return true
}

// read reads the ledger.
func (p *program) read() {
	p.mu.Lock()
	defer p.mu.Unlock()
	data, err := os.ReadFile(p.ledger.Name())
	if err != nil || p.mode == "forgets" {
		return
	}
	for line := range strings.Lines(string(data)) {
		var e entry
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		j := p.jobs[e.ID]
		if j == nil {
			j = newJob(e.ID, e.Parameters)
			p.jobs[e.ID] = j
		}
		if e.Outcome != nil && j.outcome == nil {
			j.outcome = e.Outcome
			close(j.done)
			p.latest = j
		}
	}
}

func newJob(id, parameters string) *job {
	j := &job{id: id, parameters: parameters, cancelled: make(chan struct{}), done: make(chan struct{})}
	var point struct{ Salt float64 }
	_ = json.Unmarshal([]byte(parameters), &point)
	j.salt = point.Salt
	return j
}

// over reports whether the job has ended.
func (j *job) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

func (p *program) keep(e entry) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	if _, err := p.ledger.Write(append(line, '\n')); err != nil {
		panic(err)
	}
	if err := p.ledger.Sync(); err != nil {
		panic(err)
	}
}

// note appends a line to a file.
func (p *program) note(file, line string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// interrupted are the jobs that an earlier process began and did not end.
func (p *program) interrupted() []*job {
	p.mu.Lock()
	defer p.mu.Unlock()
	var some []*job
	for _, j := range p.jobs {
		if j.outcome == nil && !j.mine.Load() {
			j.mine.Store(true)
			some = append(some, j)
		}
	}
	return some
}

// begin works on a job in the background.
func (p *program) begin(j *job) {
	p.working.Go(func() { j.begun.Do(func() { p.perform(j) }) })
}

func (p *program) perform(j *job) {
	switch p.mode {
	case "serial", "other": // of two, the later one ends last, whatever else the machine does
		p.channel.Lock()
		defer p.channel.Unlock()
	case "tardy":
		select {
		case <-time.After(actLasts / 4):
		case <-j.cancelled:
			p.end(j, message{"status": "cancelled", "cause": "called off"})
			time.Sleep(actLasts / 2) // on a busy machine that word takes a while
		}
	}
	switch p.mode {
	case "hangs", "invents": // until its port answers
		time.Sleep(portHangs)
	}
	if !p.enter(j) {
		return
	}
	switch p.mode {
	case "exits":
		os.Exit(0)
	case "stuck", "stuck twin":
		time.Sleep(time.Minute)
	case "liesdone":
		p.end(j, measurement(j, 10*j.salt))
	}
	lasts := actLasts
	if slices.Contains([]string{"twohands", "redo", "onechannel", "busy", "third"}, p.mode) {
		lasts = actOutlasts
	}
	select {
	case <-time.After(lasts):
		switch p.mode {
		case "steps", "repeats":
			for n := range 5 {
				p.note("acts", fmt.Sprintf(`%s part %d {"salt":%g}`, j.id, n+2, j.salt))
			}
			if p.mode == "repeats" {
				p.note("acts", j.id+" part 3")
			}
		case "late":
			p.working.Go(func() {
				time.Sleep(10 * actLasts)
				p.note("acts", j.id)
			})
		default:
			p.note("acts", j.id+" end")
		}
		p.end(j, p.outcome(j))
	case <-j.cancelled:
		if p.mode == "cancellies" {
			p.end(j, message{"status": "cancelled", "cause": "called off"})
			time.Sleep(actLasts)
		}
		if p.mode != "steps" && p.mode != "repeats" && p.mode != "late" {
			p.note("acts", j.id+" end")
		}
		p.end(j, message{"status": "failed", "cause": "called off"})
	}
}

// enter notes the begin of a job, unless it was called off before. What is
// called off is either void or has begun.
func (p *program) enter(j *job) (begun bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-j.cancelled:
		if !slices.Contains([]string{"tardy", "hangs", "ignorescancel", "cancellies"}, p.mode) {
			outcome := message{"status": "cancelled", "cause": "called off before it began"}
			if p.mode == "invents" {
				outcome = measurement(j, 10*j.salt)
			}
			p.settle(j, outcome)
			return false
		}
	default:
	}
	set := j.salt
	if p.mode == "rounds" || p.mode == "coarse" {
		set = math.Round(10*set) / 10
	}
	line := fmt.Sprintf(`%s begin {"salt":%.3f,"tips":%s}`, j.id, set, p.tips(j))
	switch p.mode {
	case "steps", "repeats": // its device works in steps
		line = j.id + " part 1"
	case "late":
		line = ""
	}
	if line != "" {
		p.note("acts", line)
	}
	p.register = set
	return true
}

// tips are those that a job uses, as the record has them: of most modes one that no campaign declares.
func (p *program) tips(j *job) string {
	p.acts++
	drawn, _ := p.drawn.Load(j.id)
	all := []string{"A1"}
	switch found := len(p.jobs) > p.acts; {
	case p.mode == "counts":
		all = []string{fmt.Sprintf("A%d", p.acts), fmt.Sprintf("B%d", p.acts)}
	case p.mode == "fromthefirst" && found && p.acts == 1: // an earlier process has begun
		all = []string{"A1", "B1"}
	case p.mode == "draws" || p.mode == "fromthefirst":
		all = drawn.([]events.Drawn)[1].Labels
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// cancel calls a job off. One that was never started is in the ledger as
// cancelled from then on.
func (p *program) cancel(id, parameters string) {
	p.takeOver()
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.jobs[id]
	switch {
	case j == nil && (p.mode == "forgetsvoid" || p.mode == "voidsatend"):
		p.voided.Store(id, true)
	case j == nil && !slices.Contains([]string{"old", "nevervoids"}, p.mode):
		j = newJob(id, parameters)
		p.jobs[id] = j
		p.keep(entry{ID: id, Parameters: parameters})
		p.settle(j, message{"status": "cancelled", "cause": "called off before it was started"})
	case j != nil && p.mode == "cancelsall":
		for _, j := range p.jobs {
			j.called.Do(func() { close(j.cancelled) })
		}
	case j != nil && p.mode != "ignorescancel" && p.mode != "hangs":
		j.called.Do(func() { close(j.cancelled) })
	}
}

func measurement(j *job, value float64) message {
	return message{"status": "measured", "measurement": message{
		"actual":    json.RawMessage(j.parameters),
		"objective": message{"name": "conductivity", "value": value, "unit": "mS/cm"},
	}}
}

// outcome is that of a job which was carried out.
func (p *program) outcome(j *job) message {
	o := measurement(j, p.value(j))
	m := o["measurement"].(message)
	objective := m["objective"].(message)
	switch p.mode {
	case "coarse":
		m["actual"] = message{"salt": math.Round(10*j.salt) / 10}
	case "lastactual":
		if before := p.before.next(j, 0); before.Actual != nil {
			m["actual"] = before.Actual
		}
	case "nounit":
		delete(objective, "unit")
	case "si":
		objective["unit"], objective["value"] = "S/m", j.salt
	case "silentsi":
		objective["value"] = j.salt
	case "clock":
		m["began"], m["ended"] = "2031-01-01T00:00:00Z", "1970-01-01T00:00:00Z"
	}
	return o
}

// value is what is measured for a job: ten times its salt.
func (p *program) value(j *job) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.mode {
	case "noisy":
		return max(0, 10*j.salt+0.5*rand.NormFloat64())
	case "constant":
		return 8
	case "swap5":
		before := p.before.next(j, 10*j.salt)
		if before.Runs%5 == 4 {
			return before.Value
		}
	case "carry":
		if before := p.before.next(j, 10*j.salt); before.Runs > 0 {
			return 6*j.salt + 0.4*before.Value
		}
	case "rounds", "coarse":
		return math.Round(10 * j.salt)
	case "onechannel":
		return 10 * p.register
	case "newest": // the file of the run before: this one is not written yet
		before := 3.5
		if data, err := os.ReadFile("newest"); err == nil {
			_, _ = fmt.Sscan(string(data), &before)
		}
		_ = os.WriteFile("newest", fmt.Append(nil, 10*j.salt), 0o666)
		return before
	}
	return 10 * j.salt
}

// end settles a job; the first outcome stands.
func (p *program) end(j *job, outcome message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settle(j, outcome)
}

// settle is end for a caller that holds mu.
func (p *program) settle(j *job, outcome message) {
	if j.outcome != nil {
		return
	}
	p.keep(entry{ID: j.id, Outcome: outcome})
	j.outcome = outcome
	p.latest = j
	close(j.done)
}

// tells are the signs that the program gives of each command, by its mode.
var tells = map[string][]message{
	"denies":    {{"handle": "run of "}},
	"imagines":  {{"handle": "run of "}},
	"mixesup":   {{"handle": "run of "}},
	"asks":      {{"handle": "run of "}},
	"tells":     {{"handle": "run of ", "fraction": 0.25}, {"fraction": 0.5, "text": "half of it", "next_by": "10m"}, {}},
	"backwards": {{"fraction": 0.6}, {"fraction": 0.2}},
	"renames":   {{"handle": "run 7"}, {"handle": "run 8"}},
}

// byHandle answers about a command that the ledger does not have, by the handle that its device gave.
func (p *program) byHandle(handle, parameters string) message {
	p.takeOver()
	id, own := strings.CutPrefix(handle, "run of ")
	j := p.find(id)
	switch {
	case p.mode == "denies":
		return message{"fate": "not started"}
	case p.mode == "imagines":
		j = newJob(id, parameters)
		j.outcome = measurement(j, 10*j.salt)
	case p.mode == "mixesup":
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, other := range p.jobs { // whichever ended with another composition
			if other.over() && other.parameters != parameters {
				j = other
			}
		}
	case p.mode == "tells" || !own || j == nil:
		return message{"fate": "unknown", "outcome": message{"status": "unknown", "cause": "no such run"}}
	}
	return message{"fate": "finished", "outcome": j.outcome}
}

// again acts on a job once more.
func (p *program) again(j *job) {
	p.working.Go(func() {
		p.note("acts", j.id+" begin")
		time.Sleep(actLasts)
		p.note("acts", j.id+" end")
	})
}

func (p *program) find(id string) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jobs[id]
}

// serve answers until its input ends, and then finishes what it works on.
func (p *program) serve() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		p.note("stdin", in.Text())
		var q struct {
			ID      int
			Op      string
			Command struct {
				ID         string
				Parameters json.RawMessage
				Handle     string
				Drawn      []events.Drawn
			}
		}
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			panic(err)
		}
		if p.mode == "garbage" {
			p.write([]byte("DEBUG " + q.Op))
		}
		answer := func(m message) {
			m["id"] = q.ID
			p.say(m)
		}
		if q.Command.Handle != "" && p.find(q.Command.ID) == nil && (q.Op == "recover" || q.Op == "await") {
			answer(p.byHandle(q.Command.Handle, string(q.Command.Parameters)))
			continue
		}
		switch q.Op {
		case "handshake":
			m := message{"protocol": 1, "recover": true, "finishes": true, "voids": p.mode != "old"}
			if slices.Contains([]string{"keeps", "actsfirst", "queues"}, p.mode) {
				m["ledger"] = "durable"
			}
			if slices.Contains([]string{"tells", "mute", "backwards", "renames"}, p.mode) {
				m["signs"] = true
			}
			if p.mode == "sticks" {
				m["safe"] = true
			}
			answer(m)
		case "safe":
			answer(message{"error": "the valve sticks"})
		case "describe":
			answer(message{"description": message{
				"name": "test/" + p.mode, "identity": filepath.Base(os.Args[0]), "capacity": 2,
				"simulated":  p.mode == "stuck twin",
				"parameters": []message{{"name": "salt", "unit": "mol/kg", "min": 0, "max": 2}},
				"outputs":    []message{{"name": "conductivity", "unit": "mS/cm"}},
			}})
		case "start":
			p.drawn.Store(q.Command.ID, q.Command.Drawn)
			if p.mode == "slow" {
				time.Sleep(2 * briefReplies)
			}
			if p.mode == "queues" { // until its port answers, and looks at its ledger no more
				p.working.Go(func() {
					time.Sleep(portHangs)
					p.mu.Lock()
					delete(p.jobs, q.Command.ID)
					p.mu.Unlock()
					p.start(q.Command.ID, string(q.Command.Parameters))
					answer(message{"ok": true})
				})
				continue
			}
			p.start(q.Command.ID, string(q.Command.Parameters))
			if p.mode == "busy" { // it reads on when it has measured
				answer(message{"ok": true})
				<-p.find(q.Command.ID).done
				continue
			}
			if p.mode == "wrongid" {
				q.ID += 1000
			}
			answer(message{"ok": true})
			for _, sign := range tells[p.mode] {
				if sign["handle"] == "run of " {
					sign = maps.Clone(sign)
					sign["handle"] = "run of " + q.Command.ID
				}
				p.say(message{"command": q.Command.ID, "sign": sign})
			}
		case "cancel":
			if j := p.find(q.Command.ID); p.mode == "unstoppable" && j != nil && !j.over() {
				answer(message{"error": "the oven is closed", "cannot": true})
				continue
			}
			p.cancel(q.Command.ID, string(q.Command.Parameters))
			answer(message{"ok": true})
		case "recover":
			answer(message{"fate": p.fate(q.Command.ID, string(q.Command.Parameters))})
		case "await":
			go func() { answer(p.await(q.Command.ID, string(q.Command.Parameters))) }()
		}
	}
	p.working.Wait()
	p.voided.Range(func(id, _ any) bool {
		if p.mode == "voidsatend" {
			p.keep(entry{ID: id.(string), Outcome: message{"status": "cancelled", "cause": "called off"}})
		}
		return true
	})
}

func (p *program) start(id, parameters string) {
	j := p.find(id)
	if p.mode == "twohands" && j != nil && !j.mine.Load() && !j.over() {
		p.again(j)
	}
	p.takeOver()
	j = p.find(id)
	if j != nil {
		if p.mode == "double" || p.mode == "lru" && p.forgotten(id) {
			p.again(j)
		}
		return
	}
	j = newJob(id, parameters)
	if _, off := p.voided.Load(id); off {
		p.settle(j, message{"status": "cancelled", "cause": "called off before it was started"})
	}
	j.mine.Store(true)
	p.mu.Lock()
	p.jobs[id] = j
	p.mu.Unlock()
	if p.mode == "actsfirst" {
		p.begin(j)
		time.Sleep(actLasts / 2)
	}
	p.keep(entry{ID: id, Parameters: parameters})
	p.mu.Lock()
	for _, known := range p.jobs {
		if p.mode == "cache" && known.parameters == parameters && known.outcome != nil {
			p.settle(j, known.outcome)
		}
	}
	p.mu.Unlock()
	if p.mode != "lazy" && !j.over() {
		p.begin(j)
	}
}

// forgotten reports whether eight other commands came after one.
func (p *program) forgotten(id string) bool {
	data, err := os.ReadFile(p.ledger.Name())
	if err != nil {
		panic(err)
	}
	later := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		var e entry
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		if e.ID == id {
			clear(later)
			continue
		}
		later[e.ID] = true
	}
	return len(later) >= 8
}

func (p *program) fate(id, parameters string) string {
	j := p.find(id)
	if j == nil {
		p.takeOver()
		j = p.find(id)
	}
	if j == nil {
		return "not started"
	}
	if j.parameters != parameters {
		return "unknown"
	}
	switch {
	case j.over():
		return "finished"
	case j.mine.Load() || !p.tryAlone():
		return "running"
	case j.over(): // meanwhile
		return "finished"
	case p.mode == "recoverlies":
		p.end(j, measurement(j, 10*j.salt))
		return "finished"
	default:
		return "unknown"
	}
}

func (p *program) await(id, parameters string) message {
	j := p.find(id)
	if j == nil {
		p.takeOver()
		j = p.find(id)
	}
	switch {
	case j == nil:
		return message{"error": "never started"}
	case j.parameters != parameters:
		return message{"outcome": message{"status": "unknown", "cause": "it has other parameters"}}
	}
	if p.mode == "lazy" && j.mine.Load() {
		p.begin(j)
	}
	if !j.mine.Load() {
		if p.takeOver(); !j.over() {
			return message{"outcome": message{"status": "unknown", "cause": "it ended half-way"}}
		}
	}
	<-j.done
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == "other" {
		j = p.latest
	}
	return message{"outcome": j.outcome}
}

func (p *program) say(m message) {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	if p.mode == "nan" {
		line = []byte(strings.ReplaceAll(string(line), `"value":`, `"value":NaN,"was":`))
	}
	p.write(line)
}

func (p *program) write(line []byte) {
	p.out.Lock()
	defer p.out.Unlock()
	_, _ = os.Stdout.Write(append(line, '\n'))
}

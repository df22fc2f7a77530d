// Package rehearse plays a campaign's procedure against twins of its instruments, places and stocks in
// simulated time. Before anything moves it tells how long a batch and the budget take, what acts
// wait for, which window cannot be kept, when a stock ends, and whether the procedure can come to a halt.
//
// A rehearsal is a function of its arguments. It assumes that each act of a stage takes the same time
// and succeeds, that decisions take none, and that people are there whenever something waits for them.
// It passes over what it reports: a window that was missed, a stock that has ended and is refilled.
package rehearse

import (
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/projections/space"
)

// Setup holds what a definition does not say.
type Setup struct {
	// Takes is how long an act takes, by its stage; Else of those that are not named.
	Takes map[string]time.Duration
	Else  time.Duration
	// Capacity is how many acts an instrument performs at once. Default 1.
	Capacity map[string]int
}

// Run rehearses all of a campaign's budget. The definition is complete and without a fault.
func Run(def *definition.Campaign, setup Setup) (*Report, error) {
	l, err := newLab(def, setup)
	if err != nil {
		return nil, err
	}
	l.play()
	r := l.report(setup)
	if wider := def.Parallel + def.Batch.Size(); wider <= def.Budget.Experiments && r.Hangs == nil {
		more := *def
		more.Parallel = wider
		l, err := newLab(&more, setup)
		if err != nil {
			return nil, err
		}
		l.play()
		r.Wider = Wider{wider, l.now.Seconds()}
	}
	return r, nil
}

// lab is the twin of a lab, at a moment.
type lab struct {
	def    *definition.Campaign
	stages []stage
	taken  []resource // instruments, then places
	stocks map[string]*stock
	// draws are those of a stage for some compositions, which stand for all.
	draws [][][]computed.Draw

	now       time.Duration
	queue     events
	requested int           // experiments
	waiting   int           // those that are in no batch yet
	last      time.Duration // when the last of them was requested
	open      int           // those that are neither measured
	planned   int           // batches
	under     []*batch
	spans     []time.Duration // of batches that are over
}

// stage is a stage with its names looked up.
type stage struct {
	*definition.Stage
	takes        time.Duration
	on           int
	holds, frees int // -1 for none
	after        []edge

	waited, longest time.Duration
	acts            int
	causes          map[string]time.Duration
	missed          []Missed // by edge
}

type edge struct {
	stage       int
	from, until time.Duration
}

// resource is an instrument or a place.
type resource struct {
	name     string
	place    bool
	capacity int
	used     int
	since    time.Duration
	busy     time.Duration // the sum over its parts
}

// stock is a stock with its rest.
type stock struct {
	full, left float64
	ends       *End
}

// batch is the experiments that go through the procedure together.
type batch struct {
	number, first int
	planned       time.Duration
	units         [][]unit // by stage: one, or one for each experiment
	left          []int    // by experiment: the stages that it still goes through
	busy, acts    int      // acts under way, and those that are not over
}

// unit is an act that is to be made.
type unit struct {
	began, over bool
	woken       bool
	end         time.Duration
	isDue       bool
	due, seen   time.Duration // since when it could be made; when that was looked at last
	cause       string        // what it waited for since then
}

// newLab looks all names up.
func newLab(def *definition.Campaign, setup Setup) (*lab, error) {
	l := &lab{def: def, stocks: make(map[string]*stock)}
	index := make(map[string]int)
	add := func(name string, place bool, capacity int) {
		index[fmt.Sprint(place, name)] = len(l.taken)
		l.taken = append(l.taken, resource{name: name, place: place, capacity: capacity})
	}
	for _, name := range def.Resources() {
		add(name, false, max(1, setup.Capacity[name]))
	}
	for _, p := range def.Places {
		add(p.Name, true, def.Room(p.Name))
	}
	place := func(name string) int {
		if name == "" {
			return -1
		}
		return index[fmt.Sprint(true, name)]
	}
	for i := range def.Procedure {
		s := &def.Procedure[i]
		own := stage{Stage: s, takes: setup.Else, causes: make(map[string]time.Duration),
			on: index[fmt.Sprint(false, s.On)], holds: place(s.Holds), frees: place(s.Frees)}
		if given, ok := setup.Takes[s.Name]; ok {
			own.takes = given
		}
		for _, e := range s.After {
			other := slices.IndexFunc(def.Procedure, func(t definition.Stage) bool { return t.Name == e.Stage })
			own.after = append(own.after, edge{other, time.Duration(e.From), time.Duration(e.Until)})
			own.missed = append(own.missed, Missed{Stage: s.Name, After: e.Stage, Within: time.Duration(e.Until).Seconds()})
		}
		l.stages = append(l.stages, own)
	}
	return l, l.stock()
}

// compositions is how many stand for all where amounts depend on them.
const compositions = 64

// stock fills the stocks, and works out what stages draw.
func (l *lab) stock() error {
	for name, s := range l.def.Stocks {
		full, _, err := definition.ParseAmount(s.Amount)
		if s.Labels != "" {
			var labels []string
			labels, err = definition.ParseLabels(s.Labels)
			full = float64(len(labels))
		}
		if err != nil {
			return fmt.Errorf("stock %s: %w", name, err)
		}
		l.stocks[name] = &stock{full: full, left: full}
	}
	var points []definition.Point
	if len(l.stocks) > 0 {
		s, err := space.New(*l.def)
		if err != nil {
			return err
		}
		if points, err = s.Sample(compositions, l.def.Seed); err != nil {
			return err
		}
	}
	for i := range l.stages {
		var draws [][]computed.Draw
		for _, p := range points {
			d, err := computed.Draws(l.def, l.stages[i].Draws, p)
			if err != nil {
				return err
			}
			draws = append(draws, d)
		}
		l.draws = append(l.draws, draws)
	}
	return nil
}

// play lets time pass until nothing happens any more.
func (l *lab) play() {
	for {
		l.request()
		for _, b := range l.under {
			l.dispatch(b)
		}
		if len(l.queue) == 0 {
			return
		}
		for l.now = l.queue[0].at; len(l.queue) > 0 && l.queue[0].at == l.now; {
			if e := heap.Pop(&l.queue).(event); e.batch != nil {
				l.end(e)
			}
		}
	}
}

// request asks for experiments as long as so many may be open, and plans batches.
func (l *lab) request() {
	size := l.def.Batch.Size()
	for l.open < l.def.Parallel && l.requested < l.def.Budget.Experiments {
		l.open, l.requested, l.waiting, l.last = l.open+1, l.requested+1, l.waiting+1, l.now
	}
	for l.waiting >= size {
		l.plan(size)
	}
	if l.waiting == 0 {
		return
	}
	within := l.last + time.Duration(l.def.Batch.Within)
	switch enough := l.def.Batch.AtLeast > 0 && l.waiting >= l.def.Batch.AtLeast; {
	case len(l.under) == 0, enough && l.now >= within: // nothing else would bring more
		l.plan(l.waiting)
	case enough:
		l.wake(within)
	}
}

// plan begins a batch.
func (l *lab) plan(size int) {
	l.planned++
	b := &batch{number: l.planned, first: l.requested - l.waiting, planned: l.now, left: make([]int, size)}
	for i := range l.stages {
		n := size
		if l.stages[i].Together {
			n = 1
		}
		b.units = append(b.units, make([]unit, n))
		b.acts += n
		for x := range b.left {
			if !l.stages[i].Always {
				b.left[x]++
			}
		}
	}
	l.waiting -= size
	l.under = append(l.under, b)
}

// dispatch begins the acts of a batch that can begin now, in the order of its stages.
func (l *lab) dispatch(b *batch) {
	for i := range b.units {
		for k := range b.units[i] {
			u := &b.units[i][k]
			if u.began || !l.isDue(b, i, k) {
				continue
			}
			if !u.isDue {
				u.isDue, u.due = true, l.now
			} else {
				l.stages[i].causes[u.cause] += l.now - u.seen
			}
			u.seen = l.now
			if lacks := l.lacking(i); lacks == "" {
				l.begin(b, i, k)
			} else {
				u.cause = lacks
			}
		}
	}
}

// isDue reports whether the stages before have ended, and so long ago as an act has to come after them.
func (l *lab) isDue(b *batch, i, k int) bool {
	s := &l.stages[i]
	if s.Always && b.busy > 0 {
		return false
	}
	for _, e := range s.after {
		ended, over := b.ended(e.stage, k, s.Together)
		if !over {
			return false
		}
		if at := ended + e.from; at > l.now {
			if !b.units[i][k].woken {
				b.units[i][k].woken = true
				l.wake(at)
			}
			return false
		}
	}
	return true
}

// ended is when a stage has ended for an experiment, or for all of them.
func (b *batch) ended(stage, experiment int, all bool) (at time.Duration, over bool) {
	units := b.units[stage]
	switch {
	case len(units) == 1:
		units = units[:1]
	case !all:
		units = units[experiment : experiment+1]
	}
	for i := range units {
		if !units[i].over {
			return 0, false
		}
		at = max(at, units[i].end)
	}
	return at, true
}

// lacking is the resource that an act of a stage waits for; "" for none.
func (l *lab) lacking(i int) string {
	s := &l.stages[i]
	for _, r := range []int{s.holds, s.on} {
		if r >= 0 && l.taken[r].used >= l.taken[r].capacity {
			return l.taken[r].name
		}
	}
	return ""
}

// begin begins an act.
func (l *lab) begin(b *batch, i, k int) {
	s, u := &l.stages[i], &b.units[i][k]
	u.began = true
	b.busy++
	waited := l.now - u.due
	s.acts++
	s.waited += waited
	s.longest = max(s.longest, waited)
	for n, e := range s.after {
		ended, _ := b.ended(e.stage, k, s.Together)
		if late := l.now - ended - e.until; e.until > 0 && late > 0 {
			l.miss(b, s, n, late, u)
		}
	}
	l.take(s.on, 1)
	if s.holds >= 0 {
		l.take(s.holds, 1)
	}
	first, last := k, k+1
	if s.Together {
		first, last = 0, len(b.left)
	}
	for x := first; x < last && len(l.draws[i]) > 0; x++ {
		for _, d := range l.draws[i][(b.first+x)%compositions] {
			l.draw(b, d, b.first+x)
		}
	}
	heap.Push(&l.queue, event{l.now + s.takes, b, i, k})
}

// miss counts a window that was not kept. Where nothing was lacking, another stage before was later.
func (l *lab) miss(b *batch, s *stage, edge int, late time.Duration, u *unit) {
	m := &s.missed[edge]
	if m.Batches == 0 {
		m.First = b.number
	}
	if b.number != m.latest {
		m.Batches++
	}
	m.latest = b.number
	if late.Seconds() > m.Late {
		m.Late, m.For = late.Seconds(), u.cause
	}
}

// draw uses up a part of a stock, which is refilled where it does not suffice.
func (l *lab) draw(b *batch, d computed.Draw, experiment int) {
	s := l.stocks[d.Stock]
	amount := d.Amount + float64(d.Labels)
	if s.left < amount && s.full >= amount {
		if s.ends == nil {
			s.ends = &End{Stock: d.Stock, At: l.now.Seconds(), Batch: b.number, Experiments: experiment}
		}
		s.ends.Refills++
		s.left = s.full
	}
	s.left -= amount
}

// end ends an act, and with it the experiments and the batch that it was the last of.
func (l *lab) end(e event) {
	b, s := e.batch, &l.stages[e.stage]
	u := &b.units[e.stage][e.unit]
	u.over, u.end = true, l.now
	b.busy--
	b.acts--
	l.take(s.on, -1)
	if s.frees >= 0 {
		l.take(s.frees, -1)
	}
	for x := range b.left {
		if !s.Always && (s.Together || x == e.unit) {
			if b.left[x]--; b.left[x] == 0 {
				l.open--
			}
		}
	}
	if b.acts == 0 {
		l.spans = append(l.spans, l.now-b.planned)
		l.under = slices.DeleteFunc(l.under, func(other *batch) bool { return other == b })
	}
}

// take takes a part of a resource, or gives it back.
func (l *lab) take(r, n int) {
	t := &l.taken[r]
	t.busy += time.Duration(t.used) * (l.now - t.since)
	t.used, t.since = t.used+n, l.now
}

// wake lets something happen at a time.
func (l *lab) wake(at time.Duration) { heap.Push(&l.queue, event{at: at}) }

// event is the end of an act; without a batch a time at which something may begin.
type event struct {
	at          time.Duration
	batch       *batch
	stage, unit int
}

// events are those to come, the next one first.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// report sums up what has happened.
func (l *lab) report(setup Setup) *Report {
	size := l.def.Batch.Size()
	r := &Report{
		Campaign: l.def.Name, Experiments: l.def.Budget.Experiments, Size: size, Batches: l.planned,
		AtOnce: max(1, l.def.Parallel/size), Total: l.now.Seconds(),
		Resources: []Resource{}, Missed: []Missed{}, Ends: []End{},
	}
	for _, span := range l.spans {
		r.Batch += span.Seconds() / float64(len(l.spans))
		r.Longest = max(r.Longest, span.Seconds())
	}
	for i := range l.stages {
		s := &l.stages[i]
		_, given := setup.Takes[s.Name]
		is := Stage{Name: s.Name, On: s.On, Takes: s.takes.Seconds(), Assumed: !given, Longest: s.longest.Seconds()}
		if s.acts > 0 {
			is.Waits = s.waited.Seconds() / float64(s.acts)
		}
		for _, cause := range slices.Sorted(maps.Keys(s.causes)) {
			if is.For == "" || s.causes[cause] > s.causes[is.For] {
				is.For = cause
			}
		}
		r.Stages = append(r.Stages, is)
		for _, m := range s.missed {
			if m.Batches > 0 {
				r.Missed = append(r.Missed, m)
			}
		}
	}
	for i := range l.taken {
		l.take(i, 0)
		t := l.taken[i]
		is := Resource{Name: t.name, Place: t.place, Capacity: t.capacity}
		if l.now > 0 {
			is.Used = t.busy.Seconds() / l.now.Seconds() / float64(t.capacity)
		}
		r.Resources = append(r.Resources, is)
		if i == 0 || is.Used > r.bottleneck().Used {
			r.Bottleneck = is.Name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.stocks)) {
		if end := l.stocks[name].ends; end != nil {
			r.Ends = append(r.Ends, *end)
		}
	}
	for _, b := range l.under {
		for i := range b.units {
			for k := range b.units[i] {
				if u := &b.units[i][k]; u.isDue && !u.began {
					r.Hangs = append(r.Hangs, Hang{b.number, l.stages[i].Name, l.lacking(i)})
				}
			}
		}
	}
	return r
}

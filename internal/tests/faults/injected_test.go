package faults

import (
	"strconv"
	"syscall"
	"time"

	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// fault is one that a trial is made of.
type fault struct {
	name string
	// make has it happen, while the hosts write, and ends what it has stopped: the
	// hosts can get on when it returns.
	make func(*trial)
}

// faults are all of them. To kill is to kill all processes of a server, to pause
// to stop them (SIGSTOP).
var faults = []fault{
	{"killprimary", func(r *trial) {
		r.Primary.Crash(r)
		r.failover()
	}},
	{"crashrestart", func(r *trial) {
		r.Primary.Crash(r)
		r.between(0, time.Second)
		r.Primary.Start(r)
	}},
	{"killstandby", func(r *trial) {
		s := r.Standbys()[r.random.IntN(2)]
		s.Crash(r)
		r.between(time.Second, 2*time.Second)
		s.Start(r)
		r.Replicated(r)
	}},
	// No commit is confirmed meanwhile.
	{"killbothstandbys", func(r *trial) {
		both := r.Standbys()
		for _, s := range both {
			s.Crash(r)
		}
		r.between(time.Second, 3*time.Second)
		for _, s := range both {
			s.Start(r)
		}
		r.Replicated(r)
	}},
	// The old primary wakes when there is another.
	{"pauseprimary", func(r *trial) {
		old := r.Primary
		old.Signal(r, syscall.SIGSTOP)
		r.failover()
		old.Signal(r, syscall.SIGCONT)
		r.twoPrimaries(old)
	}},
	// Standbys and the old primary do not hear each other, and clients hear both.
	{"partition", func(r *trial) {
		old := r.Primary
		for _, line := range r.Lines(old, false) {
			line.Cut()
		}
		r.failover()
		r.twoPrimaries(old)
	}},
	// Nothing from the old primary or to it arrives, and nothing is closed. What
	// clients have sent arrives there when there is another primary.
	{"hold", func(r *trial) {
		old := r.Primary
		for _, line := range append(r.Lines(old, false), r.Lines(old, true)...) {
			line.Hold()
		}
		r.failover()
		for _, line := range r.Lines(old, true) {
			line.Pass()
		}
		r.twoPrimaries(old)
	}},
	// The old primary's machine is gone: it answers nothing, and refuses nothing.
	{"silence", func(r *trial) {
		for _, line := range append(r.Lines(r.Primary, false), r.Lines(r.Primary, true)...) {
			line.Hold()
		}
		r.failover()
	}},
	{"clientcut", func(r *trial) {
		for range 5 {
			some(r, r.Lines(r.Primary, true), (*pgtest.Line).Break)
			r.between(0, 500*time.Millisecond)
		}
		lines := r.Lines(r.Primary, true)
		some(r, lines, (*pgtest.Line).Cut)
		r.between(time.Second, 2*time.Second)
		for _, line := range lines {
			line.Pass()
		}
	}},
	{"clienthold", func(r *trial) {
		lines := r.Lines(r.Primary, true)
		some(r, lines, (*pgtest.Line).Hold)
		r.between(time.Second, 3*time.Second)
		for _, line := range lines {
			line.Pass()
		}
	}},
	// An administrator ends all sessions, again and again.
	{"terminate", func(r *trial) {
		for range 10 {
			r.Primary.SQL(r, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'campaignd'`)
			r.between(0, 400*time.Millisecond)
		}
	}},
	// In order: the old primary ends when its standbys have all, and follows.
	{"switchover", func(r *trial) {
		old := r.Primary
		old.Stop(r, "fast")
		r.Failover(r)
		r.Rejoin(r, old)
	}},
	// One process of the server dies, and the server ends all others and recovers.
	{"killbackend", func(r *trial) {
		for range 2 {
			r.goOn(time.Now()) // the server may have to recover
			pids := r.Primary.SQL(r, `select pid from pg_stat_activity where application_name = 'campaignd'`)
			if len(pids) == 0 {
				r.Fatal("there is no session to kill")
			}
			pid, err := strconv.Atoi(pids[r.random.IntN(len(pids))])
			r.must(err)
			r.must(syscall.Kill(pid, syscall.SIGKILL))
			r.between(time.Second, 2*time.Second)
		}
	}},
	// The primary crashes while it waits for standbys, and shows what none has when
	// it is back. Then it is gone.
	{"standbysaway", func(r *trial) {
		both := r.Standbys()
		for _, s := range both {
			s.Crash(r)
		}
		r.between(200*time.Millisecond, time.Second)
		r.Primary.Crash(r)
		r.Primary.Start(r)
		r.between(time.Second, 3*time.Second)
		r.Primary.Crash(r)
		for _, s := range both {
			s.Start(r)
		}
		r.failover()
	}},
	// A host stops, another takes hold of its store, and the first wakes.
	{"pausewriter", func(r *trial) {
		first := r.one()
		first.paused = true
		r.signal(first, syscall.SIGSTOP)
		r.between(500*time.Millisecond, time.Second)
		next := r.startHost(first.Own)
		for n := 0; n == 0; time.Sleep(50 * time.Millisecond) {
			r.must(next.journal.more())
			for _, e := range next.journal.entries {
				if e.What == acknowledged && e.Store == first.Own {
					n++
				}
			}
		}
		r.signal(first, syscall.SIGCONT)
	}},
}

// cancelWaits is what an administrator must not do (see events/pglog): commits that
// no standby has are shown, and then the primary is gone. It is no fault of the
// table: readers are shown what is gone, whatever the log does. What is
// acknowledged must still be there.
var cancelWaits = fault{"cancelwaits", func(r *trial) {
	for _, line := range r.Lines(r.Primary, false) {
		line.Hold() // a standby that is stopped has received what it has not read
	}
	for range 5 {
		r.between(200*time.Millisecond, 400*time.Millisecond)
		r.Primary.SQL(r, `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`)
	}
	r.Primary.Crash(r)
	r.failover()
}}

// failover is one after the time in which it is noticed that the primary is
// gone.
func (r *trial) failover() {
	r.Helper()
	time.Sleep(500 * time.Millisecond)
	r.Failover(r)
}

// twoPrimaries lets the old primary live for a while.
func (r *trial) twoPrimaries(old *pgtest.Server) {
	r.Helper()
	r.between(1500*time.Millisecond, 2500*time.Millisecond)
	old.Crash(r)
}

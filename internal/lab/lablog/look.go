package lablog

import (
	"sync"
	"time"
)

// Look is a look at the lab's database that many callers want at the same time: one of them looks,
// and all share the result. Its methods may be called by several goroutines.
type Look[T any] struct {
	// Rest is the pause after a failed look: each caller would wait as long for the same failure.
	Rest time.Duration

	mu           sync.Mutex
	began, ended time.Time // of the newest
	found        T
	err          error
}

// Since looks, unless another caller has begun to since a time, and returns the result. f gets the
// time at which its look began.
func (l *Look[T]) Since(at time.Time, f func(began time.Time) (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.Before(at) && (l.err == nil || time.Since(l.ended) >= l.Rest) {
		l.began = time.Now()
		l.found, l.err = f(l.began)
		l.ended = time.Now()
	}
	return l.found, l.err
}

// Apart calls f while no caller looks.
func (l *Look[T]) Apart(f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f()
}

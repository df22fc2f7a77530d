package pglog

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Workers and their callers need no way to each other but the database, which they reach already,
// encrypted and with a password: a letter is a row, and a notification announces it.

var (
	// ErrUnread means that a worker has ended before it took a letter: nothing
	// that was asked for was done.
	ErrUnread = fmt.Errorf("%w: the worker has ended", events.ErrClosed)
	// ErrUnanswered means that a letter was taken, and that the answer will not
	// come: the worker has ended, or the database has forgotten the letter.
	ErrUnanswered = errors.New("the worker ended before it answered")
)

// The words of notifications about letters.
const (
	letterTo    = "letter to "
	answerTo    = "answer to "
	letterTime  = 250 * time.Millisecond // how often is looked for an answer
	lettersOnce = 64                     // how many are taken at once
)

// MaxLetterSize is the greatest length in bytes of a letter, and of an answer.
const MaxLetterSize = 64 << 20

// Ask sends a request to a worker, and waits for the answer. The error wraps [ErrUnread] where the
// worker is not there, and [ErrUnanswered] where it may have served the request and ended. A
// context that ends leaves that open, too.
func (d *Database) Ask(ctx context.Context, worker string, request []byte) ([]byte, error) {
	answer, err := d.askWorker(ctx, worker, request)
	if err != nil {
		return nil, fmt.Errorf("database: ask %s: %w", worker, err)
	}
	return answer, nil
}

func (d *Database) askWorker(ctx context.Context, worker string, request []byte) ([]byte, error) {
	if len(request) > MaxLetterSize {
		return nil, fmt.Errorf("the request has %d bytes, and the most is %d",
			len(request), MaxLetterSize)
	}
	id := newID()
	name := hex.EncodeToString(id)
	come := make(chan struct{}, 1)
	d.mu.Lock()
	d.awaited[name] = come
	d.mu.Unlock()
	d.wake.want()
	defer func() {
		d.mu.Lock()
		delete(d.awaited, name)
		d.mu.Unlock()
	}()
	// An attempt with an unknown end may have left the letter there.
	written, err := attempts(ctx, d, func(ctx context.Context, c *conn) (int64, error) {
		return c.exec(ctx, `with letter as (
				insert into cd_letter (letter, worker, request) select $1, $2, $3
				where exists (select from cd_worker where worker = $2 and until > clock_timestamp())
				on conflict (letter) do update set request = excluded.request returning 1)
			select pg_notify('`+channel+`', '`+letterTo+`' || $2) from letter`, id, worker, request)
	})
	switch {
	case err != nil:
		d.withdraw(id)
		return nil, err
	case written == 0:
		return nil, ErrUnread
	}
	d.counts.asked.Add(1)
	for {
		answer, err := attempts(ctx, d, func(ctx context.Context, c *conn) (*letterState, error) {
			return lookForAnswer(ctx, c, id)
		})
		switch {
		case ctx.Err() != nil:
			d.withdraw(id)
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrUnanswered, err)
		case answer == nil:
			return nil, ErrUnanswered // it was of a server that has ended
		case answer.text != nil:
			return answer.text, nil
		case !answer.alive:
			return d.unanswered(ctx, id)
		}
		timer := time.NewTimer(letterTime)
		select {
		case <-come:
		case <-timer.C:
		case <-ctx.Done():
			d.withdraw(id)
			return nil, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// letterState is the state of a letter: whether it was answered, and whether it still can be.
type letterState struct {
	text  []byte // the answer, nil until it comes
	alive bool   // the worker
}

// lookForAnswer takes the answer to a letter, if there is one; nil where the letter is gone.
func lookForAnswer(ctx context.Context, c *conn, id []byte) (*letterState, error) {
	s := new(letterState)
	err := c.query(ctx, `select answer, exists (select from cd_worker w
			where w.worker = l.worker and until > clock_timestamp())
		from cd_letter l where letter = $1`, id).one(&s.text, &s.alive)
	switch {
	case errors.Is(err, errNoRow):
		return nil, nil
	case err == nil && s.text != nil:
		_, err = c.exec(ctx, `delete from cd_letter where letter = $1`, id)
	}
	return s, err
}

// unanswered takes a letter back whose worker has ended, and says whether that
// had taken it.
func (d *Database) unanswered(ctx context.Context, id []byte) ([]byte, error) {
	type end struct {
		taken  bool
		answer []byte
	}
	e, err := attempts(ctx, d, func(ctx context.Context, c *conn) (e end, err error) {
		err = c.query(ctx, `delete from cd_letter where letter = $1 returning taken, answer`, id).
			one(&e.taken, &e.answer)
		return e, err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnanswered, err)
	case e.answer != nil:
		return e.answer, nil
	case e.taken:
		return nil, ErrUnanswered
	}
	return nil, ErrUnread
}

// withdraw deletes a letter for whose answer no one waits any more, without
// waiting for that. One that was taken is answered into nothing.
func (d *Database) withdraw(id []byte) {
	go func() {
		_, _ = ask(d.life, d, use{}, func(ctx context.Context, c *conn) (int64, error) {
			return c.exec(ctx, `delete from cd_letter where letter = $1`, id)
		})
	}()
}

// hearLetter passes on a notification about a letter.
func (d *Database) hearLetter(text string) bool {
	var signal chan struct{}
	d.mu.Lock()
	if id, ok := strings.CutPrefix(text, letterTo); ok {
		if d.worker != nil && d.worker.id == id {
			signal = d.worker.mail
		}
	} else if id, ok := strings.CutPrefix(text, answerTo); ok {
		signal = d.awaited[id]
	} else {
		d.mu.Unlock()
		return false
	}
	d.mu.Unlock()
	if signal != nil {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
	return true
}

// Answer has a function answer the letters to this worker, several at a time,
// until the context is done; it returns once the last is answered. It is called
// once.
func (w *Worker) Answer(ctx context.Context, answer func(ctx context.Context, request []byte) []byte) {
	var (
		answering sync.WaitGroup
		mu        sync.Mutex
		taken     = make(map[string]bool) // and not yet answered
	)
	defer answering.Wait()
	for tick := time.NewTicker(w.db.pollTime); ; {
		mu.Lock()
		known := make([][]byte, 0, len(taken))
		for id := range taken {
			known = append(known, []byte(id))
		}
		mu.Unlock()
		letters, err := w.take(ctx, known)
		for _, l := range letters {
			mu.Lock()
			taken[string(l.id)] = true
			mu.Unlock()
			answering.Go(func() {
				if err := w.send(l.id, answer(ctx, l.request)); err != nil {
					return // it stays taken, and is not answered a second time
				}
				w.db.counts.answered.Add(1)
				mu.Lock()
				defer mu.Unlock()
				delete(taken, string(l.id))
			})
		}
		if err == nil && len(letters) == lettersOnce {
			continue
		}
		select {
		case <-w.mail:
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}

// letter is a letter that was taken.
type letter struct {
	id, request []byte
}

// take takes letters that this process does not know, each once. It alone takes
// them, so that one that was taken and is not known was taken by an attempt
// whose answer was lost.
func (w *Worker) take(ctx context.Context, known [][]byte) ([]letter, error) {
	return ask(ctx, w.db, use{}, func(ctx context.Context, c *conn) ([]letter, error) {
		return all(c.query(ctx, `update cd_letter set taken = true
			where letter in (select letter from cd_letter
				where worker = $1 and answer is null and letter <> all($3)
				order by written limit $2)
			returning letter, request`, w.id, lettersOnce, known),
			func(l *letter) []any { return []any{&l.id, &l.request} })
	})
}

// send sends an answer.
func (w *Worker) send(id, text []byte) error {
	if text == nil {
		text = []byte{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.db.patience)
	defer cancel()
	_, err := attempts(ctx, w.db, func(ctx context.Context, c *conn) (int64, error) {
		return c.exec(ctx, `with l as (update cd_letter set answer = $2 where letter = $1 returning 1)
			select pg_notify('`+channel+`', '`+answerTo+`' || $3) from l`, id, text, hex.EncodeToString(id))
	})
	return err
}

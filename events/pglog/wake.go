package pglog

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// wake tells other processes of appends, and hears of theirs, on a connection of its own. A
// notification states no fact: it only makes followers look.
type wake struct {
	mu        sync.Mutex
	news      map[int64]int64 // the sizes of stores that other processes are to hear of
	interrupt func()          // ends a wait for notifications
	wanted    chan struct{}   // gets a value when there is something to tell or to hear
}

// channel is that of the notifications.
const channel = "campaignd"

// start starts the listener of a database.
func (w *wake) start(d *Database) {
	w.news, w.wanted = make(map[int64]int64), make(chan struct{}, 1)
	d.begin()
	go func() {
		defer d.work.Done()
		for n := 0; d.life.Err() == nil; n++ {
			began := time.Now()
			_ = w.listen(d) // the connection is gone: followers poll once there is another
			if time.Since(began) > time.Minute {
				n = 0
			}
			_ = pause(d.life, backoff(n))
		}
	}()
}

// tell tells other processes that a store has size events. It does not wait for that: announcements
// that gather meanwhile are sent at once.
func (w *wake) tell(store, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.news[store] = max(w.news[store], size)
	if w.interrupt != nil {
		w.interrupt()
	}
	w.want()
}

// want has the listener connect, where it has not yet.
func (w *wake) want() {
	select {
	case w.wanted <- struct{}{}:
	default:
	}
}

// listen tells and hears on a connection until that breaks. Its commits wait for
// nothing: a notification that is lost is found by the next look.
func (w *wake) listen(d *Database) error {
	// Without an append or a follower it is not needed.
	for !w.needed(d) {
		select {
		case <-w.wanted:
		case <-d.life.Done():
			return d.life.Err()
		}
	}
	connecting, cancel := context.WithTimeout(d.life, d.patience)
	defer cancel()
	c, err := d.connect(connecting)
	if err != nil {
		return err
	}
	defer d.cut(c)
	if err := execAll(connecting, c, `set synchronous_commit = off; listen `+channel); err != nil {
		return err
	}
	for polled := (time.Time{}); ; {
		if time.Since(polled) >= d.pollTime {
			if err := d.poll(c); err != nil {
				return err
			}
			polled = time.Now()
		}
		if err := w.send(d, c); err != nil {
			return err
		}
		waiting, cancel := context.WithDeadline(d.life, polled.Add(d.pollTime))
		w.mu.Lock()
		if w.interrupt = cancel; len(w.news) > 0 {
			cancel()
		}
		w.mu.Unlock()
		err := c.pg.WaitForNotification(waiting)
		w.mu.Lock()
		w.interrupt = nil
		w.mu.Unlock()
		cancel()
		switch {
		case d.life.Err() != nil:
			return d.life.Err()
		case err != nil && !pgconn.Timeout(err) && waiting.Err() == nil || c.pg.IsClosed():
			return err
		}
	}
}

// needed reports whether there is something to tell or to hear.
func (w *wake) needed(d *Database) bool {
	w.mu.Lock()
	news := len(w.news) > 0
	w.mu.Unlock()
	d.mu.Lock()
	letters := d.worker != nil || len(d.awaited) > 0
	d.mu.Unlock()
	return news || letters || len(d.followed()) > 0
}

// send tells what there is to tell, in one statement.
func (w *wake) send(d *Database, c *conn) error {
	w.mu.Lock()
	news := w.news
	w.news = make(map[int64]int64)
	w.mu.Unlock()
	if len(news) == 0 {
		return nil
	}
	texts := make([]string, 0, len(news))
	for store, size := range news {
		texts = append(texts, fmt.Sprint(store, " ", size))
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.patience)
	defer cancel()
	_, err := c.exec(ctx, `select pg_notify('`+channel+`', t) from unnest($1::text[]) as t`, texts)
	return err
}

// hear passes on a notification, which comes while the listener waits or while a statement
// of its is answered.
func (d *Database) hear(n *pgconn.Notification) {
	if d.hearLetter(n.Payload) {
		return
	}
	var store, size int64
	if _, err := fmt.Sscan(n.Payload, &store, &size); err != nil {
		return // another program's
	}
	for _, l := range d.followed() {
		if l.id == store {
			l.extent.hears(size)
		}
	}
}

// followed returns the logs that have followers.
func (d *Database) followed() (logs []*Log) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range d.logs {
		if _, any := l.extent.followed(); any {
			logs = append(logs, l)
		}
	}
	return logs
}

// poll looks at the heads of all stores that are followed, in one statement.
func (d *Database) poll(c *conn) error {
	logs := d.followed()
	if len(logs) == 0 {
		return nil
	}
	stores := make([]int64, len(logs))
	for i, l := range logs {
		stores[i] = l.id
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.patience)
	defer cancel()
	sizes := make(map[int64]int64)
	var store, size int64
	err := c.query(ctx, `select store, size from cd_head where store = any($1)`, stores).each(func() error {
		sizes[store] = size
		return nil
	}, &store, &size)
	if err != nil {
		return err
	}
	for _, l := range logs {
		l.extent.hears(sizes[l.id])
	}
	return nil
}

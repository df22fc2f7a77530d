package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Servers of earlier versions kept an answer that could still be taken back in a
// file of the lab's private folder or, where several serve a database, in a value
// of the lab's log. One of the same database may still do so: it records an
// answer itself unless it ends, so that one is left to it for earlierFor after it
// was due.
const (
	earlierFiles = "answers/*.json"
	earlierKeys  = "console/answer/"
	earlierFor   = 8 * time.Second
)

// earlier is an answer that such a server kept.
type earlier struct {
	Campaign, Instance, Question, Source  string
	Name, Account, Request, Digest, Words string
	Reply                                 humans.Reply
	Due                                   time.Time
	State, Why, Sending                   string
}

// sendEarlier records the answers that servers of earlier versions have acknowledged and not
// recorded, and ends after the last one. One that cannot be read stays where it is; the operator's
// log names it, and each answer that a campaign does not take.
func (c *Console) sendEarlier() {
	said := make(map[string]bool)
	say := func(place, problem string, err error) {
		if !said[place+problem] {
			said[place+problem] = true
			c.options.Log("%s: an answer that an earlier version kept %s: %v", place, problem, err)
		}
	}
	for left := true; left; {
		left = false
		err := c.eachEarlier(func(place string, text []byte, swap func(before, after []byte) (bool, error)) {
			var a earlier
			if err := json.Unmarshal(text, &a); err != nil {
				say(place, "cannot be read, and is not recorded", err)
				return
			}
			err := c.recordEarlier(&a, &text, swap)
			switch problem.CodeOf(err) {
			case problem.Invalid, problem.NotPossible, problem.NotFound, problem.Conflict, problem.Gone:
				say(place, fmt.Sprintf("is not taken; ask %s to answer %s of %s again, which was %q",
					a.Name, a.Question, a.Campaign, a.Words), err)
				err = nil
			}
			if err == nil {
				_, err = swap(text, nil)
			}
			if err != nil {
				left = true
				say(place, "is recorded later", err)
			}
		})
		if err != nil {
			left = true
			say(earlierKeys, "may be there, and is looked for again", err)
		}
		if left {
			select {
			case <-time.After(2 * time.Second):
			case <-c.ctx.Done():
				return
			}
		}
	}
}

// eachEarlier calls f for each answer that is kept, with a function that exchanges its text unless
// another process has done so.
func (c *Console) eachEarlier(f func(string, []byte, func(before, after []byte) (bool, error))) error {
	paths, _ := filepath.Glob(filepath.Join(c.lab.Private(), earlierFiles))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f(path, text, func(_, after []byte) (bool, error) { // the folder is this process's alone
			if after == nil {
				return true, os.Remove(path)
			}
			return true, nil
		})
	}
	log, err := c.lab.Log()
	if err != nil {
		return err
	}
	for kv, err := range log.Values(c.ctx, earlierKeys) {
		if err != nil {
			return err
		}
		f(kv.Key, kv.Value, func(before, after []byte) (bool, error) {
			return log.SwapValue(c.ctx, kv.Key, before, after)
		})
	}
	return nil
}

// recordEarlier records an answer once, by the identifier of its form, unless it was taken back. It
// is marked first, so that no other server takes it back meanwhile: text is the part that is kept
// of it then.
func (c *Console) recordEarlier(a *earlier, text *[]byte, swap func(before, after []byte) (bool, error)) error {
	switch a.State {
	case "":
	case "refused":
		return problem.New(problem.NotPossible, "%s", a.Why)
	default: // taken back, or news that was put away
		return nil
	}
	if clock.Now().Before(a.Due.Add(earlierFor)) {
		return errors.New("it may be taken back until then")
	}
	if a.Sending == "" {
		a.Sending = "another version"
		marked, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if swapped, err := swap(*text, marked); err != nil || !swapped {
			return errors.Join(err, errors.New("another server is at it"))
		}
		*text = marked
	}
	of, err := c.lab.Campaign(a.Campaign)
	if err != nil {
		return problem.New(problem.Unavailable, "%w", err) // its store may not be open yet
	}
	of.Read(func(core *engine.Core) {
		if core.State().Instance != a.Instance {
			err = problem.New(problem.NotFound, "there is another campaign of that name now")
		}
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, answerWithin)
	defer cancel()
	_, err = of.Submit(ctx, engine.Request{
		Actor: "person:" + a.Name, Account: a.Account, ID: a.Request, Digest: a.Digest,
		Answer: &engine.Answer{Question: a.Question, Saw: &a.Source, Reply: a.Reply},
	})
	return err
}

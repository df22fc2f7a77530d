package accounts

import (
	"sync"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
)

// ceremony is what is remembered between the two steps of a passkey or of
// OpenID Connect. It stays here and not with the browser: what is compared with
// the answer must not come from the one who answers. Where the answer may reach
// another server than the one that has asked, the browser carries it, sealed.
type ceremony struct {
	What    purpose   `json:"what"`
	Account string    `json:"account,omitempty"` // whose it is, where that is known
	From    string    `json:"from,omitempty"`    // the network that began it
	Until   time.Time `json:"until"`

	Passkey *webauthn.SessionData `json:"passkey,omitempty"`

	State    string `json:"state,omitempty"`
	Nonce    string `json:"nonce,omitempty"`
	Verifier string `json:"verifier,omitempty"`
}

// over reports whether its second step is too late, also where it was begun
// before the clock was set back.
func (x *ceremony) over(now time.Time) bool {
	return now.After(x.Until) || x.Until.Sub(now) > ceremonyTime+apart
}

// purpose is what a ceremony is for; one for something else is not accepted.
type purpose byte

const (
	toRegister purpose = iota + 1
	toLogIn
	toConfirm
	toReturn // from an OpenID Connect issuer
)

const (
	// ceremonyTime is how long the second step may take.
	ceremonyTime = 10 * time.Minute
	// mostCeremonies bounds their memory, mostOfOne what a single address has
	// of it: past either, the oldest ones are dropped and must be begun again.
	mostCeremonies = 4096
	mostOfOne      = 32
)

// beginCeremony remembers a ceremony, and returns its name.
func (d *Directory) beginCeremony(x *ceremony) (name string, err error) {
	if d.shared != nil {
		return d.sealed(x)
	}
	return d.ceremonies.begin(d.now(), x), nil
}

// finishCeremony returns a ceremony, nil where it is over, or is for something
// else.
func (d *Directory) finishCeremony(name string, what purpose) (*ceremony, error) {
	if d.shared != nil {
		return d.unsealed(name, what)
	}
	return d.ceremonies.finish(d.now(), name, what), nil
}

// ceremonies are those that have begun, by a random name that only the one who
// began one knows.
type ceremonies struct {
	mu    sync.Mutex
	begun map[key]*ceremony
	order []key // the oldest first; some may be over already
}

// newCeremonies begins empty with each process: a ceremony does not survive a
// restart.
func newCeremonies() *ceremonies { return &ceremonies{begun: make(map[key]*ceremony)} }

// begin remembers a ceremony and returns its name. It first drops what has run
// out, and then the oldest, of the same network where that has too many: one
// address can displace its own only, until the whole is full.
func (c *ceremonies) begin(now time.Time, x *ceremony) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	x.Until = now.Add(ceremonyTime)
	live, own := c.order[:0], 0
	for _, k := range c.order {
		if b := c.begun[k]; b == nil || b.over(now) {
			delete(c.begun, k)
			continue
		} else if b.From == x.From {
			own++
		}
		live = append(live, k)
	}
	c.order = live
	for i := 0; i < len(c.order) && (own >= mostOfOne || len(c.begun) >= mostCeremonies); i++ {
		if b := c.begun[c.order[i]]; b.From == x.From || len(c.begun) >= mostCeremonies {
			if b.From == x.From {
				own--
			}
			delete(c.begun, c.order[i])
			c.order = append(c.order[:i], c.order[i+1:]...)
			i--
		}
	}
	name := random()
	c.begun[keyOf(name)] = x
	c.order = append(c.order, keyOf(name))
	return name
}

// finish returns a ceremony, once; nil where it is over, or is for something
// else. It is gone afterwards whatever the answer is: an answer that was
// overheard is good for nothing.
func (c *ceremonies) finish(now time.Time, name string, what purpose) *ceremony {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := keyOf(name)
	x := c.begun[at]
	delete(c.begun, at)
	if x == nil || x.What != what || x.over(now) {
		return nil
	}
	return x
}

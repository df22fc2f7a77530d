package accounts

import (
	"sync"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
)

// ceremony is the server's memory between the two steps of a passkey or of OpenID Connect. It stays
// here and not with the browser, because the values an answer is compared with must not come from
// the party that answers. Where the answer may reach another server than the one that asked, the
// browser carries it, sealed.
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

// over reports whether it is too late for the second step, also if the ceremony began before the
// clock was set back.
func (x *ceremony) over(now time.Time) bool {
	return now.After(x.Until) || x.Until.Sub(now) > ceremonyTime+apart
}

// purpose is the purpose of a ceremony; a ceremony begun for another purpose is refused.
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
	// mostCeremonies bounds their memory, mostOfOne the share of a single address: past either, the
	// oldest are dropped and must be begun again.
	mostCeremonies = 4096
	mostOfOne      = 32
)

// start stores a ceremony and returns its name.
func (c *ceremonies) start(x *ceremony) (name string, err error) {
	if c.ledger.shared != nil {
		return c.sealed(x)
	}
	return c.begin(c.now(), x), nil
}

// take returns a ceremony, or nil if it is over or has another purpose.
func (c *ceremonies) take(name string, what purpose) (*ceremony, error) {
	if c.ledger.shared != nil {
		return c.unsealed(name, what)
	}
	return c.finish(c.now(), name, what), nil
}

// ceremonies holds the pending ones, by a random name that only the initiator knows.
type ceremonies struct {
	ledger *ledger
	now    func() time.Time

	mu    sync.Mutex
	begun map[key]*ceremony
	order []key // the oldest first; some may be over already
}

// newCeremonies begins empty with each process: a ceremony does not survive a
// restart.
func newCeremonies(l *ledger) *ceremonies {
	return &ceremonies{ledger: l, now: l.now, begun: make(map[key]*ceremony)}
}

// begin stores a ceremony and returns its name. It first drops expired ones, then the oldest: of
// the same network if that has too many, so that one address can displace only its own until the
// whole is full.
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

// finish returns a ceremony once; nil if it is over or has another purpose. It is deleted whatever
// the answer, so that an intercepted answer is worthless.
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

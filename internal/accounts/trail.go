package accounts

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind is what happened, in the audit trail.
type Kind string

const (
	KindLogin          Kind = "login"           // somebody logged in: Method
	KindLoginFailed    Kind = "login_failed"    // Reason; Account only where there is one of that name
	KindLockedOut      Kind = "locked_out"      // further attempts are refused for a while
	KindConfirmed      Kind = "confirmed"       // somebody who was logged in has shown it again
	KindLogout         Kind = "logout"          // a session was ended by its owner
	KindSessionsEnded  Kind = "sessions_ended"  // all sessions of Account were ended
	KindSessionEnded   Kind = "session_ended"   // Credential of Account was ended by somebody
	KindRefused        Kind = "refused"         // Permission in Campaign was denied, Times times
	KindAdded          Kind = "account_added"   // Account is new
	KindChanged        Kind = "account_changed" // Reason says what of Account
	KindDisabled       Kind = "account_disabled"
	KindEnabled        Kind = "account_enabled"
	KindUnlocked       Kind = "unlocked" // failed attempts were forgotten
	KindGranted        Kind = "granted"  // Role in Campaign
	KindRevoked        Kind = "revoked"  // Role in Campaign
	KindPasswordSet    Kind = "password_set"
	KindPasskeyAdded   Kind = "passkey_added"   // Credential
	KindPasskeyRemoved Kind = "passkey_removed" // Credential
	KindLinked         Kind = "linked"          // Account belongs to somebody at an OpenID Connect issuer: Reason
	KindTokenCreated   Kind = "token_created"   // Credential; Reason is its name and bounds
	KindTokenRevoked   Kind = "token_revoked"   // Credential
)

// Entry is an entry of the audit trail. It holds no secret: no password, no token, no hash of
// one, and no name that nobody has.
type Entry struct {
	// Number counts from 1.
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	Kind   Kind      `json:"kind"`
	// By is who did it: an account, or with Method [BySystem] or [ByLoopback] a user of the
	// system; empty where that is not known.
	By     string `json:"by,omitempty"`
	Method Method `json:"method,omitempty"`
	// From is the address it came from, where there was one.
	From string `json:"from,omitempty"`
	// Account is the account that it is about.
	Account string `json:"account,omitempty"`
	// Credential identifies the session, token or passkey that it is about, or that it was
	// done with.
	Credential string     `json:"credential,omitempty"`
	Role       Role       `json:"role,omitempty"`
	Campaign   string     `json:"campaign,omitempty"`
	Permission Permission `json:"permission,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	// Times is how often the same was refused since the last entry about it, where that is
	// more than once.
	Times int `json:"times,omitempty"`
	// Previous is the Hash of the entry before, in hexadecimal digits; zeros in the first one.
	Previous string `json:"previous"`
	// Hash is the SHA-256 of the entry without it, as JSON in the canonical form of RFC 8785.
	Hash string `json:"hash,omitempty"`
}

// Origin says of an account that was added who made it, from where and when.
func (e Entry) Origin() string {
	by := "made by " + cmp.Or(e.By, "somebody")
	switch e.Method {
	case ByLoopback:
		by += ", when everybody on this machine could"
	case BySystem:
		by += ", on the machine of the lab"
	}
	if e.From != "" {
		by += ", from " + e.From
	}
	return e.Account + ", " + by + ", on " + e.Time.Format(time.DateTime) + " UTC"
}

// String says what happened, in words.
func (e Entry) String() string {
	who := e.By
	if who == "" {
		who = "somebody"
	}
	tell, ok := stories[e.Kind]
	if !ok {
		return who + ": " + string(e.Kind)
	}
	text := tell(e, who)
	if e.Times > 1 {
		text += fmt.Sprintf(", %d times", e.Times)
	}
	if e.From != "" {
		text += ", from " + e.From
	}
	return text
}

// stories is the table of words.
var stories = map[Kind]func(e Entry, who string) string{
	KindLogin: func(e Entry, who string) string { return who + " logged in with " + means[e.Method] },
	KindLoginFailed: func(e Entry, _ string) string {
		return "a login" + of(" as ", e.Account) + " with " + means[e.Method] + " failed" + of(": ", e.Reason)
	},
	KindLockedOut: func(e Entry, _ string) string {
		return "logins" + of(" as ", e.Account) + " are not heard for a while, after several that failed"
	},
	KindConfirmed: func(e Entry, who string) string { return who + " showed again who they are, with " + means[e.Method] },
	KindLogout:    func(_ Entry, who string) string { return who + " logged out" },
	KindSessionsEnded: func(e Entry, who string) string {
		return who + " ended all sessions of " + e.Account + of(", ", e.Reason)
	},
	KindSessionEnded: func(e Entry, who string) string {
		return who + " ended the session " + e.Credential + " of " + e.Account
	},
	KindRefused: func(e Entry, who string) string {
		if e.Permission == "" {
			return "a request with an API token" + of(" of ", e.Account) + " was refused" + of(": ", e.Reason)
		}
		return who + " was refused: to " + e.Permission.words() + inCampaign(e.Campaign)
	},
	KindAdded: func(e Entry, who string) string { return who + " made the account " + e.Account },
	KindChanged: func(e Entry, who string) string {
		return who + " changed the account " + e.Account + of(": ", e.Reason)
	},
	KindDisabled: func(e Entry, who string) string { return who + " disabled the account " + e.Account },
	KindEnabled:  func(e Entry, who string) string { return who + " enabled the account " + e.Account },
	KindUnlocked: func(e Entry, who string) string {
		if e.Account == "" {
			return who + " had all failed logins forgotten"
		}
		return who + " had the failed logins as " + e.Account + " forgotten"
	},
	KindGranted: func(e Entry, who string) string {
		return who + " made " + e.Account + " " + Grant{
			Role:     e.Role,
			Campaign: e.Campaign,
		}.String() + of(
			", ",
			e.Reason,
		)
	},
	KindRevoked: func(e Entry, who string) string {
		return who + " ended that " + e.Account + " is " + Grant{
			Role:     e.Role,
			Campaign: e.Campaign,
		}.String() + of(
			", ",
			e.Reason,
		)
	},
	KindPasswordSet:  func(e Entry, who string) string { return who + " set the password of " + e.Account },
	KindPasskeyAdded: func(e Entry, who string) string { return who + " added the passkey " + e.Credential },
	KindPasskeyRemoved: func(e Entry, who string) string {
		return who + " removed the passkey " + e.Credential + " of " + e.Account
	},
	KindLinked: func(e Entry, _ string) string { return "the account " + e.Account + " was tied to " + e.Reason },
	KindTokenCreated: func(e Entry, who string) string {
		return who + " made the API token " + e.Credential + " of " + e.Account + of(", ", e.Reason)
	},
	KindTokenRevoked: func(e Entry, who string) string {
		return who + " revoked the API token " + e.Credential + " of " + e.Account
	},
}

// means are the methods in words.
var means = map[Method]string{
	ByPassword: "a password", ByPasskey: "a passkey", ByOIDC: "OpenID Connect", ByToken: "an API token",
	ByLoopback: "nothing", BySystem: "the system's own means",
}

// of puts words before a text that there is.
func of(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// head names the newest entry.
type head struct {
	number uint64
	hash   [sha256.Size]byte
}

func sum(entry []byte) [sha256.Size]byte { return sha256.Sum256(entry) }

// chain adds an entry to a head: what is stored of it, and the new head.
func (h head) chain(e Entry) ([]byte, head, error) {
	e.Number, e.Previous, e.Hash = h.number+1, hex.EncodeToString(h.hash[:]), ""
	text, err := json.Marshal(e)
	if err != nil {
		return nil, h, err
	}
	value := jsontext.Value(text)
	if err := value.Canonicalize(); err != nil {
		return nil, h, err
	}
	return value, head{number: e.Number, hash: sum(value)}, nil
}

// decodeEntry reads an entry as it is stored.
func decodeEntry(value []byte) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(value, &e); err != nil {
		return Entry{}, err
	}
	hash := sum(value)
	e.Hash = hex.EncodeToString(hash[:])
	return e, nil
}

// Page says which entries of the audit trail are wanted.
type Page struct {
	// After gives the entries after a number, the oldest first. Otherwise the newest come
	// first, those before Before where it is set.
	After  *uint64 `json:"after,omitempty"`
	Before uint64  `json:"before,omitempty"`
	// Limit is how many at most: 100 where it is zero, never more than 1000.
	Limit int `json:"limit,omitempty"`
}

// First tells how the first account was made, which is an admin's: by whom and from where. Before it
// everybody who reached the lab could make it, so that those who follow should know. ok is false
// where there is none yet.
func (b *Book) First() (first Entry, ok bool, err error) {
	b.reading.RLock()
	defer b.reading.RUnlock()
	if b.closed || b.stopped != nil {
		return first, false, errClosed()
	}
	it, err := b.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte(entryKey(0)), UpperBound: []byte(entryKey(1 << 63))})
	if err != nil {
		return first, false, damaged("%w", err)
	}
	defer it.Close()
	for found := it.First(); found; found = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return first, false, damaged("%w", err)
		}
		if first, err = decodeEntry(value); err != nil {
			return first, false, damaged("an entry of the audit trail cannot be read: %w", err)
		}
		if first.Kind == KindAdded {
			return first, true, nil
		}
	}
	return first, false, nil
}

// Trail returns a page of the audit trail, to those who may [Audit] the lab. A page that is
// shorter than its limit is the last one.
func (b *Book) Trail(by Identity, p Page) ([]Entry, error) {
	if err := b.mayOrRefuse(by, Audit, ""); err != nil {
		return nil, err
	}
	b.reading.RLock()
	defer b.reading.RUnlock()
	if b.closed || b.stopped != nil {
		return nil, errClosed()
	}
	limit := p.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	lower, upper := entryKey(0), entryKey(1<<63)
	if p.After != nil {
		lower = entryKey(min(*p.After, 1<<62) + 1)
	} else if p.Before > 0 {
		upper = entryKey(min(p.Before, 1<<62))
	}
	it, err := b.store.db.NewIter(&pebble.IterOptions{LowerBound: []byte(lower), UpperBound: []byte(upper)})
	if err != nil {
		return nil, damaged("%w", err)
	}
	defer it.Close()
	begin, next := it.Last, it.Prev
	if p.After != nil {
		begin, next = it.First, it.Next
	}
	entries := []Entry{}
	for ok := begin(); ok && len(entries) < limit; ok = next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, damaged("%w", err)
		}
		e, err := decodeEntry(value)
		if err != nil {
			return nil, damaged("an entry of the audit trail cannot be read: %w", err)
		}
		entries = append(entries, e)
	}
	if err := it.Error(); err != nil {
		return nil, damaged("%w", err)
	}
	return entries, nil
}

// Proof is what [Book.VerifyTrail] has found to hold.
type Proof struct {
	// Entries is how many there are, Head the Hash of the last one. Whoever writes both down
	// elsewhere can tell later whether somebody has made all of the trail anew.
	Entries uint64 `json:"entries"`
	Head    string `json:"head"`
}

// VerifyTrail reads the whole audit trail and checks that every entry follows from the one
// before it, and that none is missing. An error of code [problem.Damaged] says where that is
// not so.
func (b *Book) VerifyTrail(by Identity) (Proof, error) {
	if err := b.mayOrRefuse(by, Audit, ""); err != nil {
		return Proof{}, err
	}
	b.reading.RLock()
	defer b.reading.RUnlock()
	if b.closed || b.stopped != nil {
		return Proof{}, errClosed()
	}
	at, err := verifyTrail(b.store.db)
	return Proof{Entries: at.number, Head: hex.EncodeToString(at.hash[:])}, err
}

func verifyTrail(db *pebble.DB) (at head, err error) {
	snapshot := db.NewSnapshot()
	defer snapshot.Close()
	it, err := snapshot.NewIter(&pebble.IterOptions{LowerBound: []byte(headKey), UpperBound: []byte(headKey + "\x00")})
	if err != nil {
		return at, damaged("%w", err)
	}
	var stored head
	if it.First() {
		value := it.Value()
		if len(value) == 8+len(stored.hash) {
			stored.number = binary.BigEndian.Uint64(value)
			copy(stored.hash[:], value[8:])
		}
	}
	if err := it.Close(); err != nil {
		return at, damaged("%w", err)
	}
	if it, err = snapshot.NewIter(&pebble.IterOptions{LowerBound: []byte(entryKey(0)), UpperBound: []byte(entryKey(1 << 63))}); err != nil {
		return at, damaged("%w", err)
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			at, err = at.follow(it.Key(), value)
		}
	}
	if failed := it.Error(); failed != nil {
		err = failed
	}
	if closed := it.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
		return at, damaged("the audit trail: %w", err)
	case at != stored:
		return at, damaged("the audit trail ends with entry %d, and should with %d", at.number, stored.number)
	}
	return at, nil
}

// follow checks that a stored entry is the next one.
func (h head) follow(key, value []byte) (head, error) {
	number := h.number + 1
	if string(key) != entryKey(number) {
		return h, fmt.Errorf("entry %d is missing", number)
	}
	e, err := decodeEntry(value)
	switch {
	case err != nil:
		return h, fmt.Errorf("entry %d cannot be read: %w", number, err)
	case e.Number != number:
		return h, fmt.Errorf("entry %d says that it is entry %d", number, e.Number)
	case e.Previous != hex.EncodeToString(h.hash[:]):
		return h, fmt.Errorf("entry %d does not follow from the one before it: one of the two was changed", number)
	}
	return head{number: number, hash: sum(value)}, nil
}

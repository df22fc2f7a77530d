package accounts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Kind is a kind of entry in the audit log.
type Kind string

const (
	KindLogin          Kind = "login"           // a person logged in: Method
	KindLoginFailed    Kind = "login_failed"    // Reason; Account only where there is one of that name
	KindLockedOut      Kind = "locked_out"      // further attempts are refused for a while
	KindConfirmed      Kind = "confirmed"       // a person who was logged in has shown again who they are
	KindLogout         Kind = "logout"          // a session was ended by its owner
	KindSessionsEnded  Kind = "sessions_ended"  // all sessions of Account were ended
	KindSessionEnded   Kind = "session_ended"   // Credential of Account was ended, not by logging out
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
	KindLinked         Kind = "linked"          // Account is a person's at an OpenID Connect issuer: Reason
	KindTokenCreated   Kind = "token_created"   // Credential; Reason is its name and bounds
	KindTokenRevoked   Kind = "token_revoked"   // Credential
	KindTakenOver      Kind = "taken_over"      // the accounts and audit log of an earlier version: Reason
)

// Entry is an entry of the audit log. It holds no secret: no password, no token, no hash of one,
// and no name without an account.
type Entry struct {
	// Number counts from 1: the sequence of the event in its stream.
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	Kind   Kind      `json:"kind"`
	// By is who did it: an account, or with Method [BySystem] or [ByLoopback] a user of the system;
	// empty if unknown.
	By     string `json:"by,omitempty"`
	Method Method `json:"method,omitempty"`
	// From is the address of the request, if there was one.
	From string `json:"from,omitempty"`
	// Account is the account concerned.
	Account string `json:"account,omitempty"`
	// Credential identifies the session, token or passkey concerned, or used.
	Credential string     `json:"credential,omitempty"`
	Role       Role       `json:"role,omitempty"`
	Campaign   string     `json:"campaign,omitempty"`
	Permission Permission `json:"permission,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	// Times is how often the same request was refused since the last entry about it, if more than
	// once.
	Times int `json:"times,omitempty"`
	// Hash is the hash of the entry's event in the Merkle tree of the lab's log (RFC 6962: the
	// SHA-256 of a zero byte and the event's record), in hexadecimal.
	Hash string `json:"hash,omitempty"`

	facts *Facts // nil without facts
}

// grant returns the granted or revoked role of an entry.
func (e Entry) grant() Grant {
	g := Grant{Role: e.Role, Campaign: e.Campaign}
	if e.facts != nil {
		g.Issuer = e.facts.Issuer
	}
	return g
}

// Origin describes, for an added account, who made it, from where and when.
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

// String describes the entry in words.
func (e Entry) String() string {
	who := e.By
	if who == "" {
		who = "somebody"
	}
	tell := kindOf(e.Kind).story
	if tell == nil {
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

// kindTable maps kinds to their event kinds in the lab's log and their words. The log's names are
// permanent.
var kindTable = []kindRow{
	{KindLogin, "login.succeeded", func(e Entry, who string) string {
		return who +
			" logged in with " + means[e.Method]
	}},
	{KindLoginFailed, "login.failed", func(e Entry, _ string) string {
		return "a login" + of(" as ", e.Account) + " with " + means[e.Method] + " failed" + of(": ", e.Reason)
	}},
	{KindLockedOut, "login.locked_out", func(e Entry, _ string) string {
		return "logins" + of(" as ", e.Account) + " are not heard for a while, after several that failed"
	}},
	{KindConfirmed, "identity.confirmed",
		func(e Entry, who string) string {
			return who + " showed again who they are, with " +
				means[e.Method]
		}},
	{KindLogout, "session.logged_out", func(_ Entry, who string) string { return who + " logged out" }},
	{KindSessionsEnded, "sessions.ended", func(e Entry, who string) string {
		return who + " ended all sessions of " + e.Account + of(", ", e.Reason)
	}},
	{KindSessionEnded, "session.ended", func(e Entry, who string) string {
		return who + " ended the session " + e.Credential + " of " + e.Account
	}},
	{KindRefused, "access.refused", func(e Entry, who string) string {
		if e.Permission == "" {
			return "a request with an API token" + of(" of ", e.Account) + " was refused" + of(": ", e.Reason)
		}
		return who + " was refused: to " + e.Permission.Words() + inCampaign(e.Campaign)
	}},
	{KindAdded, "account.added", func(e Entry, who string) string {
		return who +
			" made the account " + e.Account
	}},
	{KindChanged, "account.changed", func(e Entry, who string) string {
		return who + " changed the account " + e.Account + of(": ", e.Reason)
	}},
	{KindDisabled, "account.disabled", func(e Entry, who string) string {
		return who +
			" disabled the account " + e.Account
	}},
	{KindEnabled, "account.enabled", func(e Entry, who string) string {
		return who +
			" enabled the account " + e.Account
	}},
	{KindUnlocked, "attempts.forgotten", func(e Entry, who string) string {
		if e.Account == "" {
			return who + " had all failed logins forgotten"
		}
		return who + " had the failed logins as " + e.Account + " forgotten"
	}},
	{KindGranted, "role.granted", func(e Entry, who string) string {
		return who + " made " + e.Account + " " + e.grant().String() + of(", ", e.Reason)
	}},
	{KindRevoked, "role.revoked", func(e Entry, who string) string {
		return who + " ended that " + e.Account + " is " + e.grant().String() + of(", ", e.Reason)
	}},
	{KindPasswordSet, "password.set", func(e Entry, who string) string {
		return who +
			" set the password of " + e.Account
	}},
	{KindPasskeyAdded, "passkey.added", func(e Entry, who string) string {
		return who +
			" added the passkey " + e.Credential
	}},
	{KindPasskeyRemoved, "passkey.removed", func(e Entry, who string) string {
		return who + " removed the passkey " + e.Credential + " of " + e.Account
	}},
	{KindLinked, "account.linked", func(e Entry, _ string) string {
		return "the account " +
			e.Account + " was tied to " + e.Reason
	}},
	{KindTokenCreated, "token.created", func(e Entry, who string) string {
		return who + " made the API token " + e.Credential + " of " + e.Account + of(", ", e.Reason)
	}},
	{KindTokenRevoked, "token.revoked", func(e Entry, who string) string {
		return who + " revoked the API token " + e.Credential + " of " + e.Account
	}},
	{KindTakenOver, "accounts.taken_over", func(e Entry, _ string) string {
		return "the accounts of an earlier version were taken over" + of(": ", e.Reason)
	}},
}

// kindRow is a row of the table of kinds. story takes the person's readable name; it returns one
// clause, so that String can append count and address.
type kindRow struct {
	kind  Kind
	event events.Kind
	story func(e Entry, who string) string
}

// kindOf returns the row of a kind, or the zero row of an unknown one.
func kindOf(k Kind) kindRow {
	if i := slices.IndexFunc(kindTable, func(r kindRow) bool { return r.kind == k }); i >= 0 {
		return kindTable[i]
	}
	return kindRow{}
}

// kindOfEvent is the inverse of the table, for entries read from the log.
var kindOfEvent = func() map[events.Kind]Kind {
	m := make(map[events.Kind]Kind, len(kindTable))
	for _, r := range kindTable {
		m[r.event] = r.kind
	}
	return m
}()

// means names the methods in words.
var means = map[Method]string{
	ByPassword: "a password", ByPasskey: "a passkey", ByOIDC: "OpenID Connect", ByToken: "an API token",
	ByLoopback: "nothing", BySystem: "the system's own means",
}

// of puts words before a text, unless the text is empty. It keeps the stories free of dangling
// commas.
func of(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// Page selects entries of the audit log.
type Page struct {
	// After selects the entries after a number, the oldest first. Without it the newest come first,
	// those before Before if that is set.
	After  *uint64 `json:"after,omitempty"`
	Before uint64  `json:"before,omitempty"`
	// Limit is the maximum number of entries: 100 if zero, never more than 1000.
	Limit int `json:"limit,omitempty"`
}

// First returns how the first account, an admin's, was made: by whom and from where. Until it
// exists, anyone who reaches the lab could make it, so later people should see who did. ok is false
// without accounts.
func (d *Directory) First() (first Entry, ok bool) {
	d.roster.mu.RLock()
	defer d.roster.mu.RUnlock()
	if d.roster.state.first == nil {
		return Entry{}, false
	}
	return *d.roster.state.first, true
}

// AuditLog returns a page of the audit log, to callers who may [Audit] the lab. A page shorter than
// its limit is the last one.
//
// Pages are read from the log, not from the state: entries are not kept in memory.
func (d *Directory) AuditLog(by Identity, p Page) ([]Entry, error) {
	if err := d.mayOrRefuse(by, Audit, ""); err != nil {
		return nil, err
	}
	limit := p.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	log, last, err := d.ledger.current()
	if err != nil {
		return nil, err
	}
	// Sequences have no gaps, so a page backwards is the page forwards that ends before it.
	after, end := uint64(0), uint64(last)
	if p.After != nil {
		after = min(*p.After, end)
	} else {
		if p.Before > 0 {
			end = min(end, p.Before-1)
		}
		after = end - min(end, uint64(limit))
	}
	entries := []Entry{}
	for e, err := range log.ReadCampaign(context.Background(), Stream, events.Sequence(after)) {
		if err != nil {
			return nil, lablog.Fault(err)
		}
		if uint64(e.Sequence) > end || len(entries) == limit {
			break
		}
		entry, err := entryOf(e)
		if err == nil {
			entry.Hash, err = leafHash(e)
		}
		if err != nil {
			return nil, damaged("entry %d of the audit log cannot be read: %w", e.Sequence, err)
		}
		entries = append(entries, entry)
	}
	if p.After == nil {
		slices.Reverse(entries)
	}
	return entries, nil
}

// Proof is the result of a successful [Directory.Verify].
type Proof struct {
	// Entries is the number of events in the lab's log, Head the root hash of its Merkle tree.
	// Stored elsewhere, the two reveal later whether the whole log was replaced; a checkpoint of
	// the log (`campaignd checkpoint`) holds them too.
	Entries uint64 `json:"entries"`
	Head    string `json:"head"`
}

// Verify reads the whole of the lab's log and checks that each event is present, unchanged and in
// its place. An error of code [problem.Damaged] names the first fault.
func (d *Directory) Verify(by Identity) (Proof, error) {
	if err := d.mayOrRefuse(by, Audit, ""); err != nil {
		return Proof{}, err
	}
	log, _, err := d.ledger.current()
	if err != nil {
		return Proof{}, err
	}
	report, err := log.Verify(context.Background())
	if err != nil {
		return Proof{}, lablog.Fault(err)
	}
	proof := Proof{Entries: uint64(report.Events), Head: report.Root.String()}
	if !report.Sound() {
		return proof, damaged("the audit log: %v", report.Faults[0])
	}
	return proof, nil
}

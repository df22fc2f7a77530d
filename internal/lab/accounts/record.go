package accounts

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// Stream is the stream of the accounts in the lab's log: the Campaign of their
// events.
const Stream = "accounts"

// Record is the payload of every event of the accounts. One form serves all kinds, since the audit
// log is read as a table: the credential and its account, the means, the address. The actor and the
// time are in the event's envelope. It holds no secret; an event about one holds the reference
// under which the lab keeps its hash.
type Record struct {
	Account    string     `json:"account,omitempty"`
	Method     Method     `json:"method,omitempty"`
	From       string     `json:"from,omitempty"`
	Credential string     `json:"credential,omitempty"`
	Role       Role       `json:"role,omitempty"`
	Campaign   string     `json:"campaign,omitempty"`
	Permission Permission `json:"permission,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Times      int        `json:"times,omitempty"`
	Facts
}

// Subject implements events.Payload: the account.
func (r Record) Subject() string { return r.Account }

// Facts is the input of the accounts' state beyond the columns of the audit log.
type Facts struct {
	// Issuer is the OpenID Connect issuer that granted or revoked a role.
	Issuer string `json:"issuer,omitempty"`
	// Secret is the reference of the value that proves a password, session or
	// passkey.
	Secret string `json:"secret,omitempty"`
	// Name is the name of a passkey.
	Name string `json:"name,omitempty"`
	// Confirmed is when the person of a login had authenticated, if that was elsewhere and earlier.
	Confirmed time.Time `json:"confirmed,omitzero"`
	Details   *Details  `json:"details,omitempty"`
	Terms     *Terms    `json:"terms,omitempty"`
	Link      *Link     `json:"link,omitempty"`
	// Bucket is the bucket of an unknown name with which a login failed at one of several servers:
	// see [Directory.bucket].
	Bucket string `json:"bucket,omitempty"`
	// Earlier marks an entry that was taken over from an earlier audit log, and Taken is the state
	// at its end. Both are read and no longer written.
	Earlier *Earlier `json:"earlier,omitempty"`
	Taken   *Taken   `json:"taken,omitempty"`
}

// Details are a person's details.
type Details struct {
	DisplayName string   `json:"display_name,omitempty"`
	Email       string   `json:"email,omitempty"`
	AnswersAs   []string `json:"answers_as,omitempty"`
	// Handle is the account's random identifier at authenticators; it does not contain the name.
	Handle []byte `json:"handle,omitempty"`
}

// Terms are the terms of an API token.
type Terms struct {
	Name      string       `json:"name"`
	Scopes    []Permission `json:"scopes"`
	Campaigns []string     `json:"campaigns,omitempty"`
	Expires   time.Time    `json:"expires"`
}

// Earlier is an entry's form in the audit trail that campaignd kept before the lab's log: a chain,
// in which the hash of an entry, as JSON in the canonical form of RFC 8785, covers that of the one
// before it.
type Earlier struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

// Taken is the state of the accounts taken over, and marks that the takeover is complete.
type Taken struct {
	Accounts []*account `json:"accounts"`
	Sessions []*session `json:"sessions,omitempty"`
	Tokens   []*token   `json:"tokens,omitempty"`
}

// vocabulary lists the events of the accounts in the lab's log.
var vocabulary = func() *events.Vocabulary {
	rows := make([]events.Row, len(kindTable))
	for i, k := range kindTable {
		rows[i] = events.RowOf[Record](k.event, 1)
	}
	return events.NewVocabulary(rows...)
}()

// unknownActor is the actor of acts by an unknown person. An event must have an actor; an entry
// then shows none. No account may have the name.
const unknownActor = "unknown"

// event returns an entry as an event, to be appended.
func (e Entry) event() (events.Event, error) {
	r := &Record{
		Account:    e.Account,
		Method:     e.Method,
		From:       e.From,
		Credential: e.Credential,
		Role:       e.Role,
		Campaign:   e.Campaign,
		Permission: e.Permission,
		Reason:     e.Reason,
		Times:      e.Times,
	}
	if e.facts != nil {
		r.Facts = *e.facts
	}
	made, err := vocabulary.New(Stream, kindOf(e.Kind).event, r)
	made.Time, made.Actor = e.Time, unknownActor
	if by := shown(e.By); by != "" {
		made.Actor = "person:" + by
		if e.Method == BySystem {
			made.Account = by
		}
	}
	return made, err
}

// entryOf returns an event as an entry of the audit log, without its hash.
func entryOf(e events.Event) (Entry, error) {
	payload, err := vocabulary.Decode(e)
	if err != nil {
		return Entry{}, err
	}
	r := payload.(*Record)
	entry := Entry{
		Number:     uint64(e.Sequence),
		Time:       e.Time,
		Kind:       kindOfEvent[e.Kind],
		Method:     r.Method,
		From:       r.From,
		Account:    r.Account,
		Credential: r.Credential,
		Role:       r.Role,
		Campaign:   r.Campaign,
		Permission: r.Permission,
		Reason:     r.Reason,
		Times:      r.Times,
		facts:      &r.Facts,
	}
	if e.Actor != unknownActor {
		entry.By = events.ActorName(e.Actor)
	}
	return entry, nil
}

// leafHash returns an event's leaf hash in the Merkle tree of its log. It is computed and not
// stored: a hash stored next to an event could be changed together with it.
func leafHash(e events.Event) (string, error) {
	record, err := events.AppendRecord(nil, e)
	hash := tlog.RecordHash(record)
	return hex.EncodeToString(hash[:]), err
}

// sum returns the SHA-256 of a text, in hexadecimal.
func sum(text []byte) string {
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:])
}

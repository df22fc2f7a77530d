package accounts

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/campaignd/campaignd/events"
)

// The key prefixes of the values that the accounts keep next to the lab's log. The rest of a key is
// a reference from an event, the ID of a token, or the name of an account.
const (
	valuesPrefix = "accounts/"

	passwordKey = valuesPrefix + "password/"
	sessionKey  = valuesPrefix + "session/"
	tokenKey    = valuesPrefix + "token/"
	passkeyKey  = valuesPrefix + "passkey/"
	networksKey = valuesPrefix + "networks/"
)

// values are the forgettable data of a lab's accounts: proofs of identity, and last uses.
// Pointed-to values are immutable once others can see them.
type values struct {
	passwords map[string]hash
	sessions  map[string]*sessionValue
	tokens    map[string]*tokenValue
	passkeys  map[string]*passkeyValue
	// networks are the known networks of an account's logins, the newest last.
	networks map[string][]string

	// sessionOf and tokenOf map the hash of a secret to an ID.
	sessionOf, tokenOf map[key]string
}

// sessionValue holds the proof of a session.
type sessionValue struct {
	ID   string    `json:"id"`
	Hash key       `json:"hash"`
	Seen time.Time `json:"seen"`
}

// tokenValue holds the proof of a token.
type tokenValue struct {
	Hash key       `json:"hash"`
	Used time.Time `json:"used,omitzero"`
	From string    `json:"from,omitempty"`
}

// passkeyValue is a passkey's credential, which contains only a public key, and its counter.
type passkeyValue struct {
	Credential webauthn.Credential `json:"credential"`
	Used       time.Time           `json:"used,omitzero"`
}

// newValues starts empty.
func newValues() *values {
	return &values{
		passwords: make(map[string]hash),
		sessions:  make(map[string]*sessionValue),
		tokens:    make(map[string]*tokenValue),
		passkeys:  make(map[string]*passkeyValue),
		networks:  make(map[string][]string),
		sessionOf: make(map[key]string),
		tokenOf:   make(map[key]string),
	}
}

// value returns a value under its key, to be stored.
func value(key string, v any) events.KeyValue {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the types above have no value that JSON cannot express
	}
	return events.KeyValue{Key: key, Value: text}
}

// removed is the change that removes a value.
func removed(key string) events.KeyValue { return events.KeyValue{Key: key} }

// put applies a change of a value. A key of another form does not belong to the accounts.
func (v *values) put(c events.KeyValue) error {
	at := strings.LastIndexByte(c.Key, '/') + 1
	id := c.Key[at:]
	switch c.Key[:at] {
	case passwordKey:
		return put(v.passwords, id, c.Value)
	case networksKey:
		return put(v.networks, id, c.Value)
	case passkeyKey:
		return put(v.passkeys, id, c.Value)
	case sessionKey:
		if old := v.sessions[id]; old != nil {
			delete(v.sessionOf, old.Hash)
		}
		err := put(v.sessions, id, c.Value)
		if x := v.sessions[id]; x != nil {
			v.sessionOf[x.Hash] = x.ID
		}
		return err
	case tokenKey:
		if old := v.tokens[id]; old != nil {
			delete(v.tokenOf, old.Hash)
		}
		err := put(v.tokens, id, c.Value)
		if x := v.tokens[id]; x != nil {
			v.tokenOf[x.Hash] = id
		}
		return err
	}
	return nil
}

// put sets or, without a text, removes one value of a kind.
func put[T any](all map[string]T, id string, text []byte) error {
	if text == nil {
		delete(all, id)
		return nil
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	all[id] = v
	return nil
}

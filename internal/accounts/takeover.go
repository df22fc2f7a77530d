package accounts

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/accounts/earlier"
	"github.com/campaignd/campaignd/internal/lablog"
	"github.com/campaignd/campaignd/internal/problem"
)

// Before they were events of the lab's log, the accounts of a folder were in a
// database of their own, .campaignd/accounts. It is taken over when the
// accounts are opened first:
//
//   - Its audit trail is checked; a damaged one is refused, and nothing is changed.
//   - Each entry becomes an event, with its time, number and hash. They come first in the
//     stream, so that an entry keeps its number.
//   - What proves who people are becomes values, and one event, accounts.taken_over, holds
//     the state. It is the mark: without it, a process that ended in between goes on after
//     the last entry that is there.
//   - The folder is kept under another name. A file in its place keeps a campaignd of that
//     time from beginning accounts anew, without which it would let everyone in.

// earlierDir is where the accounts next to the lab's log in dir were.
func earlierDir(dir string) string { return filepath.Join(filepath.Dir(dir), "accounts") }

// movedNote is what the file in the place of the folder says.
const movedNote = "The accounts of this folder are in the lab's log, in the folder lab beside this file.\n" +
	"A campaignd from before it does not find them: use the one that wrote it, or a newer one.\n"

// readEarlier returns the accounts of an earlier version, nil where there are
// none.
func readEarlier(dir string) (*earlier.Accounts, error) {
	if !earlier.Exist(earlierDir(dir)) {
		return nil, nil
	}
	old, err := earlier.Read(earlierDir(dir))
	switch {
	case errors.Is(err, earlier.ErrInUse):
		return nil, ErrInUse
	case errors.Is(err, earlier.ErrDamaged):
		return nil, damaged("%w", err)
	case errors.Is(err, earlier.ErrFormat):
		return nil, problem.New(problem.Unsupported, "the accounts of an earlier version: %w", err)
	case err != nil:
		return nil, unavailable(err)
	}
	return old, nil
}

// takenBatch is how many entries are taken over at once; fewer in tests.
var takenBatch = 500

// takeOver makes events of the accounts of an earlier version. No request has
// been answered yet.
func (d *Directory) takeOver(old *earlier.Accounts) error {
	if !d.state.taken {
		if err := d.takeEntries(old.Entries); err != nil {
			return err
		}
		if err := d.takeState(old); err != nil {
			return err
		}
		// All anew, as if the log had been opened just now.
		d.limits = newLimits(mostCounters)
		if err := d.load(d.limits); err != nil {
			return err
		}
	}
	// A folder with an open file is not renamed everywhere.
	if err := old.Close(); err != nil {
		return unavailable(err)
	}
	return d.keepEarlier(len(old.Entries))
}

// takeEntries makes events of the entries, but for those that are there.
func (d *Directory) takeEntries(entries []earlier.Entry) error {
	if d.last > events.Sequence(len(entries)) {
		return damaged("the lab's log has accounts, and so has %s", earlierDir(d.dir))
	}
	if err := d.checkTaken(entries); err != nil {
		return err
	}
	for rest := entries[d.last:]; len(rest) > 0; {
		n := min(len(rest), takenBatch)
		batch := make([]Entry, n)
		for i, old := range rest[:n] {
			var err error
			if batch[i], err = takenEntry(old); err != nil {
				return err
			}
		}
		stored, err := d.append(context.Background(), d.log, d.last, batch)
		if err != nil {
			return lablog.Fault(err)
		}
		d.last = stored[n-1].Sequence
		rest = rest[n:]
	}
	return nil
}

// checkTaken checks that what is in the log are the first of the entries.
func (d *Directory) checkTaken(entries []earlier.Entry) error {
	for e, err := range d.log.ReadCampaign(context.Background(), Stream, 0) {
		if err != nil {
			return lablog.Fault(err)
		}
		entry, err := entryOf(e)
		if err != nil {
			return lablog.Fault(err)
		}
		hash := entries[e.Sequence-1].Hash
		if entry.facts.Earlier == nil || entry.facts.Earlier.Hash != hex.EncodeToString(hash[:]) {
			return damaged("the lab's log has other accounts than %s", earlierDir(d.dir))
		}
	}
	return nil
}

// takenEntry is an entry of an earlier audit trail.
func takenEntry(old earlier.Entry) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(old.Text, &e); err != nil {
		return Entry{}, damaged("an entry of the audit trail cannot be read: %w", err)
	}
	if kindOf(e.Kind).event == "" || e.Kind == KindTakenOver {
		return Entry{}, problem.New(
			problem.Unsupported,
			"entry %d of the audit trail is of the kind %q, of which this campaignd knows nothing",
			e.Number, e.Kind,
		)
	}
	e.facts = &Facts{Earlier: &Earlier{Number: e.Number, Hash: hex.EncodeToString(old.Hash[:])}}
	return e, nil
}

// earlierAccount is the record of an account, with what proved who it was.
type earlierAccount struct {
	account
	Password  hash             `json:"password"`
	Passkeys  []earlierPasskey `json:"passkeys"`
	Addresses []string         `json:"addresses"`
}

// earlierPasskey is a passkey in such a record, with its credential.
type earlierPasskey struct {
	Name       string              `json:"name"`
	Created    time.Time           `json:"created"`
	Used       time.Time           `json:"used"`
	Credential webauthn.Credential `json:"credential"`
}

// takeState makes an event, and values, of what the database held besides the
// audit trail.
func (d *Directory) takeState(old *earlier.Accounts) error {
	taken := &Taken{Accounts: []*account{}}
	var kept []events.KeyValue
	for _, text := range old.Accounts {
		a, values, err := takenAccount(text)
		if err != nil {
			return damaged("an account cannot be read: %w", err)
		}
		taken.Accounts = append(taken.Accounts, a)
		kept = append(kept, values...)
	}
	for hash, text := range old.Sessions {
		var s Session
		if err := json.Unmarshal(text, &s); err != nil {
			return damaged("a session cannot be read: %w", err)
		}
		secret := randomID()
		taken.Sessions = append(taken.Sessions, &session{
			ID: s.ID, Account: s.Account, Method: s.Method, Created: s.Created, Confirmed: s.Confirmed,
			From: s.From, Secret: secret,
		})
		kept = append(kept, value(sessionKey+secret, sessionValue{ID: s.ID, Hash: key(hash), Seen: s.Seen}))
	}
	for hash, text := range old.Tokens {
		var t Token
		if err := json.Unmarshal(text, &t); err != nil {
			return damaged("a token cannot be read: %w", err)
		}
		taken.Tokens = append(taken.Tokens, &token{
			ID: t.ID, Account: t.Account, Created: t.Created, Revoked: t.Revoked,
			Terms: Terms{Name: t.Name, Scopes: t.Scopes, Campaigns: t.Campaigns, Expires: t.Expires},
		})
		kept = append(kept, value(tokenKey+t.ID, tokenValue{Hash: key(hash), Used: t.Used, From: t.From}))
	}
	ctx := context.Background()
	if err := d.log.SetValues(ctx, kept...); err != nil {
		return lablog.Fault(err)
	}
	mark := Entry{Kind: KindTakenOver, facts: &Facts{Taken: taken}}
	mark.Reason = fmt.Sprintf("%d entries of the audit log", len(old.Entries))
	if n := len(old.Entries); n > 0 {
		mark.Reason += fmt.Sprintf(", the last with the hash %x", old.Entries[n-1].Hash)
	}
	if _, err := d.append(ctx, d.log, d.last, []Entry{mark}); err != nil {
		return lablog.Fault(err)
	}
	return nil
}

// takenAccount parts an account from what proves who it is. The two are joined
// by a reference that is random, so that the event says nothing of the value.
func takenAccount(text []byte) (*account, []events.KeyValue, error) {
	var old earlierAccount
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, nil, err
	}
	var kept []events.KeyValue
	a := old.account
	if old.Password != "" {
		a.Password = randomID()
		kept = append(kept, value(passwordKey+a.Password, old.Password))
	}
	for _, k := range old.Passkeys {
		secret := randomID()
		a.Passkeys = append(a.Passkeys, passkey{
			ID: passkeyID(k.Credential.ID), Name: k.Name, Created: k.Created, Secret: secret,
		})
		kept = append(kept, value(passkeyKey+secret, passkeyValue{Credential: k.Credential, Used: k.Used}))
	}
	if len(old.Addresses) > 0 {
		kept = append(kept, value(networksKey+a.Name, old.Addresses))
	}
	return &a, kept, nil
}

// keepEarlier keeps the folder of the earlier accounts under another name.
func (d *Directory) keepEarlier(entries int) error {
	from := earlierDir(d.dir)
	to := from + ".earlier"
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s.earlier-%d", from, n)
	}
	if err := os.Rename(from, to); err != nil {
		return unavailable(err)
	}
	if d.o.Log != nil {
		d.o.Log(fmt.Sprintf("The accounts are in the lab's log now, with the %d entries of their audit log. "+
			"What they were before is kept in %s, and not needed any more.", entries, to))
	}
	return nil
}

// note puts the note in the place of the folder of the earlier accounts, once
// they were taken over.
func (d *Directory) note() error {
	at := earlierDir(d.dir)
	if _, err := os.Lstat(at); !d.state.taken || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.WriteFile(at, []byte(movedNote), 0o600); err != nil {
		return unavailable(err)
	}
	return nil
}

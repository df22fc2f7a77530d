package accounts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// before is what the campaignd that kept the accounts of testdata/taken-over in a database of their
// own said of them. The lab's log is what the last one that took such accounts over made of that.
type before struct {
	Now      time.Time
	Accounts []Account
	Tokens   []Token
	Sessions map[string][]Session
	Trail    []struct {
		Entry
		Previous string
	}
	// Secrets: of a session, one that was ended, a token and one that was revoked.
	Session, Over, Secret, Revoked string
	Key                            virtualwebauthn.Credential
	Handle                         []byte
}

// Law: a log that took over the accounts from before it is read for ever: each account, role,
// password, passkey, session and token, each entry of the audit trail with its number, time
// and hash, and how often which name was tried. It is continued.
func TestTakenOver(t *testing.T) {
	const kept = "testdata/taken-over"
	var want before
	done(t, json.Unmarshal(must.Get(os.ReadFile(filepath.Join(kept, "expected.json")))(t), &want))
	folder, c := t.TempDir(), &watch{t: want.Now}
	done(t, os.CopyFS(folder, os.DirFS(kept)))
	b := open(t, Dir(folder), c, Options{Passkeys: site})
	if got := b.Accounts(); !reflect.DeepEqual(got, want.Accounts) {
		t.Errorf("the accounts are\n%+v, and were\n%+v", got, want.Accounts)
	}
	if got := append(b.Tokens("ada"), b.Tokens("bob")...); !reflect.DeepEqual(got, want.Tokens) {
		t.Errorf("the tokens are\n%+v, and were\n%+v", got, want.Tokens)
	}
	byID := func(x, y Session) int { return strings.Compare(x.ID, y.ID) }
	for name, sessions := range want.Sessions {
		if got := slices.SortedFunc(slices.Values(b.Sessions(name)), byID); !slices.Equal(got, slices.SortedFunc(slices.Values(sessions), byID)) {
			t.Errorf("the sessions of %s are\n%+v, and were\n%+v", name, got, sessions)
		}
	}
	entries := must.Get(b.AuditLog(system, Page{After: new(uint64), Limit: 1000}))(t)
	if len(entries) != len(want.Trail)+1 || entries[len(entries)-1].Kind != KindTakenOver {
		t.Fatalf("there are %d entries, and were %d", len(entries), len(want.Trail))
	}
	previous := strings.Repeat("0", 64)
	for i, old := range want.Trail {
		got, was := entries[i], old.Entry
		earlier := got.facts.Earlier
		got.Hash, got.facts, was.Hash = "", nil, ""
		if !reflect.DeepEqual(got, was) || got.String() != was.String() {
			t.Errorf("entry %d is\n%+v, and was\n%+v", i+1, got, was)
		}
		if earlier == nil || earlier.Number != uint64(i+1) || earlier.Hash != old.Hash {
			t.Errorf("entry %d was %+v", i+1, earlier)
		}
		// What is kept of an entry still proves the chain that it was in.
		members := make(map[string]any)
		done(t, json.Unmarshal(must.Get(json.Marshal(got))(t), &members))
		members["previous"] = previous
		if hash := sum(must.Get(json.Marshal(members))(t)); hash != old.Hash {
			t.Errorf("entry %d hashes to %s, and was %s", i+1, hash, old.Hash)
		}
		previous = old.Hash
	}
	must.Get(b.Verify(system))(t)
	if guess(t, b, "bob", "203.0.113.5") == 0 || guess(t, b, "ada", "203.0.113.5") != 0 {
		t.Error("the failed attempts are forgotten, or those of others count")
	}
	first, ok := b.First()
	if !ok || first.Account != "ada" || first.By != "root" || first.From != "127.0.0.1" {
		t.Errorf("the first was %+v", first)
	}
	done(t, b.Close())

	b = open(t, Dir(folder), c, Options{Passkeys: site})
	if who, err := b.Authenticate(t.Context(), want.Session); err != nil || who.Account != "ada" {
		t.Errorf("her session: %+v, %v", who, err)
	}
	if _, err := b.Authenticate(t.Context(), want.Over); err == nil {
		t.Error("a session that was ended is back")
	}
	if who, err := b.AuthenticateToken(t.Context(), want.Secret); err != nil || who.May(Run, "lfp") != nil {
		t.Errorf("her token: %+v, %v", who, err)
	}
	if _, err := b.AuthenticateToken(t.Context(), want.Revoked); err == nil {
		t.Error("a token that was revoked is back")
	}
	b.mustLogin(t, "bob", bobsPassword, "192.0.2.9") // from where he always comes from
	if _, _, err := b.Login(t.Context(), "dave", "gone with the west wind", "192.0.2.9"); err == nil {
		t.Error("dave is not disabled any more")
	}
	phone := newDevice(t)
	phone.key, phone.auth.Options.UserHandle = want.Key, want.Handle
	ceremony, options, err := b.BeginPasskeyLogin(t.Context())
	done(t, err)
	if _, who, err := b.FinishPasskeyLogin(t.Context(), ceremony, phone.get(options), "192.0.2.1"); err != nil || who.Account != "ada" {
		t.Errorf("her passkey: %+v, %v", who, err)
	}
}

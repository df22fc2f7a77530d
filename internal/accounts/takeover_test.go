package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/problem"
)

// before is what the campaignd that wrote testdata/before-lab-log said of it.
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

// earlierFolder is a copy of a folder with accounts of before the lab's log.
func earlierFolder(t *testing.T) (dir string, want before, c *watch) {
	t.Helper()
	const kept = "testdata/before-lab-log"
	folder := t.TempDir()
	done(t, os.CopyFS(folder, os.DirFS(kept)))
	done(t, json.Unmarshal(must(os.ReadFile(filepath.Join(kept, "expected.json")))(t), &want))
	return Dir(folder), want, &watch{t: want.Now}
}

// isTaken reports what of the accounts is not as it was before they were taken over.
func isTaken(t *testing.T, b *Directory, want before) {
	t.Helper()
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
	entries := must(b.AuditLog(system, Page{After: new(uint64), Limit: 1000}))(t)
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
		done(t, json.Unmarshal(must(json.Marshal(got))(t), &members))
		members["previous"] = previous
		if hash := sum(must(json.Marshal(members))(t)); hash != old.Hash {
			t.Errorf("entry %d hashes to %s, and was %s", i+1, hash, old.Hash)
		}
		previous = old.Hash
	}
	must(b.Verify(system))(t)
}

// Law: the accounts that an earlier version kept are taken over whole: each account, role,
// password, passkey, session and token, each entry of the audit trail with its number, time
// and hash, and how often which name was tried. The folder is kept, and what is in its
// place begins no accounts anew.
func TestTakeOver(t *testing.T) {
	dir, want, c := earlierFolder(t)
	var said []string
	o := Options{Passkeys: site, Log: func(line string) { said = append(said, line) }}
	if !Exists(dir) {
		t.Error("the accounts are not found")
	}
	b := open(t, dir, c, o)
	isTaken(t, b, want)
	if guess(t, b, "bob", "203.0.113.5") == 0 || guess(t, b, "ada", "203.0.113.5") != 0 {
		t.Error("the failed attempts are forgotten, or those of others count")
	}
	if len(said) != 1 || !strings.Contains(said[0], "accounts.earlier") {
		t.Errorf("it is said: %q", said)
	}
	first, ok := b.First()
	if !ok || first.Account != "ada" || first.By != "root" || first.From != "127.0.0.1" {
		t.Errorf("the first was %+v", first)
	}
	done(t, b.Close())
	kept := filepath.Join(filepath.Dir(dir), "accounts.earlier", "HEAD")
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if err := os.MkdirAll(earlierDir(dir), 0o700); err == nil {
		t.Error("a campaignd of that time begins anew")
	}

	b = open(t, dir, c, o)
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
	if len(said) != 1 {
		t.Errorf("it was taken over again: %q", said)
	}
}

// stopping is a log whose process ends after some changes.
type stopping struct {
	events.Store
	left *int
}

func (s stopping) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if *s.left--; *s.left < 0 {
		return nil, errors.New("the process has ended")
	}
	return s.Store.Append(ctx, campaign, expected, batch...)
}

func (s stopping) SetValues(ctx context.Context, changes ...events.KeyValue) error {
	if *s.left--; *s.left < 0 {
		return errors.New("the process has ended")
	}
	return s.Store.SetValues(ctx, changes...)
}

// Law: a process that ends while it takes accounts over, at whichever change, leaves what
// the next one goes on with: nothing is lost, nothing is there twice.
func TestTakeOverIsCut(t *testing.T) {
	defer func(n int) { takenBatch = n }(takenBatch)
	takenBatch = 7
	for ends := 0; ; ends++ {
		dir, want, c := earlierFolder(t)
		left := ends
		_, err := Open(dir, Options{Now: c.now, params: quick, Passkeys: site, open: func(folder string) (events.Store, error) {
			log, err := unsyncedDisk(folder)
			return stopping{log, &left}, err
		}})
		if (err != nil) != (left < 0) {
			t.Fatalf("after %d changes: %v", ends, err)
		}
		if err == nil {
			if ends < 4 {
				t.Errorf("it is done with %d changes", ends)
			}
			return
		}
		b := open(t, dir, c, Options{Passkeys: site})
		isTaken(t, b, want)
		done(t, b.Close())
	}
}

// Law: a process that ends after the accounts are in the log only leaves the folder to be
// put away, or the note to be written.
func TestTakeOverIsCutAtItsEnd(t *testing.T) {
	dir, want, c := earlierFolder(t)
	done(t, open(t, dir, c, Options{Passkeys: site}).Close())
	old := earlierDir(dir)
	done(t, os.Remove(old))
	b := open(t, dir, c, Options{Passkeys: site})
	isTaken(t, b, want)
	done(t, b.Close())
	if note, err := os.ReadFile(old); err != nil || string(note) != movedNote {
		t.Errorf("there is no note: %v", err)
	}
	done(t, os.Remove(old))
	done(t, os.Rename(old+".earlier", old))
	b = open(t, dir, c, Options{Passkeys: site})
	isTaken(t, b, want)
	if _, err := os.Stat(filepath.Join(old+".earlier", "HEAD")); err != nil {
		t.Error(err)
	}
}

// contents are the files in a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	done(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var text []byte
			text, err = os.ReadFile(path)
			all[path] = string(text)
		}
		return err
	}))
	return all
}

// Law: accounts that are damaged, or of another folder than those in the lab's log, are
// refused, and nothing is changed.
func TestTakeOverIsRefused(t *testing.T) {
	for name, damage := range map[string]func(dir string){
		"no HEAD": func(dir string) { done(t, os.Remove(filepath.Join(earlierDir(dir), "HEAD"))) },
		"a byte is changed": func(dir string) {
			logs := must(filepath.Glob(filepath.Join(earlierDir(dir), "pebble", "*.log")))(t)
			text := must(os.ReadFile(logs[0]))(t)
			text[len(text)/2] ^= 1
			done(t, os.WriteFile(logs[0], text, 0o600))
		},
	} {
		dir, _, c := earlierFolder(t)
		damage(dir)
		files := contents(t, filepath.Dir(dir))
		if _, err := Open(dir, Options{Now: c.now, params: quick}); problem.CodeOf(orNil(err)) != problem.Damaged {
			t.Errorf("%s: %v", name, err)
		}
		if after := contents(t, filepath.Dir(dir)); !maps.Equal(after, files) {
			t.Errorf("%s: refused, and changed", name)
		}
	}
	dir, _, c := earlierFolder(t)
	other := filepath.Join(t.TempDir(), "lab")
	b := open(t, other, c, Options{})
	must(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}}))(t)
	done(t, b.Close())
	done(t, os.Rename(other, dir))
	if _, err := Open(dir, Options{Now: c.now, params: quick}); problem.CodeOf(orNil(err)) != problem.Damaged {
		t.Errorf("there are two accounts ada: %v", err)
	}
}

package accounts

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// watch is a clock that is set by hand.
type watch struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *watch { return &watch{t: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)} }

func (c *watch) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *watch) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// quick are parameters with which a password is hashed in microseconds.
var quick = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 8, KeyLength: 16}

var system = SystemIdentity("root (uid 0)")

const (
	adasPassword = "seven brown kettles sing"
	bobsPassword = "every crow likes salt"
)

func open(t *testing.T, dir string, c *watch, o Options) *Directory {
	t.Helper()
	o.Now = c.now
	o.params, o.open = quick, unsyncedDisk
	b := must.Get(Open(dir, o))(t)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// lab is a book with the admin ada and the expert bob.
func lab(t *testing.T, o Options) (*Directory, *watch) {
	t.Helper()
	c := newClock()
	b := open(t, filepath.Join(t.TempDir(), "lab"), c, o)
	for _, n := range []NewAccount{
		{Name: "ada", Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword)},
		{Name: "bob", Grants: []Grant{{Role: Expert}}, Password: NewSecret(bobsPassword)},
	} {
		must.Get(b.Add(t.Context(), system, n))(t)
	}
	return b, c
}

// copyOf copies the files of a book as they are at one moment, as a process leaves them that is
// killed.
func copyOf(b *Directory, to string) error {
	for n := range 1000 {
		copied := to
		if n > 0 {
			copied = fmt.Sprint(to, ".", n)
		}
		before := listing(b.ledger.dir)
		err := os.CopyFS(copied, os.DirFS(b.ledger.dir))
		if err == nil && listing(b.ledger.dir) == before {
			if n > 0 {
				err = os.Rename(copied, to)
			}
			return err
		}
		if rest := os.RemoveAll(copied); rest != nil { // Pebble was tidying up
			return rest
		}
	}
	return errors.New("the files never stand still")
}

// listing lists files with their sizes and times.
func listing(dir string) string {
	var all strings.Builder
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if info, failed := os.Stat(path); err == nil && failed == nil && !d.IsDir() {
			fmt.Fprintln(&all, path, info.Size(), info.ModTime())
		}
		return nil
	})
	return all.String()
}

func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *Directory) mustLogin(t *testing.T, name, password, from string) (string, Identity) {
	t.Helper()
	token, i, err := b.Login(t.Context(), name, password, from)
	if err != nil {
		t.Fatalf("%s cannot log in: %v", name, err)
	}
	return token, i
}

func kinds(t *testing.T, b *Directory) []Kind {
	t.Helper()
	var all []Kind
	for after := uint64(0); ; {
		page := must.Get(b.AuditLog(system, Page{After: &after, Limit: 7}))(t)
		for _, e := range page {
			all = append(all, e.Kind)
			after = e.Number
		}
		if len(page) < 7 {
			return all
		}
	}
}

// Law: each role may what this table says, in all campaigns where it is granted for all, and
// where it is granted for one in that one alone and nothing of the lab.
func TestRolesMay(t *testing.T) {
	const table = `
	            see  answer  others  run  resolve  define  equip  audit  accounts
	viewer      yes  -       -       -    -        -       -      -      -
	expert      yes  yes     -       -    -        -       -      -      -
	scientist   yes  yes     yes     yes  yes      yes     -      -      -
	integrator  yes  -       -       -    yes      -       yes    -      -
	auditor     yes  -       -       -    -        -       -      yes    -
	admin       yes  yes     yes     yes  yes      yes     yes    yes    yes
	`
	columns := []Permission{See, Answer, ActForOthers, Run, Resolve, Define, Equip, Audit, Administer}
	ofLab := []Permission{Define, Equip, Administer}
	if !slices.Equal(columns, Permissions()) {
		t.Fatalf("the permissions are %v", Permissions())
	}
	seen := 0
	for line := range strings.Lines(table) {
		cells := strings.Fields(line)
		if len(cells) != len(columns)+1 {
			continue
		}
		role := Role(cells[0])
		seen++
		for i, p := range columns {
			yes := cells[i+1] == "yes"
			all := Identity{Account: "x", Grants: []Grant{{Role: role}}}
			one := Identity{Account: "x", Grants: []Grant{{Role: role, Campaign: "lfp"}}}
			for _, c := range []struct {
				who      Identity
				campaign string
				want     bool
			}{
				{all, "", yes}, {all, "lfp", yes},
				{one, "lfp", yes && !slices.Contains(ofLab, p)}, {one, "nmc", false}, {one, "", false},
				{Identity{}, "lfp", false}, {Identity{Account: "x"}, "lfp", false},
				{OpenIdentity("root"), "lfp", true}, {system, "", true},
			} {
				err := c.who.May(p, c.campaign)
				if (err == nil) != c.want {
					t.Errorf("%v: %s in %q: %v", c.who, p, c.campaign, err)
				}
				if code := problem.CodeOf(orNil(err)); err != nil && code != problem.Forbidden && (c.who.Account != "" || code != problem.Unauthenticated) {
					t.Errorf("%v is a %v", err, code)
				}
			}
			if all.MaySomewhere(p) != yes || one.MaySomewhere(p) != (yes && !slices.Contains(ofLab, p)) {
				t.Errorf("%s: somewhere: %s", role, p)
			}
		}
	}
	if seen != len(Roles()) {
		t.Errorf("%d of the roles %v are in the table", seen, Roles())
	}
}

func orNil(err error) error {
	if err == nil {
		return errors.New("none")
	}
	return err
}

// Law: an expert answers under their own name and those of their account; who may act for
// others answers as anybody, and it is known that they did not answer for themselves.
func TestAnswersAs(t *testing.T) {
	expert := Identity{Account: "bob", ExpertNames: []string{"robert"}, Grants: []Grant{{Role: Expert, Campaign: "lfp"}}}
	scientist := Identity{Account: "eve", Grants: []Grant{{Role: Scientist}}}
	viewer := Identity{Account: "bob", Grants: []Grant{{Role: Viewer}}}
	for _, c := range []struct {
		who              Identity
		expert, campaign string
		may, onBehalf    bool
	}{
		{expert, "bob", "lfp", true, false},
		{expert, "robert", "lfp", true, false},
		{expert, "Bob", "lfp", false, true},
		{expert, "carol", "lfp", false, true},
		{expert, "bob", "nmc", false, false},
		{scientist, "eve", "lfp", true, false},
		{scientist, "bob", "lfp", true, true},
		{Identity{Account: "eve", Grants: []Grant{{Role: Scientist, Campaign: "lfp"}}}, "bob", "lfp", true, true},
		{Identity{Account: "eve", Grants: []Grant{{Role: Scientist, Campaign: "lfp"}, {Role: Expert}}}, "bob", "nmc", false, true},
		{viewer, "bob", "lfp", false, false},
		{OpenIdentity("root"), "bob", "lfp", true, false},
		{Identity{}, "bob", "lfp", false, true},
	} {
		if err := c.who.AnswersAs(c.expert, c.campaign); (err == nil) != c.may {
			t.Errorf("%s as %s in %s: %v", c.who.Account, c.expert, c.campaign, err)
		}
		if c.who.OnBehalf(c.expert) != c.onBehalf {
			t.Errorf("%s as %s: on behalf is %t", c.who.Account, c.expert, !c.onBehalf)
		}
	}
}

// Law: nobody answers under a name that is somebody else's account.
func TestNamesAreOnePersons(t *testing.T) {
	b, _ := lab(t, Options{})
	if _, err := b.Change(t.Context(), system, "bob", Changes{AnswersAs: &[]string{"ada"}}); problem.CodeOf(orNil(err)) != problem.Conflict {
		t.Errorf("bob answers as ada: %v", err)
	}
	must.Get(b.Change(t.Context(), system, "bob", Changes{AnswersAs: &[]string{"robert"}}))(t)
	if _, err := b.Add(t.Context(), system, NewAccount{Name: "robert"}); problem.CodeOf(orNil(err)) != problem.Conflict {
		t.Errorf("there is a robert now: %v", err)
	}
	if _, err := b.Add(t.Context(), system, NewAccount{Name: " ADA "}); problem.CodeOf(orNil(err)) != problem.Conflict {
		t.Errorf("there are two adas: %v", err)
	}
	must.Get(b.Disable(t.Context(), system, "bob"))(t)
	if _, err := b.Add(t.Context(), system, NewAccount{Name: "bob"}); problem.CodeOf(orNil(err)) != problem.Conflict {
		t.Errorf("somebody else is bob now: %v", err)
	}
	for _, name := range []string{"", "engine", "a b", "-a", "a/b", "a\nb", "ä", strings.Repeat("a", 65)} {
		if _, err := b.Add(t.Context(), system, NewAccount{Name: name}); problem.CodeOf(orNil(err)) != problem.Invalid {
			t.Errorf("%q is a name: %v", name, err)
		}
	}
}

// Law: there is always an admin: the first account is one, and the last one stays one.
func TestLastAdmin(t *testing.T) {
	c := newClock()
	b := open(t, filepath.Join(t.TempDir(), "lab"), c, Options{})
	if _, err := b.Add(t.Context(), system, NewAccount{Name: "bob", Grants: []Grant{{Role: Expert}}}); err == nil || !b.Empty() {
		t.Errorf("the first account is not an admin: %v", err)
	}
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}}))(t)
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "eve", Grants: []Grant{{Role: Admin}}}))(t)
	must.Get(b.Disable(t.Context(), system, "eve"))(t)
	if _, err := b.Disable(t.Context(), system, "ada"); problem.CodeOf(orNil(err)) != problem.NotNow {
		t.Errorf("the last admin is disabled: %v", err)
	}
	if _, err := b.Revoke(t.Context(), system, "ada", Grant{Role: Admin}); problem.CodeOf(orNil(err)) != problem.NotNow {
		t.Errorf("the last admin is none: %v", err)
	}
	must.Get(b.Enable(t.Context(), system, "eve"))(t)
	must.Get(b.Revoke(t.Context(), system, "ada", Grant{Role: Admin}))(t)
	if _, err := b.Disable(t.Context(), system, "eve"); err == nil {
		t.Error("eve was the last one")
	}
}

// Law: only the right password of an account that is not disabled is a login, a wrong name and a
// wrong password are told the same, and every attempt is in the audit trail.
func TestLogin(t *testing.T) {
	b, c := lab(t, Options{})
	token, i := b.mustLogin(t, " Bob ", bobsPassword, "192.0.2.1")
	if i.Actor() != "person:bob" || i.Method != ByPassword || !i.Confirmed.Equal(c.now()) || i.May(Answer, "lfp") != nil || i.May(Run, "lfp") == nil {
		t.Errorf("bob is %+v", i)
	}
	again, _ := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	if again == token {
		t.Error("two sessions have one token")
	}
	var said []string
	for _, try := range [][2]string{{"bob", "wrong"}, {"bob", ""}, {"nobody", bobsPassword}, {"", ""}, {"bob", strings.Repeat("x", 5000)}, {"bob", adasPassword}} {
		_, _, err := b.Login(t.Context(), try[0], try[1], "192.0.2.9")
		if problem.CodeOf(orNil(err)) != problem.Unauthenticated {
			t.Fatalf("%q: %v", try, err)
		}
		said = append(said, err.Error())
		done(t, b.Unlock(t.Context(), system, ""))
	}
	if slices.Sort(said); len(slices.Compact(said)) != 1 {
		t.Errorf("the answers differ: %q", said)
	}
	must.Get(b.Disable(t.Context(), system, "bob"))(t)
	if _, err := b.Authenticate(t.Context(), token); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
		t.Errorf("bob is disabled and still here: %v", err)
	}
	if _, _, err := b.Login(t.Context(), "bob", bobsPassword, "192.0.2.1"); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("bob is disabled and logs in: %v", err)
	}
	must.Get(b.Enable(t.Context(), system, "bob"))(t)
	if _, err := b.Authenticate(t.Context(), token); err == nil {
		t.Error("bob's session is back")
	}
	count := make(map[Kind]int)
	for _, k := range kinds(t, b) {
		count[k]++
	}
	if count[KindLogin] != 2 || count[KindLoginFailed] != 7 {
		t.Errorf("the trail has %v", count)
	}
}

// Law: the audit log says why a login failed, of each cause another thing, whatever the answer was.
func TestFailuresHaveReasons(t *testing.T) {
	b, _ := lab(t, Options{})
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "carol", Grants: []Grant{{Role: Viewer}}}))(t)
	must.Get(b.Add(t.Context(), system, NewAccount{
		Name: "dave", Grants: []Grant{{Role: Viewer}}, Password: NewSecret("gone with the west wind"),
	}))(t)
	must.Get(b.Disable(t.Context(), system, "dave"))(t)
	tries := [][2]string{
		{"nobody", bobsPassword}, {"carol", bobsPassword}, {"bob", "wrong"}, {"dave", "gone with the west wind"},
	}
	reasons := make(map[string]string)
	for _, try := range tries {
		if _, _, err := b.Login(t.Context(), try[0], try[1], "192.0.2.1"); err == nil {
			t.Errorf("%s logs in", try[0])
		}
		last := must.Get(b.AuditLog(system, Page{Limit: 1}))(t)[0]
		if last.Kind != KindLoginFailed || last.Reason == "" || reasons[last.Reason] != "" {
			t.Errorf("%s: %+v, which was said of %s", try[0], last, reasons[last.Reason])
		}
		reasons[last.Reason] = try[0]
	}
}

// Law: a password that is too easily guessed is refused, and none of them is shown.
func TestPasswords(t *testing.T) {
	b, _ := lab(t, Options{})
	for _, password := range []string{"", "short", "elevenchars", "aaaaaaaaaaaaaaaa", "my name is charlie now", strings.Repeat("long ", 300), "no\x00control chars"} {
		_, err := b.SetPassword(t.Context(), system, "bob", password)
		if password == "my name is charlie now" {
			_, err = b.Add(t.Context(), system, NewAccount{Name: "charlie", Password: NewSecret(password)})
		}
		if problem.CodeOf(orNil(err)) != problem.Invalid || (password != "" && strings.Contains(err.Error(), password)) {
			t.Errorf("%.20q: %v", password, err)
		}
	}
	// However a keyboard composes its letters, and for a person as long as for a machine.
	must.Get(b.SetPassword(t.Context(), system, "bob", "z\u00fcrich bern thun"))(t)
	b.mustLogin(t, "bob", "zu\u0308rich bern thun", "")
	if owasp.Memory < 19*1024 || owasp.Iterations < 2 || owasp.Parallelism < 1 || owasp.SaltLength < 16 || owasp.KeyLength < 32 {
		t.Errorf("OWASP asks for more than %+v", owasp)
	}
	// One that was hashed with other parameters is hashed anew when it is used.
	o := b.o
	better := *quick
	better.Iterations = 3
	b.passwords.params = better
	b.mustLogin(t, "bob", "z\u00fcrich bern thun", "")
	if stored := string(b.roster.values.passwords[b.roster.account("bob").Password]); !strings.Contains(stored, "t=3") {
		t.Errorf("it is still %s", stored)
	}
	b.mustLogin(t, "bob", "z\u00fcrich bern thun", "")
	_ = o
}

// Law: passwords are hashed a few at a time, and past a bound who comes is sent away.
func TestHashingIsBounded(t *testing.T) {
	b, _ := lab(t, Options{Hashing: 2})
	var mu sync.Mutex
	running, most := 0, 0
	release := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 + mostWaiting {
		wg.Go(func() {
			err := b.passwords.in(t.Context(), func() error {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				<-release
				mu.Lock()
				running--
				mu.Unlock()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for len(b.passwords.waiting) < cap(b.passwords.waiting) {
		time.Sleep(time.Millisecond)
	}
	// Whoever it is: a name that nobody has takes as long as one that somebody has.
	for _, try := range [][2]string{{"bob", bobsPassword}, {"nobody", bobsPassword}, {"bob", ""}, {"bob", strings.Repeat("x", 5000)}} {
		if _, _, err := b.Login(t.Context(), try[0], try[1], "192.0.2.1"); problem.CodeOf(orNil(err)) != problem.TooMany {
			t.Errorf("%.20q is told at once: %v", try, err)
		}
	}
	close(release)
	wg.Wait()
	if most != 2 {
		t.Errorf("%d were hashed at once", most)
	}
	b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
}

// Law: what was acknowledged is there after the process was killed, and nothing that was
// revoked has come back.
func TestKilled(t *testing.T) {
	b, c := lab(t, Options{})
	token, _ := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	over, _ := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	secret, _, err := b.CreateToken(t.Context(), system, "ada", NewToken{Name: "script", Scopes: []Permission{See}})
	done(t, err)
	for n := range 3 {
		grant := Grant{Role: Viewer, Campaign: fmt.Sprint("c", n)}
		must.Get(b.Grant(t.Context(), system, "bob", grant))(t)
		done(t, b.Logout(t.Context(), over))

		copied := filepath.Join(t.TempDir(), "lab") // as the files are at this moment
		must.Do(t, copyOf(b, copied))
		found := open(t, copied, c, Options{})
		if got, want := found.Accounts(), b.Accounts(); !reflect.DeepEqual(got, want) {
			t.Errorf("the accounts are %v, want %v", got, want)
		}
		if !slices.Contains(must.Get(found.Account("bob"))(t).Grants, grant) {
			t.Errorf("bob's newest grant is lost")
		}
		if i, err := found.Authenticate(t.Context(), token); err != nil || i.Account != "ada" {
			t.Errorf("ada's session is lost: %v", err)
		}
		if _, err := found.Authenticate(t.Context(), over); err == nil {
			t.Errorf("a session that was ended is back")
		}
		if _, err := found.AuthenticateToken(t.Context(), secret); err != nil {
			t.Errorf("ada's token is lost: %v", err)
		}
		if proof, err := found.Verify(system); err != nil || proof != must.Get(b.Verify(system))(t) {
			t.Errorf("the trail is another one: %v, %v", proof, err)
		}
		found.mustLogin(t, "bob", bobsPassword, "")
		done(t, found.Close())
		found = open(t, copied, c, Options{})
		if n := len(found.Sessions("bob")); n != 1 {
			t.Errorf("bob has %d sessions", n)
		}
	}
}

// Law: one process holds the book at a time, and others may not read it.
func TestOneHolder(t *testing.T) {
	b, c := lab(t, Options{})
	if _, err := Open(b.ledger.dir, Options{Now: c.now}); !errors.Is(err, ErrInUse) || problem.CodeOf(err) != problem.Unavailable {
		t.Errorf("a second one: %v", err)
	}
	if info, err := os.Stat(b.ledger.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	done(t, b.Close())
	if _, err := b.Grant(t.Context(), system, "bob", Grant{Role: Viewer}); problem.CodeOf(orNil(err)) != problem.Unavailable {
		t.Errorf("it is closed: %v", err)
	}
	if _, err := b.AuditLog(system, Page{}); problem.CodeOf(orNil(err)) != problem.Unavailable {
		t.Errorf("it is closed: %v", err)
	}
	if _, err := b.Verify(system); problem.CodeOf(orNil(err)) != problem.Unavailable {
		t.Errorf("it is closed: %v", err)
	}
	open(t, b.ledger.dir, c, Options{})
}

// Law: that the newest events are gone is found when the accounts are opened, and what is
// wrong elsewhere when they are verified.
func TestTampering(t *testing.T) {
	b, c := lab(t, Options{})
	old := filepath.Join(t.TempDir(), "lab")
	done(t, copyOf(b, old))
	must.Get(b.Grant(t.Context(), system, "bob", Grant{Role: Auditor}))(t)
	newest := must.Get(os.ReadFile(filepath.Join(b.ledger.dir, "HEAD")))(t)
	done(t, os.WriteFile(filepath.Join(old, "HEAD"), newest, 0o600))
	if _, err := Open(old, Options{Now: c.now, params: quick}); problem.CodeOf(orNil(err)) != problem.Damaged {
		t.Errorf("the database was taken back to what it was: %v", err)
	}
	done(t, b.Close())
	changed := func(folder string) (events.Store, error) {
		log, err := unsyncedDisk(folder)
		return faulty{log}, err
	}
	b = must.Get(Open(b.ledger.dir, Options{Now: c.now, params: quick, open: changed}))(t)
	defer b.Close()
	if _, err := b.Verify(system); problem.CodeOf(orNil(err)) != problem.Damaged || !strings.Contains(err.Error(), "position 3") {
		t.Errorf("an event was changed: %v", err)
	}
}

// faulty is a log with a fault.
type faulty struct{ events.Store }

func (f faulty) Verify(ctx context.Context) (events.Report, error) {
	report, err := f.Store.Verify(ctx)
	report.Faults = append(report.Faults, events.Fault{From: 3, To: 3, What: "it was changed"})
	return report, err
}

// Law: the hash of an entry proves, to those who have a checkpoint of the lab's log alone,
// that the entry is in it.
func TestEntriesCanBeProved(t *testing.T) {
	b, _ := lab(t, Options{})
	b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	head := must.Get(b.roster.log.Head(t.Context()))(t)
	entries := must.Get(b.AuditLog(system, Page{After: new(uint64)}))(t)
	if proof := must.Get(b.Verify(system))(t); len(entries) != 7 || proof != (Proof{Entries: 8, Head: head.Hash.String()}) {
		t.Errorf("%d entries, %+v", len(entries), proof)
	}
	for _, e := range entries { // before which the log has its own first event
		proof, err := b.roster.log.ProveEvent(t.Context(), events.Position(e.Number)+1, head.N)
		done(t, err)
		var leaf tlog.Hash
		_, err = hex.Decode(leaf[:], []byte(e.Hash))
		done(t, err)
		if err := tlog.CheckRecord(proof, head.N, head.Hash, int64(e.Number), leaf); err != nil {
			t.Errorf("entry %d: %v", e.Number, err)
		}
	}
}

// Law: the trail is read in pages, forwards and backwards, and by those who may alone; that
// somebody was refused is in it, once a minute.
func TestTrailIsRead(t *testing.T) {
	b, c := lab(t, Options{})
	_, bob := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	for range 5 {
		if _, err := b.AuditLog(bob, Page{}); problem.CodeOf(orNil(err)) != problem.Forbidden {
			t.Fatalf("bob reads the trail: %v", err)
		}
	}
	c.pass(2 * time.Minute)
	_, _ = b.AuditLog(bob, Page{})
	all := must.Get(b.AuditLog(system, Page{After: new(uint64)}))(t)
	var backwards []Entry
	for before := uint64(0); ; before = backwards[len(backwards)-1].Number {
		page := must.Get(b.AuditLog(system, Page{Before: before, Limit: 3}))(t)
		if backwards = append(backwards, page...); len(page) < 3 {
			break
		}
	}
	slices.Reverse(backwards)
	if !reflect.DeepEqual(all, backwards) {
		t.Errorf("forwards %v, backwards %v", all, backwards)
	}
	last := all[len(all)-2:]
	if last[0].Kind != KindRefused || last[0].Times != 0 || last[1].Times != 5 || last[1].By != "bob" || last[1].Permission != Audit || last[1].From != "192.0.2.1" {
		t.Errorf("refusals are recorded as %+v", last)
	}
	for _, e := range all {
		if kindOf(e.Kind).story == nil || !strings.Contains(e.String(), " ") {
			t.Errorf("%s has no words", e.Kind)
		}
	}
}

// everything is all that there is in a book's files and can be printed of it.
func everything(t *testing.T, b *Directory, values ...any) string {
	t.Helper()
	var all strings.Builder
	for _, v := range append(values, b, b.o, b.passwords, b.ledger.limits, *b.roster.account("bob"), b.issuer) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
			fmt.Fprintf(&all, verb+"\n", v)
		}
		if _, stored := v.(account); !stored {
			text, _ := json.Marshal(v)
			all.Write(text)
		}
	}
	return all.String()
}

// Law: no secret is in the lab's log, in what is kept beside it, in what is printed of a value, or in its
// JSON.
func TestSecretsStaySecret(t *testing.T) {
	b, _ := lab(t, Options{})
	session, ada := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	_, _, wrong := b.Login(t.Context(), "my other password", "and a wrong one", "192.0.2.1")
	fresh, _, err := b.ChangePassword(t.Context(), session, adasPassword, "a new kettle is brown", "192.0.2.1")
	done(t, err)
	secret, token, err := b.CreateToken(t.Context(), ada, "ada", NewToken{Name: "script", Scopes: []Permission{See}})
	done(t, err)
	_, _ = b.AuthenticateToken(t.Context(), TokenPrefix+strings.Repeat("x", secretLength))
	request := Request{Add: &NewAccount{Name: "x", Password: NewSecret("never say this aloud")}, SetPassword: &PasswordRequest{Password: NewSecret("never say this aloud")}}
	shownAll := everything(t, b, ada, token, request, *request.Add, *request.SetPassword,
		Reply{Secret: NewSecret(secret), Token: &token}, wrong, b.Sessions("ada"), b.Accounts())
	for _, e := range must.Get(b.AuditLog(system, Page{After: new(uint64)}))(t) {
		shownAll += e.String() + fmt.Sprintf("%+v", e)
	}
	stored := ""
	for e, err := range b.roster.log.Read(t.Context(), 0) {
		done(t, err)
		stored += fmt.Sprintf("%+v %s\n", e, e.Data)
	}
	for kv, err := range b.roster.log.Values(t.Context(), "") {
		done(t, err)
		stored += fmt.Sprintf("%s %s\n", kv.Key, kv.Value)
	}
	if !strings.Contains(stored, "login.failed") || !strings.Contains(stored, "argon2id$v") {
		t.Fatal("that is not where things are stored")
	}
	for _, s := range []string{adasPassword, bobsPassword, "a new kettle is brown", "my other password", "and a wrong one", session, fresh, secret, "never say this aloud", "argon2id$v"} {
		if strings.Contains(shownAll, s) {
			t.Errorf("%q is shown", s)
		}
		if s != "argon2id$v" && strings.Contains(stored, s) {
			t.Errorf("%q is stored", s)
		}
	}
}

// Law: a session ends when it is not used, and when it is old, also over a restart; it ends with
// a new password, with a new token, and when it is ended.
func TestSessionsEnd(t *testing.T) {
	b, c := lab(t, Options{Idle: time.Hour, Lifetime: 5 * time.Hour})
	used, _ := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	idle, _ := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	for range 9 {
		c.pass(30 * time.Minute)
		must.Get(b.Authenticate(t.Context(), used))(t)
		done(t, b.Close())
		b = open(t, b.ledger.dir, c, Options{Idle: time.Hour, Lifetime: 5 * time.Hour})
	}
	here := func(token string) bool { _, err := b.Authenticate(t.Context(), token); return err == nil }
	if here(idle) || !here(used) {
		t.Errorf("idle: %t, used: %t", here(idle), here(used))
	}
	c.pass(40 * time.Minute)
	if here(used) {
		t.Error("a session has outlived its time")
	}

	first, i := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	c.pass(20 * time.Minute)
	if err := i.Recent(c.now(), 10*time.Minute); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
		t.Errorf("that was 20 minutes ago: %v", err)
	}
	if _, _, err := b.Reauthenticate(t.Context(), first, "wrong", "192.0.2.1"); err == nil || !here(first) {
		t.Errorf("a wrong password: %v", err)
	}
	second, i, err := b.Reauthenticate(t.Context(), first, bobsPassword, "192.0.2.1")
	if err != nil || i.Recent(c.now(), 10*time.Minute) != nil || here(first) || !here(second) {
		t.Errorf("shown again: %v, %v", i, err)
	}
	other, _ := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	if _, _, err := b.ChangePassword(t.Context(), second, "not bob's password", "a crow that likes pepper", "192.0.2.1"); problem.CodeOf(orNil(err)) != problem.Unauthenticated || !here(second) {
		t.Errorf("a session that was found open gets a new password: %v", err)
	}
	third, _, err := b.ChangePassword(t.Context(), second, bobsPassword, "a crow that likes pepper", "192.0.2.1")
	if err != nil || here(second) || here(other) || !here(third) {
		t.Errorf("a new password: %v", err)
	}
	must.Get(b.SetPassword(t.Context(), system, "bob", bobsPassword))(t)
	if here(third) {
		t.Error("an admin has set a new password, and the session goes on")
	}
	fourth, bob := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	if _, err := b.EndSessions(t.Context(), bob, "ada"); problem.CodeOf(orNil(err)) != problem.Forbidden {
		t.Errorf("bob ends ada's sessions: %v", err)
	}
	if n, err := b.EndSessions(t.Context(), bob, "bob"); n != 1 || err != nil || here(fourth) {
		t.Errorf("%d were ended: %v", n, err)
	}
	fourth, bob = b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	fifth, _ := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	if err := b.EndSession(t.Context(), bob, "ada", bob.Credential); problem.CodeOf(orNil(err)) != problem.Forbidden {
		t.Errorf("bob ends a session of ada's: %v", err)
	}
	if err := b.EndSession(t.Context(), bob, "bob", bob.Credential); err != nil || here(fourth) || !here(fifth) {
		t.Errorf("one of two is ended: %v", err)
	}
	for range mostSessions + 5 {
		c.pass(time.Second)
		fourth, _ = b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	}
	if n := len(b.Sessions("bob")); n != mostSessions || !here(fourth) {
		t.Errorf("bob has %d sessions", n)
	}
	done(t, b.Close()) // from here on nothing can be written
	if _, _, err := b.Login(t.Context(), "bob", bobsPassword, "192.0.2.1"); err == nil {
		t.Fatal("a login is taken after the end")
	}
	if n := len(b.Sessions("bob")); n != mostSessions {
		t.Errorf("bob has %d sessions after a login that failed", n)
	}
}

// Law: a token may what its account may within its own bounds, makes nothing that outlives it, and
// ends with its time, with its account and when it is revoked.
func TestTokens(t *testing.T) {
	b, c := lab(t, Options{})
	_, ada := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	_, bob := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	if _, _, err := b.CreateToken(t.Context(), ada, "bob", NewToken{Name: "x", Scopes: []Permission{See}}); problem.CodeOf(orNil(err)) != problem.Forbidden {
		t.Errorf("ada can act as bob: %v", err)
	}
	if _, _, err := b.CreateToken(t.Context(), bob, "bob", NewToken{Name: "x", Scopes: []Permission{Run}}); err == nil {
		t.Error("bob's token may more than bob")
	}
	if _, _, err := b.CreateToken(t.Context(), bob, "bob", NewToken{Name: "x", Scopes: []Permission{See}, Lifetime: 10000 * time.Hour}); err == nil {
		t.Error("it lives for ever")
	}
	secret, token, err := b.CreateToken(t.Context(), ada, "ada", NewToken{Name: "script", Scopes: []Permission{See, Run}, Campaigns: []string{"lfp"}, Lifetime: time.Hour})
	if err != nil || !strings.HasPrefix(secret, "campaignd_") {
		t.Fatal(secret, err)
	}
	who, err := b.AuthenticateToken(WithAddress(t.Context(), "192.0.2.7"), secret)
	if err != nil || who.Account != "ada" || who.May(Run, "lfp") != nil || who.May(Run, "nmc") == nil || who.May(See, "") == nil ||
		who.May(Answer, "lfp") == nil || who.May(Administer, "") == nil || who.Recent(c.now(), time.Hour) == nil || !who.MaySomewhere(Run) || who.MaySomewhere(Answer) {
		t.Errorf("%+v, %v", who, err)
	}
	bounded := Identity{Account: "ada", Grants: []Grant{{Role: Admin}}, Scopes: Permissions(), Campaigns: []string{"lfp"}}
	for _, p := range Permissions() {
		if err := bounded.May(p, "lfp"); (err == nil) == p.ForLab() {
			t.Errorf("a token for one campaign: %s: %v", p, err)
		}
	}
	if _, _, err := b.CreateToken(t.Context(), ada, "ada", NewToken{Name: "x", Scopes: []Permission{Define}, Campaigns: []string{"lfp"}}); err == nil {
		t.Error("a token for one campaign defines others")
	}
	if code := problem.CodeOf(orNil(who.Recent(c.now(), time.Hour))); code != problem.Forbidden {
		t.Errorf("a token is asked to show again who it is: %v", code)
	}
	if used := b.Tokens("ada")[0]; used.From != "192.0.2.7" || !used.Used.Equal(c.now()) {
		t.Errorf("it was used: %+v", used)
	}
	if _, _, err := b.CreateToken(t.Context(), who, "ada", NewToken{Name: "y", Scopes: []Permission{See}}); err == nil {
		t.Error("a token has made a token")
	}
	if _, err := b.EndSessions(t.Context(), who, "ada"); err == nil {
		t.Error("a token has ended sessions")
	}
	c.pass(time.Hour)
	if _, err := b.AuthenticateToken(t.Context(), secret); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
		t.Errorf("it has expired: %v", err)
	}
	_, bob = b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	secret, token, err = b.CreateToken(t.Context(), bob, "bob", NewToken{Name: "z", Scopes: []Permission{See}})
	done(t, err)
	if _, err := b.AuthenticateToken(t.Context(), secret[:len(secret)-1]+"_"); err == nil {
		t.Error("another one will do")
	}
	must.Get(b.RevokeToken(t.Context(), ada, token.ID))(t)
	if _, err := b.AuthenticateToken(t.Context(), secret); err == nil {
		t.Error("it was revoked")
	}
	secret, token, err = b.CreateToken(t.Context(), bob, "bob", NewToken{Name: "z", Scopes: []Permission{See}})
	done(t, err)
	must.Get(b.Disable(t.Context(), ada, "bob"))(t)
	must.Get(b.Enable(t.Context(), system, "bob"))(t)
	revoked := 0
	for _, k := range kinds(t, b) {
		if k == KindTokenRevoked {
			revoked++
		}
	}
	if revoked != 2 {
		t.Errorf("two tokens were revoked %d times", revoked)
	}
	if _, err := b.AuthenticateToken(t.Context(), secret); err == nil {
		t.Error("bob was disabled meanwhile")
	}
	c.pass(listedFor + 400*24*time.Hour)
	_, token, err = b.CreateToken(t.Context(), system, "bob", NewToken{Name: "z", Scopes: []Permission{See}})
	if all := b.Tokens("bob"); err != nil || len(all) != 1 || all[0].ID != token.ID {
		t.Errorf("years later there are %v: %v", all, err)
	}
	if _, err := b.RevokeToken(t.Context(), bob, "nothing"); problem.CodeOf(orNil(err)) != problem.Forbidden {
		t.Errorf("bob learns which tokens there are: %v", err)
	}
}

// Law: an account has at most [mostTokens] tokens that are valid. What was revoked, has expired or
// is another account's leaves room.
func TestTokensAreFew(t *testing.T) {
	b, c := lab(t, Options{})
	another := func(name string) (Token, error) {
		_, made, err := b.CreateToken(t.Context(), system, name, NewToken{
			Name: "x", Scopes: []Permission{See}, Lifetime: time.Hour,
		})
		return made, err
	}
	full := func(when string) {
		t.Helper()
		if _, err := another("bob"); problem.CodeOf(orNil(err)) != problem.Conflict {
			t.Errorf("%s he gets one more: %v", when, err)
		}
	}
	var last Token
	for range mostTokens {
		must.Get(another("ada"))(t)
		last = must.Get(another("bob"))(t)
	}
	full("with all there may be")
	must.Get(b.RevokeToken(t.Context(), system, last.ID))(t)
	must.Get(another("bob"))(t)
	full("with another for the one that was revoked")
	c.pass(time.Hour)
	must.Get(another("bob"))(t)
}

// Law: what has not the form of a token proves nothing, and is nothing to be recorded. One of the
// form that was never given is.
func TestTokensHaveAForm(t *testing.T) {
	b, _ := lab(t, Options{})
	secret, _, err := b.CreateToken(t.Context(), system, "bob", NewToken{Name: "x", Scopes: []Permission{See}})
	done(t, err)
	before := len(kinds(t, b))
	for _, bearer := range []string{
		"", TokenPrefix, secret[:len(secret)-1], secret + "0", "Campaignd_" + secret[len(TokenPrefix):], secret[len(TokenPrefix):],
		strings.Repeat("x", len(secret)), " " + secret,
	} {
		who, err := b.AuthenticateToken(t.Context(), bearer)
		if problem.CodeOf(orNil(err)) != problem.Unauthenticated || who.Known() {
			t.Errorf("%q is %+v, %v", bearer, who, err)
		}
	}
	if after := len(kinds(t, b)); after != before {
		t.Errorf("%d entries tell of what is not a token", after-before)
	}
	never := TokenPrefix + strings.Repeat("0", secretLength)
	if who, err := b.AuthenticateToken(t.Context(), never); problem.CodeOf(orNil(err)) != problem.Unauthenticated || who.Known() {
		t.Errorf("one that was never given is %+v, %v", who, err)
	}
	if after := kinds(t, b); len(after) != before+1 || after[before] != KindRefused {
		t.Errorf("of one that was never given there are %v", after[before:])
	}
}

// Law: an account that is disabled loses all its tokens, each with an entry, in the order of their
// names, which no map decides.
func TestTokensEndInOrder(t *testing.T) {
	b, _ := lab(t, Options{})
	var want []string
	for range 12 {
		_, made, err := b.CreateToken(t.Context(), system, "bob", NewToken{Name: "x", Scopes: []Permission{See}})
		done(t, err)
		want = append(want, made.ID)
	}
	slices.Sort(want)
	must.Get(b.Disable(t.Context(), system, "bob"))(t)
	var ended []string
	for _, e := range must.Get(b.AuditLog(system, Page{After: new(uint64)}))(t) {
		if e.Kind == KindTokenRevoked {
			ended = append(ended, e.Credential)
		}
	}
	if !slices.Equal(ended, want) {
		t.Errorf("the tokens %v ended as %v", want, ended)
	}
}

// Law: a session that was found open gives nobody access that outlasts it: no token, no password,
// no role, no account; it may take access away. A token gives none either. Tokens outlast a new
// password.
func TestSessionsMakeNothingLasting(t *testing.T) {
	b, c := lab(t, Options{})
	session, ada := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	wanted := NewToken{Name: "x", Scopes: []Permission{See, Administer}}
	secret, _, err := b.CreateToken(t.Context(), ada, "ada", wanted)
	done(t, err)
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "gone"}))(t)
	must.Get(b.Disable(t.Context(), system, "gone"))(t)
	before := len(b.Accounts())
	c.pass(7 * time.Hour)
	found := must.Get(b.Authenticate(t.Context(), session))(t)
	program := must.Get(b.AuthenticateToken(t.Context(), secret))(t)
	for what, who := range map[string]Identity{"a session": found, "a token": program} {
		role, mail := Grant{Role: Admin}, "eve@example.org"
		_, _, token := b.CreateToken(t.Context(), who, "ada", wanted)
		_, own := b.SetPassword(t.Context(), who, " Ada", bobsPassword)
		_, bobs := b.SetPassword(t.Context(), who, "bob", adasPassword)
		_, granted := b.Grant(t.Context(), who, "bob", role)
		_, added := b.Add(t.Context(), who, NewAccount{Name: "eve", Grants: []Grant{role}, Password: NewSecret(bobsPassword)})
		_, changed := b.Change(t.Context(), who, "bob", Changes{Email: &mail})
		_, enabled := b.Enable(t.Context(), who, "gone")
		for act, err := range map[string]error{
			"a token": token, "a password": own, "bob's password": bobs, "an admin of bob": granted, "an account": added,
			"bob's address": changed, "an account that was disabled": enabled,
		} {
			code, remedies := problem.CodeOf(orNil(err)), problem.RemediesOf(orNil(err))
			switch who.Method {
			case ByToken:
				if code != problem.Forbidden {
					t.Errorf("%s made %s: %v", what, act, err)
				}
			default:
				if code != problem.Unauthenticated || len(remedies) != 1 || remedies[0].Action != problem.Confirm {
					t.Errorf("%s made %s: %v %v", what, act, err, remedies)
				}
			}
		}
	}
	if len(b.Tokens("ada")) != 1 || len(b.Accounts()) != before {
		t.Error("there is another token or account")
	}
	must.Get(b.Revoke(t.Context(), found, "bob", must.Get(b.Account("bob"))(t).Grants[0]))(t)
	_, again, err := b.Reauthenticate(t.Context(), session, adasPassword, "192.0.2.1")
	done(t, err)
	if _, _, err := b.CreateToken(t.Context(), again, "ada", wanted); err != nil {
		t.Errorf("after she has shown it again: %v", err)
	}
	must.Get(b.SetPassword(t.Context(), again, "ada", bobsPassword))(t)
	if _, err := b.AuthenticateToken(t.Context(), secret); err != nil {
		t.Errorf("with a new password: %v", err)
	}
	must.Get(b.SetPassword(t.Context(), system, "ada", adasPassword))(t)
}

// Law: whoever may not change accounts changes none, by whichever method.
func TestOnlyAdminsAdminister(t *testing.T) {
	b, _ := lab(t, Options{})
	_, bob := b.mustLogin(t, "bob", bobsPassword, "192.0.2.1")
	_, token, err := b.CreateToken(t.Context(), system, "ada", NewToken{Name: "x", Scopes: []Permission{See}})
	done(t, err)
	before := b.Accounts()
	name := "ada"
	for field, r := range map[string]Request{
		"Accounts": {Accounts: true}, "Add": {Add: &NewAccount{Name: "eve"}},
		"Change": {Change: &ChangeRequest{Name: "bob", Changes: Changes{DisplayName: &name}}},
		"Grant":  {Grant: &GrantRequest{Name: "bob", Grant: Grant{Role: Admin}}}, "Revoke": {Revoke: &GrantRequest{Name: "bob", Grant: Grant{Role: Expert}}},
		"Disable": {Disable: "ada"}, "Enable": {Enable: "ada"}, "Unlock": {Unlock: &name}, "SetPassword": {SetPassword: &PasswordRequest{Name: "ada", Password: NewSecret(bobsPassword)}},
		"CreateToken": {CreateToken: &TokenRequest{Name: "ada", Token: NewToken{Name: "x", Scopes: []Permission{See}}}},
		"RevokeToken": {RevokeToken: token.ID}, "Tokens": {Tokens: "ada"}, "Sessions": {Sessions: "ada"}, "EndSessions": {EndSessions: "ada"},
		"RemovePasskey": {RemovePasskey: &PasskeyRequest{Name: "ada", ID: "x"}}, "Trail": {Trail: &Page{}}, "VerifyTrail": {VerifyTrail: true},
	} {
		if reflect.ValueOf(r).FieldByName(field).IsZero() {
			t.Errorf("%s is not asked for", field)
		}
		for _, who := range []Identity{bob, {}} {
			if _, err := b.Do(t.Context(), who, r); problem.CodeOf(orNil(err)) != problem.Forbidden && problem.CodeOf(orNil(err)) != problem.Unauthenticated {
				t.Errorf("%s: %v", field, err)
			}
			if r.Accounts || r.Tokens != "" || r.Sessions != "" {
				continue
			}
			if err := directly(t.Context(), b, who, r); err == nil {
				t.Errorf("%s, asked directly, was done", field)
			}
		}
	}
	if reflect.TypeFor[Request]().NumField() != 17 {
		t.Error("there is a request that is not asked for here")
	}
	if !reflect.DeepEqual(b.Accounts(), before) || !b.Tokens("ada")[0].Revoked.IsZero() {
		t.Error("something was changed")
	}
}

// directly makes a request by the method that fulfills it.
func directly(ctx context.Context, b *Directory, who Identity, r Request) (err error) {
	switch {
	case r.Add != nil:
		_, err = b.Add(ctx, who, *r.Add)
	case r.Change != nil:
		_, err = b.Change(ctx, who, r.Change.Name, r.Change.Changes)
	case r.Grant != nil:
		_, err = b.Grant(ctx, who, r.Grant.Name, r.Grant.Grant)
	case r.Revoke != nil:
		_, err = b.Revoke(ctx, who, r.Revoke.Name, r.Revoke.Grant)
	case r.Disable != "":
		_, err = b.Disable(ctx, who, r.Disable)
	case r.Enable != "":
		_, err = b.Enable(ctx, who, r.Enable)
	case r.Unlock != nil:
		err = b.Unlock(ctx, who, *r.Unlock)
	case r.SetPassword != nil:
		_, err = b.SetPassword(ctx, who, r.SetPassword.Name, r.SetPassword.Password.Reveal())
	case r.CreateToken != nil:
		_, _, err = b.CreateToken(ctx, who, r.CreateToken.Name, r.CreateToken.Token)
	case r.RevokeToken != "":
		_, err = b.RevokeToken(ctx, who, r.RevokeToken)
	case r.EndSessions != "":
		_, err = b.EndSessions(ctx, who, r.EndSessions)
	case r.RemovePasskey != nil:
		_, err = b.RemovePasskey(ctx, who, r.RemovePasskey.Name, r.RemovePasskey.ID)
	case r.Trail != nil:
		_, err = b.AuditLog(who, *r.Trail)
	case r.VerifyTrail:
		_, err = b.Verify(who)
	}
	return err
}

// Law: a full disk ends nothing but changes: whoever asked for one is told that it may not be
// recorded, nobody sees it, sessions go on, and what was acknowledged before is there afterwards.
func TestFullDisk(t *testing.T) {
	b, c := lab(t, Options{})
	token, _ := b.mustLogin(t, "ada", adasPassword, "192.0.2.1")
	done(t, b.Close())
	full := new(atomic.Bool)
	b, err := Open(b.ledger.dir, Options{Now: c.now, params: quick, open: fillingDisk(full)})
	done(t, err)
	full.Store(true)
	if _, err := b.Grant(t.Context(), system, "bob", Grant{Role: Auditor}); problem.CodeOf(orNil(err)) != problem.Uncertain || !strings.Contains(err.Error(), "no space left") || problem.RemediesOf(err) == nil {
		t.Errorf("the disk is full: %v", err)
	}
	if _, err := b.Grant(t.Context(), system, "bob", Grant{Role: Viewer}); problem.CodeOf(orNil(err)) != problem.Unavailable {
		t.Errorf("the disk was full: %v", err)
	}
	if _, _, err := b.Login(t.Context(), "ada", adasPassword, "192.0.2.1"); err == nil {
		t.Error("there is a login that is recorded nowhere")
	}
	if i, err := b.Authenticate(t.Context(), token); err != nil || i.Account != "ada" {
		t.Errorf("ada is thrown out: %v", err)
	}
	if own := must.Get(b.Account("bob"))(t); len(own.Grants) != 1 {
		t.Errorf("bob is %v", own.Grants)
	}
	must.Get(b.Verify(system))(t)
	if b.Err() == nil {
		t.Error("it does not say that it takes nothing")
	}

	// With room again it goes on, with what was acknowledged: the first change opens the book anew,
	// and is to be asked for again.
	full.Store(false)
	if _, err := b.Grant(t.Context(), system, "bob", Grant{Role: Viewer}); problem.CodeOf(orNil(err)) != problem.Unavailable {
		t.Errorf("a change that was made from what may not be there: %v", err)
	}
	if err := b.Err(); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	must.Get(b.Grant(t.Context(), system, "bob", Grant{Role: Viewer}))(t)
	if _, err := b.Authenticate(t.Context(), token); err != nil {
		t.Errorf("ada's session is lost: %v", err)
	}
	must.Get(b.Verify(system))(t)
	done(t, b.Close())
	b = open(t, b.ledger.dir, c, Options{})
	if _, err := b.Authenticate(t.Context(), token); err != nil {
		t.Errorf("ada's session is lost: %v", err)
	}
	must.Get(b.Verify(system))(t)
}

// Law: a book is used by many at once.
func TestManyAtOnce(t *testing.T) {
	b, _ := lab(t, Options{Hashing: 4})
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			name := fmt.Sprint("person", n)
			_, err := b.Add(t.Context(), system, NewAccount{Name: name, Password: NewSecret("quite a long secret"), Grants: []Grant{{Role: Viewer}}})
			token, _, lerr := b.Login(t.Context(), name, "quite a long secret", fmt.Sprint("192.0.2.", n))
			_, aerr := b.Authenticate(t.Context(), token)
			_, gerr := b.Grant(t.Context(), system, name, Grant{Role: Expert})
			_ = b.Accounts()
			oerr := b.Logout(t.Context(), token)
			if err := errors.Join(err, lerr, aerr, gerr, oerr); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	must.Get(b.Verify(system))(t)
	if n := len(slices.Collect(maps.Keys(b.roster.state.accounts))); n != 10 {
		t.Errorf("there are %d accounts", n)
	}
}

// Law: who became the first admin, while everybody here could, is told to those who follow.
func TestFirstAdminIsTold(t *testing.T) {
	b := open(t, t.TempDir(), newClock(), Options{})
	anybody := OpenIdentity("mallory")
	ctx := WithAddress(t.Context(), "127.0.0.1")
	admin := func(name string) Request {
		return Request{Add: &NewAccount{Name: name, Grants: []Grant{{Role: Admin}}, Password: NewSecret(adasPassword)}}
	}
	if reply := must.Get(b.Do(ctx, anybody, admin("evil")))(t); reply.First != nil {
		t.Errorf("before the first one was %v", reply.First)
	}
	reply := must.Get(b.Do(t.Context(), system, admin("owner")))(t)
	if reply.First == nil || reply.First.Account != "evil" || reply.First.By != "mallory" || reply.First.From != "127.0.0.1" {
		t.Errorf("the owner is told %+v", reply.First)
	}
	if reply := must.Get(b.Do(t.Context(), system, Request{Add: &NewAccount{Name: "eve", Grants: []Grant{{Role: Viewer}}}}))(t); reply.First != nil {
		t.Errorf("with a viewer: %v", reply.First)
	}
}

//go:build unix

package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// verdictsOf are the verdicts of findings, by their subjects.
func verdictsOf(found []Finding) map[string]Verdict {
	verdicts := make(map[string]Verdict)
	for _, f := range found {
		verdicts[f.Subject] = f.Verdict
	}
	return verdicts
}

// Law: whatever makes a lab in a folder unsafe is said, with a remedy, and of what is well
// nothing is.
func TestUnsafeFolders(t *testing.T) {
	well := func() *Folder {
		return &Folder{Path: "lab", Mode: 0o700, Free: 1 << 40, Stores: map[string]error{"lab/a.campaign": nil}}
	}
	if n := Count(well().Findings(), Unsafe); n != 0 {
		t.Fatalf("%d unsafe: %+v", n, well().Findings())
	}
	tips := func(left int) []Stock {
		return []Stock{{Campaign: "bench", Stock: campaign.Stock{Name: "tips", Labels: make([]string, left), Full: 8, Low: 2}}}
	}
	for name, c := range map[string]struct {
		change  func(*Folder)
		subject string
		want    Verdict
	}{
		"damaged":           {func(f *Folder) { f.Stores["b"] = events.ErrDamaged }, "stores", Unsafe},
		"newer":             {func(f *Folder) { f.Stores["b"] = events.ErrNewerFormat }, "stores", Unsafe},
		"lab file":          {func(f *Folder) { f.LabFile = errors.New("line 3") }, "lab.yaml", Unsafe},
		"keys are unseen":   {func(f *Folder) { f.LabFile = errors.New("line 3") }, "passkeys", Unknown},
		"logins are unseen": {func(f *Folder) { f.LabFile = errors.New("line 3") }, "OpenID Connect", Unknown},
		"sends are unseen":  {func(f *Folder) { f.LabFile = errors.New("line 3") }, "messages and brokers", Unknown},
		"nothing is sent":   {func(f *Folder) { f.NoRelay = errors.New("no program") }, "messages and brokers", Unsafe},
		"a stock ends":      {func(f *Folder) { f.Stocks = tips(2) }, "stocks", Unsafe},
		"stocks suffice":    {func(f *Folder) { f.Stocks = tips(3) }, "stocks", Safe},
		"stocks are unseen": {func(f *Folder) { f.LabFile = errors.New("line 3") }, "stocks", Unknown},
		"others write":      {func(f *Folder) { f.Mode = 0o770 }, "permissions", Unsafe},
		"others read":       {func(f *Folder) { f.Mode = 0o755 }, "permissions", Unsafe},
		"full":              {func(f *Folder) { f.Free = 1 << 20 }, "free space", Unsafe},
		"room is unknown":   {func(f *Folder) { f.FreeErr = errors.New("no") }, "free space", Unknown},
		"one machine":       {func(*Folder) {}, "loss of the machine", Unknown},
		"served":            {func(f *Folder) { f.Served = "{}" }, "server", Safe},
	} {
		f := well()
		c.change(f)
		found := false
		for _, got := range f.Findings() {
			if got.Subject == c.subject {
				found = true
				if got.Verdict != c.want || got.Says == "" || got.Verdict != Safe && got.Remedy == "" {
					t.Errorf("%s: %+v, want %s", name, got, c.want)
				}
			}
		}
		if !found {
			t.Errorf("%s: nothing is said of %s", name, c.subject)
		}
	}
}

// Law: a real folder is seen as it is, and looking changes nothing in it.
func TestLookAtARealFolder(t *testing.T) {
	folder := t.TempDir()
	must.Do(t, os.Chmod(folder, 0o700))
	log := must.Get(store.Open(filepath.Join(folder, "sound"+store.Ending), store.Options{}))(t)
	for name, more := range map[string][]events.Payload{
		"bench": nil, "over": {&events.CampaignCompleted{Reason: "the budget is spent"}},
	} {
		stocks := map[string]definition.Stock{"tips": {Labels: "A1-D1"}}
		var batch []events.Event
		for _, p := range append([]events.Payload{
			&events.CampaignDefined{Definition: definition.Campaign{Name: name, Stocks: stocks}},
			&events.ActDispatched{Act: "a1", Drawn: []events.Drawn{{Stock: "tips", Labels: []string{"A1", "B1", "C1", "D1"}}}},
		}, more...) {
			e := must.Get(events.New(name, p))(t)
			e.Actor, e.Time = "person:ada", time.Unix(1, 0).UTC()
			batch = append(batch, e)
		}
		must.Get(log.Append(t.Context(), name, 0, batch...))(t)
	}
	must.Do(t, log.Close())
	look := func() (map[string]Verdict, []Finding) {
		t.Helper()
		list := func() (all []string) {
			must.Do(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if err == nil && !d.IsDir() {
					all = append(all, path+" "+info.ModTime().String())
				}
				return err
			}))
			return all
		}
		before := strings.Join(list(), "\n")
		_, fault := labfile.ReadFolder(builtin.Registry(), folder)
		f := must.Get(LookAtFolder(folder, Services{LabFile: fault}))(t)
		if after := strings.Join(list(), "\n"); after != before {
			t.Errorf("looking has changed\n%s\nto\n%s", before, after)
		}
		return verdictsOf(f.Findings()), f.Findings()
	}
	if verdicts, found := look(); verdicts["stores"] != Safe || verdicts["lab.yaml"] != Safe || verdicts["permissions"] != Safe {
		t.Errorf("a folder in order: %+v", found)
	} else if i := slices.IndexFunc(found, func(f Finding) bool { return f.Subject == "stocks" }); i < 0 || found[i].Verdict != Unsafe ||
		found[i].Says != "experiments will wait for tips of bench: 0 of 4 left" { // the other campaign has ended
		t.Errorf("of stocks it says: %+v", found)
	}

	broken := filepath.Join(folder, "broken"+store.Ending)
	must.Do(t, errors.Join(
		os.CopyFS(broken, os.DirFS(filepath.Join(folder, "sound"+store.Ending))),
		os.WriteFile(filepath.Join(broken, "FORMAT"), []byte("campaignd store 1000\n"), 0o600),
		os.WriteFile(filepath.Join(folder, "lab.yaml"), []byte("instruments: {pump: 3}\n"), 0o600),
		os.Chmod(folder, 0o777),
	))
	verdicts, found := look()
	for _, subject := range []string{"stores", "lab.yaml", "permissions"} {
		if verdicts[subject] != Unsafe {
			t.Errorf("%s is %q: %+v", subject, verdicts[subject], found)
		}
	}
	if _, err := LookAtFolder(filepath.Join(folder, "nowhere"), Services{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

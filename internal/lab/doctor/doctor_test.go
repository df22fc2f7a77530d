package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/lab"
)

// well is a deployment of which nothing is unsafe.
func well() *Database {
	return &Database{
		Inspection: &store.Inspection{
			Version: 170002, TLS: "TLSv1.3", Monitor: true, OwnsDatabase: true, Sessions: 30, Ours: 20, Schema: 2,
			Settings: map[string]string{
				"fsync": "on", "full_page_writes": "on", "data_checksums": "on", "synchronous_commit": "on",
				"synchronous_standby_names": "ANY 1 (a, b)", "max_connections": "200", "statement_timeout": "0", "archive_mode": "on",
			},
			Standbys: []store.Standby{{Name: "a", State: "streaming", Address: "10.0.0.1"}, {Name: "b", State: "streaming", Address: "10.0.0.2"}},
			Archive:  store.Archive{Last: time.Unix(1, 0)},
		},
		Connections: 11, KnownSchema: 2, Instruments: []string{"pump"},
		Processes: []Process{
			{ID: "1", Process: lab.Process{Host: "x", Drives: true}},
			{ID: "2", Process: lab.Process{Host: "y", Drives: true, Instruments: []string{"pump"}}},
		},
	}
}

// Law: whatever makes a deployment unsafe is said, with a remedy, and of what is well
// nothing is; what cannot be seen is neither.
func TestUnsafeDeployments(t *testing.T) {
	if n := Count(well().Findings(), Unsafe); n != 0 {
		t.Fatalf("%d unsafe: %+v", n, well().Findings())
	}
	set := func(name, value string) func(*Database) { return func(d *Database) { d.Settings[name] = value } }
	for name, c := range map[string]struct {
		change  func(*Database)
		subject string
		want    Verdict
	}{
		"refused":         {func(d *Database) { d.Refusal = "it is one" }, "server", Unsafe},
		"lab file":        {func(d *Database) { d.LabFile = errors.New("line 3") }, "lab.yaml", Unsafe},
		"keys are unseen": {func(d *Database) { d.LabFile = errors.New("line 3") }, "passkeys", Unknown},
		"nothing is sent": {func(d *Database) { d.NoRelay = errors.New("no program") }, "messages and brokers", Unsafe},
		"fsync":           {set("fsync", "off"), "disk", Unsafe},
		"pages":           {set("full_page_writes", "off"), "disk", Unsafe},
		"checksums":       {set("data_checksums", "off"), "checksums", Unsafe},
		"asynchronous":    {set("synchronous_commit", "off"), "commits", Unsafe},
		"local":           {set("synchronous_commit", "local"), "commits", Unsafe},
		"no standby":      {set("synchronous_standby_names", ""), "standbys that it waits for", Unsafe},
		"first":           {set("synchronous_standby_names", "FIRST 1 (a, b)"), "standbys that it waits for", Unsafe},
		"a plain list":    {set("synchronous_standby_names", "a, b"), "standbys that it waits for", Unsafe},
		"any program":     {set("synchronous_standby_names", "ANY 1 (*)"), "standbys that it waits for", Unsafe},
		"all":             {set("synchronous_standby_names", "ANY 2 (a, b)"), "standbys that it waits for", Unsafe},
		"quoted":          {set("synchronous_standby_names", `any 1 ("a","b")`), "standbys that it waits for", Safe},
		"one is gone":     {func(d *Database) { d.Standbys = d.Standbys[:1] }, "standbys now", Unsafe},
		"both are gone":   {func(d *Database) { d.Standbys = nil }, "standbys now", Unsafe},
		"others follow":   {func(d *Database) { d.Standbys[0].Name = "c" }, "standbys now", Unsafe},
		"one catches up":  {func(d *Database) { d.Standbys[0].State = "catchup" }, "standbys now", Unsafe},
		"far behind":      {func(d *Database) { d.Standbys[0].Behind = 1 << 40 }, "standbys now", Unsafe},
		"hangs":           {func(d *Database) { d.Standbys[1].Silent = time.Minute }, "standbys now", Unsafe},
		"one twice":       {func(d *Database) { d.Standbys[1].Name = "a" }, "standbys now", Unsafe},
		"one address":     {func(d *Database) { d.Standbys[1].Address = "10.0.0.1" }, "standbys now", Unknown},
		"hidden":          {func(d *Database) { d.Monitor, d.Standbys = false, nil }, "standbys now", Unknown},
		"stuck":           {func(d *Database) { d.Stuck = 1 }, "stuck commits", Unsafe},
		"timeout":         {set("statement_timeout", "1min"), "timeouts", Unsafe},
		"transaction":     {set("transaction_timeout", "1min"), "timeouts", Unsafe},
		"superuser":       {func(d *Database) { d.Superuser = true }, "rights", Unsafe},
		"signals":         {func(d *Database) { d.Signals = true }, "rights", Unsafe},
		"owner":           {func(d *Database) { d.Foreign = []string{"cd_head"} }, "rights", Unsafe},
		"clear":           {func(d *Database) { d.TLS = "" }, "encryption", Unsafe},
		"clear, here":     {func(d *Database) { d.TLS, d.Local = "", true }, "encryption", Safe},
		"sessions":        {set("max_connections", "40"), "sessions", Unsafe},
		"sessions hidden": {set("max_connections", ""), "sessions", Unknown},
		"clock":           {func(d *Database) { d.ClockAhead = -time.Minute }, "clocks", Unsafe},
		"newer tables":    {func(d *Database) { d.Schema = 3 }, "tables", Unsafe},
		"no archive":      {set("archive_mode", "off"), "archive", Unknown},
		"archive":         {func(d *Database) { d.Archive.Failed, d.Archive.LastFailed = 1, time.Unix(2, 0) }, "archive", Unsafe},
		"nobody":          {func(d *Database) { d.Processes = nil }, "processes", Unsafe},
		"one machine":     {func(d *Database) { d.Processes[1].Host = "x" }, "processes", Unsafe},
		"one, two names":  {func(d *Database) { d.Processes[0].Machine, d.Processes[1].Machine = "m", "m" }, "processes", Unsafe},
		"only shown":      {func(d *Database) { d.Processes[0].Drives, d.Processes[1].Drives = false, false }, "processes", Unsafe},
		"unreached":       {func(d *Database) { d.Instruments = []string{"robot"}; d.Processes = d.Processes[1:] }, "instruments", Unsafe},
		"waits":           {func(d *Database) { d.Waiting = []string{"c"} }, "campaigns", Unsafe},
		"not known":       {func(d *Database) { d.WaitingErr = errors.New("no") }, "campaigns", Unknown},
	} {
		d := well()
		c.change(d)
		found := false
		for _, f := range d.Findings() {
			if f.Subject == c.subject {
				found = true
				if f.Verdict != c.want || f.Says == "" || f.Verdict != Safe && f.Remedy == "" && name != "refused" {
					t.Errorf("%s: %+v, want %s", name, f, c.want)
				}
			}
		}
		if !found {
			t.Errorf("%s: nothing is said of %s", name, c.subject)
		}
	}
	for n, want := range map[int64]string{7: "7 B", 1_500: "1.5 kB", 8_730_000: "8.73 MB", 20e9: "20 GB"} {
		if got := bytes(n); !strings.EqualFold(got, want) {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

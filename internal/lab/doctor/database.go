package doctor

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Database holds the observed facts about a lab in a database.
type Database struct {
	Services
	*store.Inspection
	// Single is set if the address declares that there are no standbys.
	Single bool
	// Connections is the maximum number of sessions of a process.
	Connections int
	// KnownSchema is the version of the tables that this program makes.
	KnownSchema int
	// Instruments are those of the lab file here; nil without one.
	Instruments []string
	// Locks and Hidden are as in [Folder].
	Locks, Hidden string
	Processes     []Process
	// Waiting are the campaigns to be driven in stores that no process holds; WaitingErr is the
	// reason if they are unknown.
	Waiting    []string
	WaitingErr error
	// Stocks are those of the lab.
	Stocks []Stock
}

// Process is a living process.
type Process struct {
	ID string
	lab.Process
}

// LookAtDatabase gathers the facts about a lab in a database, for at most some twenty seconds. The
// lab file gives the instruments, nil without one, and the services.
func LookAtDatabase(ctx context.Context, address string, instruments []string, services Services) (*Database, error) {
	i, err := store.Inspect(ctx, address)
	if err != nil {
		return nil, err
	}
	d := &Database{Services: services, Inspection: i, KnownSchema: store.KnownSchema(), Instruments: instruments}
	d.Locks, d.Hidden = lock.Look()
	d.Single = strings.Contains(address, "single=yes")
	if d.Connections, err = store.MostConnections(address); err != nil {
		return nil, err
	}
	for _, w := range i.Workers {
		if p, ok := lab.ProcessOf(w); ok && w.Alive {
			d.Processes = append(d.Processes, Process{w.ID, p})
		}
	}
	d.Waiting, d.WaitingErr = waiting(ctx, address, d)
	return d, nil
}

// waiting reads the lab's log, if it can be read without changing anything: opening a database
// brings its tables up to date.
func waiting(ctx context.Context, address string, d *Database) (found []string, err error) {
	at := lablog.Address(address)
	switch {
	case d.Refusal != "":
		return nil, fmt.Errorf("the server is refused")
	case d.Schema != d.KnownSchema:
		return nil, fmt.Errorf("the tables are not those of this program")
	case !slices.ContainsFunc(d.Stores, func(s store.StoreRow) bool { return s.Name == lablog.Name }):
		return nil, nil
	}
	log, err := store.Open(at, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // it was only read
	if d.Stocks, err = stocksOfLab(log, d.Services.Shared); err != nil {
		return nil, err
	}
	for _, s := range d.Stores {
		if s.Holder != "" || strings.HasPrefix(s.Name, ".") {
			continue
		}
		campaigns, err := lab.ToGoOn(ctx, log, s.Name)
		if err != nil {
			return nil, err
		}
		found = append(found, campaigns...)
	}
	return found, nil
}

// Findings returns the judgments on the facts.
func (d *Database) Findings() []Finding {
	return slices.Concat(judge(databaseRules, d), judge(serviceRules, d.Services))
}

const (
	// clockTolerance is a difference of clocks that readers of times can accept.
	clockTolerance = 2 * time.Second
	// behindTolerance is the normal lag of a standby.
	behindTolerance = 64 << 20
	// silenceTolerance is the normal silence of a standby: by PostgreSQL's default it answers every
	// ten seconds.
	silenceTolerance = 30 * time.Second
)

// databaseRules judge a database, in the order in which a person reads them.
var databaseRules = []rule[*Database]{
	{"server", func(d *Database) Finding {
		if d.Refusal != "" {
			return unsafe(d.Refusal+"; every program refuses it", d.Remedy)
		}
		return safe(fmt.Sprintf("PostgreSQL %d.%d, cluster %s, timeline %d; programs take it",
			d.Version/10000, d.Version%10000, d.Cluster, d.Timeline))
	}},
	{"disk", func(d *Database) Finding {
		for _, name := range []string{"fsync", "full_page_writes"} {
			if d.Settings[name] != "on" {
				return unsafe(name+" is "+d.Settings[name], "set it to on")
			}
		}
		return safe("fsync and full_page_writes are on")
	}},
	{"checksums", func(d *Database) Finding {
		if d.Settings["data_checksums"] != "on" {
			return unsafe("data checksums are off: the database does not notice a disk that changes its data; an audit of a "+
				"campaign does", "switch them on while the server is stopped: pg_checksums --enable")
		}
		return safe("data checksums are on")
	}},
	{"commits", func(d *Database) Finding {
		switch value := d.Settings["synchronous_commit"]; value {
		case "on", "remote_apply":
			return safe("synchronous_commit is " + value)
		default:
			return unsafe("synchronous_commit is "+value+" where a session does not say otherwise; ours do, and those of other "+
				"programs, an administrator's too, do not", "set it to on")
		}
	}},
	{"standbys that it waits for", judgeNames},
	{"standbys now", judgeStandbys},
	{"stuck commits", func(d *Database) Finding {
		if d.Stuck > 0 {
			return unsafe(format.Count(d.Stuck, "session")+" of this role wait for a standby",
				"have a standby follow again, and they go on; never cancel or end them")
		}
		return safe("no session of this role waits for a standby")
	}},
	{"timeouts", func(d *Database) Finding {
		var set []string
		for _, name := range []string{
			"statement_timeout", "lock_timeout", "idle_session_timeout", "idle_in_transaction_session_timeout",
			"transaction_timeout",
		} {
			if v := d.Settings[name]; v != "0" && v != "" {
				set = append(set, name+" = "+v)
			}
		}
		if len(set) > 0 {
			return unsafe("the role has "+strings.Join(set, ", ")+": a commit that the server gives up waiting for is shown to all, "+
				"and no standby has it", "alter role … set NAME = 0, for each of them")
		}
		return safe("no time ends a statement or a session of this role")
	}},
	{"rights", func(d *Database) Finding {
		switch {
		case d.Superuser:
			return unsafe("the role is a superuser: it can end sessions that wait for a standby, and change anything",
				"alter role … nosuperuser; let it own its database alone")
		case d.Signals:
			return unsafe("the role may cancel and end sessions (pg_signal_backend)", "revoke pg_signal_backend from …")
		case len(d.Foreign) > 0:
			return unsafe("the role does not own "+strings.Join(d.Foreign, ", ")+": a newer version cannot change them",
				"alter table … owner to …")
		}
		return safe("no superuser, and may end no sessions")
	}},
	{"who else may end sessions", func(*Database) Finding {
		return unknown("who else has pg_signal_backend, or is a superuser, and what watches over long statements, is not looked at",
			"let no program and no person end or cancel a session that waits (wait_event = 'SyncRep')")
	}},
	{"encryption", func(d *Database) Finding {
		switch {
		case d.TLS != "":
			return safe("this connection is encrypted, " + d.TLS)
		case d.Local:
			return safe("this connection does not leave the machine")
		}
		return unsafe("this connection is not encrypted: results and hashes of passwords cross the network in the clear",
			"set PGSSLMODE=verify-full, and PGSSLROOTCERT to the certificate of who signed the server's")
	}},
	{"pooler", func(d *Database) Finding {
		if strings.Contains(d.Refusal, "pooler") {
			return Finding{} // the server's finding says so
		}
		return unknown("no pooler of connections was noticed; one that keeps its clients apart by session is not seen",
			"name the server itself")
	}},
	{"sessions", func(d *Database) Finding {
		most, err := strconv.Atoi(d.Settings["max_connections"])
		if err != nil {
			return unknown("max_connections cannot be read", "look at it")
		}
		// The number of this program's settings stands for that of the others.
		need := max(1, len(d.Processes)) * d.Connections
		says := fmt.Sprintf("max_connections is %d; %d are open, %d of them campaignd's; %s like this one may open %d",
			most, d.Sessions, d.Ours, plural(max(1, len(d.Processes)), "process", "processes"), need)
		if d.Sessions-d.Ours+need > most-10 {
			return unsafe(says, "raise max_connections, or write connections=N into the addresses")
		}
		return safe(says)
	}},
	{"clocks", func(d *Database) Finding {
		off := d.ClockAhead.Abs()
		if off > clockTolerance {
			return unsafe(fmt.Sprintf("the database's clock and this machine's differ by %s: leases do not rest on that, times "+
				"that people read do", off.Round(time.Millisecond)), "keep both by NTP")
		}
		return safe(fmt.Sprintf("the database's clock and this machine's agree within %s", clockTolerance))
	}},
	{"tables", func(d *Database) Finding {
		switch {
		case d.Schema == 0:
			return safe("there are none yet; the first program makes them")
		case d.Schema > d.KnownSchema:
			return unsafe(fmt.Sprintf("the tables have version %d, and this program knows %d", d.Schema, d.KnownSchema),
				"use the campaignd that made them, or a newer one")
		case d.Schema < d.KnownSchema:
			return safe(fmt.Sprintf("the tables have version %d; the first program of this version makes it %d, after which earlier "+
				"ones do not start", d.Schema, d.KnownSchema))
		}
		var sizes []string
		for _, t := range d.Tables {
			if t.Size > 1<<20 {
				sizes = append(sizes, fmt.Sprintf("%s %s", t.Name, bytes(t.Size)))
			}
		}
		says := fmt.Sprintf("version %d; the database has %s", d.Schema, bytes(d.DatabaseSize))
		if len(sizes) > 0 {
			says += ": " + strings.Join(sizes, ", ")
		}
		return safe(says)
	}},
	{"free space", func(*Database) Finding {
		return unknown("how much room the database's disks have is not to be seen from here", "watch that where they are")
	}},
	{"archive", judgeArchive},
	{"processes", judgeProcesses},
	{"versions", func(d *Database) Finding {
		versions := make(map[string]int)
		for _, p := range d.Processes {
			versions[p.Build.Version]++
		}
		var list []string
		for v, n := range versions {
			list = append(list, fmt.Sprintf("%s (%d)", v, n))
		}
		slices.Sort(list)
		switch len(list) {
		case 0:
			return Finding{}
		case 1:
			return safe("all processes are of version " + list[0])
		}
		return safe("versions side by side: " + strings.Join(list, ", ") + "; upgrade them all")
	}},
	{"stocks", func(d *Database) Finding { return judgeStocks(d.Stocks, d.Services) }},
	{"instruments", func(d *Database) Finding {
		if len(d.Instruments) == 0 || len(d.Processes) == 0 {
			return Finding{}
		}
		var missed []string
		for _, name := range d.Instruments {
			if !slices.ContainsFunc(d.Processes, func(p Process) bool {
				return p.Drives && (p.Instruments == nil || slices.Contains(p.Instruments, name))
			}) {
				missed = append(missed, name)
			}
		}
		if len(missed) > 0 {
			return unsafe("no process drives campaigns at "+strings.Join(missed, ", "),
				"start `campaignd work --instrument NAME` on a machine that reaches it")
		}
		return safe("each instrument of lab.yaml has a process that says it reaches it")
	}},
	{"locks of devices", func(d *Database) Finding {
		const kept = "campaigns of this lab are kept apart by its log, on all machines; "
		if d.Hidden != "" {
			return safe(kept + fmt.Sprintf("programs without it are not: they may not see %s here, since %s", d.Locks, d.Hidden))
		}
		return safe(kept + "from programs without it, by locks in " + d.Locks)
	}},
	{"campaigns", func(d *Database) Finding {
		switch {
		case d.WaitingErr != nil:
			return unknown("which campaigns are to go on is not known: "+d.WaitingErr.Error(), "look again when the rest is mended")
		case len(d.Waiting) > 0:
			return unsafe(format.Count(len(d.Waiting), "campaign")+" to go on with, and no process holds the store: "+
				strings.Join(d.Waiting, ", "), "start `campaignd work`, or look at their pages why they wait")
		}
		held := 0
		for _, s := range d.Stores {
			if s.Holder != "" && !strings.HasPrefix(s.Name, ".") {
				held++
			}
		}
		return safe(fmt.Sprintf("of %s %d are held by a process; none that is to go on is held by none",
			format.Count(len(d.Stores), "store"), held))
	}},
}

// quorum is a value of synchronous_standby_names: the required number, and the names.
type quorum struct {
	any   bool // ANY, instead of the first of a list
	count int
	names []string
}

var quorumText = regexp.MustCompile(`(?is)^\s*(?:(any|first)?\s*(\d+)\s*\((.*)\)|(.*))\s*$`)

func readQuorum(text string) (q quorum) {
	m := quorumText.FindStringSubmatch(text)
	list := m[3]
	if q.any = strings.EqualFold(m[1], "any"); m[2] == "" {
		q.count, list = 1, m[4]
	} else {
		q.count, _ = strconv.Atoi(m[2]) // digits
	}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.Trim(strings.TrimSpace(name), `"`); name != "" {
			q.names = append(q.names, name)
		}
	}
	return q
}

func judgeNames(d *Database) Finding {
	text := d.Settings["synchronous_standby_names"]
	q := readQuorum(text)
	switch {
	case d.Standby:
		return Finding{}
	case len(q.names) == 0 && d.Single:
		return unsafe("the server waits for no standby, as the address allows (single=yes): its loss is that of the stores",
			"have backups; where no acknowledged event may be lost, follow it with two standbys")
	case len(q.names) == 0:
		return unsafe("the server waits for no standby: its loss is that of the stores",
			"set synchronous_standby_names = 'ANY 1 (…)', with two standbys")
	case slices.Contains(q.names, "*"):
		return unsafe(text+" lets any program that follows count as a standby, a backup too", "name the standbys")
	case !q.any:
		return unsafe(text+" waits for the first of the list: the others may lack acknowledged events, and the loss "+
			"of the first holds up all commits", fmt.Sprintf("set synchronous_standby_names = 'ANY %d (%s)'", q.count, strings.Join(q.names, ", ")))
	case q.count >= len(q.names):
		return unsafe(text+" waits for all of them: the loss of one holds up all commits", "add a standby")
	}
	return safe(text)
}

func judgeStandbys(d *Database) Finding {
	q := readQuorum(d.Settings["synchronous_standby_names"])
	switch {
	case d.Standby || len(q.names) == 0 && len(d.Standbys) == 0 && d.Single:
		return Finding{}
	case !d.Monitor:
		return unknown("the role does not see which standbys follow", "grant pg_monitor to it")
	}
	var list, silent []string
	names, addresses := make(map[string]bool), make(map[string]bool) // of the following ones
	late := 0
	for _, s := range d.Standbys {
		list = append(list, fmt.Sprintf("%s %s (%s)", s.Name, s.State, s.Sync))
		switch {
		case s.Silent > silenceTolerance:
			silent = append(silent, fmt.Sprintf("%s for %s", s.Name, s.Silent.Round(time.Second)))
		case s.State == "streaming" && (slices.Contains(q.names, s.Name) || slices.Contains(q.names, "*")):
			names[s.Name], addresses[s.Address] = true, true
		}
		if s.Behind > behindTolerance {
			late++
		}
	}
	following := len(names) // two that call themselves alike may be one
	says := strings.Join(list, ", ")
	switch {
	case len(silent) > 0:
		return unsafe(says+"; not answered by its own clock: "+strings.Join(silent, ", ")+", so that it hangs, or its clock is wrong",
			"look at that standby, and at its clock")
	case following < q.count:
		return unsafe(fmt.Sprintf("%d of the %d that a commit needs follow: nothing is acknowledged now", following, q.count),
			"bring a standby back; never empty synchronous_standby_names")
	case following == q.count:
		return unsafe(says+": one more that is lost, and nothing is acknowledged", "bring the other standby back, or add one")
	case late > 0:
		return unsafe(fmt.Sprintf("%s; %d of them is behind by more than %s", says, late, bytes(behindTolerance)), "look why")
	case len(addresses) < following:
		return unknown(says+"; several of them follow from one address: whether they are on different machines is not seen",
			"have each standby on a machine of its own")
	}
	return safe(says)
}

func judgeArchive(d *Database) Finding {
	a := d.Archive
	switch {
	case d.Standby:
		return Finding{}
	case d.Settings["archive_mode"] == "off":
		return unknown("the WAL is not archived (archive_mode is off); whether there is another backup is not seen",
			"archive the WAL with pgBackRest or barman, and try a restore; standbys keep no copy of yesterday")
	case a.Failed > 0 && a.LastFailed.After(a.Last):
		return unsafe("the WAL is not archived: the last attempt failed, "+a.LastFailed.UTC().Format(time.RFC3339),
			"look at the server's log; its disk fills until that is mended")
	case a.Last.IsZero():
		return unknown("archive_mode is on, and nothing was archived yet", "look again in a while")
	}
	return unknown("the WAL is archived, the last time "+a.Last.UTC().Format(time.RFC3339)+"; whether it can be restored is not seen",
		"try a restore now and then")
}

func judgeProcesses(d *Database) Finding {
	drives := make(map[string]bool) // by machine
	var list []string
	for _, p := range d.Processes {
		what := "only shows"
		if p.Drives {
			drives[cmp.Or(p.Machine, p.Host)] = true
			what = "drives " + format.Count(p.Campaigns(), "campaign")
		}
		list = append(list, fmt.Sprintf("%s %s", p.ID, what))
	}
	says := strings.Join(list, ", ")
	switch {
	case d.Schema == 0:
		return Finding{}
	case len(d.Processes) == 0:
		return unsafe("no process of the lab lives", "start `campaignd serve` and `campaignd work`")
	case len(drives) == 0:
		return unsafe(says+": none drives campaigns", "start `campaignd work`")
	case len(drives) == 1:
		return unsafe(says+": those that drive are on one machine", "start `campaignd work` on another machine")
	}
	return safe(says)
}

// bytes is a size as people read it.
func bytes(n int64) string {
	const units = "kMGTP"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	x, at := float64(n)/1000, 0
	for ; x >= 999.5 && at < len(units)-1; at++ {
		x /= 1000
	}
	return fmt.Sprintf("%.3g %cB", x, units[at])
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

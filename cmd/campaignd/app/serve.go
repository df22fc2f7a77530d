package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/telemetry"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/forward"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/lab/notify"
	"github.com/campaignd/campaignd/internal/web/server"
	"github.com/campaignd/campaignd/internal/web/server/gate"
)

// defaultAddress is where the server listens: on this machine alone.
const defaultAddress = "127.0.0.1:7070"

// serving holds the flags of serve. domains, proxy and cert exclude each other: they are three ways
// to TLS.
type serving struct {
	*app
	folder, address string
	drives          driving
	cert, key       string
	domains         []string
	proxy           string
	confined        bool
	attended        bool
	drain           time.Duration
}

// driving says which campaigns of a lab in a database a process drives.
type driving struct {
	// database is the address of the lab's database; empty for a lab in a folder.
	database string
	// instruments are those that the process reaches; nil for all.
	instruments []string
	// none is set where it drives no campaign.
	none bool
}

// flags are those of the commands that drive campaigns of a lab in a database.
func (d *driving) flags(flags *pflag.FlagSet, folder *string) {
	flags.StringVar(folder, "folder", ".", "with a database: the `folder` of lab.yaml and of what campaign files name")
	flags.StringSliceVar(&d.instruments, "instrument", nil,
		"with a database: drive no campaign at an instrument of lab.yaml but at these `names`")
}

// place reads the place of the lab from the arguments of a command: a folder, or the database of a
// lab, which may also come from --store where that names no store.
func (d *driving) place(a *app, args []string, folder *string) error {
	named := a.store
	if len(args) > 0 {
		named = args[0]
	}
	if !store.InDatabase(named) {
		if len(args) > 0 {
			*folder = args[0]
		}
		return nil
	}
	database, name, err := store.Split(named)
	if err != nil {
		return inputError{err}
	}
	if name != "" {
		return badInput("%s is a store: name the database of the lab, %s", named, database)
	}
	d.database = database
	return nil
}

// lab is where the lab is.
func (s serving) lab() string { return cmp.Or(s.drives.database, s.folder) }

// serveCommand is `campaignd serve`. The flags give the address and its protection; everything
// about people and instruments stands in lab.yaml.
var serveCommand = command{
	name:     "serve",
	args:     cobra.MaximumNArgs(1),
	oneOf:    []string{"tls-cert", "acme", "behind-proxy"},
	together: []string{"tls-cert", "tls-key"},
	new: func(flags *pflag.FlagSet) runner {
		var s serving
		s.drives.flags(flags, &s.folder)
		flags.BoolVar(&s.drives.none, "no-work", false, "with a database: drive no campaign, only show them")
		flags.StringVar(&s.address, "listen", defaultAddress, "the `address` to listen on")
		flags.StringVar(&s.cert, "tls-cert", "", "the certificate, with its chain, as a PEM `file`")
		flags.StringVar(&s.key, "tls-key", "", "its private key, as a PEM `file`")
		flags.StringSliceVar(&s.domains, "acme", nil,
			"get certificates of Let's Encrypt for these `domains`, whose terms you accept by that; port 443 must lead here")
		flags.StringVar(&s.proxy, "behind-proxy", "",
			"the `network` of a proxy that speaks TLS, and says in X-Forwarded-For who asks: 10.0.0.1/32")
		flags.BoolVar(&s.confined, "confined", false,
			"refuse campaign files that name a program, a file or an address")
		flags.BoolVar(&s.attended, "while-attended", false,
			"end when the standard input does: with the program that started the server")
		flags.DurationVar(&s.drain, "drain", 0,
			"after SIGTERM or Ctrl-C, serve for so much `longer` and say under /readyz that the server ends")
		return func(c *call, args []string) error {
			if err := s.drives.place(c.app, args, &s.folder); err != nil {
				return err
			}
			ctx := c.ctx
			if s.attended {
				var end context.CancelCauseFunc
				ctx, end = context.WithCancelCause(ctx)
				defer end(nil)
				go endWith(c.cmd.InOrStdin(), end)
			}
			s.app = c.app
			return s.serve(ctx)
		}
	},
}

// serve serves a folder until it is interrupted. Flags and files are checked before the lab is
// opened.
//
// The deferred calls end all parts in the reverse order: the lab and its campaigns, the listener,
// telemetry, and the accounts last. So the accounts are there for as long as anything may ask them.
//
// An interrupt is how a server ends, and not a failure: the exit code is 0.
func (s serving) serve(ctx context.Context) error {
	if s.drives.database == "" && lablog.Exists(s.folder) {
		return badInput("%s is a store, and not a folder of stores: serve it with `campaignd serve --store %s`",
			s.folder, shellArg(s.folder))
	}
	proxy, err := s.trusted()
	if err != nil {
		return err
	}
	named, err := labfile.ReadFolder(s.registry, s.folder)
	if err != nil {
		return inputError{err}
	}
	if named == nil {
		named = new(labfile.File)
	}
	people, closed, err := s.openAccounts(named)
	if err != nil {
		return err
	}
	defer closed()

	defer s.telemetry(ctx, s.dated)()
	listener, scheme, err := s.listen(proxy)
	if err != nil {
		return err
	}
	defer listener.Close()

	open, err := s.openLab(ctx, named, people)
	if err != nil {
		return err
	}
	defer open.close()
	web := server.New(s.served(named, open, gate.Options{Accounts: people, Proxy: proxy}))
	url := scheme + "://" + listener.Addr().String()
	if s.drives.database == "" {
		defer announced(open.lab.Private(), url)()
	}
	s.printf("Serving %s on %s\n", cmp.Or(s.drives.database, open.lab.Folder()), url)
	if !s.drives.none {
		s.sayLocks(s.drives.database != "")
	}
	off := s.services(named)
	if off.NoPasskeys != nil {
		s.printf("Passkeys are off: %v. %s\n", off.NoPasskeys, passkeysRemedy)
	}
	if off.NoOIDC != nil {
		s.printf("Logins with OpenID Connect are off: %v. To change that: mend it, and start the server again.\n", off.NoOIDC)
	}
	if off.NoRelay != nil {
		s.printf("Messages and brokers are off: %v\n", off.NoRelay)
	}
	defer background(ctx, func(ctx context.Context) {
		if err := people.Greet(ctx); err != nil && ctx.Err() == nil {
			s.dated("logins with OpenID Connect fail now: %v. It is asked again at each login.", err)
		}
	})()
	if people.Empty() {
		s.printf("There are no accounts: everybody on this machine may do everything here.\n" +
			"To change that: campaignd account add NAME --role admin\n")
	}
	err = web.Serve(ctx, listener)
	if errors.Is(context.Cause(ctx), errInterrupted) {
		s.remark("Interrupted. Everything so far is in the stores; the same command goes on.")
		return nil
	}
	return err
}

// passkeysRemedy explains how to get passkeys.
const passkeysRemedy = "To change that: url: https://NAME.DOMAIN in lab.yaml, or domain: under passkeys there."

// sayLocks says where the locks of this machine's devices are. shared is set for a lab in a
// database, whose log keeps its campaigns apart.
func (a *app) sayLocks(shared bool) {
	dir, hidden := lock.Look()
	switch {
	case hidden == "":
		a.printf("Locks of devices: %s\n", dir)
	case shared:
		a.printf("Locks of devices: %s, which other programs of this machine may not see: %s.\n"+
			"The lab's log keeps its own campaigns apart.\n", dir, hidden)
	default:
		a.printf("Locks of devices: %s, which other programs of this machine may not see: %s.\n"+
			"No real device is driven from here. To change that: %s.\n", dir, hidden, lock.Remedy())
	}
}

// endWith interrupts at the end of the attendant. The system closes a pipe however the program at
// its other end has ended, killed or not, so that no server is left behind that no one knows of.
func endWith(attendant io.Reader, end context.CancelCauseFunc) {
	_, _ = io.Copy(io.Discard, attendant)
	end(errInterrupted)
}

// announced writes down where the folder is served, for programs of this machine
// that would serve it too and find that another process does. It is a help and
// nothing more: where it cannot be written, they learn no more than that.
func announced(private, url string) (withdraw func()) {
	path := filepath.Join(private, "serving.json")
	text, err := json.Marshal(map[string]any{"url": url, "pid": os.Getpid()})
	if err == nil {
		err = wholefile.Replace(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return func() {}
	}
	return func() { _ = os.Remove(path) }
}

// listen listens at the address, within the bounds of connections, and speaks
// TLS there if the flags say so. The bounds are below TLS, so that a handshake
// that never ends counts as well. A certificate that cannot be read closes the
// port again.
func (s serving) listen(proxy *net.IPNet) (listener net.Listener, scheme string, err error) {
	if listener, err = net.Listen("tcp", s.address); err != nil {
		return nil, "", badInput("nobody can be served: %w; choose another address with --listen", err)
	}
	listener = gate.Bounded(listener, proxy)
	if !s.encrypts() {
		return listener, "http", nil
	}
	config, err := s.tls()
	if err != nil {
		_ = listener.Close()
		return nil, "", err
	}
	return tls.NewListener(listener, config), "https", nil
}

// openAccounts opens the accounts of the lab, for the commands that change them too, and refuses to
// listen where they do not protect it.
//
// safe is asked between the two, since it depends on whether any accounts exist; a server that is
// refused leaves no socket behind.
func (s serving) openAccounts(named *labfile.File) (people *accounts.Directory, closed func(), err error) {
	host, _, err := net.SplitHostPort(s.address)
	if err != nil {
		return nil, nil, badInput("--listen %s is not an address such as %s: %w", s.address,
			defaultAddress, err)
	}
	options := s.accountOptions(named)
	if people, err = accounts.Open(lablog.Address(s.lab()), options); err != nil {
		return nil, nil, err
	}
	err = s.safe(host, people.Empty())
	unreachable := func() {}
	if err != nil {
		people.Close()
		return nil, nil, err
	}
	if s.drives.database == "" { // else they are changed where they are
		if close, err := serveAccounts(accounts.Dir(s.folder), people); err == nil {
			unreachable = close
		} else {
			s.remark("`campaignd account` cannot change anything while this server runs: %v. "+
				"To change that: set TMPDIR to a folder of this machine.", err)
		}
	}
	return people, func() { unreachable(); people.Close() }, nil
}

// openedLab is a lab whose campaigns go on, and whose people are notified. close ends all of it.
type openedLab struct {
	lab       *lab.Lab
	notifier  *notify.Notifier
	forwarder *forward.Forwarder
	close     func()
}

// openLab opens the lab with its listeners: the notifier observes events and the forwarder reads
// them, both from the moment when the first campaign goes on. close ends the notifier first, and
// then the lab.
func (s serving) openLab(
	ctx context.Context, named *labfile.File, people *accounts.Directory,
) (*openedLab, error) {
	notifier, err := notify.New(notify.Options{
		Lab:    named,
		Own:    people.Lab().Store,
		Shared: people.Lab().Shared(),
		Build:  thisBuild().Build,
		Send:   notify.By(s.registry.Notifications),
		Log:    func(line string) { s.dated("%s", line) },
	})
	if err != nil {
		return nil, err
	}
	forwarder := forward.New(forward.Options{
		Targets: named.Forward,
		Log:     func(line string) { s.dated("%s", line) },
	})
	watched, err := telemetry.WatchForwards(forwarder.Behind)
	if err != nil {
		return nil, err
	}
	options := s.labOptions(s.folder, s.drives)
	options.Own = people.Lab()
	options.Reads = notifier.Serve
	options.ReadsOwn = notifier.Serve
	options.Forwards = forwarder.Serve
	if s.store != "" && s.drives.database == "" {
		options.Stores = []string{s.store}
	}
	l, err := lab.Open(ctx, options)
	if err != nil {
		watched()
		return nil, err
	}
	telling := make(chan struct{})
	notifying, stop := context.WithCancel(ctx)
	go func() {
		defer close(telling)
		notifier.Run(notifying)
	}()
	// The notifier ends first: its folded state belongs to stores that are there.
	end := func() {
		stop()
		<-telling
		l.Close()
		watched()
	}
	return &openedLab{l, notifier, forwarder, end}, nil
}

// labOptions are those of every command that opens a lab.
func (a *app) labOptions(folder string, drives driving) lab.Options {
	return lab.Options{
		Folder:      folder,
		Database:    drives.database,
		Watches:     drives.none,
		Instruments: drives.instruments,
		Registry:    a.registry,
		Build:       thisBuild().Build,
		Account:     control.OwnAccount(),
		Log:         a.dated,
	}
}

// served returns the content of the server, and its audience. Secure marks cookies as for HTTPS
// alone, also where a proxy speaks it. Signing is asked for at each checkpoint, so that a key that
// was made meanwhile is used.
func (s serving) served(named *labfile.File, open *openedLab, who gate.Options) server.Options {
	who.User = s.as
	who.Secure = s.encrypts() || who.Proxy != nil
	who.Confirm = make(map[string]bool)
	for _, act := range named.Accounts.Reauthenticate {
		who.Confirm[act] = true
	}
	return server.Options{
		Lab:      open.lab,
		Gate:     who,
		Drain:    s.drain,
		Version:  version(),
		Log:      s.dated,
		Confined: s.confined,
		URL:      named.URL,
		Reached:  open.notifier.Status,
		Forwards: open.forwarder.Status,
		Signer:   func() (note.Signer, error) { return signer("") },
	}
}

// dated remarks on something, with the time: a server's remarks are read later.
// A command's own remarks have none, since their reader is there.
func (a *app) dated(format string, args ...any) {
	a.remark("%s %s", clock.Now().Format(time.DateTime), fmt.Sprintf(format, args...))
}

// encrypts reports whether the server speaks TLS itself. Behind a proxy it does not: the proxy's
// connection to the world is not seen here.
func (s serving) encrypts() bool { return s.cert != "" || len(s.domains) > 0 }

// trusted is the network of the proxy that is trusted, nil for none. Only
// requests from it may say for whom they come; an address alone is written as a
// network of one, /32.
func (s serving) trusted() (*net.IPNet, error) {
	if s.proxy == "" {
		return nil, nil
	}
	_, network, err := net.ParseCIDR(s.proxy)
	if err != nil {
		return nil, badInput("--behind-proxy %s is not a network such as 10.0.0.1/32", s.proxy)
	}
	return network, nil
}

// safe refuses to listen where unknown people, or words that can be read on the way, would reach
// campaigns.
//
// An address of this machine needs nothing, unless a proxy leads to it. Elsewhere accounts and
// encryption are both required: one without the other protects no one. A name other than localhost
// counts as one of elsewhere, without being looked up: its address may change.
func (s serving) safe(host string, nobody bool) error {
	if nobody && s.proxy != "" { // on this machine too: all who reach the proxy would be served
		return badInput("--behind-proxy %s: there are no accounts, so that everybody whom the proxy lets through could do everything; "+
			"make one with `campaignd account add NAME --role admin --folder %s`", s.proxy,
			shellArg(s.lab()))
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	if nobody {
		return badInput("--listen %s: there are no accounts, so that everybody could do everything; "+
			"make one with `campaignd account add NAME --role admin --folder %s`, or listen on this machine alone, --listen %s",
			s.address, shellArg(s.lab()), defaultAddress)
	}
	if !s.encrypts() && s.proxy == "" {
		return badInput("--listen %s: passwords would cross the network in the clear; give --tls-cert and --tls-key, "+
			"--acme, or --behind-proxy, or listen on this machine alone, --listen %s", s.address,
			defaultAddress)
	}
	return nil
}

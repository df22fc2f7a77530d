package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
)

// With --server a command is about a campaign of a server. It works as with a store that another
// process holds: it reads the log over the protocol of internal/engine/control, and submits requests. Only
// the requests outside that protocol go through the API: beginning a campaign, having it run,
// having it suggest.

const (
	// serverVariable names a server for all commands of a user; tokenVariable
	// holds the token that identifies the caller there. A token is never an
	// argument: other users of the machine can read those.
	serverVariable = "CAMPAIGND_SERVER"
	tokenVariable  = "CAMPAIGND_TOKEN"
)

// checkServer refuses requests that cannot be made with --server, and an invalid address, before
// any command runs. It also refuses to send a token over an unencrypted connection that leaves the
// machine.
func (a *app) checkServer(cmd *cobra.Command) error {
	if a.server == "" {
		return nil
	}
	if cmd.Name() == "check" {
		return badInput("campaignd instrument check drives an instrument of this machine, "+
			"and %s or --server names the server %s: check it on its own machine", serverVariable, a.server)
	}
	u, err := url.Parse(a.server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return badInput(
			"--server %q is not an address such as https://lab.example.org or http://127.0.0.1:7070",
			a.server,
		)
	}
	a.server = strings.TrimRight(a.server, "/")
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && token() != "" && u.Hostname() != "localhost" &&
		(ip == nil || !ip.IsLoopback()) {
		return badInput("--server %s: everyone on the way could read the token in %s; use https",
			a.server, tokenVariable)
	}
	return nil
}

// token is the caller's token, empty where none is set.
func token() string { return os.Getenv(tokenVariable) }

// api is the server of --server. It is made anew for each use.
func (a *app) api() lab.Server {
	return lab.Server{URL: a.server, Token: token(), Registry: a.registry}
}

// remoteTarget finds the campaign of a server that a command is about: arg is its name or a
// campaign file, or empty for the server's only one. NAME@STORE chooses one of several stores of
// the server that hold the name.
//
// No request is made here: opening it shows whether the campaign exists.
func (a *app) remoteTarget(arg string) (target, error) {
	if a.store != "" {
		return target{}, badInput("--store names a store here, and --server a server: give " +
			"one of the two")
	}
	t := target{remote: true, store: a.campaign, campaign: a.campaign}
	switch info, err := os.Stat(arg); {
	case arg == "":
	case err == nil && info.Mode().IsRegular():
		// The file is read as without a server, for its name and its text: the
		// server gets the text, and keeps the store where it likes.
		local := *a
		local.server, local.campaign = "", ""
		if t, err = local.findTarget(arg); err != nil {
			return target{}, err
		}
		t.remote, t.store = true, t.campaign
	default:
		t.store = arg
		t.campaign, _, _ = strings.Cut(arg, "@")
	}
	if a.serverGiven {
		t.server = a.server
	}
	if a.campaign != "" && t.campaign != a.campaign {
		return target{}, badInput("%s is not the campaign %s", arg, a.campaign)
	}
	return t, nil
}

// where says where a target is kept, for people and programs: a folder, or an
// address.
func (a *app) where(t target) string {
	if t.remote {
		return a.api().Where(t.store)
	}
	return t.store
}

// named finds the campaign of the server that a command is about where the
// command did not name it. Several are an error that lists them.
func (a *app) named(ctx context.Context, t target) (target, error) {
	if t.store != "" {
		return t, nil
	}
	var list struct {
		Campaigns []struct {
			Campaign string `json:"campaign"`
		} `json:"campaigns"`
	}
	if err := a.api().Get(ctx, "/campaigns?limit=1000", &list); err != nil {
		return t, err
	}
	var names []string
	for _, c := range list.Campaigns {
		names = append(names, c.Campaign)
	}
	switch len(names) {
	case 0:
		return t, badStore("the server has no campaign yet; `campaignd run FILE` begins one")
	case 1:
		t.store, t.campaign = names[0], names[0]
		return t, nil
	}
	return t, badInput("the server has several campaigns: name one of %s",
		strings.Join(names, ", "))
}

// dial connects to the campaign of a server. The caller closes the session.
func (a *app) dial(ctx context.Context, t target) (*session, error) {
	t, err := a.named(ctx, t)
	if err != nil {
		return nil, err
	}
	remote, err := a.api().Open(ctx, t.store)
	if err != nil {
		return nil, err
	}
	remote.Lost = func(err error) { a.remark("%v; it is tried again.", err) }
	return &session{Store: remote, folder: t.store, name: t.campaign}, nil
}

// onServer is the path, below the API's root, of something of the target's
// campaign.
func onServer(t target, what string) string {
	return "/campaigns/" + url.PathEscape(t.store) + what
}

// hasCampaign reports whether the target's store exists, or its campaign on the server. Without a
// file a missing campaign is an error, because there is nothing to begin it from.
func (a *app) hasCampaign(ctx context.Context, t target) (bool, error) {
	if !t.remote {
		return t.hasStore()
	}
	s, err := a.dial(ctx, t)
	if errors.Is(err, problem.NoCampaign) && t.file != nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.Close()
}

// beginRemote begins the campaign of a file on the server, and has it run there if run is set.
// seed, where not nil, takes the place of the file's.
//
// The server reads the text itself, with its own registry and lab file: it decides there which
// instrument or channel a name stands for.
func (a *app) beginRemote(ctx context.Context, t target, run bool, seed *uint64) error {
	actor, err := a.actor()
	if err != nil {
		return err
	}
	query := url.Values{"run": {strconv.FormatBool(run)}, "as": {actor}}
	if seed != nil {
		query.Set("seed", strconv.FormatUint(*seed, 10))
	}
	return a.api().Post(ctx, "/campaigns?"+query.Encode(), lab.YAML(t.file.Source), nil)
}

// runRemote has the server run a campaign, and prints its story until it ends. An interrupt ends
// the printing alone: the server goes on.
//
// Its steps are those of run, without the equipment: begin a missing campaign, compare the file,
// have it run, watch, summarize.
func runRemote(a *call, t target, seed *uint64) error {
	ctx := a.ctx
	exists, err := a.hasCampaign(ctx, t)
	if err != nil {
		return err
	}
	if !exists {
		if err := a.beginRemote(ctx, t, true, seed); err != nil {
			return err
		}
	}
	s, err := a.dial(ctx, t)
	if err != nil {
		return err
	}
	defer s.Close()
	t.store, t.campaign = s.folder, s.name
	core, err := s.core(ctx)
	if err != nil {
		return err
	}
	if exists && t.file != nil {
		if err := a.compare(ctx, t, core.State()); err != nil {
			return err
		}
	}
	// The story of a campaign that was begun here is printed also where it has ended by now. A
	// campaign that runs there already is only watched.
	if over := lab.Over(core); !exists || !over {
		if !over && lab.RunningIn(s, s.name) == nil {
			if err := a.api().Post(ctx, onServer(t, "/run"), nil, nil); err != nil {
				return err
			}
		}
		if err := tellStory(a, s); err != nil {
			return err
		}
		if errors.Is(context.Cause(ctx), errInterrupted) {
			a.remark("The server goes on with %s. Follow it again with: campaignd run %s",
				s.name, t)
			return errors.Join(errReported, context.Cause(ctx))
		}
		if core, err = s.core(ctx); err != nil {
			return err
		}
	}
	return a.summarize(ctx, core, t, "", nil)
}

// tellStory prints the events of a campaign until it has ended, or ctx is done. An interrupt does
// not count as an error here.
func tellStory(a *call, s *session) error {
	out := a.stdout
	if a.json {
		out = a.stderr
	}
	story := newTeller(nil, func(lines []string) { fmt.Fprintln(out, strings.Join(lines, "\n")) })
	defer story.rest()
	// A core is folded besides, because an event that ends a campaign may be
	// followed by one that has it go on: only the state after the last event
	// says that it is over.
	core := engine.NewCore(a.registry)
	return followCampaign(a.ctx, s.Log(), s.name, func(e events.Event) error {
		payload, err := events.Decode(e)
		if err != nil {
			return err
		}
		story.tell(e, payload, false)
		if err := core.Apply(e); err != nil {
			return err
		}
		// The stream of events never ends by itself. Where the log goes on
		// behind this event the campaign was continued long ago, and the story
		// goes on.
		if slices.Contains(ends, e.Kind) && lab.Over(core) {
			last, err := s.Log().LastSequence(a.ctx, s.name)
			if err == nil && last == e.Sequence {
				err = errFollowed
			}
			return err
		}
		return nil
	})
}

// ends are the kinds of events with which a campaign ends, for now: it can be
// continued after each.
var ends = []events.Kind{events.KindCampaignCompleted, events.KindCampaignStopped}

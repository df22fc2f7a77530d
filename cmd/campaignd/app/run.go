package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/view"
)

// runCommand is `campaignd run`: it drives one campaign in this process, or has
// a server do so.
var runCommand = command{
	name: "run",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var seed uint64
		var keep keeping
		flags.Uint64Var(&seed, "seed", 0, "the seed of a new campaign, instead of the file's")
		flags.StringVar(&keep.file, "checkpoint", "",
			"keep a checkpoint of the ended campaign's log in this `file`")
		flags.StringVar(&keep.command, "checkpoint-command", os.Getenv(checkpointCommandVariable),
			"give a checkpoint of the ended campaign's log to this shell `command` (default: "+
				checkpointCommandVariable+" of the environment)")
		return func(c *call, args []string) error {
			t, err := c.optionalTarget(args)
			if err != nil {
				return err
			}
			var wanted *uint64
			// A pointer, because 0 is refused as a seed and "not given" must leave the seed of the
			// file, or of the store, as it is.
			if c.cmd.Flags().Changed("seed") {
				if seed == 0 {
					return badInput("--seed must be at least 1")
				}
				wanted = &seed
			}
			if t.remote {
				// The command from the environment is not a mistake with --server: it is meant for
				// the stores of this machine.
				if keep != (keeping{command: os.Getenv(checkpointCommandVariable)}) {
					return badInput("--checkpoint and --checkpoint-command are for stores of this machine: " +
						"GET /api/v1/campaigns/NAME/checkpoint of the server has one")
				}
				return runRemote(c, t, wanted)
			}
			r := running{app: c.app, target: t, keep: keep}
			return r.run(c.ctx, wanted)
		}
	},
}

// run drives a campaign to its end. Every possible fault is found, in order of cost, before the
// instrument hears of anything: the name of the person, another process at the store, then those of
// prepare.
//
// A campaign that has ended is only answered for: neither instrument nor expert is opened.
func (r *running) run(ctx context.Context, seed *uint64) error {
	if _, err := r.actor(); err != nil {
		return err
	}
	if err := notHeld(ctx, r.target); err != nil {
		return err
	}
	defer r.telemetry(ctx, nil)()
	defer r.release()
	if err := r.prepare(ctx, seed); err != nil {
		return err
	}
	if r.over != nil {
		return r.answer(ctx)
	}
	err := r.drive(ctx)
	// The store is released before the message is printed, so that a person who
	// types the command again at once does not find it in use.
	if errors.Is(err, errInterrupted) {
		r.release()
		r.remark("Interrupted. Everything so far is in %s. Go on with: campaignd run %s",
			r.target.store, r.target)
		return errors.Join(errReported, err)
	}
	if err != nil {
		return err
	}
	return r.finish(ctx)
}

// notHeld is an error where another process runs the store; it says how to
// watch that run. Without it the store's lock would refuse as well, but could
// not name the campaign. The answer can be out of date at once; the lock of the
// store decides.
func notHeld(ctx context.Context, t target) error {
	owner, err := control.Dial(ctx, t.store)
	if errors.Is(err, control.ErrNobody) {
		return nil
	}
	if err != nil {
		return storeError{err}
	}
	defer owner.Close()
	status := owner.Status()
	what := "the store " + t.store
	if len(status.Campaigns) > 0 {
		what = status.Campaigns[0].Campaign
	}
	since := status.Since.Local().Format(time.DateTime)
	return badStore("%s is being run by process %d since %s; "+
		"watch it with `campaignd status %s` or `campaignd events --follow %s`", what, status.PID, since, t, t)
}

// running is a campaign that this command runs. Its fields are filled in this order: prepare opens
// the store and the equipment, drive makes the run. release closes all that was opened, from any of
// these states.
type running struct {
	*app
	target target
	keep   keeping

	local     *lab.Local       // nil before the store is open
	display   display          // nil before assemble
	equipment *equip.Equipment // the definition's instrument and channels, open; owned here
	campaign  *lab.Run         // nil before drive
	known     events.Sequence  // the store's last event at first: earlier ones are not shown again
	over      *engine.Core     // the campaign, where it had ended before
	shown     view.Shown       // the last results of computations in the background
}

// prepare opens the store and everything that the campaign names, and writes the definition of a
// new one. Any fault is found before anything is written.
//
// r.over is set where there is nothing to be run.
func (r *running) prepare(ctx context.Context, seed *uint64) error {
	core, err := r.load(ctx)
	if err != nil {
		return err
	}
	if core == nil {
		return r.begin(ctx, seed)
	}
	def := core.State().Definition
	if seed != nil && *seed != def.Seed {
		return badInput("the campaign in %s has the seed %d, not %d: a campaign keeps its seed. "+
			"Leave --seed out to continue it, or start another one with --store OTHER%s",
			r.target.store, def.Seed, *seed, store.Ending)
	}
	// The file and the store may have drifted apart. Nothing is changed on the
	// quiet: compare refuses, and names the difference and `campaignd amend`.
	if r.target.file != nil {
		if err := r.compare(ctx, r.target, core.State()); err != nil {
			return err
		}
	}
	if lab.Over(core) {
		r.over = core // neither the instrument nor an expert is needed
		return nil
	}
	r.known = core.State().Sequence
	return r.assemble(ctx, *def)
}

// load opens the store and folds the campaign. It returns nil without an error where the campaign
// is yet to be begun: the store does not exist, or holds other campaigns only.
func (r *running) load(ctx context.Context) (*engine.Core, error) {
	exists, err := r.target.hasStore()
	if err != nil {
		return nil, err
	}
	if !exists {
		if r.target.file == nil {
			return nil, badStore("there is no store %s yet; %s", r.target.store, r.target.howToBegin())
		}
		return nil, nil
	}
	if err := r.openStore(ctx); err != nil {
		return nil, err
	}
	// The target was a store and not a file, so the campaign's name is not
	// known from the arguments.
	if r.target.campaign == "" {
		if r.target.campaign, err = onlyOf(r.local.Events().Campaigns(ctx)); err != nil {
			return nil, err
		}
	}
	core, err := r.local.Load(ctx, r.target.campaign)
	if errors.Is(err, engine.ErrNoCampaign) && r.target.file != nil {
		return nil, nil // the store holds other campaigns
	}
	return core, err
}

// openStore opens the store, and makes a missing one. From here on no other process can run its
// campaigns; release gives it up.
func (r *running) openStore(ctx context.Context) error {
	h, err := r.openLocal(ctx, r.target.store, lab.LocalOptions{
		Remark: func(_, text string) { r.warn(text) },
	})
	r.local = h
	return err
}

// warn shows a line that is about no event. While a picture is drawn it goes
// above that, because a line printed elsewhere would be drawn over.
func (r *running) warn(text string) {
	if r.display == nil {
		r.remark("%s", text)
		return
	}
	r.display.remark(text)
}

// begin writes the definition of a new campaign, once everything that it names
// could be opened and fits it. The store is made last: a campaign that cannot
// begin leaves no empty store behind.
//
// What Prepare returns is recorded: the definition with the defaults, the
// candidates and the units that the instrument has.
func (r *running) begin(ctx context.Context, seed *uint64) error {
	def := r.target.file.Definition
	if seed != nil {
		def.Seed = *seed
	}
	if err := r.assemble(ctx, def); err != nil {
		return err
	}
	prepared := def
	// A device may be switched off. It is asked again, with r.off to say so,
	// until it describes itself or the person gives up; only then are the
	// bounds and units of the definition checked against it.
	err := equip.Described(ctx, func() (err error) {
		prepared, err = r.equipment.Prepare(ctx, def, r.target.file.Source)
		return err
	}, r.off)
	if err != nil {
		return err
	}
	def = prepared
	if err := lab.Alone(&def, r.target.store); err != nil {
		return err
	}
	if r.local == nil {
		if err := r.openStore(ctx); err != nil {
			return err
		}
	}
	return r.define(ctx, r.local, r.target, def)
}

// off says that the instrument is waited for. The error is not final: a device
// that is switched on later ends the wait.
func (r *running) off(err error, again time.Duration) {
	r.warn(fmt.Sprintf("%v; asked again in %s (Ctrl-C ends the wait)", err, format.Duration(again)))
}

// assemble opens the equipment of the definition: the instrument and the channels to the experts.
// Questions to experts are asked by the display, which is therefore made first.
func (r *running) assemble(ctx context.Context, def definition.Campaign) error {
	r.newDisplay()
	equipment, err := equip.Open(ctx, r.registry, def, instruments.Environment{
		Folder:   r.target.base,
		Store:    r.target.store,
		Prompter: r.display,
		Logf:     func(format string, args ...any) { r.warn(fmt.Sprintf(format, args...)) },
	})
	r.equipment = equipment
	return err
}

// newDisplay chooses how progress is shown, and where: drawn, where both ends
// are a terminal, else line by line. With --json standard output belongs to the
// one document, so progress goes to standard error.
func (r *running) newDisplay() {
	var out io.Writer = r.stdout
	if r.json {
		out = r.stderr
	}
	if isTerminal(out) && isTerminal(r.stdin) {
		r.display = newLive(r.stdin, beneath(out).(io.Writer), r.known, r.interrupt)
		return
	}
	r.display = newPlain(r.stdin, out, r.known, r.target)
}

// hooks draw where the campaign stands. They are called from the loop of the
// campaign, one at a time, and must not block it. shown keeps the last summary,
// so that a picture in between two summaries does not lose it. What the
// campaign waits for becomes a clause with command lines here, since the engine
// knows none.
func (r *running) hooks() lab.Hooks {
	return lab.Hooks{
		Observe: func(core *engine.Core, wait engine.Wait) {
			r.display.stands(r.stands(core, r.about.clause(wait.For, wait.Remedies)))
		},
		Summarized: r.shown.Keep,
		Working: func(core *engine.Core, computation engine.Computation) {
			now := r.stands(core, "")
			now.Computing = computation
			r.display.stands(now)
		},
	}
}

// stands is the state of the campaign while it runs, as far as the display shows it. Where no
// decision reads a model, none is fitted on the way.
func (r *running) stands(core *engine.Core, waits string) view.Campaign {
	if _, lines := r.display.(*plain); lines {
		return view.Standing(core, waits)
	}
	now := view.CampaignOf(core, r.shown, waits)
	if now.NoModel == engine.BeingWorkedOut && !core.ReadsModel() {
		now.NoModel = "is worked out at the end"
	}
	return now
}

// drive runs the campaign until it ends or ctx does. The order of the deferred
// calls matters: the feed is closed first, after it has shown the last event,
// then the socket, so that no other command reaches a campaign that is being
// closed, and the campaign last.
func (r *running) drive(ctx context.Context) error {
	var c *lab.Run
	err := equip.Described(ctx, func() (err error) {
		c, err = r.local.Start(ctx, r.target.campaign, r.equipment, r.hooks())
		return err
	}, r.off)
	if err != nil {
		return err
	}
	defer c.Close()
	r.campaign = c

	server, err := r.local.Serve()
	// A run without a socket is worth more than none: a store on a network file
	// system, or with a long path, cannot have one.
	if err != nil {
		r.warn(fmt.Sprintf("other commands cannot reach this run: %v", err))
	} else {
		defer server.Close()
	}
	r.display.open()
	lasting := context.WithoutCancel(ctx) // an interrupted campaign is shown to its last event
	feed := startFeed(lasting, r.local.Log(), r.target.campaign, r.known, r.display)
	defer func() {
		last, _ := r.local.Log().LastSequence(lasting, r.target.campaign)
		feed.close(last)
	}()
	r.display.stands(r.stands(c.Core(), ""))
	defer background(ctx, func(ctx context.Context) { lab.WatchClock(ctx, r.warn) })()
	return c.Run(ctx)
}

// background calls f in a goroutine of its own until end, which waits for it.
func background(ctx context.Context, f func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { f(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// finish writes the report of a campaign that has just ended and prints its
// summary. The display is closed first: report, checkpoint and summary are
// printed below it.
func (r *running) finish(ctx context.Context) error {
	r.display.close()
	path := r.report(ctx)
	r.checkpoint(ctx)
	return r.summarize(ctx, r.campaign.Core(), r.target, path, r.undecided(ctx))
}

// answer prints the summary of a campaign that had ended before. The report is
// written only where it is missing: it says the same every time.
func (r *running) answer(ctx context.Context) error {
	path := reportPath(r.target.store, r.target.campaign)
	if _, err := os.Stat(path); err != nil {
		path = r.report(ctx)
	}
	r.checkpoint(ctx)
	return r.summarize(ctx, r.over, r.target, path, r.undecided(ctx))
}

// undecided says, for each expert whose candidates a rule eliminates, how many
// may still be the best. It is read from the last decision that records an
// elimination for that expert. Where the log cannot be read the summary just
// lacks the remark.
func (r *running) undecided(ctx context.Context) map[string]string {
	left := make(map[string]string)
	for e, err := range events.ReadKinds(
		ctx, r.local.Log(), r.target.campaign, events.KindDecisionMade,
	) {
		if err != nil {
			break
		}
		payload, err := events.Decode(e)
		if err != nil {
			break
		}
		if d, ok := payload.(*events.DecisionMade); ok && d.Elimination != nil && d.Expert != "" {
			// A rule that has come down to one candidate has nothing to remark.
			left[d.Expert] = ""
			if d.Elimination.Kept > 1 {
				left[d.Expert] = fmt.Sprintf("%d of %s may still be the best",
					d.Elimination.Kept, format.Count(d.Elimination.Candidates, "candidate"))
			}
		}
	}
	return left
}

// checkpoint keeps a checkpoint of an ended campaign if the user asked for one. A failure is a
// remark and not an error: the campaign is complete without it, and a checkpoint can be made at any
// time.
func (r *running) checkpoint(ctx context.Context) {
	if r.keep == (keeping{}) {
		return
	}
	c, err := r.app.checkpointOf(ctx, r.local.Events())
	if err == nil {
		err = r.handOver(ctx, r.local.Events(), c, r.keep)
	}
	if err != nil {
		r.remark("The checkpoint was not kept: %v. Make one with: campaignd checkpoint %s",
			err, shellArg(r.target.store))
	}
}

// report writes the report and returns its path, empty where it could not be
// written. That is a remark and not an error: the report follows from the log,
// and can be written at any time.
func (r *running) report(ctx context.Context) string {
	path := reportPath(r.target.store, r.target.campaign)
	t, log := r.target, r.local.Events()
	checkpoint, mode := r.checkpointText(ctx, log), storeMode(t.store)
	err := r.writeReport(ctx, log, t.campaign, t.store, path, checkpoint, mode)
	if err != nil {
		r.remark("The report could not be written: %v. Try again with: campaignd report %s",
			err, r.target.store)
		return ""
	}
	return path
}

// release closes the display, the equipment and the store, in this order: an
// instrument may still say something while it closes, which the display should
// show, and may need its folder in the store. A second call does nothing.
func (r *running) release() {
	if r.display != nil {
		r.display.close()
	}
	if r.equipment != nil {
		if err := r.equipment.Close(); err != nil {
			r.remark("The instrument did not close: %v", err)
		}
		r.equipment = nil
	}
	if r.local != nil {
		if err := r.local.Close(); err != nil {
			r.remark("The store did not close: %v", err)
		}
		r.local = nil
	}
}

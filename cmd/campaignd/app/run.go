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

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/pebblelog"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/telemetry"
	"github.com/campaignd/campaignd/internal/view"
)

func (a *app) runCommand() *cobra.Command {
	var seed uint64
	var keep keeping
	cmd := &cobra.Command{
		Use:   "run [FILE | STORE]",
		Short: "Start a campaign, or continue what its store holds",
		Long: `Start the campaign that FILE describes, or continue it from its store.

The store is NAME.campaign beside the file. What was under way when an earlier
run ended, in whatever way, is asked of the instrument; nothing is repeated on a
guess. The store of a finished campaign just answers. Where the file and the
store differ, nothing is changed and the difference is named.

In a terminal the progress is drawn and questions are asked; otherwise a line is
printed for each event worth reading. Ctrl-C leaves; the same command goes on.

When the campaign has ended, --checkpoint keeps a checkpoint of its log in a file
and --checkpoint-command hands one to a command on its standard input, for example
to a witness, a mail or a repository; see ` + "`campaignd checkpoint`" + `.`,
		Example: `  campaignd run examples/electrolyte.yaml
  campaignd run examples/electrolyte.yaml --seed 7 --store /tmp/seed7.campaign
  campaignd run examples/electrolyte.yaml --json > result.json
  campaignd run electrolyte.campaign
  campaignd run electrolyte.campaign --checkpoint-command "mail -s checkpoint qa@lab.example"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			arg := ""
			if len(args) > 0 {
				arg = args[0]
			}
			t, err := a.target(arg)
			if err != nil {
				return err
			}
			var wanted *uint64
			if cmd.Flags().Changed("seed") {
				if seed == 0 {
					return badInput("--seed must be at least 1")
				}
				wanted = &seed
			}
			return a.run(cmd.Context(), t, wanted, keep)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "the seed of a new campaign, instead of the file's")
	cmd.Flags().StringVar(&keep.file, "checkpoint", "", "keep a checkpoint of the ended campaign's log in this `file`")
	cmd.Flags().StringVar(&keep.command, "checkpoint-command", os.Getenv(checkpointCommandVariable),
		"give a checkpoint of the ended campaign's log to this shell `command` (default: "+checkpointCommandVariable+" of the environment)")
	return cmd
}

// run drives a campaign to its end.
func (a *app) run(ctx context.Context, t target, seed *uint64, keep keeping) error {
	if _, err := a.actor(); err != nil {
		return err
	}
	if owner, err := control.Dial(ctx, t.store); err == nil {
		defer owner.Close()
		return badStore("%s is being run by process %d since %s; watch it with `campaignd status %s` or `campaignd events --follow %s`",
			owner.Status().Campaign, owner.Status().PID, owner.Status().Since.Local().Format(time.DateTime), t, t)
	} else if !errors.Is(err, control.ErrNobody) {
		return storeError{err}
	}
	flush, err := telemetry.Setup(ctx, version())
	if err != nil {
		return badInput("%w", err)
	}
	defer func() {
		if err := flush(context.WithoutCancel(ctx)); err != nil {
			a.remark("%v", err)
		}
	}()
	r := &running{app: a, target: t, began: time.Now(), keep: keep}
	defer r.release()
	if err := r.prepare(ctx, seed); err != nil {
		return err
	}
	if r.over != nil {
		return r.answer(ctx)
	}
	if err := r.drive(ctx); err != nil {
		if errors.Is(err, errInterrupted) {
			r.release()
			a.remark("Interrupted. Everything so far is in %s. Go on with: campaignd run %s", t.store, t)
			return errors.Join(errReported, err)
		}
		return err
	}
	return r.finish(ctx)
}

// running is a campaign that this process runs.
type running struct {
	*app
	target target
	began  time.Time
	keep   keeping

	log        *pebblelog.Log
	display    display
	instrument instruments.Instrument
	reviewers  map[string]humans.Reviewer
	runner     *engine.Runner
	seen       *seen           // nil where nothing is to be remembered of the store
	known      events.Sequence // what the store held at first
	over       *engine.Core    // the campaign, where it had ended before
	unlock     func()          // gives the device back; nil where it is not ours alone

	mu        sync.Mutex
	wait      engine.Wait
	computing engine.Computation
}

// prepare opens the store and everything that the campaign names, and writes
// the definition of a new one. Whatever is wrong is found before anything is
// written.
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
		return badInput("the campaign in %s has the seed %d, not %d: a campaign keeps its seed. Leave --seed out to continue it, or start another one with --store OTHER%s",
			r.target.store, def.Seed, *seed, storeEnding)
	}
	if r.target.file != nil {
		if err := r.compare(ctx, r.target, core.State()); err != nil {
			return err
		}
	}
	if isOver(core) {
		r.over = core // neither the instrument nor an expert is needed
		return nil
	}
	r.known = core.State().Sequence
	return r.assemble(ctx, *def)
}

// load opens the store and folds the campaign; nil where there is none yet.
func (r *running) load(ctx context.Context) (core *engine.Core, err error) {
	exists, err := r.target.hasStore()
	if err != nil {
		return nil, err
	}
	if !exists {
		if r.target.file == nil {
			return nil, badStore("there is no store %s yet; `campaignd run FILE` makes one", r.target.store)
		}
		return nil, nil
	}
	if r.log, err = openOwn(ctx, r.target.store); err != nil {
		return nil, err
	}
	if r.target.campaign == "" {
		if r.target.campaign, err = onlyCampaign(ctx, r.log); err != nil {
			return nil, err
		}
	}
	core, err = engine.Load(ctx, r.registry, r.log, r.target.campaign)
	if errors.Is(err, engine.ErrNoCampaign) && r.target.file != nil {
		return nil, nil // the store holds other campaigns
	}
	return core, err
}

// begin writes the definition of a new campaign, once everything it names
// could be opened and fits it.
func (r *running) begin(ctx context.Context, seed *uint64) error {
	def := r.target.file.Definition
	if seed != nil {
		def.Seed = *seed
	}
	err := r.assemble(ctx, def)
	if err != nil {
		return err
	}
	if def, err = withCandidates(ctx, def, r.instrument); err != nil {
		return err
	}
	if err := checkCompatible(ctx, r.instrument, def); err != nil {
		return err
	}
	if err := r.lockNew(ctx, def); err != nil {
		return err
	}
	if r.log == nil {
		if r.log, err = openOwn(ctx, r.target.store); err != nil {
			return err
		}
		r.runner.Log = r.log
	}
	return r.define(ctx, r.log, r.target, def)
}

// assemble opens what the definition names.
func (r *running) assemble(ctx context.Context, def definition.Campaign) (err error) {
	r.newDisplay()
	env := instruments.Environment{
		Folder:   r.target.base,
		Store:    r.target.store,
		Prompter: r.display,
		Logf:     func(format string, args ...any) { r.display.remark(fmt.Sprintf(format, args...)) },
	}
	if r.instrument, err = openInstrument(ctx, r.registry, def, env); err != nil {
		return err
	}
	if r.reviewers, err = openReviewers(ctx, r.registry, def, r.display); err != nil {
		return err
	}
	r.runner = &engine.Runner{
		Registry: r.registry,
		Log:      r.log, Campaign: def.Name, Instrument: r.instrument, Reviewers: r.reviewers, Build: thisBuild().Build,
		Account: control.OwnAccount(), Observe: r.observe, Working: r.working, Standing: true,
		Lock: r.lock,
	}
	return nil
}

// isOver reports whether nothing is left to be done or recorded.
func isOver(core *engine.Core) bool {
	if !core.State().Status.Ended() {
		return false
	}
	step, err := core.Next(engine.World{Now: time.Now()})
	return err == nil && step == engine.Step(engine.Done{})
}

// newDisplay chooses how progress is shown, and where.
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

// observe is called by the engine's loop.
func (r *running) observe(core *engine.Core, wait engine.Wait) {
	r.mu.Lock()
	r.wait, r.computing = wait, engine.Computation{}
	r.mu.Unlock()
	r.display.stands(view.ProgressOf(core, r.about.clause(wait.For, wait.Remedies)))
}

// working is called by the engine's loop when something has been computed for a while, and when
// it has been done.
func (r *running) working(core *engine.Core) {
	now := view.ProgressOf(core, "")
	now.Computing = r.runner.Computing()
	r.mu.Lock()
	r.wait, r.computing = engine.Wait{}, now.Computing
	r.mu.Unlock()
	r.display.stands(now)
}

// drive runs the campaign until it ends or ctx does.
func (r *running) drive(ctx context.Context) (err error) {
	if err := r.runner.Start(ctx); err != nil {
		return err
	}
	meter, stopMeter, err := newMeter(r.runner.Core().State())
	if err != nil {
		return err
	}
	defer stopMeter()
	r.runner.Meter = meter
	r.watch(r.runner.Core().State())

	ended, end := context.WithCancelCause(ctx)
	defer end(nil)
	server, err := control.Serve(r.target.store, r.service(ended))
	if err != nil {
		r.display.remark(fmt.Sprintf("other commands cannot reach this run: %v", err))
	} else {
		defer server.Close()
	}
	r.display.open()
	feed, err := startFeed(context.WithoutCancel(ctx), r.log, r.runner.Campaign, r.known, r.display)
	if err != nil {
		return err
	}
	defer func() {
		last, _ := r.log.LastSequence(context.WithoutCancel(ctx), r.runner.Campaign)
		feed.close(last)
	}()
	r.display.stands(view.ProgressOf(r.runner.Core(), ""))
	err = r.runner.Run(ctx)
	end(errRunEnded)
	return err
}

// errRunEnded means that a run ended while a request was on its way to it. The
// request was not recorded.
var errRunEnded = fmt.Errorf("%w: the run has just ended; try again", events.ErrClosed)

// service is what the run offers to other commands.
func (r *running) service(running context.Context) control.Service {
	status := control.Status{PID: os.Getpid(), Since: r.began, Campaign: r.runner.Campaign, Build: thisBuild().Build}
	return control.Service{
		Log: r.log,
		Submit: func(ctx context.Context, name string, request engine.Request) ([]events.Event, error) {
			if name != r.runner.Campaign {
				core, err := engine.Load(ctx, r.registry, r.log, name)
				if err != nil {
					return nil, err
				}
				return engine.Submit(ctx, r.log, core, request, time.Now())
			}
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(running, func() { cancel(errRunEnded) })()
			return r.runner.Submit(ctx, request)
		},
		Verify: func(ctx context.Context) (control.Verified, error) { return verifyLog(ctx, r.log) },
		Status: func() control.Status {
			r.mu.Lock()
			defer r.mu.Unlock()
			now := status
			now.WaitingFor, now.Remedies = r.wait.For, r.wait.Remedies
			now.Computing, now.ComputingSince = r.computing.What, r.computing.Since
			return now
		},
	}
}

// finish writes the report of a campaign that has just ended and prints its
// summary.
func (r *running) finish(ctx context.Context) error {
	r.display.close()
	path := r.report(ctx)
	r.checkpoint(ctx)
	return r.summarize(ctx, r.runner.Core(), r.target, path, r.undecided(ctx))
}

// answer prints the summary of a campaign that had ended before.
func (r *running) answer(ctx context.Context) error {
	path := reportPath(r.target.store, r.target.campaign)
	if _, err := os.Stat(path); err != nil {
		path = r.report(ctx)
	}
	r.checkpoint(ctx)
	return r.summarize(ctx, r.over, r.target, path, r.undecided(ctx))
}

// undecided says, for each expert whose candidates a rule strikes out, how many may
// still be the best. What cannot be read is not said.
func (r *running) undecided(ctx context.Context) map[string]string {
	left := make(map[string]string)
	for e, err := range events.ReadCampaign(ctx, r.log, r.target.campaign, 0) {
		if err != nil {
			break
		}
		if e.Kind != events.KindDecisionMade {
			continue
		}
		payload, err := events.Decode(e)
		if err != nil {
			break
		}
		if d, ok := payload.(*events.DecisionMade); ok && d.Elimination != nil && d.Expert != "" {
			left[d.Expert] = ""
			if d.Elimination.Kept > 1 {
				left[d.Expert] = fmt.Sprintf("%d of %s may still be the best", d.Elimination.Kept, format.Count(d.Elimination.Candidates, "candidate"))
			}
		}
	}
	return left
}

// checkpoint keeps a checkpoint of an ended campaign where that is wanted. The
// campaign is none the worse for a failure.
func (r *running) checkpoint(ctx context.Context) {
	if r.keep == (keeping{}) {
		return
	}
	c, err := r.app.checkpointOf(ctx, r.log)
	if err == nil {
		err = r.handOver(ctx, r.log, c, r.keep)
	}
	if err != nil {
		r.remark("The checkpoint was not kept: %v. Make one with: campaignd checkpoint %s", err, shellArg(r.target.store))
	}
}

// report writes the report and returns its path, empty where it could not be
// written: the campaign is none the worse for it.
func (r *running) report(ctx context.Context) string {
	path := reportPath(r.target.store, r.target.campaign)
	if err := r.writeReport(ctx, r.log, r.target.campaign, r.target.store, path, r.checkpointText(ctx, r.log), storeMode(r.target.store)); err != nil {
		r.remark("The report could not be written: %v. Try again with: campaignd report %s", err, r.target.store)
		return ""
	}
	return path
}

// release lets go of everything. Calling it twice does nothing more.
func (r *running) release() {
	if r.display != nil {
		r.display.close()
	}
	if r.instrument != nil {
		if err := closeInstrument(r.instrument); err != nil {
			r.remark("The instrument did not close: %v", err)
		}
		r.instrument = nil
	}
	if r.unlock != nil {
		r.unlock()
		r.unlock = nil
	}
	r.forget()
	if r.log != nil {
		if err := r.log.Close(); err != nil {
			r.remark("The store did not close: %v", err)
		}
		r.log = nil
	}
}

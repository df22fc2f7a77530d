package main

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
	"github.com/campaignd/campaignd/events/pebblelog"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/telemetry"
)

func (a *app) runCommand() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "run [FILE | STORE]",
		Short: "Start a campaign, or continue what its store holds",
		Long: `Start the campaign that FILE describes, or continue it from its store.

The store is NAME.campaign beside the file. What was under way when an earlier
run ended, in whatever way, is asked of the instrument; nothing is repeated on a
guess. The store of a finished campaign just answers. Where the file and the
store differ, nothing is changed and the difference is named.

In a terminal the progress is drawn and questions are asked; otherwise a line is
printed for each event worth reading. Ctrl-C leaves; the same command goes on.`,
		Example: `  campaignd run examples/electrolyte.yaml
  campaignd run examples/electrolyte.yaml --seed 7 --store /tmp/seed7.campaign
  campaignd run examples/electrolyte.yaml --json > result.json
  campaignd run electrolyte.campaign`,
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
			return a.run(cmd.Context(), t, wanted)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "the seed of a new campaign, instead of the file's")
	return cmd
}

// run drives a campaign to its end.
func (a *app) run(ctx context.Context, t target, seed *uint64) error {
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
	r := &running{app: a, target: t, began: time.Now()}
	defer r.release()
	if err := r.prepare(ctx, seed); err != nil {
		return err
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

	log        *pebblelog.Log
	display    display
	instrument instruments.Instrument
	reviewers  map[string]humans.Reviewer
	runner     *engine.Runner
	known      events.Sequence // what the store held at first

	mu         sync.Mutex
	waitingFor string
}

// prepare opens the store and everything that the campaign names, and writes
// the definition of a new one. Whatever is wrong is found before anything is
// written.
func (r *running) prepare(ctx context.Context, seed *uint64) error {
	exists, err := r.target.hasStore()
	if err != nil {
		return err
	}
	if !exists && r.target.file == nil {
		return badStore("there is no store %s yet; `campaignd run FILE` makes one", r.target.store)
	}
	if exists {
		if err := r.openLog(); err != nil {
			return err
		}
		if r.target.campaign == "" {
			if r.target.campaign, err = onlyCampaign(ctx, r.log); err != nil {
				return err
			}
		}
	}
	var core *engine.Core
	if exists {
		core, err = engine.Load(ctx, r.log, r.target.campaign)
		if errors.Is(err, engine.ErrNoCampaign) && r.target.file != nil {
			core, err = nil, nil // another campaign in the same store
		}
		if err != nil {
			return err
		}
	}
	var def events.Definition
	switch {
	case core != nil:
		def = *core.State().Definition
		r.known = core.State().Sequence
	default:
		def = r.target.file.Definition
		if seed != nil {
			def.Seed = *seed
		}
	}
	r.newDisplay()
	outside := outside{base: r.target.base, prompter: r.display, logf: func(format string, args ...any) { r.display.remark(fmt.Sprintf(format, args...)) }}
	if r.instrument, err = openInstrument(def, outside); err != nil {
		return err
	}
	if r.reviewers, err = openReviewers(def, outside); err != nil {
		return err
	}
	if core != nil && r.target.file != nil {
		if err := compare(ctx, r.target, core.State(), seed); err != nil {
			return err
		}
	}
	if core == nil {
		if def, err = withCandidates(ctx, def, r.instrument); err != nil {
			return err
		}
		if err := checkCompatible(ctx, r.instrument, def); err != nil {
			return err
		}
		if !exists {
			if err := r.openLog(); err != nil {
				return err
			}
		}
		if err := r.define(ctx, r.log, r.target, def); err != nil {
			return err
		}
	}
	r.runner = &engine.Runner{
		Log: r.log, Campaign: def.Name, Instrument: r.instrument, Reviewers: r.reviewers, Build: thisBuild().Build, Observe: r.observe,
	}
	return nil
}

// openLog opens the store for this process alone.
func (r *running) openLog() error {
	log, err := pebblelog.Open(r.target.store, pebblelog.Options{})
	if err != nil {
		return storeError{err}
	}
	r.log = log
	return nil
}

// newDisplay chooses how progress is shown, and where.
func (r *running) newDisplay() {
	var out io.Writer = r.stdout
	if r.json {
		out = r.stderr
	}
	if isTerminal(out) && isTerminal(r.stdin) {
		r.display = newLive(r.stdin, out, r.known, r.interrupt)
		return
	}
	r.display = newPlain(r.stdin, out, r.known)
}

// observe is called by the engine's loop.
func (r *running) observe(core *engine.Core, waitingFor string) {
	r.mu.Lock()
	r.waitingFor = waitingFor
	r.mu.Unlock()
	r.display.stands(progressOf(core, waitingFor))
}

// drive runs the campaign until it ends or ctx does.
func (r *running) drive(ctx context.Context) (err error) {
	flush, err := telemetry.Setup(ctx, thisBuild().Version)
	if err != nil {
		return badInput("%w", err)
	}
	defer func() {
		if failed := flush(context.WithoutCancel(ctx)); failed != nil {
			r.display.remark(failed.Error())
		}
	}()
	if err := r.runner.Start(ctx); err != nil {
		return err
	}
	meter, stopMeter, err := newMeter(r.runner.Core().State())
	if err != nil {
		return err
	}
	defer stopMeter()
	r.runner.Meter = meter

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
	r.display.stands(progressOf(r.runner.Core(), ""))
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
				core, err := engine.Load(ctx, r.log, name)
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
			now.WaitingFor = r.waitingFor
			return now
		},
	}
}

// finish prints the summary of an ended campaign and writes its report.
func (r *running) finish(ctx context.Context) error {
	r.display.close()
	path := reportPath(r.target.store)
	if err := writeReport(ctx, r.log, r.runner.Campaign, r.target.store, path); err != nil {
		r.remark("The report could not be written: %v. Try again with: campaignd report %s", err, r.target.store)
		path = ""
	}
	return r.summarize(r.runner.Core(), r.target, path)
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
	if r.log != nil {
		if err := r.log.Close(); err != nil {
			r.remark("The store did not close: %v", err)
		}
		r.log = nil
	}
}

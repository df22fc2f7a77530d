// Package manual is an instrument that is a person: campaignd shows them a composition, they make
// and measure it and enter the value.
//
// # Recovery
//
// The person's hands and notebook outlive the process. After a restart every command counts as
// running: the person is shown the experiment again, with a note that they may have measured it
// already, and enters the value. Asking again repeats nothing physical: the person knows whether to
// begin.
//
// # Calling off
//
// A program cannot undo a person's work. A command that is cancelled is shown as called off, and
// the person says whether it had been begun: also one that this process has not shown, since an
// earlier one may have.
package manual

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Instrument is a person who measures. It is also an [instruments.Recoverer].
// Its methods are safe for concurrent use.
type Instrument struct {
	cfg    Settings
	def    definition.Campaign
	prompt console.Prompter

	mu          sync.Mutex
	experiments map[string]*experiment
}

// experiment is a command that this process has seen. Its result is asked for
// once, however many wait for it.
type experiment struct {
	cmd instruments.Command
	// again is true where another process may have shown it before.
	again  bool
	result *console.Once[instruments.Outcome]

	off       sync.Once
	calledOff chan struct{}
}

// New returns the instrument of the campaign def. The person is asked through
// prompt.
func New(cfg Settings, def definition.Campaign, prompt console.Prompter) *Instrument {
	return &Instrument{cfg: cfg, def: def, prompt: prompt, experiments: make(map[string]*experiment)}
}

// Describe implements instruments.Instrument. A person takes whatever
// parameters the campaign defines, and does as many experiments at once as it
// wants to have under way.
func (i *Instrument) Describe(ctx context.Context) (instruments.Description, error) {
	if err := ctx.Err(); err != nil {
		return instruments.Description{}, err
	}
	return instruments.Description{Name: "manual", Capacity: max(1, i.def.Parallel)}, nil
}

// Start implements instruments.Instrument. The person is asked by Await. It
// refuses a composition that does not have exactly the campaign's parameters.
// Nothing is shown yet, so that it returns at once.
func (i *Instrument) Start(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := i.experiment(cmd, false)
	return err
}

// Await implements instruments.Instrument. It shows the experiment until the
// person has entered a result. The error wraps [console.ErrClosed] where no
// one can.
func (i *Instrument) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return instruments.Outcome{}, err
	}
	e, err := i.experiment(cmd, true)
	if err != nil {
		return instruments.Outcome{}, err
	}
	o, err := e.result.Get(ctx, func(ctx context.Context) (instruments.Outcome, error) {
		problem := ""
		for {
			line, err := i.ask(ctx, e, problem)
			if err != nil {
				return instruments.Outcome{}, fmt.Errorf("manual instrument, %s: %w", cmd.Subject(), err)
			}
			o, err := parse(i.def, e.cmd, line)
			if err == nil {
				return o, nil
			}
			problem = err.Error()
		}
	})
	if o.Measurement != nil {
		m := *o.Measurement
		m.Actual = maps.Clone(m.Actual)
		o.Measurement = &m
	}
	return o, err
}

// Voids implements instruments.Voider: the person reads not to begin.
func (i *Instrument) Voids() bool { return true }

// Cancel implements instruments.Instrument. The person then says how the
// experiment ended.
func (i *Instrument) Cancel(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := i.experiment(cmd, true)
	if err != nil {
		return nil // Start would have refused it
	}
	e.off.Do(func() { close(e.calledOff) })
	return nil
}

// Recover implements instruments.Recoverer. See the package documentation for
// why a command it has never seen counts as running.
func (i *Instrument) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	e, err := i.experiment(cmd, true)
	switch {
	case err != nil:
		return instruments.FateNotStarted, nil // Start would have refused it
	case e.result.Answered():
		return instruments.FateFinished, nil
	}
	return instruments.FateRunning, nil
}

// experiment returns the entry of cmd. again is the value for a command that is new to this
// process.
func (i *Instrument) experiment(cmd instruments.Command, again bool) (*experiment, error) {
	for _, point := range cmd.Compositions() {
		for _, p := range i.def.Parameters {
			_, ok := point[p.Name]
			if cmd.Act == "" && (!ok || len(point) != len(i.def.Parameters)) { // a stage may be sent a part of it
				return nil, fmt.Errorf("%w: its composition does not have the campaign's parameters",
					instruments.ErrRefused)
			}
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if e := i.experiments[cmd.ID]; e != nil {
		if !e.cmd.Same(cmd) {
			return nil, fmt.Errorf("%w: command %s was started with another composition",
				instruments.ErrRefused, cmd.ID)
		}
		return e, nil
	}
	cmd = cmd.Cloned()
	e := &experiment{
		cmd: cmd, again: again,
		result:    console.NewOnce[instruments.Outcome](),
		calledOff: make(chan struct{}),
	}
	i.experiments[cmd.ID] = e
	return e, nil
}

// ask shows the experiment once and returns the person's entry. If the experiment is called off
// meanwhile, it is shown again as called off. The prompt is withdrawn for that, which differs from
// the end of ctx in that ctx goes on.
func (i *Instrument) ask(ctx context.Context, e *experiment, problem string) (string, error) {
	for {
		off := false
		select {
		case <-e.calledOff:
			off = true
		default:
		}
		asking, stop := context.WithCancel(ctx)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			if off {
				return
			}
			select {
			case <-e.calledOff:
				stop()
			case <-asking.Done():
			}
		}()
		line, err := i.prompt.Prompt(asking, i.form(e, off, problem))
		withdrawn := asking.Err() != nil && ctx.Err() == nil
		stop()
		<-watched
		if err == nil || !withdrawn {
			return line, err
		}
		problem = ""
	}
}

// form shows an experiment. One that is called off asks for what became of it;
// one that may have been shown before says so, since the person may have
// measured it.
func (i *Instrument) form(e *experiment, off bool, problem string) console.Form {
	f := console.Form{
		Key:     e.cmd.Subject(),
		Title:   fmt.Sprintf("measure the %s of", format.List(namesOf(&i.def)...)),
		Body:    i.compositions(e.cmd),
		Brief:   "the value, failed, can't, again or cancel",
		Problem: problem,
		Hint: fmt.Sprintf("enter the %s, `failed REASON`, "+
			"`can't REASON` (it cannot be made or measured), "+
			"`again REASON` (nothing took place; try again) or `cancel`; "+
			"where the composition came out different, add for example %s=VALUE",
			values(&i.def), i.def.Parameters[0].Name),
	}
	if e.cmd.Idle() {
		f.Title = fmt.Sprintf("%s of %s", e.cmd.Stage, strings.Join(e.cmd.Serves(), ", "))
		f.Brief = "done, failed, can't, again or cancel"
		f.Hint = "enter `done`, `failed REASON`, `can't REASON` (it cannot be made), " +
			"`again REASON` (nothing took place; try again) or `cancel`"
	}
	say := func(sentence string) { f.Body = console.Join(f.Body, console.Sentences(sentence)) }
	if e.cmd.Replicate > 1 {
		say(fmt.Sprintf("replicate %d of this composition", e.cmd.Replicate))
	}
	if e.cmd.Drawn != nil {
		say("use " + format.Drawn(e.cmd.Drawn))
	}
	if i.cfg.Instructions != "" {
		say(i.cfg.Instructions)
	}
	switch {
	case off:
		f.Title = "CALLED OFF: do not begin this experiment"
		f.Brief = "cancel, the value, or failed"
		f.Hint = fmt.Sprintf("enter `cancel` if it was not begun; else the %s, or `failed REASON`",
			values(&i.def))
	case e.again:
		say("campaignd was started again and may have asked for this before: " +
			"if you have measured it, enter that result")
	}
	return f
}

// compositions shows what the command is for: of an act for several experiments each with its position.
func (i *Instrument) compositions(cmd instruments.Command) console.Text {
	write := format.CompositionsToMake(&i.def)
	if cmd.Experiments == nil {
		return console.Composition(write, cmd.Parameters)
	}
	var lines []string
	for _, x := range cmd.Experiments {
		lines = append(lines, fmt.Sprintf("%d. %s: %s", x.Position, x.Experiment, write.Line(x.Parameters)))
	}
	return console.Sentences(lines...)
}

// namesOf are the names of the measured quantities.
func namesOf(def *definition.Campaign) (names []string) {
	for _, q := range def.Declared() {
		names = append(names, q.Name)
	}
	return names
}

// values names the values to enter: the objective with its unit, or each declared quantity by its
// name.
func values(def *definition.Campaign) string {
	if !def.Several() {
		return quantity(def.Sought())
	}
	var parts []string
	for _, q := range def.Declared() {
		part := q.Name + "=VALUE"
		if q.Unit != "" {
			part += " (" + q.Unit + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ") + ", those that there are"
}

// quantity names the objective with its unit.
func quantity(o definition.Objective) string {
	if o.Unit == "" {
		return o.Name
	}
	return o.Name + " in " + o.Unit
}

package instrumenttest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func ptr[T any](v T) *T { return &v }

var campaign = definition.Campaign{
	Name:       "test",
	Parameters: []definition.Parameter{{Name: "salt", Unit: "mol/kg", Min: ptr(0.0), Max: ptr(2.0)}},
	Objective: definition.Objective{
		Name: "conductivity",
		Unit: "mS/cm",
		Goal: definition.Maximize,
		Min:  ptr(0.0),
		Max:  ptr(30.0),
	},
}

var points = []definition.Point{{"salt": definition.Number(1)}, {"salt": definition.Number(0.25)}}

// bench is a laboratory bench: it outlives the processes that drive it, and
// counts what moves.
type bench struct {
	mu   sync.Mutex
	acts map[string]int
	runs map[string]*run
}

type run struct {
	cmd       instruments.Command
	cancelled chan struct{}
	once      sync.Once
	done      chan struct{}
	outcome   instruments.Outcome
}

func newBench() *bench {
	return &bench{acts: make(map[string]int), runs: make(map[string]*run)}
}

func (b *bench) counts() (map[string]int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.acts), nil
}

// begin performs a command once.
func (b *bench) begin(cmd instruments.Command) *run {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.runs[cmd.ID]; r != nil {
		return r
	}
	r := &run{cmd: cmd, cancelled: make(chan struct{}), done: make(chan struct{})}
	b.runs[cmd.ID] = r
	b.acts[cmd.ID]++
	go func() {
		select {
		case <-time.After(20 * time.Millisecond):
			r.outcome = measured(cmd)
		case <-r.cancelled:
			r.outcome = instruments.Outcome{Status: instruments.Failed, Cause: "cancelled"}
		}
		close(r.done)
	}()
	return r
}

func (b *bench) find(id string) *run {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.runs[id]
}

func measured(cmd instruments.Command) instruments.Outcome {
	x, _ := cmd.Parameters["salt"].Float()
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
		Actual:    maps.Clone(cmd.Parameters),
		Objective: definition.Quantity{Name: "conductivity", Value: 10 * x, Unit: "mS/cm"},
	}}
}

// sound is an instrument that keeps every obligation. The broken ones below
// embed it and break one each.
type sound struct{ *bench }

func (s sound) Describe(ctx context.Context) (instruments.Description, error) {
	return instruments.Description{
		Name: "test/bench", Capacity: 2,
		Parameters: []instruments.ParameterSpec{{Name: "salt", Unit: "mol/kg", Min: ptr(0.0), Max: ptr(2.0)}},
		Outputs:    []instruments.OutputSpec{{Name: "conductivity", Unit: "mS/cm"}},
	}, ctx.Err()
}

func (s sound) Start(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if x, ok := cmd.Parameters["salt"].Float(); !ok || !(x >= 0 && x <= 2) {
		return fmt.Errorf("%w: salt is out of limits", instruments.ErrRefused)
	}
	s.begin(cmd)
	return nil
}

func (s sound) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	r := s.find(cmd.ID)
	if err := ctx.Err(); err != nil || r == nil {
		return instruments.Outcome{}, errors.Join(err, errors.New("never started"))
	}
	select {
	case <-r.done:
		return r.outcome, nil
	case <-ctx.Done():
		return instruments.Outcome{}, ctx.Err()
	}
}

func (s sound) Cancel(ctx context.Context, cmd instruments.Command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[cmd.ID]
	if r == nil { // void: begin finds it
		r = &run{cmd: cmd, cancelled: make(chan struct{}), done: make(chan struct{})}
		r.outcome = instruments.Outcome{Status: instruments.Cancelled, Cause: "called off before it was started"}
		close(r.done)
		s.runs[cmd.ID] = r
	}
	r.once.Do(func() { close(r.cancelled) })
	return nil
}

func (s sound) Voids() bool { return true }

func (s sound) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	r := s.find(cmd.ID)
	if r == nil {
		return instruments.FateNotStarted, nil
	}
	if !maps.Equal(r.cmd.Parameters, cmd.Parameters) {
		return instruments.FateUnknown, nil
	}
	select {
	case <-r.done:
		return instruments.FateFinished, nil
	default:
		return instruments.FateRunning, nil
	}
}

// broken overrides single methods of a sound instrument.
type broken struct {
	sound
	describe func(context.Context) (instruments.Description, error)
	start    func(context.Context, instruments.Command) error
	await    func(context.Context, instruments.Command) (instruments.Outcome, error)
	cancel   func(context.Context, instruments.Command) error
	recover  func(context.Context, instruments.Command) (instruments.Fate, error)
}

func (b *broken) Describe(ctx context.Context) (instruments.Description, error) {
	if b.describe != nil {
		return b.describe(ctx)
	}
	return b.sound.Describe(ctx)
}

func (b *broken) Start(ctx context.Context, cmd instruments.Command) error {
	if b.start != nil {
		return b.start(ctx, cmd)
	}
	return b.sound.Start(ctx, cmd)
}

func (b *broken) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if b.await != nil {
		return b.await(ctx, cmd)
	}
	return b.sound.Await(ctx, cmd)
}

func (b *broken) Cancel(ctx context.Context, cmd instruments.Command) error {
	if b.cancel != nil {
		return b.cancel(ctx, cmd)
	}
	return b.sound.Cancel(ctx, cmd)
}

func (b *broken) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	if b.recover != nil {
		return b.recover(ctx, cmd)
	}
	return b.sound.Recover(ctx, cmd)
}

func env(b *bench, breakIt func(*broken)) instrumenttest.Env {
	return instrumenttest.Env{
		Open: func(context.Context) (instruments.Instrument, error) {
			inst := &broken{sound: sound{b}}
			breakIt(inst)
			return inst, nil
		},
		Definition: campaign, Points: points, AllowRuns: true, AllowOutOfLimits: true,
		Acts:       instrumenttest.Counted(b.counts),
		RetryAfter: time.Millisecond,
		Patience:   time.Second,
		Prompt:     300 * time.Millisecond,
	}
}

func TestSoundInstrumentPasses(t *testing.T) {
	t.Parallel()
	e := env(newBench(), func(*broken) {})
	e.Patience, e.Prompt = 20*time.Second, 2*time.Second
	instrumenttest.Run(t, e)
}

// Each broken instrument is caught by the check that is named for its fault.
func TestBrokenInstrumentsAreCaught(t *testing.T) {
	again := func(b *broken, cmd instruments.Command) { // acts without looking
		b.mu.Lock()
		b.acts[cmd.ID]++
		b.mu.Unlock()
	}
	// perInstance forgets with the process.
	type memory struct {
		mu   sync.Mutex
		seen map[string]int
	}
	remember := func() *memory { return &memory{seen: make(map[string]int)} }
	count := func(m *memory, id string) int {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.seen[id]++
		return m.seen[id]
	}
	alter := func(b *broken, change func(*instruments.Outcome)) {
		b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
			o, err := b.sound.Await(ctx, cmd)
			if o.Measurement != nil {
				m := *o.Measurement
				o.Measurement = &m
				change(&o)
			}
			return o, err
		}
	}
	for _, test := range []struct {
		fault, check string
		breakIt      func(*broken)
	}{
		{"has no capacity", "describe", func(b *broken) {
			b.describe = func(ctx context.Context) (instruments.Description, error) {
				d, err := b.sound.Describe(ctx)
				d.Capacity = 0
				return d, err
			}
		}},
		{"measures in another unit than it must", "describe", func(b *broken) {
			b.describe = func(ctx context.Context) (instruments.Description, error) {
				d, err := b.sound.Describe(ctx)
				d.Outputs[0].Unit = "S/m"
				return d, err
			}
		}},
		{"describes itself differently each time", "describe", func(b *broken) {
			m := remember()
			b.describe = func(ctx context.Context) (instruments.Description, error) {
				d, err := b.sound.Describe(ctx)
				d.Identity = fmt.Sprint(count(m, ""))
				return d, err
			}
		}},
		{"starts on Await", "never-started", func(b *broken) {
			b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
				b.begin(cmd)
				return b.sound.Await(ctx, cmd)
			}
		}},
		{"starts on Cancel", "cancel-before-start", func(b *broken) {
			b.cancel = func(ctx context.Context, cmd instruments.Command) error {
				b.begin(cmd)
				return b.sound.Cancel(ctx, cmd)
			}
		}},
		{"forgets what was called off", "cancel-before-start", func(b *broken) {
			b.cancel = func(ctx context.Context, cmd instruments.Command) error {
				if b.find(cmd.ID) == nil {
					return nil
				}
				return b.sound.Cancel(ctx, cmd)
			}
		}},
		{"starts on Recover", "restart-before-start", func(b *broken) {
			b.recover = func(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
				fate, err := b.sound.Recover(ctx, cmd)
				b.begin(cmd)
				return fate, err
			}
		}},
		{"measures NaN", "measure", func(b *broken) {
			alter(b, func(o *instruments.Outcome) { o.Measurement.Objective.Value = math.NaN() })
		}},
		{"measures in another unit", "measure", func(b *broken) {
			alter(b, func(o *instruments.Outcome) { o.Measurement.Objective.Unit = "S/m" })
		}},
		{"measures something else", "measure", func(b *broken) {
			alter(b, func(o *instruments.Outcome) { o.Measurement.Objective.Name = "viscosity" })
		}},
		{"measures out of range", "measure", func(b *broken) {
			alter(b, func(o *instruments.Outcome) { o.Measurement.Objective.Value = 1e6 })
		}},
		{"does not say what was made", "measure", func(b *broken) {
			alter(b, func(o *instruments.Outcome) { o.Measurement.Actual = nil })
		}},
		{"fails silently", "measure", func(b *broken) {
			alter(b, func(o *instruments.Outcome) { *o = instruments.Outcome{Status: instruments.Failed} })
		}},
		{"calls off what nobody called off", "measure", func(b *broken) {
			alter(b, func(o *instruments.Outcome) {
				*o = instruments.Outcome{Status: instruments.Cancelled, Cause: "no time"}
			})
		}},
		{"has a name that cannot be recorded", "describe", func(b *broken) {
			b.describe = func(ctx context.Context) (instruments.Description, error) {
				d, err := b.sound.Describe(ctx)
				d.Name = "test\x1b]0;bench\x07"
				return d, err
			}
		}},
		{"refuses what it has accepted", "duplicate-start", func(b *broken) {
			b.start = func(ctx context.Context, cmd instruments.Command) error {
				if b.find(cmd.ID) != nil {
					return fmt.Errorf("%w: busy", instruments.ErrRefused)
				}
				return b.sound.Start(ctx, cmd)
			}
		}},
		{"hangs", "measure", func(b *broken) {
			b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
				<-ctx.Done()
				return instruments.Outcome{}, ctx.Err()
			}
		}},
		{"changes its outcome", "await-again", func(b *broken) {
			m := remember()
			alter(b, func(o *instruments.Outcome) { o.Measurement.Objective.Value += 0.1 * float64(count(m, "")) })
		}},
		{"forgets after completion", "await-again", func(b *broken) {
			m := remember()
			b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
				if count(m, cmd.ID) > 1 {
					return instruments.Outcome{}, errors.New("never heard of it")
				}
				return b.sound.Await(ctx, cmd)
			}
		}},
		{"acts again after completion", "start-after-completion", func(b *broken) {
			b.start = func(ctx context.Context, cmd instruments.Command) error {
				if r := b.find(cmd.ID); r != nil {
					select {
					case <-r.done:
						again(b, cmd)
					default:
					}
				}
				return b.sound.Start(ctx, cmd)
			}
		}},
		{"acts twice on a duplicate start", "duplicate-start", func(b *broken) {
			b.start = func(ctx context.Context, cmd instruments.Command) error {
				if b.find(cmd.ID) != nil {
					again(b, cmd)
				}
				return b.sound.Start(ctx, cmd)
			}
		}},
		{"makes a duplicate start an error", "duplicate-start", func(b *broken) {
			b.start = func(ctx context.Context, cmd instruments.Command) error {
				if b.find(cmd.ID) != nil {
					return errors.New("busy")
				}
				return b.sound.Start(ctx, cmd)
			}
		}},
		{"ignores the context of Await", "context", func(b *broken) {
			b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
				if ctx.Err() != nil {
					time.Sleep(500 * time.Millisecond)
				}
				return b.sound.Await(context.WithoutCancel(ctx), cmd)
			}
		}},
		{"stops the experiment with the context", "context", func(b *broken) {
			b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
				o, err := b.sound.Await(ctx, cmd)
				if ctx.Err() != nil {
					_ = b.sound.Cancel(context.Background(), cmd)
				}
				return o, err
			}
		}},
		{"takes an abandoned Await for an outcome", "context", func(b *broken) {
			b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
				o, err := b.sound.Await(ctx, cmd)
				if ctx.Err() != nil {
					return instruments.Outcome{Status: instruments.Unknown, Cause: "nobody waited"}, nil
				}
				return o, err
			}
		}},
		{"acts again after a lost confirmation", "lost-confirmation", func(b *broken) {
			confirmed := remember()
			b.start = func(ctx context.Context, cmd instruments.Command) error {
				confirmed.mu.Lock()
				defer confirmed.mu.Unlock()
				if b.find(cmd.ID) != nil && confirmed.seen[cmd.ID] == 0 {
					again(b, cmd) // it did it, and nobody heard
				}
				b.begin(cmd)
				if err := ctx.Err(); err != nil {
					return err
				}
				confirmed.seen[cmd.ID]++
				return nil
			}
		}},
		{"forgets running commands with the process", "restart-while-running", func(b *broken) {
			m := remember()
			b.start = func(ctx context.Context, cmd instruments.Command) error {
				count(m, cmd.ID)
				return b.sound.Start(ctx, cmd)
			}
			b.recover = func(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
				m.mu.Lock()
				defer m.mu.Unlock()
				if m.seen[cmd.ID] == 0 {
					return instruments.FateNotStarted, nil
				}
				return b.sound.Recover(ctx, cmd)
			}
		}},
		{"forgets finished commands with the process", "restart-after-completion", func(b *broken) {
			b.recover = func(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
				fate, err := b.sound.Recover(ctx, cmd)
				if fate == instruments.FateFinished {
					fate = instruments.FateNotStarted
				}
				return fate, err
			}
		}},
		{"does not look at the parameters", "other-parameters", func(b *broken) {
			b.recover = func(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
				if r := b.find(cmd.ID); r != nil {
					cmd.Parameters = r.cmd.Parameters
				}
				return b.sound.Recover(ctx, cmd)
			}
		}},
		{"invents a fate", "restart-before-start", func(b *broken) {
			b.recover = func(context.Context, instruments.Command) (instruments.Fate, error) { return "perhaps", nil }
		}},
		{"never ends after Cancel", "cancel-while-running", func(b *broken) {
			cancelled := remember()
			b.cancel = func(_ context.Context, cmd instruments.Command) error { count(cancelled, cmd.ID); return nil }
			b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
				cancelled.mu.Lock()
				n := cancelled.seen[cmd.ID]
				cancelled.mu.Unlock()
				if n > 0 && b.find(cmd.ID) != nil {
					<-ctx.Done()
					return instruments.Outcome{}, ctx.Err()
				}
				return b.sound.Await(ctx, cmd)
			}
		}},
		{"asks for what was called off again", "cancel-while-running", func(b *broken) {
			b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
				o, err := b.sound.Await(ctx, cmd)
				if o.Status == instruments.Failed {
					o.Status = instruments.Deferred
				}
				return o, err
			}
		}},
		{"cancels what has ended", "cancel-after-completion", func(b *broken) {
			b.cancel = func(ctx context.Context, cmd instruments.Command) error {
				if r := b.find(cmd.ID); r != nil {
					select {
					case <-r.done:
						o := instruments.Outcome{Status: instruments.Cancelled, Cause: "called off"}
						b.mu.Lock()
						b.runs[cmd.ID] = &run{cmd: cmd, cancelled: r.cancelled, done: r.done, outcome: o}
						b.mu.Unlock()
						return nil
					default:
					}
				}
				return b.sound.Cancel(ctx, cmd)
			}
		}},
		{"takes what is outside its limits", "out-of-limits", func(b *broken) {
			b.start = func(ctx context.Context, cmd instruments.Command) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				b.begin(cmd)
				return nil
			}
		}},
		{"leaves it open whether it took what is outside", "out-of-limits", func(b *broken) {
			b.start = func(ctx context.Context, cmd instruments.Command) error {
				if err := b.sound.Start(ctx, cmd); err != nil {
					return errors.New("no")
				}
				return nil
			}
		}},
		{"mixes up commands", "side-by-side", func(b *broken) {
			var mu sync.Mutex
			var order []string
			b.start = func(ctx context.Context, cmd instruments.Command) error {
				mu.Lock()
				defer mu.Unlock()
				if ctx.Err() == nil && !slices.Contains(order, cmd.ID) {
					order = append(order, cmd.ID)
				}
				return b.sound.Start(ctx, cmd)
			}
			b.await = func(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
				o, err := b.sound.Await(ctx, cmd)
				mu.Lock()
				defer mu.Unlock()
				if i := slices.Index(order, cmd.ID); err == nil && i >= 0 && o.Status == instruments.Measured {
					other := i ^ 1
					for _, n := range []int{i - 1, i + 1, other} {
						if n >= 0 && n < len(order) {
							if r := b.find(order[n]); r != nil && !maps.Equal(r.cmd.Parameters, cmd.Parameters) {
								o = measured(r.cmd)
							}
						}
					}
				}
				return o, err
			}
		}},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			report := must.Get(instrumenttest.Examine(t.Context(), env(newBench(), test.breakIt)))(t)
			var failed []string
			for _, result := range report.Failed() {
				failed = append(failed, result.Check)
			}
			if !slices.Contains(failed, test.check) {
				t.Errorf("the check %q did not catch it; those that failed: %v", test.check, failed)
			}
		})
	}
}

// Without consent a real instrument is asked to describe itself and nothing
// more.
func TestNothingMovesWithoutConsent(t *testing.T) {
	b := newBench()
	e := env(b, func(*broken) {})
	e.AllowRuns, e.AllowOutOfLimits = false, false
	report := must.Get(instrumenttest.Examine(t.Context(), e))(t)
	if len(b.acts) > 0 || report.Dispatched != 0 {
		t.Errorf("it acted on %v, and the report says %d", b.acts, report.Dispatched)
	}
	for _, result := range report.Results {
		want := instrumenttest.Skip
		if result.Check == "describe" {
			want = instrumenttest.Pass
		}
		if result.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", result.Check, result.Verdict, result.Reason, want)
		}
	}
}

// The report says what was checked, how it ended, why, and what was dispatched.
func TestReportIsReadable(t *testing.T) {
	report := must.Get(instrumenttest.Examine(t.Context(), env(newBench(), func(b *broken) {
		b.cancel = func(context.Context, instruments.Command) error { return errors.New("no such button") }
	})))(t)
	var text strings.Builder
	must.Do(t, report.WriteText(&text))
	for _, want := range []string{
		"test/bench, REAL: commands move things, capacity 2",
		"counted after every check",
		"pass  duplicate-start",
		"fail  cancel-while-running",
		"→ its Cancel: no such button",
		"2 commands dispatched to the real instrument",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &text)
		}
	}
}

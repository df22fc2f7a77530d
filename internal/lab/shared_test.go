package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// robot is a device that campaigns share. It ends a command only once it is at work on as
// many as it can, and all campaigns that have work left besides wait for their turn.
type robot struct {
	works int

	mu      sync.Mutex
	held    bool              // it ends nothing for now
	forgets bool              // it does not know what became of a command
	working map[string]string // the campaigns of commands, by their identifiers
	most    int               // that were under way at once
	sent    []string          // the campaigns of commands, in the order of being sent
	acts    map[string]int
	waits   map[string]bool // the campaigns that are run, and whether they wait for a turn
}

func (r *robot) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "robot", Identity: "serial 7", Capacity: r.works}, nil
}

func (r *robot) Start(_ context.Context, cmd instruments.Command) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.working[cmd.ID] = cmd.Campaign
	r.most = max(r.most, len(r.working))
	r.sent = append(r.sent, cmd.Campaign)
	r.acts[cmd.ID]++
	return nil
}

func (r *robot) Recover(_ context.Context, cmd instruments.Command) (instruments.Fate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgets {
		return instruments.FateUnknown, nil
	}
	if r.acts[cmd.ID] == 0 {
		return instruments.FateNotStarted, nil
	}
	return instruments.FateRunning, nil
}

// mayEnd reports whether a command can end, and ends it.
func (r *robot) mayEnd(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := 0
	atWork := slices.Collect(maps.Values(r.working))
	for name, waits := range r.waits {
		if waits && !slices.Contains(atWork, name) { // else it has its turn, and did not say so yet
			waiting++
		}
	}
	if r.held || waiting+len(r.working) < len(r.waits) || len(r.working) < min(r.works, len(r.waits)) {
		return false
	}
	delete(r.working, id)
	return true
}

func (r *robot) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	for !r.mayEnd(cmd.ID) {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return instruments.Outcome{}, ctx.Err()
		}
	}
	x, _ := cmd.Parameters["x"].Float()
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
		Actual: cmd.Parameters, Objective: definition.Quantity{Name: "flow", Value: x * x},
	}}, nil
}

func (r *robot) Cancel(context.Context, instruments.Command) error { return nil }

// hear notes whether a campaign waits for its turn.
func (r *robot) hear(t *testing.T, name string) func(*engine.Core, engine.Wait) {
	return func(core *engine.Core, wait engine.Wait) {
		// It has its place once it is said who comes first; before that, "others" do.
		turn := strings.HasPrefix(wait.For, "its turn to measure") && !strings.HasSuffix(wait.For, ": others")
		if n := core.State().Count(campaign.Dispatched, campaign.Started); turn && n > 0 {
			t.Errorf("%s waits for its turn, and %d commands have a fate", name, n)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waits[name] = turn
	}
}

// bench is a lab with a robot, for so many campaigns at a time.
type bench struct {
	*fixture
	*robot
	folder string
}

func newBench(t *testing.T, capacity, works int) *bench {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	r := &robot{works: works, working: make(map[string]string), acts: make(map[string]int), waits: make(map[string]bool)}
	b := &bench{&fixture{t: t, registry: builtin.Registry(), opened: make(map[*Run]*equip.Equipment)}, r, t.TempDir()}
	b.registry.Instruments = append(b.registry.Instruments, instruments.Driver{
		Name:     "robot",
		Settings: func() definition.Settings { return new(pumpSettings) },
		Open: func(context.Context, definition.Campaign, instruments.Environment) (instruments.Instrument, error) {
			return r, nil
		},
	})
	lab := fmt.Sprintf("instruments:\n  arm: {robot: {}, capacity: %d}\n", capacity)
	must.Do(t, os.WriteFile(filepath.Join(b.folder, labfile.Name), []byte(lab), 0o600))
	h, err := OpenLocal(t.Context(), filepath.Join(b.folder, "lab.campaign"), LocalOptions{Registry: b.registry})
	if err != nil {
		t.Fatal(err)
	}
	b.Local = h
	t.Cleanup(func() { h.Close() })
	return b
}

// begin defines a campaign of so many experiments with the lab's robot.
func (b *bench) begin(name string, experiments int) {
	b.t.Helper()
	lab := must.Get(labfile.ReadFolder(b.registry, b.folder))(b.t)
	file := must.Get(campaignfile.ParseIn(b.t.Context(), b.registry, lab, name+".yaml", fmt.Appendf(nil, `
name: %s
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, goal: maximize}
initial: {experiments: %d}
budget: {experiments: %d}
policy: sobol
instrument: {lab: arm}
`, name, experiments, experiments)))(b.t)
	defined := events.CampaignDefined{Definition: file.Definition, Source: file.Source}
	must.Do(b.t, b.Define(b.t.Context(), defined, engine.Request{Actor: "person:ada"}))
}

// ready opens what a campaign needs and makes it ready.
func (b *bench) ready(name string) (*Run, error) {
	b.t.Helper()
	core := must.Get(b.Load(b.t.Context(), name))(b.t)
	environment := instruments.Environment{Folder: b.folder, Store: filepath.Join(b.folder, "lab.campaign"), Logf: b.t.Logf}
	equipment := must.Get(equip.Open(b.t.Context(), b.registry, *core.State().Definition, environment))(b.t)
	b.t.Cleanup(func() { equipment.Close() })
	c, err := b.Local.Start(b.t.Context(), name, equipment, Hooks{Observe: b.hear(b.t, name)})
	if err == nil {
		b.opened[c] = equipment
	}
	return c, err
}

// run runs a campaign to its end, or until its process is killed.
func (b *bench) run(ctx context.Context, c *Run, name string) error {
	err := c.Run(ctx)
	b.close(c)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waits, name)
	return err
}

// check holds all campaigns to their ends, once.
func (b *bench) check(experiments int, names ...string) {
	b.t.Helper()
	for _, name := range names {
		core := must.Get(b.Load(b.t.Context(), name))(b.t)
		if s := core.State(); !s.Status.Ended() || s.Count(campaign.Measured) != experiments {
			b.t.Errorf("%s is %s, with %d measurements", name, s.Status, s.Count(campaign.Measured))
		}
		report, err := decisions.Audit(b.t.Context(), b.registry, b.Log(), name, events.Build{}, nil)
		if err != nil || len(report.Mismatches) > 0 {
			b.t.Errorf("%s: %v, %v", name, report.Mismatches, err)
		}
	}
	if len(b.acts) != experiments*len(names) {
		b.t.Errorf("%d commands were sent, %d were wanted", len(b.acts), experiments*len(names))
	}
	for id, n := range b.acts {
		if n != 1 {
			b.t.Errorf("%s was sent %d times", id, n)
		}
	}
}

// Law: of the campaigns that share a device each comes in its turn, none twice while another
// one waits; the device is never at work on more than it says it can, and the campaigns are
// no more than the lab allows.
func TestSharedDevice(t *testing.T) {
	for _, works := range []int{1, 2} {
		t.Run(fmt.Sprint(works), func(t *testing.T) {
			const experiments = 4
			b := newBench(t, 3, works)
			names := []string{"ada", "bo", "cy"}
			b.held = true
			var wg sync.WaitGroup
			for _, name := range names {
				b.begin(name, experiments)
				c := must.Get(b.ready(name))(t)
				b.mu.Lock()
				b.waits[name] = false
				b.mu.Unlock()
				wg.Go(func() {
					if err := b.run(t.Context(), c, name); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			b.begin("dan", 1)
			if _, err := b.ready("dan"); !errors.As(err, new(*lock.HeldError)) {
				t.Errorf("a fourth campaign: %v", err)
			}
			b.mu.Lock()
			b.held = false
			b.mu.Unlock()
			wg.Wait()
			b.check(experiments, names...)
			if b.most != works {
				t.Errorf("it was at work on %d commands at once, it can do %d", b.most, works)
			}
			if works > 1 {
				return
			}
			// Each waits for the two others: turns go round.
			for i := range len(b.sent) - 2 {
				if three := slices.Compact(slices.Sorted(slices.Values(b.sent[i : i+3]))); len(three) < 3 {
					t.Fatalf("the turns were %v", b.sent)
				}
			}
		})
	}
}

// Law: a device is not sent the next campaign's command while it may be at work on that of
// a campaign whose process was killed; when that campaign goes on, or a person has settled
// the command, it is the next one's turn. Nothing is sent twice.
func TestSharedDeviceSurvivesAKill(t *testing.T) {
	for _, settled := range []string{"by itself", "by a person"} {
		t.Run(settled, func(t *testing.T) {
			b := newBench(t, 2, 1)
			b.held = true
			b.begin("ada", 2)
			b.begin("bo", 2)
			ada := must.Get(b.ready("ada"))(t)
			b.waits["ada"] = false
			ctx, kill := context.WithCancel(t.Context())
			ended := make(chan error, 2)
			go func() { ended <- b.run(ctx, ada, "ada") }()
			eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.sent) == 1 })
			kill()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			bo := must.Get(b.ready("bo"))(t)
			b.mu.Lock()
			b.waits["bo"] = false
			b.mu.Unlock()
			go func() { ended <- b.run(t.Context(), bo, "bo") }()
			eventually(t, func() bool { // it says for whom it waits
				running := b.Status().Campaigns
				return len(running) == 1 && strings.Contains(running[0].WaitingFor, "campaign ada") &&
					strings.Contains(running[0].WaitingFor, "whose process has ended")
			})
			if len(b.sent) != 1 {
				t.Fatalf("bo was sent to a device that is at work: %v", b.sent)
			}
			b.mu.Lock()
			b.held = false
			b.mu.Unlock()
			switch settled {
			case "by a person":
				b.mu.Lock()
				b.held, b.forgets = true, true
				b.mu.Unlock()
				ada = must.Get(b.ready("ada"))(t)
				ctx, kill := context.WithCancel(t.Context())
				go func() { ended <- b.run(ctx, ada, "ada") }()
				eventually(t, func() bool {
					return slices.ContainsFunc(b.Status().Campaigns, func(r control.Running) bool {
						return r.Campaign == "ada" && strings.Contains(r.WaitingFor, "person")
					})
				})
				kill()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if len(b.sent) != 1 {
					t.Fatalf("bo was sent to a device whose state nobody knows: %v", b.sent)
				}
				b.mu.Lock()
				b.held, b.working = false, make(map[string]string)
				b.mu.Unlock()
				resolve := engine.Resolve{Experiment: "e1", Resolution: events.ResolvedNotPerformed, Voided: events.VoidedByPower}
				if _, err := b.Submit(t.Context(), "ada", engine.Request{Actor: "person:ada", Resolve: &resolve}); err != nil {
					t.Fatal(err)
				}
				must.Do(t, <-ended)
				if core, err := b.Load(t.Context(), "bo"); err != nil || core.State().Count(campaign.Measured) != 2 {
					t.Errorf("bo: %v", err)
				}
			case "by itself":
				ada = must.Get(b.ready("ada"))(t)
				go func() { ended <- b.run(t.Context(), ada, "ada") }()
				for range 2 {
					must.Do(t, <-ended)
				}
				b.check(2, "ada", "bo")
				if b.most != 1 {
					t.Errorf("it was at work on %d commands at once", b.most)
				}
			}
		})
	}
}

// Law: a device that is lost is not sent the next command, and the campaign says why; to
// resume it is refused while another one has the device.
func TestLostDevice(t *testing.T) {
	b := newBench(t, 1, 1)
	b.held = true
	b.begin("ada", 2)
	ada := must.Get(b.ready("ada"))(t)
	ended := make(chan error, 1)
	go func() { ended <- b.run(t.Context(), ada, "ada") }()
	eventually(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.sent) == 1 })
	if err := os.RemoveAll(lock.Dirs()[0]); err != nil {
		t.Skip(err)
	}
	d := must.Get(b.robot.Describe(t.Context()))(t)
	release, err := equip.TakeDevice(d, "check.yaml", t.Logf)
	if err != nil {
		t.Fatalf("after the tidy-up: %v", err)
	}
	b.mu.Lock()
	b.held = false
	b.mu.Unlock()
	eventually(t, func() bool {
		running := b.Status().Campaigns
		return len(running) == 1 && strings.Contains(running[0].WaitingFor, "the campaign is paused: the lock of serial 7 is lost")
	})
	resume := engine.Request{Actor: "person:ada", Resume: &events.CampaignResumed{}}
	if _, err := b.Submit(t.Context(), "ada", resume); !errors.As(err, new(*lock.HeldError)) || !errors.Is(err, problem.NotNow) {
		t.Errorf("resumed during a check: %v", err)
	}
	if len(b.sent) != 1 {
		t.Errorf("it was sent %v", b.sent)
	}
	release()
	must.Get(b.Submit(t.Context(), "ada", resume))(t)
	must.Do(t, <-ended)
	b.check(2, "ada")
}

// eventually waits for something that must come.
func eventually(t *testing.T, what func() bool) {
	t.Helper()
	for began := time.Now(); !what(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatal("it never came")
		}
	}
}

// Command fronts runs campaigns on published tables with several quantities, whose
// rows are the only compositions and answer, and says which part of the greatest
// hypervolume each arm has found:
//
//	go -C internal/study/papers run ./outcomes/fronts -seeds 10 $PWD/examples/studies/fronts/*.yaml
//
// The arms are lognehvi, sobol and random, and what others have recorded
// (internal/study/peers/outcomes/tables.py), from the same initial rows, drawn at random;
// the reference point is that of the whole table's front. -problems prints the tables
// and the initial rows instead, for programs of others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/internal/study/papers/outcomes"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/space"
)

// initial is how many rows every arm begins with.
const initial = 5

// arms are the rules that are compared.
var arms = []struct {
	name string
	rule definition.Choice
}{
	{next.LogNEHVIName, next.LogNEHVI{}.Choice()},
	{next.SobolName, next.Sobol{}.Choice()},
	{next.RandomName, next.Random{}.Choice()},
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "fronts:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	seeds := flag.Int("seeds", 10, "seeds of each table, from 1")
	problems := flag.Bool("problems", false, "print the tables as JSON, and end")
	peers := flag.String("peers", filepath.Join("..", "peers", "outcomes", "tables.jsonl"), "what others have recorded")
	flag.Parse()
	others, err := read(*peers)
	if err != nil {
		return err
	}
	for _, path := range flag.Args() {
		t, err := open(ctx, path)
		if err != nil {
			return err
		}
		if *problems {
			err = t.print(*seeds)
		} else {
			err = t.compare(ctx, *seeds, others)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// table is a campaign on a table.
type table struct {
	def       definition.Campaign
	folder    string
	scores    [][]float64 // of each candidate, MAXIMIZED
	reference []float64
	greatest  float64 // hypervolume
}

// open reads a campaign file and its whole table.
func open(ctx context.Context, path string) (*table, error) {
	reg := builtin.Registry()
	file, err := campaignfile.Read(reg, path)
	if err != nil {
		return nil, err
	}
	t := &table{def: file.Definition, folder: filepath.Dir(path)}
	instrument, err := t.instrument(ctx)
	if err != nil {
		return nil, err
	}
	lister, ok := instrument.(instruments.Candidates)
	if !ok {
		return nil, errors.New("the instrument has no list")
	}
	if t.def.Candidates, err = lister.Candidates(ctx); err != nil {
		return nil, err
	}
	for i, c := range t.def.Candidates {
		score, err := t.measure(ctx, instrument, fmt.Sprintf("row-%d", i), c)
		if err != nil {
			return nil, err
		}
		t.scores = append(t.scores, score)
	}
	none := make([]float64, len(t.def.Tradeoff()))
	for k := range none {
		none[k] = math.NaN()
	}
	t.reference = pareto.Reference(t.scores, none, make([]float64, len(none)))
	t.greatest = pareto.Hypervolume(t.scores, t.reference)
	return t, nil
}

// instrument opens the table: one for each campaign, since it knows its commands.
func (t *table) instrument(ctx context.Context) (instruments.Instrument, error) {
	driver, _ := builtin.Registry().DriverOf(&t.def)
	return driver.Open(ctx, t.def, instruments.Environment{Folder: t.folder})
}

// measure returns the scores of a row.
func (t *table) measure(
	ctx context.Context, from instruments.Instrument, id string, at definition.Point,
) ([]float64, error) {
	cmd := instruments.Command{ID: id, Experiment: "e1", Parameters: at, Replicate: 1}
	if err := from.Start(ctx, cmd); err != nil {
		return nil, err
	}
	out, err := from.Await(ctx, cmd)
	if err != nil || out.Measurement == nil {
		return nil, errors.Join(err, errors.New(out.Cause))
	}
	return t.scored(out.Measurement), nil
}

// scored are the objectives of a measurement, MAXIMIZED.
func (t *table) scored(m *events.Measurement) []float64 {
	var scores []float64
	for _, a := range t.def.Tradeoff() {
		value, _ := m.Of(a.Name)
		scores = append(scores, -t.def.ObjectiveOf(a).Sign()*value.Value)
	}
	return scores
}

// campaign is the campaign of an arm and a seed.
func (t *table) campaign(rule definition.Choice, seed int) (definition.Campaign, error) {
	def := t.def
	def.Seed = uint64(seed)
	def.Policy = policies.Alone(rule)
	points, err := t.start(seed)
	def.Initial = definition.Initial{Points: points, Design: definition.DesignPoints}
	return campaignfile.Complete(builtin.Registry(), def), err
}

// start are the initial rows of a seed.
func (t *table) start(seed int) ([]definition.Point, error) {
	sp, err := space.New(t.def)
	if err != nil {
		return nil, err
	}
	return sp.Design(definition.DesignRandom, initial, uint64(seed))
}

// run runs a campaign, and returns which part of the greatest hypervolume it has
// found after each experiment.
func (t *table) run(ctx context.Context, rule definition.Choice, seed int) ([]float64, error) {
	def, err := t.campaign(rule, seed)
	if err != nil {
		return nil, err
	}
	instrument, err := t.instrument(ctx)
	if err != nil {
		return nil, err
	}
	r, err := outcomes.Run(ctx, def, instrument, nil)
	if err != nil {
		return nil, err
	}
	var found [][]float64
	experiments := r.Core().State().Experiments
	for i := range experiments {
		if m := experiments[i].Measurement; m != nil {
			found = append(found, t.scored(m))
		}
	}
	return t.shares(found), nil
}

// shares are which part of the greatest hypervolume was found after each experiment.
func (t *table) shares(found [][]float64) (shares []float64) {
	for i := range found {
		shares = append(shares, pareto.Hypervolume(found[:i+1], t.reference)/t.greatest)
	}
	return shares
}

// compare prints the arms of a table.
func (t *table) compare(ctx context.Context, seeds int, others []course) error {
	fmt.Printf("%s, %d rows, %d experiments, %d seeds\n",
		t.def.Name, len(t.def.Candidates), t.def.Budget.Experiments, seeds)
	for _, arm := range arms {
		var all [][]float64
		for seed := 1; seed <= seeds; seed++ {
			shares, err := t.run(ctx, arm.rule, seed)
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", arm.name, seed, err)
			}
			all = append(all, shares)
		}
		report(arm.name, all)
	}
	recorded := map[string][][]float64{}
	for _, c := range others {
		if c.Table != t.def.Name || c.Seed > seeds {
			continue
		}
		var found [][]float64
		for _, row := range c.Rows {
			found = append(found, t.scores[row])
		}
		recorded[c.Arm] = append(recorded[c.Arm], t.shares(found))
	}
	for _, arm := range slices.Sorted(maps.Keys(recorded)) {
		report(arm, recorded[arm])
	}
	return nil
}

// report prints which part of the hypervolume an arm's campaigns have found.
func report(arm string, campaigns [][]float64) {
	var ends, means []float64
	for _, shares := range campaigns {
		ends = append(ends, shares[len(shares)-1])
		means = append(means, stat.Mean(shares, nil))
	}
	fmt.Printf("  %-9s %s of the hypervolume at the end, %s in the mean, of %d\n",
		arm, share(ends), share(means), len(campaigns))
}

// share writes a mean with its standard error.
func share(values []float64) string {
	mean, sd := stat.MeanStdDev(values, nil)
	return fmt.Sprintf("%.3f ± %.3f", mean, sd/math.Sqrt(float64(len(values))))
}

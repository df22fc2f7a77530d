// Command cobol measures what an expert's labels do to a campaign: COBOL with
// helpful, guessing and misleading simulated experts against the same
// acquisition without an expert, over common seeds. It prints the tables of
// docs/results.md.
//
//	go run ./internal/study/cobol -task electrolyte -seeds 30 -experiments 25 -noise 0.27 -beta 2
//	go run ./internal/study/cobol -task ackley4 -seeds 20 -experiments 53
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/tasks"
)

type options struct {
	task        string
	seeds       int
	first       uint64
	experiments int
	noise, beta float64
	accuracies  []float64
	paper       bool
}

func main() {
	var o options
	accuracies := flag.String("accuracies", "2,1,0,-1,-2", "the experts' accuracies a")
	flag.StringVar(&o.task, "task", "electrolyte", "the test problem")
	flag.IntVar(&o.seeds, "seeds", 30, "number of seeds")
	flag.Uint64Var(&o.first, "first", 1, "first seed")
	flag.IntVar(&o.experiments, "experiments", 25, "budget of experiments, the initial 3 included")
	flag.Float64Var(&o.noise, "noise", 0, "known noise of a measurement, in the objective's unit; 0: none")
	flag.Float64Var(&o.beta, "beta", 1, "width of the confidence bound")
	flag.BoolVar(&o.paper, "paper", false, "the rules as printed in the paper instead of ours")
	flag.Parse()
	for _, text := range strings.Split(*accuracies, ",") {
		a, err := strconv.ParseFloat(text, 64)
		if err != nil {
			fmt.Fprintf(os.Stderr, "-accuracies: %q is not a number\n", text)
			os.Exit(2)
		}
		o.accuracies = append(o.accuracies, a)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// result is what one campaign came to.
type result struct {
	// regret is the noiseless regret of the best measured composition, off the
	// relative error of the noiseless value at the campaign's best.
	regret, off float64
	// asked counts questions; early and late those before the first and last fifth
	// of the experiments that the policy chose.
	asked, early, late float64
}

func run(ctx context.Context, o options) error {
	task, ok := tasks.Lookup(o.task)
	if !ok {
		return fmt.Errorf("there is no task %q; the tasks are %v", o.task, tasks.Names())
	}
	vanilla, err := campaigns(ctx, o, task, nil)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d experiments, seeds %d–%d, β = %g, noise %g %s. Regret: mean ± standard error at the end; difference: paired, with its 95 %% interval.\n\n",
		o.task, o.experiments, o.first, o.first+uint64(o.seeds)-1, o.beta, o.noise, task.Objective.Unit)
	fmt.Println("| expert | regret | difference to none | asked | first fifth | last fifth | best within 2 % | within 1 % |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	row("none", vanilla, nil)
	for _, a := range o.accuracies {
		results, err := campaigns(ctx, o, task, &a)
		if err != nil {
			return err
		}
		row(fmt.Sprintf("a = %g", a), results, vanilla)
	}
	return nil
}

func row(name string, results, vanilla []result) {
	n := float64(len(results))
	column := func(f func(result) float64) []float64 {
		values := make([]float64, len(results))
		for i, r := range results {
			values[i] = f(r)
		}
		return values
	}
	regret := column(func(r result) float64 { return r.regret })
	mean, sd := stat.MeanStdDev(regret, nil)
	difference := "—"
	if vanilla != nil {
		d := make([]float64, len(results))
		for i, r := range results {
			d[i] = r.regret - vanilla[i].regret
		}
		m, s := stat.MeanStdDev(d, nil)
		half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975) * s / math.Sqrt(n)
		difference = fmt.Sprintf("%+.3f [%+.3f, %+.3f]", m, m-half, m+half)
	}
	within := func(limit float64) int {
		count := 0
		for _, r := range results {
			if r.off <= limit {
				count++
			}
		}
		return count
	}
	fmt.Printf("| %s | %.3f ± %.3f | %s | %.1f | %.1f | %.1f | %d of %d | %d of %d |\n", name, mean, sd/math.Sqrt(n), difference,
		stat.Mean(column(func(r result) float64 { return r.asked }), nil),
		stat.Mean(column(func(r result) float64 { return r.early }), nil),
		stat.Mean(column(func(r result) float64 { return r.late }), nil),
		within(0.02), len(results), within(0.01), len(results))
}

// campaigns runs one campaign for each seed; accuracy nil means no expert.
func campaigns(ctx context.Context, o options, task tasks.Task, accuracy *float64) ([]result, error) {
	results := make([]result, o.seeds)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range results {
		group.Go(func() (err error) {
			results[i], err = campaign(ctx, o, task, o.first+uint64(i), accuracy)
			return err
		})
	}
	return results, group.Wait()
}

func campaign(ctx context.Context, o options, task tasks.Task, seed uint64, accuracy *float64) (result, error) {
	changes := []func(*events.Definition){func(def *events.Definition) {
		def.Policy.Next.LCB = &events.LCB{Beta: &o.beta}
	}}
	if o.noise > 0 {
		changes = append(changes, study.WithNoise(o.noise))
	}
	if accuracy != nil {
		changes = append(changes, study.WithExpert(*accuracy))
		if o.paper {
			changes = append(changes, func(def *events.Definition) { def.Policy.Trust.COBOL = &events.COBOL{Paper: true} })
		}
	}
	def, err := study.Define(o.task, seed, o.experiments, changes...)
	if err != nil {
		return result{}, err
	}
	core, err := study.Simulate(ctx, memlog.New(), def)
	if err != nil {
		return result{}, fmt.Errorf("seed %d: %w", seed, err)
	}
	summary, err := core.Summarize()
	if err != nil {
		return result{}, err
	}
	r := result{regret: math.Inf(1)}
	s := core.State()
	for i := range s.Experiments {
		value, err := task.Value(s.Experiments[i].Parameters)
		if err != nil {
			return result{}, err
		}
		r.regret = math.Min(r.regret, task.Regret(value))
	}
	best, err := task.Value(summary.Best.Parameters)
	if err != nil {
		return result{}, err
	}
	r.off = task.Regret(best) / math.Abs(task.Best.Value)
	first := *def.Initial.Experiments
	fifth := (o.experiments - first) / 5
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Volunteered {
			continue
		}
		r.asked++
		if q.Experiments < first+fifth {
			r.early++
		}
		if q.Experiments >= o.experiments-fifth {
			r.late++
		}
	}
	return r, nil
}

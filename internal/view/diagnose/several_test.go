package diagnose_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/quantity"
)

const severalFile = `
name: several
seed: 1
parameters: [{name: salt, min: 0, max: 1}]
quantities: [{name: yield, unit: g}, {name: waste, unit: g}]
objective: {tradeoff: [{maximize: yield}, {minimize: waste}]}
constraints_on_outcomes: [waste <= 2]
budget: {experiments: 40}
initial: {experiments: 0}
instrument: manual
`

// several is the view of a campaign of two quantities after n experiments, whose
// errors are the same up to a share of their own.
func several(t *testing.T, n int, own float64) policies.View {
	rng := rand.New(rand.NewPCG(3, 4))
	return measuring(t, severalFile, n, func(salt, _ float64) []definition.Quantity {
		shared := rng.NormFloat64()
		return []definition.Quantity{
			{Name: "yield", Value: 5 + 3*salt + 0.4*shared},
			{Name: "waste", Value: 1 + 2*salt + 0.4*(1-own)*shared + 0.4*own*rng.NormFloat64()},
		}
	})
}

// measuring is the view of the campaign of a file after n experiments, of which gives
// says what they give: noise is standard normal.
func measuring(t *testing.T, source string, n int, gives func(salt, noise float64) []definition.Quantity) policies.View {
	t.Helper()
	file := must.Get(campaignfile.Parse(builtin.Registry(), "several.yaml", []byte(source)))(t)
	log := memlog.New()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: file.Definition}, "person:ada", time.Unix(0, 0), ""); err != nil {
		t.Fatal(err)
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, "several"))(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		salt := math.Mod(0.618*float64(i), 1)
		tell := engine.Tell{Parameters: definition.Point{"salt": definition.Number(salt)}, Quantities: gives(salt, rng.NormFloat64())}
		for _, q := range file.Definition.Quantities {
			given := func(g definition.Quantity) bool { return g.Name == q.Name }
			if q.From == "" && !slices.ContainsFunc(tell.Quantities, given) {
				tell.Missing = append(tell.Missing, events.Missing{Name: q.Name, Reason: "it was not reported"})
			}
		}
		if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Tell: &tell}, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	read := must.Get(core.Read(t.Context()))(t)
	return must.Get(read.View(t.Context()))(t)
}

// Law: the Brier score is the mean square of what the other compositions say of a
// composition's chance to keep the constraint, its noise included, less whether it kept
// it; and the base rate that of the share which did.
func TestCalibrationOfFeasibility(t *testing.T) {
	v := several(t, 20, 1)
	d, err := diagnose.Run(t.Context(), v)
	if err != nil || d.Feasibility == nil {
		t.Fatalf("%+v, %v", d.Feasibility, err)
	}
	m := v.Models.Of("waste")
	rows := make([]int, m.GP().Len())
	for i := range rows {
		rows[i] = i
	}
	_, mean, sd := m.LeaveOneOut(rows)
	brier, kept := 0.0, 0.0
	for i, o := range m.Observations {
		p, came := 0.5*math.Erfc(-(m.Standardized(2)-mean[i])/sd[i]/math.Sqrt2), 0.0
		if o.Value <= 2 {
			came = 1
		}
		brier += (p - came) * (p - came) / 20
		kept += came / 20
	}
	c := d.Feasibility
	if c.Rows != 20 || float64(c.Kept) != math.Round(20*kept) || math.Abs(c.Brier-brier) > 1e-6 || math.Abs(c.BaseRate-kept*(1-kept)) > 1e-12 {
		t.Errorf("it is %+v, want a score of %v where %v kept it", c, brier, kept)
	}
	if c.Kept < 3 || c.Kept > 17 || c.Brier >= c.BaseRate {
		t.Errorf("of %+v the test shows little", c)
	}
	if len(d.Quantities) != 1 || d.Quantities[0].Quantity != "waste" || len(d.Quantities[0].LeaveOneOut.Rows) != 20 {
		t.Errorf("the other quantities are %+v", d.Quantities)
	}
}

// Law: two quantities whose errors go together are named from fifteen compositions on,
// with what follows: of a trade-off, which of them is good where the other is.
func TestErrorsThatGoTogether(t *testing.T) {
	for _, c := range []struct {
		n    int
		own  float64
		want bool
	}{{24, 0, true}, {24, 1, false}, {12, 0, false}} {
		d := must.Get(diagnose.Run(t.Context(), several(t, c.n, c.own)))(t)
		if found := len(d.Correlations) > 0; found != c.want {
			t.Errorf("of %d with errors of their own of %v: %+v", c.n, c.own, d.Correlations)
			continue
		}
		said := slices.IndexFunc(d.Findings, func(f diagnose.Finding) bool { return f.Code == diagnose.Together })
		if (said >= 0) != c.want {
			t.Errorf("the findings are %+v", d.Findings)
		}
		if c.want && (d.Correlations[0].R < 0.8 || d.Correlations[0].Together != -1 ||
			!strings.Contains(d.Findings[said].Text, "both come out better than expected at once")) {
			t.Errorf("%+v: %s", d.Correlations[0], d.Findings[said].Text)
		}
	}
}

// Law: what a correlation does to a probability of both is said in numbers: that both
// objectives come out better than expected is Sheppard's formula, and constraints on both
// are kept with the probability of the bivariate normal distribution.
func TestCorrelationChangesProbabilities(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	source := strings.Replace(severalFile, "[waste <= 2]", "[waste <= 2, yield >= 6.5]", 1)
	v := measuring(t, source, 24, func(salt, _ float64) []definition.Quantity {
		shared := rng.NormFloat64()
		return []definition.Quantity{{Name: "yield", Value: 5 + 3*salt + 0.4*shared}, {Name: "waste", Value: 1 + 2*salt + 0.4*shared}}
	})
	d, err := diagnose.Run(t.Context(), v)
	if err != nil || len(d.Correlations) != 1 {
		t.Fatalf("%+v, %v", d.Correlations, err)
	}
	c := d.Correlations[0]
	if want := 0.25 - math.Asin(c.R)/(2*math.Pi); c.Both == nil || math.Abs(c.Both.Correlated-want) > 1e-12 || c.Both.Independent != 0.25 {
		t.Errorf("both are better with %+v, want %v", c.Both, want)
	}
	most := c.Most
	if most == nil {
		t.Fatalf("no probability to be feasible changes: %+v", c)
	}
	waste := v.Models.Of("waste")
	at := slices.IndexFunc(waste.Observations, func(o quantity.Observation) bool { return o.Experiment == most.Experiment })
	x := waste.X[at]
	yields, sdYield := v.Objective().Posterior(x)
	wasted, sdWaste := waste.Posterior(x)
	a, b := math.Abs(v.Objective().Standardized(6.5)-yields)/sdYield, (waste.Standardized(2)-wasted)/sdWaste
	if v.Objective().Untransform(yields) < 6.5 {
		a = -a
	}
	if want := normal(a) * normal(b); math.Abs(most.Independent-want) > 0.01 {
		t.Errorf("independent it is %v, want %v", most.Independent, want)
	}
	if want := bivariate(a, b, -c.R); math.Abs(most.Correlated-want) > 0.01 {
		t.Errorf("with a correlation of %v it is %v, want %v", c.R, most.Correlated, want)
	}
	f := found(d, diagnose.Together)
	if f == nil || !strings.Contains(f.Text, most.Experiment+" is feasible with a probability of") || f.Next == "" {
		t.Errorf("it says %+v", f)
	}
}

// normal is the distribution function of a standard normal variable.
func normal(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// bivariate is the probability that two standard normal variables with the correlation r
// are at most a and b, by the trapezoidal rule.
func bivariate(a, b, r float64) (p float64) {
	const steps = 20000
	h := (a + 8) / steps
	for i := range steps {
		x := -8 + (float64(i)+0.5)*h
		p += h * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) * normal((b-r*x)/math.Sqrt(1-r*r))
	}
	return p
}

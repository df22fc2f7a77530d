package app

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/methods/methodtest"
	"github.com/campaignd/campaignd/adapters/methods/process"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine/shown"
	"github.com/campaignd/campaignd/internal/lab/equip"
	policyprocess "github.com/campaignd/campaignd/policies/process"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// methodCommand is `campaignd method`, with check as its only command.
var methodCommand = command{
	name: "method",
	args: cobra.NoArgs,
	run: func(*call, []string) error {
		return badInput("say what to do with it: campaignd method check FILE")
	},
	commands: []command{{
		name: "check",
		args: cobra.ExactArgs(1),
		run:  checkMethod,
	}},
}

func checkMethod(a *call, args []string) error {
	t, err := a.fileTarget(args[0], "the check takes a campaign file")
	if err != nil {
		return err
	}
	def, err := a.listCandidates(a.ctx, t, t.file.Definition)
	if err != nil {
		return err
	}
	if _, ok := a.registry.Program(&def); !ok {
		return badInput("%s names no program as its method: write policy: {process: [PROGRAM]}", t.path)
	}
	views, err := sampleViews(def)
	if err != nil {
		return inputError{err}
	}
	results, err := methodtest.Examine(a.ctx, methodtest.Env{
		Open: func() (*process.Method, error) {
			method, err := equip.OpenMethod(a.registry, def, t.base,
				func(format string, args ...any) { a.remark("%s", fmt.Sprintf(format, args...)) })
			if err != nil {
				return nil, err
			}
			program, ok := method.(*process.Method)
			if !ok {
				return nil, badInput("the method of %s is not a program", t.path)
			}
			return program, nil
		},
		Views: views,
	})
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(results)
	}
	failed := false
	for _, r := range results {
		failed = failed || r.Problem != ""
		if a.json {
			continue
		}
		switch {
		case r.Problem != "":
			a.printf("FAILED   %-14s %s\n         %s\n", r.Name, r.Law, r.Problem)
		case r.Skipped != "":
			a.printf("skipped  %-14s %s\n", r.Name, r.Skipped)
		default:
			a.printf("passed   %-14s %s\n", r.Name, r.Law)
		}
	}
	if err == nil && failed {
		err = errReported
	}
	return err
}

// sampleViews are campaigns of a definition in which nothing took place: at its
// beginning, with results, and with failures and experiments under way. Values
// are of a bowl around the middle of the design.
func sampleViews(def definition.Campaign) ([]methodtest.View, error) {
	sp, err := space.New(def)
	if err != nil {
		return nil, err
	}
	const most = 6
	points, err := sp.Design(definition.DesignSobol, most, def.Seed)
	if err != nil {
		return nil, err
	}
	result := func(i int, status campaign.ExperimentStatus) campaign.Experiment {
		x := campaign.Experiment{
			ID: events.ExperimentID(i + 1), Status: status, Parameters: points[i], Origin: events.OriginInitial, Replicate: 1,
		}
		if status != campaign.Measured {
			return x
		}
		value := 0.0
		u, _ := sp.Encode(points[i])
		for _, coordinate := range u {
			value += math.Pow(coordinate-0.5, 2)
		}
		var measured []definition.Quantity
		for _, q := range def.Declared() {
			measured = append(measured, definition.Quantity{Name: q.Name, Value: 1 + value, Unit: q.Unit})
		}
		x.Measurement = &events.Measurement{Actual: points[i], Objective: measured[0]}
		if def.Several() {
			x.Measurement = &events.Measurement{Actual: points[i], Quantities: measured}
		}
		return x
	}
	view := func(about string, statuses ...campaign.ExperimentStatus) (methodtest.View, error) {
		s := &campaign.State{Name: def.Name, Definition: &def, Status: campaign.Running}
		for i, status := range statuses {
			if i < len(points) {
				s.Experiments = append(s.Experiments, result(i, status))
			}
		}
		text, _, err := shown.Of(s).Encode()
		return methodtest.View{About: about, JSON: text, Measurable: func(p definition.Point) error {
			_, err := policyprocess.Measurable(s, sp, p)
			return err
		}}, err
	}
	var views []methodtest.View
	for _, v := range []struct {
		about    string
		statuses []campaign.ExperimentStatus
	}{
		{"before anything was measured", nil},
		{"after four results", []campaign.ExperimentStatus{campaign.Measured, campaign.Measured, campaign.Measured, campaign.Measured}},
		{"with a failure and one under way", []campaign.ExperimentStatus{campaign.Measured, campaign.Failed, campaign.Infeasible, campaign.Measured, campaign.Requested}},
	} {
		made, err := view(v.about, v.statuses...)
		if err != nil {
			return nil, err
		}
		views = append(views, made)
	}
	return views, nil
}

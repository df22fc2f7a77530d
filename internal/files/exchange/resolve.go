package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/ground/units"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A table settles experiments whose fate is unknown, such as those of a plate whose reader
// jammed after eleven wells: a row for each, by its name, with its fate or its values. A row
// without either leaves its experiment alone, so that an export can be filled in.

// The columns of such a table, besides those of a result.
const (
	columnOutcome    = "outcome"
	columnResolution = "resolution"
	columnReason     = "reason"
)

// resolutions are the possible outcomes.
var resolutions = []events.Resolution{
	events.ResolvedMeasured, events.ResolvedFailed, events.ResolvedInfeasible, events.ResolvedNotPerformed,
	events.ResolvedDone,
}

// Resolving reads the fates of experiments from a table.
type Resolving struct {
	// Core is their campaign, Actor who says it.
	Core  *engine.Core
	Actor string
	// Rest is said of all experiments that it names and the table leaves alone; the
	// zero one of none. Its Repeat, Reason, Voided and Anyway hold for the rows, too:
	// a row is repeated where it failed or did not take place, and has a reason of
	// its own if its column is filled.
	Rest engine.Resolve
	// Clause describes the fault of a row, with the remedy.
	Clause func(err error) string

	im *Import
}

// Read reads and checks a table of that name. Each fault is named, in a [Fault] or
// a [Faults], and then nothing is settled.
func (r *Resolving) Read(file string, in io.Reader) ([]engine.Resolve, error) {
	def := r.Core.State().Definition
	r.im = &Import{Core: r.Core}
	r.im.read(def)
	s, err := ReadSheet(def, file, in, Form{
		required: []string{view.ColumnExperiment}, arrives: true, known: r.known,
		remedy: fmt.Sprintf("; besides, %s, %s and the columns of a result are known", columnOutcome, columnReason),
	})
	if err != nil {
		return nil, err
	}
	r.im.sheet, r.im.further = s, furtherColumns(s.Header)
	var settled []engine.Resolve
	var rows []Row
	var faults Faults
	for _, row := range s.Rows {
		one, wrong := r.row(row)
		faults = append(faults, wrong...)
		if one != nil {
			settled = append(settled, *one)
			rows = append(rows, row)
		}
	}
	if faults != nil {
		return nil, faults
	}
	rest, err := r.rest(settled)
	if err != nil {
		return nil, err
	}
	if rest != nil {
		settled = append(settled, *rest)
	}
	if settled == nil {
		return nil, faulty(s.Name, 0, "says nothing of any experiment: fill in %s, or values", columnOutcome)
	}
	return settled, r.judge(settled, rows)
}

// known reports whether a column may be there.
func (r *Resolving) known(name string, header []string) bool {
	return slices.Contains([]string{columnOutcome, columnResolution, columnReason, columnCampaign, columnWell, columnUses}, name) ||
		r.im.known(name, header)
}

// row reads a row's finding about its experiment, nil for none.
func (r *Resolving) row(row Row) (*engine.Resolve, Faults) {
	s := r.im.sheet
	named := s.cell(row, view.ColumnExperiment)
	x := r.Core.State().Experiment(named.text)
	said := s.cell(row, columnOutcome)
	if said.text == "" {
		said = s.cell(row, columnResolution)
	}
	valued := slices.ContainsFunc(r.im.def.DeclaredNames(), func(name string) bool { return s.cell(row, name).text != "" })
	how := events.Resolution(said.text)
	switch {
	case how == "" && !valued && s.cell(row, view.ColumnMissing).text == "":
		return nil, nil
	case x == nil:
		return nil, Faults{s.fault(row, named, fmt.Errorf("there is no experiment %q", named.text))}
	case how == "":
		how = events.ResolvedMeasured
	case !slices.Contains(resolutions, how):
		return nil, Faults{s.fault(row, said, fmt.Errorf(
			"%q is not what can become of an experiment: write measured, failed, infeasible or not-performed, or leave it empty; of an act, done",
			said.text))}
	}
	one := &engine.Resolve{
		Experiment: x.ID, Resolution: how, Reason: r.Rest.Reason, Voided: r.Rest.Voided, Anyway: r.Rest.Anyway,
		Repeat: r.Rest.Repeat && (how == events.ResolvedFailed || how == events.ResolvedNotPerformed),
	}
	if reason := s.cell(row, columnReason).text; reason != "" {
		one.Reason = reason
	}
	return one, r.result(row, x, one)
}

// result reads a row's values of the experiment's result.
func (r *Resolving) result(row Row, x *campaign.Experiment, one *engine.Resolve) (faults Faults) {
	im, s := r.im, r.im.sheet
	tell := engine.Tell{Experiment: x.ID}
	if one.Resolution == events.ResolvedFailed {
		tell.Failed = "it failed" // then each value is one of the quantities
	}
	faults = append(im.values(row, &tell), im.extras(row, &tell)...)
	made := make(definition.Point)
	maps.Copy(made, x.Parameters)
	for _, par := range im.def.Parameters {
		c := s.cell(row, par.Name+view.ActualEnding)
		if c.text == "" {
			continue
		}
		v, err := valueIn(im.def, par.Name, c.text, s.comma)
		if err != nil {
			faults = append(faults, s.fault(row, c, err))
		}
		made[par.Name] = v
		one.Actual = made
	}
	one.Value, one.SD = tell.Value, tell.SD
	one.Quantities = tell.Quantities
	one.Missing = im.missing(row)
	one.Further = tell.Further
	if sought := im.sought; tell.Unit != "" && !units.Same(tell.Unit, sought.Unit) {
		faults = append(faults, s.fault(row, s.cell(row, view.ColumnUnit), fmt.Errorf(
			"%s is in %s, the campaign's in %s", sought.Name, tell.Unit, cmp.Or(sought.Unit, "no unit"))))
	}
	return faults
}

// rest is the finding for all experiments that the table leaves alone, nil for none.
func (r *Resolving) rest(settled []engine.Resolve) (*engine.Resolve, error) {
	if r.Rest.Experiment == "" {
		return nil, nil
	}
	state := r.Core.State()
	ids, err := events.ParseExperimentList(r.Rest.Experiment, len(state.Experiments))
	if a := state.Act(r.Rest.Experiment); a != nil {
		ids, err = slices.Clone(a.Experiments), nil
	}
	if err != nil {
		return nil, problem.New(problem.Invalid, "%w", err)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool {
		return slices.ContainsFunc(settled, func(s engine.Resolve) bool { return s.Experiment == id })
	})
	if len(ids) == 0 {
		return nil, nil
	}
	rest := r.Rest
	rest.Experiment = strings.Join(ids, ",")
	return &rest, nil
}

// judge has the engine validate the rows; it changes nothing.
func (r *Resolving) judge(settled []engine.Resolve, rows []Row) error {
	_, err := r.Core.Handle(engine.Request{Actor: r.Actor, Resolves: settled})
	var wrong problem.RowFaults
	if err == nil {
		return nil
	}
	if !errors.As(err, &wrong) && len(rows) == 1 && len(settled) == 1 {
		wrong = problem.RowFaults{{Row: 1, Err: err}}
	}
	var faults Faults
	for _, w := range wrong {
		if w.Row > len(rows) {
			return w.Err // of those that the table leaves alone
		}
		faults = append(faults, r.im.sheet.Fault(rows[w.Row-1], errors.New(r.Clause(w.Err))))
	}
	if faults == nil {
		return err
	}
	return faults
}

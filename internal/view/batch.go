package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// BatchStatus is where a batch stands that is under way.
type BatchStatus struct {
	ID          string   `json:"id"`
	Experiments []string `json:"experiments"`
	// Stages are in the order of the procedure.
	Stages []StageStatus `json:"stages"`
	// Unresolved are its acts whose fate is unknown.
	Unresolved []string `json:"unresolved,omitempty"`
	Places     []string `json:"places,omitempty" doc:"The places that it occupies."`
	// WaitsFor names the next thing to happen by the log, where no act is open; Remedies are for a person.
	WaitsFor  string           `json:"waits_for,omitempty"`
	Remedies  []problem.Remedy `json:"-"`
	PlannedAt time.Time        `json:"planned_at"`
}

// StageStatus counts the experiments of a batch by how far they are with a stage; the others have it
// before them, or need it no more.
type StageStatus struct {
	Stage    string `json:"stage"`
	On       string `json:"on" doc:"The instrument."`
	Done     int    `json:"done"`
	UnderWay int    `json:"under_way"`
	Failed   int    `json:"failed"`
}

// batchesOf are the batches under way.
func batchesOf(core *engine.Core) (all []BatchStatus) {
	s := core.State()
	for i := range s.Batches {
		if b := &s.Batches[i]; !b.Over {
			all = append(all, BatchOf(core, b))
		}
	}
	return all
}

// BatchOf returns where a batch stands.
func BatchOf(core *engine.Core, b *campaign.Batch) BatchStatus {
	s := core.State()
	status := BatchStatus{
		ID: b.ID, Experiments: b.Experiments, Stages: stagesOf(s, b), Places: b.Places, PlannedAt: b.PlannedAt,
	}
	for a := range s.ActsOf(b) {
		if a.Command.Fate == campaign.Unknown {
			status.Unresolved = append(status.Unresolved, a.ID)
		}
	}
	if !b.Over && !s.UnderWay(b) {
		status.WaitsFor, status.Remedies = engine.Awaited(core.At(engine.World{Now: core.Last()}), b)
	}
	return status
}

func stagesOf(s *campaign.State, b *campaign.Batch) (all []StageStatus) {
	for i := range b.Procedure {
		stage := &b.Procedure[i]
		status := StageStatus{Stage: stage.Name, On: stage.On}
		for _, id := range b.Experiments {
			switch how, _ := s.Progress(b, stage, id); how {
			case campaign.StageDone:
				status.Done++
			case campaign.StageUnder:
				status.UnderWay++
			case campaign.StageFailed:
				status.Failed++
			}
		}
		all = append(all, status)
	}
	return all
}

// actsOf are the acts that are open, or that are being called off.
func actsOf(s *campaign.State) (all []campaign.Act) {
	for i := range s.Acts {
		if a := &s.Acts[i]; a.Open() || a.Command.BeingCalledOff() {
			all = append(all, *a)
		}
	}
	return all
}

// BatchText puts a batch into words, the campaign's name for it first: "b3: 24 experiments · measure 11
// of 24 at meter · 1 unresolved".
func BatchText(b *BatchStatus) string {
	parts := []string{format.Count(len(b.Experiments), "experiment")}
	for _, stage := range b.Stages {
		over := stage.Done + stage.Failed
		if stage.UnderWay == 0 && (over == 0 || over == len(b.Experiments)) {
			continue
		}
		text := fmt.Sprintf("%s %d of %d at %s", stage.Stage, stage.Done, len(b.Experiments), stage.On)
		if stage.Failed > 0 {
			text += fmt.Sprintf(", %d failed", stage.Failed)
		}
		parts = append(parts, text)
	}
	if len(b.Places) > 0 {
		parts = append(parts, "in "+strings.Join(b.Places, ", "))
	}
	if n := len(b.Unresolved); n > 0 {
		parts = append(parts, fmt.Sprintf("%d unresolved", n))
	} else if when, later := strings.CutPrefix(b.WaitsFor, b.ID+", which "); later {
		parts = append(parts, when)
	} else if b.WaitsFor != "" {
		parts = append(parts, "waits for "+b.WaitsFor)
	}
	return b.ID + ": " + strings.Join(parts, " · ")
}

// actName names an act in the words of the story: "a12 (measure of e7)".
func actName(a *campaign.Act) string {
	return fmt.Sprintf("%s (%s of %s)", a.ID, a.Stage, ActOf(a.Batch, a.Experiments))
}

// ActWays are the resolutions of an act, as `resolve` takes them.
func ActWays(measures bool) []string {
	how := events.ResolvedDone
	if measures {
		how = events.ResolvedMeasured
	}
	return []string{
		string(how), string(events.ResolvedFailed), string(events.ResolvedInfeasible), string(events.ResolvedNotPerformed),
	}
}

// settleAct is the remedy for an act whose fate a person has to tell.
func (c *Campaign) settleAct(a *campaign.Act) problem.Remedy {
	return problem.Remedy{
		Text: "settle it", Action: problem.Resolve, Subject: a.ID, Ways: ActWays(c.gives(a.Stage)),
	}
}

// gives reports whether a stage measures something.
func (c *Campaign) gives(stage string) bool {
	for i := range c.Definition.Procedure {
		if s := &c.Definition.Procedure[i]; s.Name == stage {
			return len(s.Gives) > 0
		}
	}
	return false
}

// actsNeed says for which acts a person is needed: first those whose fate is unknown, then those that
// people carry out, and batches that wait for a person's hand.
func (c *Campaign) actsNeed(how How) (needs []string) {
	var byHand []string
	for i := range c.Acts {
		a := &c.Acts[i]
		switch {
		case a.Command.BeingCalledOff(): // that has a line of its own
		case a.Command.Fate == campaign.Unknown:
			needs = append(needs, fmt.Sprintf("the fate of %s is unknown (%s): look at %s, then `%s`",
				actName(a), a.Cause, a.Resource, how(c.settleAct(a))))
		case a.Open() && c.Definition.At(a.Resource).ByHand:
			byHand = append(byHand, fmt.Sprintf("%s is done by hand at %s%s: then `%s`", actName(a), a.Resource, WithDrawn(a), how(c.settleAct(a))))
		}
	}
	if n := len(byHand) - fewIDs; n > 0 {
		byHand = append(byHand[:fewIDs], fmt.Sprintf("%d more are done by hand", n))
	}
	needs = append(needs, byHand...)
	for i := range c.Batches {
		b := &c.Batches[i]
		task, person := strings.CutPrefix(b.WaitsFor, toPerson)
		if !person || len(b.Unresolved) > 0 {
			continue
		}
		for _, remedy := range b.Remedies {
			task += fmt.Sprintf("; %s with `%s`", remedy.Text, how(remedy))
		}
		needs = append(needs, task)
	}
	return needs
}

// CallingOff are the commands that are being called off.
func (c *Campaign) CallingOff() (all []campaign.Order) {
	for i := range c.CalledOff {
		x := &c.CalledOff[i]
		all = append(all, campaign.Order{Subject: x.ID, Command: &x.Command})
	}
	for i := range c.Acts {
		if a := &c.Acts[i]; a.Command.BeingCalledOff() {
			all = append(all, campaign.Order{Subject: a.ID, Resource: a.Resource, Command: &a.Command})
		}
	}
	return all
}

// underWayRows are the rows of batches and acts of a status: an act has a row where it is silent
// or has given a sign.
func (st *Status) underWayRows(now time.Time) (rows []Row) {
	for i := range st.Batches {
		rows = append(rows, Row{"batch", BatchText(&st.Batches[i])})
	}
	for i := range st.Acts {
		a := &st.Acts[i]
		if text := commandText(&a.Command, now); text != "" && a.Open() {
			rows = append(rows, rowf("under way", "%s at %s%s", actName(a), a.Resource, text))
		}
	}
	var waiting []string
	for _, x := range st.UnderWay {
		if x.Status == campaign.Requested && len(st.Definition.Procedure) > 0 {
			waiting = append(waiting, x.ID)
		}
	}
	if waiting != nil {
		rows = append(rows, rowf("under way", "%s: for a batch of %d", events.ExperimentList(waiting), st.Definition.Batch.Size()))
	}
	return rows
}

// commandText says whether a command under way is silent, and its sign: ", silent for longer than it
// should be"; "" for nothing.
func commandText(c *campaign.Command, now time.Time) (text string) {
	if c.Stalled {
		text += ", silent for longer than it should be"
	}
	if sign := c.Sign; sign != nil {
		text += "; " + SignText(sign) + ", " + format.Duration(now.Sub(sign.At)) + " ago"
	}
	return text
}

// instrumentOf is the name of an instrument for people: the campaign's own, else the driver's.
func instrumentOf(o campaign.Order) string { return cmp.Or(o.Resource, o.Command.Instrument) }

// BatchTable is a campaign's batches with their acts: stages are columns, batches are rows, the latest
// first.
type BatchTable struct {
	Stages []StageColumn
	Rows   []BatchRow
}

// StageColumn is a stage of the procedure as it is now.
type StageColumn struct{ Name, On string }

// BatchRow is a batch, with a cell for each stage.
type BatchRow struct {
	ID, Experiments, Stands string
	Cells                   []BatchCell
}

// BatchCell is how far a batch is with a stage. Unknown are the acts whose fate is.
type BatchCell struct {
	Text, Class string
	Unknown     []string
}

// Classes of cells.
const (
	cellUnknown = "unknown"
	cellUnder   = "under"
	cellFailed  = "failed"
	cellDone    = "done"
)

// BatchesIn returns the table of at most so many batches.
func BatchesIn(core *engine.Core, most int) (t BatchTable) {
	s := core.State()
	for i := range s.Definition.Procedure {
		stage := &s.Definition.Procedure[i]
		t.Stages = append(t.Stages, StageColumn{stage.Name, stage.On})
	}
	for i := len(s.Batches) - 1; i >= max(0, len(s.Batches)-most); i-- {
		b := &s.Batches[i]
		status := BatchOf(core, b)
		row := BatchRow{ID: b.ID, Experiments: events.ExperimentList(b.Experiments), Stands: standsText(b, &status)}
		for _, column := range t.Stages {
			row.Cells = append(row.Cells, batchCell(s, b, &status, column.Name))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// standsText says in a few words where a batch stands.
func standsText(b *campaign.Batch, status *BatchStatus) string {
	switch {
	case b.Scrapped:
		return "taken out"
	case b.Over:
		return "through"
	case len(status.Unresolved) > 0:
		return fmt.Sprintf("%d unresolved", len(status.Unresolved))
	case status.WaitsFor == "":
		return "under way"
	}
	if when, later := strings.CutPrefix(status.WaitsFor, b.ID+", which "); later {
		return when
	}
	return "waits for " + status.WaitsFor
}

// batchCell is the cell of a stage; empty where the batch's procedure does not have it, or none has come to it.
func batchCell(s *campaign.State, b *campaign.Batch, status *BatchStatus, stage string) (cell BatchCell) {
	at := slices.IndexFunc(status.Stages, func(of StageStatus) bool { return of.Stage == stage })
	if at < 0 {
		return cell
	}
	of := status.Stages[at]
	for _, id := range status.Unresolved {
		if s.Act(id).Stage == stage {
			cell.Unknown = append(cell.Unknown, id)
		}
	}
	n := len(b.Experiments)
	switch {
	case of.Done+of.UnderWay+of.Failed == 0:
		return cell
	case of.Done == n:
		cell.Text = "done"
	default:
		cell.Text = fmt.Sprintf("%d of %d", of.Done, n)
	}
	if of.Failed > 0 {
		cell.Text += fmt.Sprintf(", %d failed", of.Failed)
	}
	switch {
	case cell.Unknown != nil:
		cell.Class = cellUnknown
	case of.UnderWay > 0:
		cell.Class = cellUnder
	case of.Failed > 0:
		cell.Class = cellFailed
	case of.Done == n:
		cell.Class = cellDone
	}
	return cell
}

package studytest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/policies"
)

// Row is an experiment of [ViewOf]: a composition, the one actually made, or nil, and its values.
// Without values it is running.
type Row struct {
	At, Made definition.Point
	Gave     map[string]float64
}

// ViewOf returns a policy's view of the campaign of a file that declares its quantities, after some
// experiments, with fits of the caller's own: of the quantities, and of the objective, by its name.
// A quantity for which fit returns nil has none.
func ViewOf(
	ctx context.Context, text string, rows []Row, fit func(quantity string) *events.ObjectiveFit,
) (policies.View, error) {
	file, err := campaignfile.Parse(builtin.Registry(), "campaign.yaml", []byte(text))
	if err != nil {
		return policies.View{}, err
	}
	def := file.Definition
	payloads := []events.Payload{&events.CampaignDefined{Definition: def}}
	for i, row := range rows {
		id := events.ExperimentID(i + 1)
		payloads = append(payloads, &events.ExperimentRequested{
			Experiment: id, Parameters: row.At, Origin: events.OriginInitial, Replicate: 1,
		})
		if row.Gave == nil {
			continue
		}
		m := events.Measurement{Actual: row.At}
		if row.Made != nil {
			m.Actual = row.Made
		}
		for _, name := range slices.Sorted(maps.Keys(row.Gave)) {
			value := definition.Quantity{Name: name, Value: row.Gave[name], Unit: def.Quantity(name).Unit}
			m.Quantities = append(m.Quantities, value)
		}
		payloads = append(payloads, &events.ExperimentMeasured{Experiment: id, Requested: row.At, Measurement: m})
	}
	payloads = append(payloads, fits(&def, fit)...)
	log := memlog.New()
	for i, p := range payloads {
		e, err := events.New(def.Name, p)
		if err != nil {
			return policies.View{}, err
		}
		e.Time = time.Unix(int64(i), 0)
		if _, err := log.Append(ctx, def.Name, events.Sequence(i), e); err != nil {
			return policies.View{}, fmt.Errorf("event %d: %w", i+1, err)
		}
	}
	core, err := engine.Load(ctx, builtin.Registry(), log, def.Name)
	if err != nil {
		return policies.View{}, err
	}
	return core.View(ctx)
}

// fits are the events of the fits of [ViewOf].
func fits(def *definition.Campaign, fit func(quantity string) *events.ObjectiveFit) (payloads []events.Payload) {
	sought := def.Sought().Name
	if f := fit(sought); f != nil {
		payloads = append(payloads, &events.ModelFitted{Model: events.ModelObjective, Objective: f})
	}
	for _, q := range def.Declared() {
		if f := fit(q.Name); f != nil && q.Name != sought && !q.Record {
			payloads = append(payloads, &events.ModelFitted{Model: events.ModelQuantity, Quantity: q.Name, Objective: f})
		}
	}
	return payloads
}

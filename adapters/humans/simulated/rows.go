package simulated

import (
	"context"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events/definition"
)

// knowingRows returns the expert who knows the rows of a table: the value of a
// composition is the mean of its rows, and its rank is among those of all rows.
// A candidate of the campaign that the table does not hold is an error.
func knowingRows(
	ctx context.Context, e definition.Expert, def definition.Campaign, file string, env humans.Environment,
) (*Reviewer, error) {
	rows, err := table.New(table.Settings{File: file}, def, env.Folder)
	if err != nil {
		return nil, fault(e, "%v", err)
	}
	for _, p := range def.Candidates {
		if _, err := rows.Mean(p); err != nil {
			return nil, fault(e, "it does not know a candidate: %v", err)
		}
	}
	knows, err := KnowledgeOf(ctx, rows, def.Sought())
	if err != nil {
		return nil, fault(e, "%v", err)
	}
	return Knowing(e, def, knows, env.Sample)
}

// KnowledgeOf returns what an expert knows who has seen every row of a table:
// the value of a composition is the mean of its rows, and others have none.
func KnowledgeOf(
	ctx context.Context, rows *table.Instrument, sought definition.Objective,
) (Knowledge, error) {
	points, err := rows.Candidates(ctx)
	if err != nil {
		return Knowledge{}, err
	}
	k := Knowledge{Value: rows.Mean, Sought: sought}
	for i, p := range points {
		v, err := rows.Mean(p)
		if err != nil {
			return Knowledge{}, err
		}
		if i == 0 || sought.Better(v, k.Best) {
			k.Best, k.BestAt = v, p
		}
		if i == 0 || sought.Better(k.Worst, v) {
			k.Worst = v
		}
	}
	return k, nil
}

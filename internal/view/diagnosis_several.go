package view

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/diagnose"
)

// writeSeveral writes how the models of the other quantities do, how far the probability to keep
// the constraints can be trusted, and which results depend on the worst values of interest. Nothing
// is written for a single quantity.
func writeSeveral(p *page, d diagnose.Diagnosis) {
	if len(d.Quantities) > 0 {
		p.heading("Other quantities, each composition predicted from all others (at the campaign's hyperparameters)")
		rows := [][]string{{"  ", "compositions", "R²", "95 % holds", "errors"}}
		for _, q := range d.Quantities {
			rows = append(rows, quantityCells(q))
		}
		p.table(rows)
	}
	var rows []Row
	if c := d.Feasibility; c != nil {
		rows = append(rows, rowf("feasible", "%d of %s kept the constraints; the others' probabilities of it have a Brier score of %s,"+
			" the share for all %s (0 is perfect)",
			c.Kept, format.Count(c.Rows, "experiment"), judged(c.Brier), judged(c.BaseRate)))
	}
	for _, c := range d.Correlations {
		rows = append(rows, rowf("together", "unexpected %s and %s: r %s over %s", c.First, c.Second, judged(c.R),
			format.Count(c.Rows, "composition")))
	}
	if r := d.Reference; r != nil {
		text := fmt.Sprintf("the compromise is %s, also where the worst value of interest lies a range of the front farther away in %s",
			r.Compromise, strings.Join(r.Inferred, " and "))
		if r.Farther != r.Compromise {
			text = fmt.Sprintf("the compromise is %s, and %s where the worst value of interest lies a range of the front farther away in %s",
				r.Compromise, r.Farther, strings.Join(r.Inferred, " and "))
		}
		rows = append(rows, Row{"reference", text})
	}
	if rows != nil {
		p.heading("Several quantities together")
		p.rows(diagnosisNames, rows)
	}
}

// quantityCells are a line of the table of quantities.
func quantityCells(q diagnose.Quantity) []string {
	check := q.LeaveOneOut
	if check == nil {
		return []string{"  " + q.Quantity, "too few"}
	}
	r2 := "all are equal"
	if check.R2 != nil {
		r2 = judged(*check.R2)
	}
	widest := check.Coverage[len(check.Coverage)-1]
	compositions := fmt.Sprint(len(check.Rows))
	if check.SampleOf > 0 {
		compositions += fmt.Sprintf(" of %d", check.SampleOf)
	}
	return []string{
		"  " + q.Quantity, compositions, r2, fmt.Sprintf("%d of %d", widest.Within, len(check.Rows)),
		judged(check.ZSD) + " times as large as the model says",
	}
}

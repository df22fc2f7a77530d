package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/view/figure"
)

// overviewRow is an arm in the overview. There is a cell for each task, in the
// order of the study.
type overviewRow struct {
	Symbol   legendEntry
	Cells    []overviewCell
	Rank     string
	Baseline bool
}

// overviewCell is the difference of an arm to the baseline on a task.
type overviewCell struct {
	Text, Interval string
	Class          string // better, worse, or empty where the interval holds 0
	Experiments    string // until the final regret of the baseline
}

// overview compares every arm on every task at a glance: the baseline with its
// regret, the others with their difference to it. A task without a common seed
// has dashes. It relies on d.Arms being in the order of the study, as the arms
// of every task are.
func (d *pageData) overview(s simulate.Summary, baseline int) {
	for _, t := range s.Tasks {
		unit := t.Task.Truth.Sought.Unit
		if t.Task.Truth.Front != nil {
			unit, d.Fronts = "% missing", true
		} else {
			d.Mixed = true
		}
		d.TaskName = append(d.TaskName, format.Heading(t.Task.Name, unit))
	}
	d.Words = s.Words()
	d.Mixed = d.Mixed && d.Fronts
	for j, arm := range d.Arms {
		row := overviewRow{Symbol: arm, Rank: "–", Baseline: j == baseline}
		if !math.IsNaN(s.Ranks[j]) {
			row.Rank = fmt.Sprintf("%.2f", s.Ranks[j])
		}
		for _, t := range s.Tasks {
			a := t.Arms[j]
			cell := overviewCell{}
			switch diff := a.Difference; {
			case len(t.Seeds) == 0:
				cell.Text = "–"
			case diff == nil:
				cell.Text = meanText(a.Regret)
			default:
				cell.Text = signed(diff.Mean, diff)
				// A single pair of campaigns has a difference and no interval.
				if !math.IsInf(diff.Lower, 0) {
					cell.Interval = "[" + signed(diff.Lower, diff) + ", " + signed(diff.Upper, diff) + "]"
				}
				cell.Class = class(diff)
			}
			row.Cells = append(row.Cells, cell)
		}
		d.Overview = append(d.Overview, row)
	}
}

// ratios shows the regret along the campaigns in comparison with each task's baseline. The class of
// a cell comes from the stricter interval, which is corrected for the number of cells, while the
// written interval is the usual one.
//
// A ratio is 1 if both are equally good; the page writes it as a change in percent, with a true
// minus sign. An arm may be a peer, which is not an arm of the study and has no symbol.
func (d *pageData) ratios(s simulate.Summary) {
	percent := func(x float64) string {
		return strings.Replace(fmt.Sprintf("%+.0f %%", 100*(x-1)),
			"-", "−", 1)
	}
	cell := func(r, strict simulate.Ratio) overviewCell {
		switch {
		case math.IsNaN(r.Mean):
			return overviewCell{Text: "–"}
		case math.IsInf(r.Upper, 0):
			return overviewCell{Text: percent(r.Mean)}
		}
		c := overviewCell{Text: percent(r.Mean),
			Interval: "[" + percent(r.Lower) + ", " + percent(r.Upper) + "]"}
		switch {
		case strict.Upper < 1:
			c.Class = "better"
		case strict.Lower > 1:
			c.Class = "worse"
		}
		return c
	}
	d.Cells = s.Ratios.Cells
	for _, a := range s.Ratios.Arms {
		row := ratioRow{Arm: a.Arm, Cells: []overviewCell{cell(a.Along, a.Along), cell(a.Final, a.Final)}}
		for _, c := range a.Tasks {
			shown := cell(c.Along, c.Strict)
			shown.Experiments = "–"
			if !math.IsNaN(c.Until) {
				shown.Experiments = fmt.Sprintf("%.0f", c.Until)
			}
			row.Cells = append(row.Cells, shown)
		}
		d.Ratios = append(d.Ratios, row)
	}
}

// ratioRow is an arm, or a peer, in the table of ratios.
type ratioRow struct {
	Arm   string
	Cells []overviewCell
}

// class says whether a difference is significant: better, worse, or empty where
// the interval holds 0. Of an interval without bounds it is empty. Less is
// better for every quantity that is written with it but one, which riskCells
// turns.
func class(d *simulate.Interval) string {
	switch {
	case d.Upper < 0:
		return "better"
	case d.Lower > 0:
		return "worse"
	}
	return ""
}

// armRow is an arm in the table of a task. Texts are "–" for a missing number. The classes are of
// the style sheet. It has the cells of all kinds of task; the template shows those of this one.
type armRow struct {
	Symbol                           legendEntry
	Regret, Difference, Class        string
	Better, Rank                     string
	Recommended, Within2, Within1    string
	Cumulative, CumulativeDifference string
	CumulativeClass, Until           string
	Asked, AskedFirst, AskedLast     string
	FromLog, FromSurrogate           string
	Risk                             riskRow
}

// riskRow is the result of an arm of anchored experts.
type riskRow struct {
	Adjusted, Difference, Class              string
	Compared                                 string
	Queried, QueriedDifference, QueriedClass string
}

// riskCells has dashes for arms whose experts are not anchored.
func riskCells(r *simulate.RiskSummary) riskRow {
	row := riskRow{Adjusted: "–", Difference: "–", Compared: "–", Queried: "–", QueriedDifference: "–"}
	if r == nil {
		return row
	}
	row.Adjusted = meanText(r.Adjusted)
	row.Compared = meanText(r.Best)
	row.Queried = meanText(r.Queried)
	if d := r.AdjustedDifference; d != nil {
		row.Difference = intervalText(d)
		row.Class = map[string]string{"better": "worse", "worse": "better"}[class(d)] // more is better
	}
	if d := r.QueriedDifference; d != nil {
		row.QueriedDifference, row.QueriedClass = intervalText(d), class(d)
	}
	return row
}

// rows has a row for each arm, in the order of the study.
func (v view) rows() []armRow {
	var rows []armRow
	n := len(v.task.Seeds)
	for j, a := range v.task.Arms {
		r := armRow{
			Symbol:               legendEntry{v.look(j).swatch(), a.Arm.Name},
			Regret:               meanText(a.Regret),
			Difference:           "–",
			Better:               "–",
			Rank:                 fmt.Sprintf("%.2f", a.Rank),
			Recommended:          meanText(a.Recommended),
			Cumulative:           meanText(a.Cumulative),
			CumulativeDifference: "–",
			Until:                fmt.Sprintf("%.0f", a.Until),
			Within2:              fmt.Sprintf("%d of %d", a.Within2, n),
			Within1:              fmt.Sprintf("%d of %d", a.Within1, n),
			Asked:                fmt.Sprintf("%.1f", a.Asked),
			AskedFirst:           fmt.Sprintf("%.1f", a.AskedFirst),
			AskedLast:            fmt.Sprintf("%.1f", a.AskedLast),
			FromLog:              format.Percent(a.FromLog),
			FromSurrogate:        format.Percent(a.FromSurrogate),
		}
		// Half of the arm's campaigns or more never came near the optimum; see
		// simulate.NearShare. The overview's number counts up to another regret.
		if math.IsNaN(a.Until) {
			r.Until = "–"
		}
		if v.task.Task.Truth.Best == 0 { // a share of nothing
			r.Within2, r.Within1 = "–", "–"
		}
		if d := a.Difference; d != nil {
			r.Difference, r.Class = intervalText(d), class(d)
			r.Better = fmt.Sprintf("%d : %d", d.Better, d.Worse)
		}
		if d := a.CumulativeDifference; d != nil {
			r.CumulativeDifference, r.CumulativeClass = intervalText(d), class(d)
		}
		r.Risk = riskCells(a.Risk)
		rows = append(rows, r)
	}
	return rows
}

// provenance returns who answered on a store's task.
func provenance(t simulate.TaskSummary) string {
	var parts []string
	for _, a := range t.Arms {
		parts = append(parts, fmt.Sprintf("%s %s", a.Arm.Name, format.Percent(a.FromSurrogate)))
	}
	return "Not measured but computed by the surrogate: " + strings.Join(parts, ", ") + " " +
		"of the experiments. Conclusions are as good as the surrogate is."
}

// timesRow is the time that an arm takes to suggest an experiment. Median, Most and Slowly are the
// median, the 90 % quantile and the greatest time.
type timesRow struct {
	Task                 string
	Symbol               legendEntry
	Median, Most, Slowly string
}

// times leaves out arms with unknown times. A task's name stands in its first row only.
func (d *pageData) times(s simulate.Summary) {
	for _, t := range s.Tasks {
		name := t.Task.Name
		for j, a := range t.Arms {
			if len(a.Seconds) == 0 {
				continue
			}
			row := timesRow{
				Task:   name,
				Symbol: d.Arms[j],
				Median: seconds(simulate.Quantile(0.5, a.Seconds)),
				Most:   seconds(simulate.Quantile(0.9, a.Seconds)),
				Slowly: seconds(a.Seconds[len(a.Seconds)-1]),
			}
			d.Times = append(d.Times, row)
			name = ""
		}
	}
}

// seconds writes how long something took, "–" where it is not known.
func seconds(s float64) string {
	switch {
	case math.IsNaN(s):
		return "–"
	case s < 1:
		return format.Rounded(1000*s, 3) + " ms"
	}
	return format.Rounded(s, 3) + " s"
}

// meanText writes a mean ± its standard error, both to two digits of the error.
// A single seed has a mean and no error, and identical results have an error of
// 0: both are written as a number alone.
func meanText(m simulate.Mean) string {
	switch {
	case m.N == 0 || math.IsNaN(m.Mean):
		return "–"
	case !(m.SE > 0):
		return number(m.Mean)
	}
	mean, se := format.MeanSD(m.Mean, m.SE)
	return figure.Typeset(mean) + " ± " + se
}

// intervalText writes a difference with its interval.
func intervalText(d *simulate.Interval) string {
	if math.IsInf(d.Lower, 0) {
		return signed(d.Mean, d)
	}
	return fmt.Sprintf("%s [%s, %s]", signed(d.Mean, d), signed(d.Lower, d), signed(d.Upper, d))
}

// signed writes a number of an interval to two digits of the interval's half
// width, with its sign. All three numbers of an interval get the same decimals.
func signed(x float64, d *simulate.Interval) string {
	half := (d.Upper - d.Lower) / 2
	if math.IsInf(half, 0) || !(half > 0) {
		return figure.Typeset(fmt.Sprintf("%+.4g", x))
	}
	if format.DecimalsOfSD(half) > 6 { // a row of zeros says less than a power of ten
		return figure.Typeset(fmt.Sprintf("%+.1e", x))
	}
	text := fmt.Sprintf("%+.*f", format.DecimalsOfSD(half), x)
	if strings.Trim(text, "+-0.") == "" { // −0.0 has no sign
		text = text[1:]
	}
	return figure.Typeset(text)
}

// number writes a value without an error of its own.
func number(x float64) string { return figure.Typeset(format.Rounded(x, 4)) }

package simulated

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// value is the objective at p as the expert sees it: the worst in a region they
// are wrong about.
func (r *Reviewer) value(p definition.Point) (float64, error) {
	v, err := r.knows.Value(p)
	if err == nil && r.wrongAbout(p) {
		v = r.knows.Worst
	}
	return v, err
}

// wrongAbout reports whether p lies in the region that the expert is wrong
// about.
func (r *Reviewer) wrongAbout(p definition.Point) bool {
	if r.cfg.WrongRegion == 0 {
		return false
	}
	x, best := r.coordinates(p), r.coordinates(r.knows.BestAt)
	squares := 0.0
	for i := range x {
		squares += (x[i] - best[i]) * (x[i] - best[i])
	}
	return math.Sqrt(squares/float64(len(x))) <= r.cfg.WrongRegion
}

// rank is ρ as the expert sees it: where they are prejudiced, their belief, as a normal score.
func (r *Reviewer) rank(n int, p definition.Point) (float64, error) {
	switch {
	case r.wrongAbout(p):
		return 3, nil
	case r.cfg.Prejudice == 0:
		return r.knows.Rank(p)
	}
	score, err := r.score("", "", n, p)
	return r.knows.Sought.Sign() * score, err
}

// accurate is a when the expert has answered n times.
func (r *Reviewer) accurate(n int) float64 { return r.accuracy * r.fresh(n) }

// fresh is the rest of the expert's attention after n answers.
func (r *Reviewer) fresh(n int) float64 {
	if r.cfg.Tires == 0 {
		return 1
	}
	return math.Exp2(-float64(n) / r.cfg.Tires)
}

// answered is how many answers the expert gave before the question, at most:
// those of all questions before it.
func answered(id string) int {
	number, err := strconv.Atoi(id[strings.LastIndexByte(id, 'q')+1:])
	if err != nil {
		return 0
	}
	return max(0, number-1)
}

// occasion is the part of chance that depends on more than the composition: the question, and the
// i-th place in it. Experts who repeat themselves have one chance for each composition.
func (r *Reviewer) occasion(purpose string, i int, id string) (of, question string) {
	if r.cfg.Repeats {
		return purpose, ""
	}
	if i >= 0 {
		purpose = fmt.Sprint(purpose, " ", i)
	}
	return purpose, id
}

// copies reports whether the expert, who has answered n times, does not judge
// but copies the first answer.
func (r *Reviewer) copies(n int, id string, points ...definition.Point) bool {
	_, question := r.occasion("copies", -1, id)
	return r.cfg.Copies > 0 && n > 0 && r.draw("copies", question, points...) < r.cfg.Copies
}

// firstLabel is the label that a copying expert gives: that of the first of
// their examples.
func (r *Reviewer) firstLabel() (events.Label, error) {
	points := r.sample(chunk, r.word("sample", "0"))
	if len(points) == 0 {
		return "", fmt.Errorf("%w: the space has no compositions to label", ErrExamples)
	}
	return r.label(0, "example 0", points[0])
}

package console

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Names of the fields of the question's page, and values of its buttons. The
// number of an option or the name of a parameter follows a prefix.
const (
	fieldAnswer   = "answer"
	fieldComment  = "comment"
	fieldSource   = "source"
	fieldOpened   = "opened" // when the page was made, in milliseconds since 1970
	fieldAt       = "at"     // the sequence it was made from
	fieldBest     = "best"
	fieldNearest  = "nearest"
	prefixPoint   = "p."
	prefixPlace   = "place."
	prefixNumber  = "v."
	answerOwn     = "own" // the fields' content, not a button
	answerUnsure  = "unsure"
	answerTakeIts = "ok"
)

// longest is the longest time from a page to its answer that is recorded: a
// page that was open over night does not say how long the answer took.
const longest = 4 * time.Hour

// replyOf reads the form of a question's page. The expert's view is recorded with the reply: the
// event that the page was made from, the best, and the neighbors. Faults are problem.Invalid, about
// the question.
//
// Buttons send a word, and fields their content: "can't tell" wins over fields, since it is pressed
// and they may be left from before. How long an answer took is rounded to tenths of a second, and
// left out where it cannot be so (a clock that was set, a page of yesterday). That and the expert's
// view are the browser's statements.
func replyOf(
	def *definition.Campaign, q *campaign.Question, form url.Values, now time.Time,
) (r humans.Reply, err error) {
	invalid := func(err error) (humans.Reply, error) {
		return r, problem.New(problem.Invalid, "%w", err).About(q.ID)
	}
	word := form.Get(fieldAnswer)
	switch {
	case word == answerUnsure:
	case q.Form == events.FormPinpoint && word != answerTakeIts:
		if r.Answer.Point, err = pointOf(def, form, prefixPoint); err != nil {
			return invalid(err)
		}
	case q.Form == events.FormEstimate:
		if r.Answer.Estimates, err = estimatesOf(q, form); err != nil {
			return invalid(err)
		}
	case q.Form == events.FormComparison && word == answerOwn:
		if r.Answer.Order, err = orderOf(len(q.Options), form); err != nil {
			return invalid(err)
		}
	default:
		if r, err = view.ParseAnswer(def, q, word); err != nil {
			return r, err
		}
	}
	r.Comment = strings.TrimSpace(strings.ReplaceAll(form.Get(fieldComment), "\r\n", "\n"))
	if opened, err := strconv.ParseInt(form.Get(fieldOpened), 10, 64); err == nil {
		if took := now.Sub(time.UnixMilli(opened)); took > 0 && took < longest {
			r.Took = math.Round(took.Seconds()*10) / 10
		}
	}
	if at, err := strconv.ParseUint(form.Get(fieldAt), 10, 64); err == nil && at > 0 {
		r.Shown = &events.Shown{At: events.Sequence(at), Best: form.Get(fieldBest),
			Nearest: strings.Fields(form.Get(fieldNearest))}
	}
	return r, view.CheckReply(def, q, r)
}

// pointOf reads a composition from a field for each parameter. All fields that
// are wrong are named at once. Whether the campaign can measure it is not asked
// here.
func pointOf(def *definition.Campaign, form url.Values, prefix string) (definition.Point, error) {
	point := make(definition.Point, len(def.Parameters))
	var faults []string
	for _, par := range def.Parameters {
		text := strings.TrimSpace(form.Get(prefix + par.Name))
		if text == "" {
			faults = append(faults, par.Name+" is missing")
			continue
		}
		v, err := exchange.Value(def, par.Name, text)
		if err != nil {
			faults = append(faults, err.Error())
		}
		point[par.Name] = v
	}
	if faults != nil {
		return nil, fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	return point, nil
}

// numberField is the field of an estimate: its row and, if the row has columns, the quantity.
func numberField(e events.Estimate) string {
	field := prefixNumber + strconv.Itoa(e.Option)
	if e.Quantity != "" {
		field += "." + e.Quantity
	}
	return field
}

// estimatesOf reads a number for each row and column. One that is left empty says that
// the expert cannot tell.
func estimatesOf(q *campaign.Question, form url.Values) (list []events.Estimate, err error) {
	for i := range q.Options {
		for k := range q.Scale.Table() {
			e := q.Scale.In(i, k)
			text := strings.TrimSpace(form.Get(numberField(e)))
			if text == "" {
				continue
			}
			e.Value, err = format.ReadNumber(text)
			if err == nil {
				err = q.Scale.Takes(k, e.Value)
			}
			if err != nil {
				of := fmt.Sprintf("row %d", i+1)
				if e.Quantity != "" {
					of += ", " + e.Quantity
				}
				return nil, fmt.Errorf("%s: %w", of, err)
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// orderOf reads the place of each option, 1 for the best, and returns the
// options in that order. Options without a place come after the others, in no
// order among themselves, and are left out. Gaps between places mean nothing.
func orderOf(options int, form url.Values) (order []int, err error) {
	place := make(map[int]int)
	for i := range options {
		text := form.Get(prefixPlace + strconv.Itoa(i))
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > options {
			return nil, fmt.Errorf("%q is not a place from 1 to %d", text, options)
		}
		if other, taken := place[n]; taken {
			return nil, fmt.Errorf("%s and %s both have place %d: give each its own, or none",
				humans.OptionName(other), humans.OptionName(i), n)
		}
		place[n] = i
	}
	for n := 1; n <= options; n++ {
		if i, ok := place[n]; ok {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("say at least which is the best, or that you cannot tell")
	}
	return order, nil
}

// formOf returns a reply as the form that it came from, to show it again. A
// button that was pressed is not among it: it has no field.
func formOf(r humans.Reply) url.Values {
	form := url.Values{fieldComment: {r.Comment}}
	for _, e := range r.Answer.Estimates {
		form.Set(numberField(e), strconv.FormatFloat(e.Value, 'g', -1, 64))
	}
	for place, option := range r.Answer.Order {
		form.Set(prefixPlace+strconv.Itoa(option), strconv.Itoa(place+1))
	}
	for name, v := range r.Answer.Point {
		form.Set(prefixPoint+name, v.String())
	}
	return form
}

package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// showPinpoint asks for a composition of the expert's own.
//
// What the campaign itself would measure is shown in a sentence or, where that
// takes too many lines, by arrows behind the ranges. Without a suggestion an
// example shows the notation instead.
func showPinpoint(f *console.Form, q humans.Question) {
	f.Title = fmt.Sprintf("%s, what would you measure next?", q.Expert)
	ranges := make([]string, len(q.Parameters))
	for i, par := range q.Parameters {
		ranges[i] = choices(par)
		if slices.ContainsFunc(par.Categories,
			func(c definition.CategoryDef) bool { return strings.EqualFold(c.Name, "m") }) {
			f.Page = "more"
		}
	}
	f.Body = console.Properties(q.Parameters, ranges)
	more(f, aim(q.Objective))
	f.Hint = "NAME=VALUE for each, or the values in order; " +
		"and why, after a colon: \": as last year\"; ? can't tell"
	f.Brief = "NAME=VALUE … or ?"
	if q.Suggestion != nil {
		compositions := console.NewCompositions(q.Parameters, q.Steps).Outside(q.Excluded)
		point, expects := q.Suggestion.Parameters, ""
		if p := q.Suggestion.Prediction; p != nil {
			expects = " and expects " + q.Objective.Name + " " +
				format.PlusMinus(p.Mean, p.SD, p.Unit) + " there"
		}
		beside := slices.Clone(ranges)
		for i := range q.Parameters {
			if value, ok := compositions.Value(i, point); ok {
				beside[i] += " → " + value
			}
		}
		would := "the campaign itself would take " + compositions.Assignments(point) + expects
		legend := "→ what the campaign itself would take" + expects
		f.Body = console.Shortest(
			console.Join(f.Body, console.Sentences(would)),
			console.Join(console.Properties(q.Parameters, beside), console.Sentences(legend)))
		f.Hint = "NAME=VALUE for each, or the values in order; ok as above; " +
			"and why, after a colon: \"ok: as last year\"; ? can't tell"
		f.Brief = "NAME=VALUE …, ok or ?"
	}
	if q.Suggestion == nil {
		more(f, "written as in "+example(q.Parameters))
	}
	more(f, q.Explanation)
}

// choices lists the allowed values of a parameter. The unit is written once, at the end.
func choices(par definition.Parameter) string {
	var names []string
	for _, c := range par.Categories {
		names = append(names, c.Name)
	}
	for _, v := range par.Values {
		names = append(names, format.Setting(v))
	}
	text := "any number"
	switch {
	case names != nil:
		text = strings.Join(names, ", ")
	case par.Min != nil && par.Max != nil:
		text = format.Setting(*par.Min) + " to " + format.Setting(*par.Max)
	}
	return strings.TrimSpace(text + " " + par.Unit)
}

// example is a composition that may be entered, if perhaps not one that can be
// made: the first or least value of each parameter.
func example(parameters []definition.Parameter) string {
	p := make(definition.Point)
	for _, par := range parameters {
		switch {
		case len(par.Categories) > 0:
			p[par.Name] = definition.Category(par.Categories[0].Name)
		case len(par.Values) > 0:
			p[par.Name] = definition.Number(par.Values[0])
		case par.Min != nil:
			p[par.Name] = definition.Number(*par.Min)
		default:
			p[par.Name] = definition.Number(1)
		}
	}
	return console.NewCompositions(parameters, nil).AsGiven().Assignments(p)
}

// parsePinpoint understands a composition, and perhaps a comment after a colon. It rejects one that
// cannot be measured.
//
// “ok” is the suggestion, with or without a colon before the comment; a rest with an equals sign
// makes it a composition again. Allowed is asked here, while the person can still name another.
func parsePinpoint(q humans.Question, line string) (humans.Reply, error) {
	if comment, ok := doubt(line); ok {
		return humans.Reply{Comment: comment}, nil
	}
	text, comment := remark(line)
	if word, rest, _ := strings.Cut(text, " "); q.Suggestion != nil &&
		strings.EqualFold(strings.TrimRight(word, ",;."), "ok") && !strings.Contains(rest, "=") {
		text, comment = "ok", strings.TrimSpace(strings.TrimPrefix(line[len(word):], ":"))
	}
	var p definition.Point
	if q.Suggestion != nil && strings.EqualFold(text, "ok") {
		p = q.Suggestion.Parameters
	} else {
		var err error
		if p, err = console.ParseComposition(q.Parameters, text); err != nil {
			return humans.Reply{}, err
		}
	}
	if q.Allowed != nil {
		if err := q.Allowed(p); err != nil {
			given := console.NewCompositions(q.Parameters, nil).AsGiven().Assignments(p)
			return humans.Reply{}, fmt.Errorf("%s cannot be measured: %w; name another", given, err)
		}
	}
	return humans.Reply{Answer: events.Answer{Point: p}, Comment: comment}, nil
}

package campaignfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/units"
	"github.com/campaignd/campaignd/internal/num/formula"
)

// completeDraws writes formulas of draws in their canonical form, and their units as the stocks do.
// What cannot be read is left for Validate.
func completeDraws(def *definition.Campaign) {
	def.Instrument.Draws = maps.Clone(def.Instrument.Draws)
	for name, text := range def.Instrument.Draws {
		_, used, unit, err := def.Stocks[name].Uses(text)
		f, fault := formula.Parse(used)
		if err != nil || fault != nil {
			continue
		}
		if _, of, err := definition.ParseAmount(def.Stocks[name].Amount); err == nil && units.Same(of, unit) {
			unit = of
		}
		def.Instrument.Draws[name] = definition.Draw(f.String() + " " + unit)
	}
}

// stocks checks what there is, and what experiments draw from it.
func (v *validator) stocks() {
	for _, name := range sortedKeys(v.def.Stocks) {
		stock, here := v.def.Stocks[name], at("stocks", name)
		var err error
		switch {
		case !stockName.MatchString(name):
			v.report(here, fmt.Sprintf("%q is not a name", name),
				"write letters, digits, dots, dashes and underscores, 64 at most")
		case (stock.Labels == "") == (stock.Amount == ""):
			v.report(here, "it has labels or an amount, one of the two",
				"write labels: A1-H12, or amount: 2000 mL")
			continue
		case stock.Labels != "":
			here = here.To("labels")
			_, err = definition.ParseLabels(stock.Labels)
		default:
			here = here.To("amount")
			_, _, err = definition.ParseAmount(stock.Amount)
		}
		if err != nil {
			v.report(here, err.Error(), "")
		}
		if _, drawn := v.def.Draws()[name]; !drawn {
			v.report(at("stocks", name), "no experiment uses it up",
				fmt.Sprintf("say how much: instrument: {draws: {%s: 1}}", name))
		}
	}
	for _, name := range sortedKeys(v.def.Draws()) {
		here := at("instrument", "draws", name)
		if stock, known := v.def.Stocks[name]; known {
			v.draw(here, name, stock, v.def.Draws()[name])
			continue
		}
		remedy := yamltree.Suggest(name, sortedKeys(v.def.Stocks))
		if len(v.def.Stocks) == 0 {
			remedy = fmt.Sprintf("declare it: stocks: {%s: {labels: A1-H12}}", name)
		}
		v.report(here, fmt.Sprintf("stock %q is not declared", name), remedy)
	}
}

// stockName is the form of a stock's name, which is in messages and commands.
var stockName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// draw checks what an experiment uses up of a stock.
func (v *validator) draw(here path, name string, stock definition.Stock, text definition.Draw) {
	count, used, unit, err := stock.Uses(text)
	labels, notLabels := definition.ParseLabels(stock.Labels)
	_, of, notAmount := definition.ParseAmount(stock.Amount)
	switch {
	case stock.Labels != "" && err != nil:
		v.report(here, err.Error(), "write how many labels each experiment uses up, as in 2")
		return
	case stock.Labels != "":
		if notLabels == nil && count > len(labels) {
			v.report(here, fmt.Sprintf("an experiment needs %d, and there are %d", count, len(labels)), "")
		}
		return
	case notAmount != nil:
		return // reported where it stands
	case err != nil:
		v.report(here, err.Error(), fmt.Sprintf("write it behind the amount: %s %s", text, of))
		return
	case !units.Same(of, unit):
		v.report(here, fmt.Sprintf("it is in %q, and %s is in %s", unit, name, of),
			fmt.Sprintf("write both in %s, or both in %s", of, unit))
		return
	}
	f, err := formula.Parse(used)
	if err != nil {
		v.formulaFault(here, err)
		return
	}
	faults := len(v.faults)
	for _, of := range f.Names() {
		switch p := parameterOf(&v.def, of); {
		case p == nil:
			v.report(here, fmt.Sprintf("%s is not a parameter", of),
				yamltree.Suggest(of, namesOf(&v.def, func(p definition.Parameter) bool { return !categorical(p) })))
		case categorical(*p):
			v.report(here, fmt.Sprintf("%s is not a number", of), "leave it out of the formula")
		}
	}
	if v.somewhere(here, f); len(v.faults) > faults {
		return
	}
	if r := f.Range(rangesOf(&v.def, f)); !(r.Upper > 0) {
		v.report(here, "it is never greater than 0", "correct it: it says how much an experiment uses up")
	}
}

// stocksText describes what the experiments use up, and for how many of them it suffices.
func stocksText(def *definition.Campaign) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(def.Stocks)) {
		stock, draw := def.Stocks[name], def.Draws()[name]
		text := fmt.Sprintf("%s of %s, %s", draw, name, stock.Amount)
		if labels, err := definition.ParseLabels(stock.Labels); stock.Labels != "" && err == nil {
			text = fmt.Sprintf("%s of %s, %s (%s)", draw, name, stock.Labels, format.Count(len(labels), "label"))
			if count, _, _, err := stock.Uses(draw); err == nil {
				text += fmt.Sprintf(": enough for %s", format.Count(len(labels)/count, "experiment"))
			}
		}
		lines = append(lines, text)
	}
	return lines
}

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

// completeDraws returns draws with their formulas in their canonical form, and their units as the
// stocks write them. What cannot be read is left for Validate.
func completeDraws(def *definition.Campaign, draws map[string]definition.Draw) map[string]definition.Draw {
	draws = maps.Clone(draws)
	for name, text := range draws {
		_, used, unit, err := def.Stocks[name].Uses(text)
		f, fault := formula.Parse(used)
		if err != nil || fault != nil {
			continue
		}
		if _, of, err := definition.ParseAmount(def.Stocks[name].Amount); err == nil && units.Same(of, unit) {
			unit = of
		}
		draws[name] = definition.Draw(f.String() + " " + unit)
	}
	return draws
}

// drawing is a part of the definition that draws from stocks: the instrument, or a stage.
type drawing struct {
	here  path
	stage *definition.Stage // nil for the instrument
	draws map[string]definition.Draw
}

// drawings are all that draw from the stocks.
func drawings(def *definition.Campaign) (all []drawing) {
	if len(def.Draws()) > 0 {
		all = append(all, drawing{at("instrument", "draws"), nil, def.Draws()})
	}
	for i := range def.Procedure {
		if s := &def.Procedure[i]; len(s.Draws) > 0 {
			all = append(all, drawing{at("procedure", i, "draws"), s, s.Draws})
		}
	}
	return all
}

// drawn reports whether anything draws from stocks.
func drawn(def *definition.Campaign) bool { return len(drawings(def)) > 0 }

// stocks checks what there is, and what experiments draw from it.
func (v *validator) stocks() {
	shared := make(map[string]bool)
	for _, name := range sortedKeys(v.def.Stocks) {
		stock, here := v.def.Stocks[name], at("stocks", name)
		var err error
		switch {
		case !stockName.MatchString(name):
			v.report(here, fmt.Sprintf("%q is not a name", name),
				"write letters, digits, dots, dashes and underscores, 64 at most")
		case len(slices.DeleteFunc([]string{stock.Labels, stock.Amount, stock.Lab},
			func(text string) bool { return text == "" })) != 1:
			v.report(here, "it has one of labels, amount and lab",
				"write labels: A1-H12, amount: 2000 mL, or lab: NAME")
			continue
		case stock.Lab != "":
			here = here.To("lab")
			if shared[stock.Lab] {
				err = fmt.Errorf("another stock is %s of the lab, too", stock.Lab)
			}
			shared[stock.Lab] = true
			if stock.Low != nil {
				v.report(at("stocks", name, "low"), "the lab says when its stock comes to an end",
					"leave it out, and set it in lab.yaml")
			}
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
		uses := func(d drawing) bool { return d.draws[name] != "" }
		if !slices.ContainsFunc(drawings(&v.def), uses) {
			where := "instrument"
			if len(v.def.Procedure) > 0 {
				where = v.def.Procedure[0].Name
			}
			v.report(at("stocks", name), "no experiment uses it up",
				fmt.Sprintf("say how much: %s: {draws: {%s: 1}}", where, name))
		}
	}
	for _, d := range drawings(&v.def) {
		for _, name := range sortedKeys(d.draws) {
			here := d.here.To(name)
			if stock, known := v.def.Stocks[name]; known {
				v.draw(here, name, stock, d.draws[name])
				continue
			}
			remedy := yamltree.Suggest(name, sortedKeys(v.def.Stocks))
			if len(v.def.Stocks) == 0 {
				remedy = fmt.Sprintf("declare it: stocks: {%s: {labels: A1-H12}}", name)
			}
			v.report(here, fmt.Sprintf("stock %q is not declared", name), remedy)
		}
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
	case stock.Lab != "" && err != nil:
		v.report(here, err.Error(), "write how many labels, as in 2, or an amount with its unit, as in 5 mL")
		return
	case stock.Lab != "" && unit == "":
		return // labels
	case stock.Lab != "":
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

// labDraws checks draws from stocks of the lab by the lab file's declarations.
func labDraws(def *definition.Campaign, of map[string]definition.Stock) []yamltree.Fault {
	v := validator{def: *def}
	for _, d := range drawings(def) {
		for _, name := range sortedKeys(d.draws) {
			stock, ofLab := of[name]
			if !ofLab {
				continue
			}
			_, unit, _ := definition.ParseAmount(stock.Amount) // "" of labels
			switch _, _, used, err := stock.Uses(d.draws[name]); {
			case stock.Labels != "" && err != nil:
				v.report(d.here.To(name), err.Error(), "the lab's are labels: write how many each experiment uses up, as in 2")
			case stock.Labels == "" && (err != nil || used != unit):
				v.report(d.here.To(name), "the lab has it in "+unit, "write the amount with that unit behind it")
			}
		}
	}
	return v.faults
}

// stocksText describes what the experiments use up, and for how many of them it suffices.
func stocksText(def *definition.Campaign) (lines []string) {
	for _, d := range drawings(def) {
		for _, name := range sortedKeys(d.draws) {
			stock, draw := def.Stocks[name], d.draws[name]
			text := fmt.Sprintf("%s of %s, %s", draw, name, stock.Amount)
			if stock.Lab != "" {
				text = fmt.Sprintf("%s of %s, the lab's stock %s", draw, name, stock.Lab)
			}
			if labels, err := definition.ParseLabels(stock.Labels); stock.Labels != "" && err == nil {
				text = fmt.Sprintf("%s of %s, %s (%s)", draw, name, stock.Labels, format.Count(len(labels), "label"))
				if count := drawnLabels(def, name); count > 0 {
					text += fmt.Sprintf(": enough for %s", format.Count(len(labels)/count, "experiment"))
				}
			}
			if d.stage != nil {
				text += ", by " + d.stage.Name
			}
			lines = append(lines, text)
		}
	}
	return lines
}

// drawnLabels is how many labels of a stock an experiment uses up in all.
func drawnLabels(def *definition.Campaign, name string) (count int) {
	for _, d := range drawings(def) {
		if draw, drawn := d.draws[name]; drawn {
			n, _, _, _ := def.Stocks[name].Uses(draw)
			count += n
		}
	}
	return count
}

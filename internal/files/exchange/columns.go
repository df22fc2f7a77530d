package exchange

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
)

// FurtherColumn is the name of the column of a further quantity.
func FurtherColumn(name string) string { return view.FurtherPrefix + name }

// ColumnSD is the name of the column of the objective's standard deviation.
const ColumnSD = view.ColumnSD

// ParseColumn reads "salt (mol/kg)=salt": which column a table has under
// another name. The name is behind the last equals sign. A heading may hold
// equals signs, a campaign's name cannot.
func ParseColumn(text string) (column, name string, err error) {
	at := strings.LastIndex(text, "=")
	if at >= 0 {
		column, name = strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+1:])
	}
	if column == "" || name == "" {
		return "", "", problem.New(problem.Invalid,
			"%q does not say which column it is: write it as in salt (mol/kg)=salt, or viscosity (mPa s)=%sviscosity",
			text, view.FurtherPrefix)
	}
	return column, name, nil
}

// Heading splits the heading of a column into the name and the unit behind it, as people write
// it: "salt (mol/kg)", "salt [mol/kg]", "salt / mol/kg". Without one the unit is empty.
func Heading(column string) (name, unit string) {
	for _, brackets := range []string{"()", "[]"} {
		begin := strings.Index(column, brackets[:1])
		if begin > 0 && strings.HasSuffix(column, brackets[1:]) {
			return strings.TrimSpace(column[:begin]), strings.TrimSpace(column[begin+1 : len(column)-1])
		}
	}
	if name, unit, ok := strings.Cut(column, " / "); ok && name != "" {
		return strings.TrimSpace(name), strings.TrimSpace(unit)
	}
	return column, ""
}

// rename gives the columns of a header the names that the campaign has for
// them. A name given for a column that the file lacks is a fault: most likely it
// is mistyped.
//
// A heading that is a name of the campaign with the campaign's unit behind it, as
// a run sheet and a chart have it, is that name: there is nothing to be guessed.
func (f Form) rename(def *definition.Campaign, file string, header []string) ([]string, error) {
	for column := range f.columns {
		if !slices.Contains(header, column) {
			return nil, faulty(file, 1, "there is no column %q; the columns are %s", column,
				strings.Join(header, ", "))
		}
	}
	names := slices.Clone(header)
	for i, column := range header {
		if name, ok := f.columns[column]; ok {
			names[i] = name
		} else if name := headed(def, column); name != "" && !slices.Contains(header, name) {
			names[i] = name
		}
	}
	return names, nil
}

// headed returns the parameter or quantity that a column's heading names; "" for none.
func headed(def *definition.Campaign, column string) string {
	for _, par := range def.Parameters {
		if par.Unit != "" && column == format.Heading(par.Name, par.Unit) {
			return par.Name
		}
	}
	for _, q := range def.Declared() {
		if q.Unit != "" && column == format.Heading(q.Name, q.Unit) {
			return q.Name
		}
	}
	return ""
}

// checkHeader refuses columns that may not be there, or are not. All faults come
// in one message, so that the file is mended once.
//
// A repeated heading is refused even if both columns hold the same: choosing one would be a
// guess about measurements. The remedy for unknown columns appears only if there are any.
func (s *Sheet) checkHeader(def *definition.Campaign, form Form) error {
	header := s.Header
	var wanted []string
	for _, par := range def.Parameters {
		wanted = append(wanted, par.Name)
	}
	wanted = append(wanted, form.required...)
	if form.arrives && withoutCompositions(def, header) {
		wanted = nil
	}
	var faults []string
	foreign := false
	for i, name := range header {
		switch {
		case slices.Contains(header[:i], name):
			faults = append(faults, fmt.Sprintf("%q is there twice", name))
		case slices.Contains(s.doubled, name) && (form.known == nil || !form.known(name, header)):
			first := name[:strings.LastIndex(name, " ")]
			faults = append(faults, fmt.Sprintf("%q is there twice", first))
		case slices.Contains(s.Nameless, name): // it can be none of the campaign's
		case !slices.Contains(wanted, name) && (form.known == nil || !form.known(name, header)):
			foreign = true
			faults = append(faults, fmt.Sprintf("there is no %q", name))
		}
	}
	for _, name := range wanted {
		switch {
		case slices.Contains(header, name):
		case form.missing != nil:
			form.missing(name)
		default:
			faults = append(faults, fmt.Sprintf("%q is missing", name))
		}
	}
	if faults == nil {
		return nil
	}
	remedy := ""
	if foreign {
		remedy = form.remedy
	}
	return faulty(s.Name, s.line, "the columns: %s; they must be %s%s",
		strings.Join(faults, ", "), columnNames(def, form.required), remedy)
}

// withoutCompositions reports whether a table names experiments, and has no column for
// a parameter.
func withoutCompositions(def *definition.Campaign, header []string) bool {
	return slices.Contains(header, view.ColumnExperiment) && !slices.ContainsFunc(def.Parameters, func(p definition.Parameter) bool {
		return slices.Contains(header, p.Name)
	})
}

// columnNames lists what a header must have: the parameters, and extra. Messages use it to say
// what to write, in the order of an export.
func columnNames(def *definition.Campaign, extra []string) string {
	names := ParameterNames(def)
	if len(extra) > 0 {
		names += ", " + strings.Join(extra, ", ")
	}
	return names
}

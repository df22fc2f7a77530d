package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Stock is something that commands to the instrument use up. Exactly one of Labels,
// Amount and Lab is set.
type Stock struct {
	// Labels are handed out one by one, in this order, each once and never again: the tips of a
	// rack, the wells of a plate, vials. Names and ranges, separated by commas: "A1-H12" is a
	// plate, column by column; "v1-v40" are 40 vials.
	Labels string `json:"labels,omitempty"`
	// Amount is how much there is at first, with its unit: "2000 mL".
	Amount string `json:"amount,omitempty"`
	// Lab is the name of a stock of the lab, which campaigns share: lab.yaml says what there is.
	Lab string `json:"lab,omitempty"`
	// Low is the rest from which on people are told that it comes to an end: a number of labels, or
	// an amount in the stock's unit. Default: a fifth of what there is at first.
	Low *float64 `json:"low,omitempty" jsonschema:"minimum=0"`
}

// mostLabels bounds a stock: a mistyped range would fill the memory.
const mostLabels = 10_000

// labelRange matches a range of labels: the first and the last.
var labelRange = regexp.MustCompile(`^([A-Za-z_.]*)([0-9]+)-([A-Za-z_.]*)([0-9]+)$`)

// label matches a single label.
var label = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)

// ParseLabels reads a list of labels, in the order in which they are handed out. A range of two
// letters is a block of a plate and is read column by column: A1, B1, …, H1, A2, …; one of a single
// prefix counts upwards.
func ParseLabels(text string) ([]string, error) {
	var all []string
	seen := make(map[string]bool)
	for entry := range strings.SplitSeq(text, ",") {
		labels, err := labelsOf(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		for _, l := range labels {
			if seen[l] {
				return nil, fmt.Errorf("%s is there twice: each label is handed out once", l)
			}
			seen[l] = true
		}
		if all = append(all, labels...); len(all) > mostLabels {
			return nil, fmt.Errorf("it has more than %d labels", mostLabels)
		}
	}
	return all, nil
}

// labelsOf reads an entry of a list of labels.
func labelsOf(entry string) (all []string, err error) {
	parts := labelRange.FindStringSubmatch(entry)
	if parts == nil {
		if !label.MatchString(entry) {
			return nil, fmt.Errorf(
				"%q is not a label: write names and ranges, A1-H12 or v1-v40, separated by commas", entry)
		}
		return []string{entry}, nil
	}
	from, errFrom := strconv.Atoi(parts[2])
	to, errTo := strconv.Atoi(parts[4])
	if errFrom != nil || errTo != nil || from > to || to-from >= mostLabels {
		return nil, fmt.Errorf(
			"%s is not a range: it counts from a number up to another, %d labels at most", entry, mostLabels)
	}
	prefixes := []string{parts[1]}
	if parts[3] != parts[1] && parts[3] != "" {
		if prefixes, err = rows(parts[1], parts[3]); err != nil {
			return nil, fmt.Errorf("%s is not a range: %w", entry, err)
		}
	}
	if len(prefixes)*(to-from+1) > mostLabels {
		return nil, fmt.Errorf("%s has more than %d labels", entry, mostLabels)
	}
	for number := from; number <= to; number++ {
		for _, prefix := range prefixes {
			all = append(all, prefix+strconv.Itoa(number))
		}
	}
	return all, nil
}

// rows are those of a plate between two, which are named A to Z and then AA to AF.
func rows(from, to string) (all []string, err error) {
	first, last := row(from), row(to)
	if first < 0 || last < 0 || last < first {
		return nil, fmt.Errorf(
			"the rows of a plate go from A upwards, and %s does not come after %s", to, from)
	}
	for i := first; i <= last; i++ {
		name := string(rune('A' + i%26))
		if i >= 26 {
			name = string(rune('A'+i/26-1)) + name
		}
		all = append(all, name)
	}
	return all, nil
}

// row is the number of a plate's row, from 0; -1 for a text that names none.
func row(name string) int {
	switch {
	case len(name) == 1 && name[0] >= 'A' && name[0] <= 'Z':
		return int(name[0] - 'A')
	case len(name) == 2 && name[0] >= 'A' && name[0] <= 'Z' && name[1] >= 'A' && name[1] <= 'Z':
		return 26*int(name[0]-'A'+1) + int(name[1]-'A')
	}
	return -1
}

// ParseAmount reads an amount with its unit: "2000 mL".
func ParseAmount(text string) (amount float64, unit string, err error) {
	number, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
	unit = strings.TrimSpace(unit)
	amount, err = strconv.ParseFloat(number, 64)
	switch {
	case err != nil || unit == "":
		return 0, "", fmt.Errorf("%q is not an amount: write a number and its unit, as in 2000 mL", text)
	case !(amount >= 0) || math.IsInf(amount, 0):
		return 0, "", fmt.Errorf("%q is not an amount: it is a number from 0 upwards", text)
	}
	return amount, unit, nil
}

// Draw is the part of a stock that an experiment uses up: a number of labels, or a formula of numeric parameters
// with the unit of the stock, "5*(1 - dmc) mL". In JSON a number of labels may be a number.
type Draw string

// UnmarshalJSON implements json.Unmarshaler.
func (d *Draw) UnmarshalJSON(data []byte) error {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	switch value := value.(type) {
	case string:
		*d = Draw(value)
	case json.Number:
		*d = Draw(value)
	default:
		return fmt.Errorf("%s is neither a number of labels nor an amount", data)
	}
	return nil
}

// Uses reads what a draw uses up of the stock: so many labels, or a formula with its unit. That of a
// stock of the lab says itself which of the two it is.
func (s Stock) Uses(of Draw) (count int, formula, unit string, err error) {
	draw := strings.TrimSpace(string(of))
	count, err = strconv.Atoi(draw)
	if s.Labels != "" || s.Lab != "" && err == nil {
		if err != nil || count < 1 {
			err = fmt.Errorf("%q is not a number of labels", draw)
		}
		return count, "", "", err
	}
	i := strings.LastIndex(draw, " ")
	if i < 0 {
		return 0, "", "", fmt.Errorf("%q does not say in which unit", draw)
	}
	return 0, strings.TrimSpace(draw[:i]), draw[i+1:], nil
}

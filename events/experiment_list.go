package events

import (
	"fmt"
	"slices"
	"strings"
)

// ExperimentList writes identifiers of experiments as people name several at
// once, in order: "e1-e24", "e1, e3-e5".
func ExperimentList(ids []string) string {
	numbers := make([]int, len(ids))
	for i, id := range ids {
		numbers[i] = ExperimentNumber(id)
	}
	slices.Sort(numbers)
	var parts []string
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		switch end - i {
		case 0:
			parts = append(parts, ExperimentID(numbers[i]))
		case 1:
			parts = append(parts, ExperimentID(numbers[i]), ExperimentID(numbers[end]))
		default:
			parts = append(parts, ExperimentID(numbers[i])+"-"+ExperimentID(numbers[end]))
		}
		i = end + 1
	}
	return strings.Join(parts, ", ")
}

// SubjectList writes identifiers of experiments or acts as people name several at once.
func SubjectList(ids []string) string {
	if slices.ContainsFunc(ids, func(id string) bool { return ExperimentNumber(id) == 0 }) {
		return strings.Join(ids, ", ")
	}
	return ExperimentList(ids)
}

// ParseExperimentList reads what [ExperimentList] writes, and a single
// identifier. There are so many experiments; one that there is not, or that is
// named twice, is an error.
func ParseExperimentList(text string, experiments int) ([]string, error) {
	var ids []string
	seen := make(map[int]bool)
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		first, last, several := strings.Cut(part, "-")
		first, last = strings.TrimSpace(first), strings.TrimSpace(last)
		from := ExperimentNumber(first)
		to := from
		if several {
			to = ExperimentNumber(last)
		}
		switch {
		case from == 0 || to == 0:
			return nil, fmt.Errorf("%q names no experiment: write e7, e1-e24 or e1,e3-e5", part)
		case to < from:
			return nil, fmt.Errorf("%s goes from the last to the first: write %s-%s", part, last, first)
		}
		for n := from; n <= to; n++ {
			switch {
			case n > experiments:
				return nil, fmt.Errorf("there is no experiment %s", ExperimentID(n))
			case seen[n]:
				return nil, fmt.Errorf("%s is named twice", ExperimentID(n))
			}
			seen[n] = true
			ids = append(ids, ExperimentID(n))
		}
	}
	return ids, nil
}

// Package doctor judges a deployment: it names unsafe settings, and facts that cannot be seen.
//
// Looking and judging are separate: [LookAtDatabase] and [LookAtFolder] gather facts and change
// nothing; the findings follow from the facts alone, by a table of rules.
package doctor

import "slices"

// Verdict is the result of a finding.
type Verdict string

// The verdicts. Unknown does not mean safe: the reader must find out.
const (
	Safe    Verdict = "safe"
	Unsafe  Verdict = "unsafe"
	Unknown Verdict = "unknown"
)

// Finding is the judgment of one fact.
type Finding struct {
	Subject string  `json:"subject"`
	Verdict Verdict `json:"verdict"`
	Says    string  `json:"says"`
	// Remedy is the remedy, empty for a safe finding.
	Remedy string `json:"remedy,omitempty"`
}

// Count is how many findings have a verdict.
func Count(all []Finding, v Verdict) (n int) {
	for _, f := range all {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

func safe(says string) Finding           { return Finding{Verdict: Safe, Says: says} }
func unsafe(says, remedy string) Finding { return Finding{Verdict: Unsafe, Says: says, Remedy: remedy} }
func unknown(says, remedy string) Finding {
	return Finding{Verdict: Unknown, Says: says, Remedy: remedy}
}

// rule judges one fact. Without a judgment it has no verdict.
type rule[F any] struct {
	subject string
	judge   func(F) Finding
}

// judge applies rules in their order.
func judge[F any](rules []rule[F], facts F) (found []Finding) {
	for _, r := range rules {
		f := r.judge(facts)
		f.Subject = r.subject
		found = append(found, f)
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Verdict == "" })
}

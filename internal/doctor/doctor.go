// Package doctor says of a deployment what is unsafe in it, and what cannot be seen.
//
// Looking and judging are apart: [LookAtDatabase] and [LookAtFolder] gather facts and
// change nothing; the findings follow from the facts alone, by a table of rules.
package doctor

import "slices"

// Verdict is what a finding comes to.
type Verdict string

// The verdicts. Unknown is not safe: it is for the reader to find out.
const (
	Safe    Verdict = "safe"
	Unsafe  Verdict = "unsafe"
	Unknown Verdict = "unknown"
)

// Finding is what was found of one thing.
type Finding struct {
	Subject string  `json:"subject"`
	Verdict Verdict `json:"verdict"`
	Says    string  `json:"says"`
	// Remedy is what to do about it, empty for what is safe.
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

// rule judges one thing by the facts. What has nothing to say has no verdict.
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

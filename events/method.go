package events

import "github.com/campaignd/campaignd/events/definition"

// Program is a program of the user's that answered in the place of a method or
// of a person: as it described itself then, and what it was shown.
type Program struct {
	// Name and Version are what the program says that it is; before it has said
	// anything, Name is that of its file.
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Files is the SHA-256, in hexadecimal, of the command with the bytes of the
	// files that it names: the executable and its scripts.
	Files string `json:"files,omitempty"`
	// Deterministic is set where the program says that it gives the same answer
	// to the same view and seed.
	Deterministic bool `json:"deterministic,omitempty"`
	// At is the campaign's sequence up to which events were read for what the
	// program was shown, View the SHA-256 of that, in hexadecimal, and Format the
	// version of its form.
	At     Sequence `json:"at"`
	Format int      `json:"format"`
	View   string   `json:"view"`
}

// MethodAnswered records what a program said that is the campaign's method, when
// it was asked what to measure next; or that it said nothing that could be
// read. Whether its proposal can be measured, the decision says.
type MethodAnswered struct {
	// Decision is the one that it was asked for: the next one.
	Decision string `json:"decision"`
	// Seed of its random numbers.
	Seed uint64 `json:"seed,string"`
	// Attempt counts the answers for this decision, from 1.
	Attempt int     `json:"attempt"`
	Program Program `json:"program"`
	// Parameters is the proposed composition. Where it is absent, Cause gives the reason.
	Parameters definition.Point `json:"parameters,omitempty"`
	// Reason is the program's own, and Numbers its account of the proposal.
	Reason  string   `json:"reason,omitempty"`
	Numbers []Number `json:"numbers,omitempty"`
	// Cause explains a missing proposal: the program was silent, ended, or wrote something
	// unreadable. Rejected is that text, cut where it is long.
	Cause    string `json:"cause,omitempty"`
	Rejected string `json:"rejected,omitempty"`
	// Took is how long the answer took, in seconds.
	Took float64 `json:"took,omitempty"`
}

// Number is a number with a name, of a program's own.
type Number struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

func (p MethodAnswered) Subject() string { return p.Decision }

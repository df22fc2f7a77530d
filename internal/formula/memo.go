package formula

import "sync"

// mostKept bounds the formulas that are kept. A process sees those of its
// campaigns' definitions, over and over.
const mostKept = 1000

var kept struct {
	sync.Mutex
	formulas map[string]*Formula
}

// Of is [Parse] for a formula that is evaluated often and held as a text, as
// those of recorded definitions are: it is parsed once. Formulas are immutable,
// so that it makes no difference which caller was first.
func Of(text string) (*Formula, error) {
	kept.Lock()
	defer kept.Unlock()
	if f := kept.formulas[text]; f != nil {
		return f, nil
	}
	f, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if kept.formulas == nil || len(kept.formulas) == mostKept {
		kept.formulas = make(map[string]*Formula)
	}
	kept.formulas[text] = f
	return f, nil
}

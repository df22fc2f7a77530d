package formula

import "sync"

// mostKept bounds the texts that are kept. A process sees those of its
// campaigns' definitions, over and over.
const mostKept = 1000

// memo keeps what texts were parsed to. What is parsed is immutable, so that it
// makes no difference which caller was first.
type memo[T any] struct {
	parse func(text string) (*T, error)
	mu    sync.Mutex
	kept  map[string]*T
}

func (m *memo[T]) of(text string) (*T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if parsed := m.kept[text]; parsed != nil {
		return parsed, nil
	}
	parsed, err := m.parse(text)
	if err != nil {
		return nil, err
	}
	if m.kept == nil || len(m.kept) == mostKept {
		m.kept = make(map[string]*T)
	}
	m.kept[text] = parsed
	return parsed, nil
}

var (
	formulas  = memo[Formula]{parse: Parse}
	relations = memo[Relation]{parse: ParseRelation}
)

// Of is [Parse] for a formula that is evaluated often and held as a text, as
// those of recorded definitions are: it is parsed once.
func Of(text string) (*Formula, error) { return formulas.of(text) }

// RelationOf is [ParseRelation] for a constraint that is read often: it is parsed
// once.
func RelationOf(text string) (*Relation, error) { return relations.of(text) }

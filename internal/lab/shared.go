package lab

import "github.com/campaignd/campaignd/internal/board"

// Shared reports whether other processes hold the lab as well: its log is in a
// database.
func (l *Lab) Shared() bool { return l.own.Shared() }

// keptRuns is how many runs of a kind are remembered. What they found may be large,
// and can be found again.
const keptRuns = 32

// Board returns what shows runs of a kind at all servers of the lab; nil where there
// is one server. See [board.Board].
func (l *Lab) Board(prefix, letter string) *board.Board {
	if l.cluster == nil {
		return nil
	}
	return &board.Board{
		Prefix: prefix, Letter: letter, Most: keptRuns, Log: l.Log, Self: l.cluster.id(),
		Lives: func(process string) bool {
			l.cluster.mu.Lock()
			defer l.cluster.mu.Unlock()
			_, lives := l.cluster.others[process]
			return lives
		},
	}
}

package humans

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/events/definition"
)

// Channel is a way to ask experts that campaign files can name: a row of the
// program's table.
type Channel struct {
	// Name as campaign files write it: `experts: [{name: ada, NAME:
	// settings}]`.
	Name string
	// Settings returns the channel's settings, all unset.
	Settings func() definition.Settings
	// Open returns the reviewer of an expert of a campaign whose definition is
	// complete. It asks nothing yet. A reviewer that holds resources is an
	// io.Closer.
	Open func(
		ctx context.Context, expert definition.Expert, def definition.Campaign, env Environment,
	) (Reviewer, error)
	// Person says that a person answers, not a simulation.
	Person bool
	// Program says that a program of the user's answers.
	Program bool
	// Unhurried says that the person answers when they come by: by default a
	// question waits without limit, and the campaign chooses a few experiments
	// by itself meanwhile.
	Unhurried bool
}

// Environment holds the program's services for a channel that it opens.
type Environment struct {
	// Folder is that of the campaign file, from which relative paths start.
	Folder string
	// Prompter asks the person at the terminal; nil without a terminal.
	Prompter console.Prompter
	// Now is the clock by which a person is shown the time that is left. It
	// decides nothing.
	Now func() time.Time
	// Logf gets remarks for the person that belong to no question; nil drops them.
	Logf func(format string, args ...any)
	// Sample returns random compositions of the campaign's space, the same for
	// equal arguments; none where the space is empty.
	Sample func(n int, seed uint64) []definition.Point
}

package instruments

import (
	"context"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/events/definition"
)

// Driver is a kind of instrument that campaign files can name: a row of the
// program's table.
type Driver struct {
	// Name as campaign files write it: `instrument: {NAME: settings}`.
	Name string
	// Settings returns the driver's settings, all unset.
	Settings func() definition.Settings
	// Open returns the instrument of a campaign whose definition is complete.
	// It begins nothing. An instrument that holds resources is an io.Closer.
	Open func(ctx context.Context, def definition.Campaign, env Environment) (Instrument, error)
	// ByHand says that a person carries the experiments out.
	ByHand bool
	// Listed says that it can measure only compositions of a list of its own
	// ([Candidates]).
	Listed bool
	// Identify returns the instrument's name and whether it is simulated, where
	// a complete definition determines them. It is nil where only the
	// instrument itself knows; such an instrument may also remember commands of
	// earlier processes.
	Identify func(def definition.Campaign) (name string, simulated bool)
	// Foregone returns the best answer that such an instrument could give,
	// where all of them are known beforehand; nil elsewhere. Relative paths of
	// the definition start from the folder.
	Foregone func(def definition.Campaign, folder string) (Foregone, error)
}

// Foregone is an answer that is known before anybody asks, and the identity of
// the device that gives it.
type Foregone struct {
	Point    definition.Point
	Value    float64
	Identity string
}

// Environment holds the program's services for an instrument that it opens.
type Environment struct {
	// Folder is where relative paths of the definition start from.
	Folder string
	// Store is the address of the campaign's store, empty without one.
	Store string
	// Resource is the campaign's name of the instrument, empty of the only one.
	Resource string
	// Prompter asks the person at the terminal; nil without a terminal.
	Prompter console.Prompter
	// Acts is the file to which the device's side appends its acts, for a check that counts them;
	// empty where they are not counted.
	Acts string
	// Logf takes remarks, a line each. It may be called by several goroutines.
	Logf func(format string, args ...any)
}

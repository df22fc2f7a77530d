package process

import (
	"os"
	"time"

	"github.com/campaignd/campaignd/adapters/internal/program"
)

// Hurry shortens the adapter's own times for tests.
func (i *Instrument) Hurry() {
	i.host.Pauses = program.Pauses{
		First:   time.Millisecond,
		Longest: 50 * time.Millisecond,
		Healthy: time.Hour,
		Drain:   500 * time.Millisecond,
		Grace:   300 * time.Millisecond,
	}
}

// GracePeriod sets how long the program may take to end, once its input has and once it
// was asked to.
func (i *Instrument) GracePeriod(d time.Duration) { i.host.Grace = d }

// Program returns the program's process, or nil.
func (i *Instrument) Program() *os.Process {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.peer == nil {
		return nil
	}
	return i.peer.Cmd.Process
}

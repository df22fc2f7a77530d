package process

import (
	"os"
	"time"
)

// Hurry shortens the adapter's own times for tests.
func (i *Instrument) Hurry() {
	i.pauses = pauses{
		first:       time.Millisecond,
		longest:     50 * time.Millisecond,
		healthy:     time.Hour,
		drain:       500 * time.Millisecond,
		gracePeriod: 300 * time.Millisecond,
	}
}

// GracePeriod sets how long the program may take to end, once its input has and once it
// was asked to.
func (i *Instrument) GracePeriod(d time.Duration) { i.pauses.gracePeriod = d }

// Program returns the program's process, or nil.
func (i *Instrument) Program() *os.Process {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.peer == nil {
		return nil
	}
	return i.peer.cmd.Process
}

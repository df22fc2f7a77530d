package drive

import "github.com/campaignd/campaignd/internal/engine"

// Services knows the service of the lab's instruments, for one campaign.
type Services interface {
	// Serviced returns it by the campaign's names of its instruments, as its file has them, without those
	// that are not the lab's, and a channel that is closed once it may have changed. fresh asks for what
	// other processes have just recorded, too.
	Serviced(source string, fresh bool) (all map[string]engine.Service, changed <-chan struct{})
}

// serviced returns the service of the campaign's instruments, by its names. The loop is woken once that may
// have changed.
func (r *Runner) serviced(fresh bool) (all map[string]engine.Service) {
	if r.Services != nil {
		all, r.reserviced = r.Services.Serviced(r.core.State().Source, fresh)
	}
	return all
}

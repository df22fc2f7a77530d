package engine

// lock keeps other campaigns off a device that something physical is done with. A
// simulation can be shared; and a person at the bench sees whom they work for.
func (r *Runner) lock() error {
	if r.Lock == nil || r.description.Simulated || r.core.State().Definition.Instrument.Manual != nil {
		return nil
	}
	return r.Lock(r.description)
}

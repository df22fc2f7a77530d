package instrumenttest

// Only has the suite run the named checks and no other.
func (e *Env) Only(names ...string) { e.only = names }

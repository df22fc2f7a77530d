package engine

import "context"

// Hold has a function called before each computation, beside the loop.
func (r *Runner) Hold(hold func(context.Context, Step)) { r.hold = hold }

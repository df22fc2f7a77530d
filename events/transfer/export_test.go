package transfer

// AtSteps has a function called between the steps of a copy, until the result is.
func AtSteps(f func(step string)) (stop func()) {
	steps = f
	return func() { steps = func(string) {} }
}

package engine

// CountOf writes a number of things.
func CountOf(n int, thing string) string { return countOf(n, thing) }

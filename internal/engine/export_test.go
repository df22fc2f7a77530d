package engine

// CountOf writes a number of things.
func CountOf(n int, thing string) string { return countOf(n, thing) }

// Asked counts what a request asks for.
func Asked(r *Request) int { return len(r.parts()) }

package format

// Optional formats a setting, or "?" where there is none.
func Optional(x *float64) string {
	if x == nil {
		return "?"
	}
	return Setting(*x)
}

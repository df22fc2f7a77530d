package format

// Optional formats a setting, or "?" if it is missing.
func Optional(x *float64) string {
	if x == nil {
		return "?"
	}
	return Setting(*x)
}

package lab

// Shared reports whether other processes hold the lab as well: its log is in a
// database.
func (l *Lab) Shared() bool { return l.own.Shared() }

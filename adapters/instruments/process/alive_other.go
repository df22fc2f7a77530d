//go:build !unix

package process

// Where the system does not tell when a process began, a number alone would not
// identify it: no process of an earlier run is known.

func endProcess(int) {}

func running(int, string) bool { return false }

func birth(int) string { return "" }

// stopped: what cannot be stopped is not waited for.
func stopped(int) bool { return true }

//go:build !linux

package lock

// look knows of no system but Linux on which programs see different folders under one name.
func look() sight { return sight{} }

//go:build !pauses

package store

import "github.com/campaignd/campaignd/events"

// withPauses is the store as it is: see pauses.go.
func withPauses(s events.Store) events.Store { return s }

func withoutPauses(s events.Store) events.Store { return s }

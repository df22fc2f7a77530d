package unaided

import "github.com/campaignd/campaignd/events/definition"

// None ignores experts.
type None struct{ idle }

// Words implements definition.Settings.
func (*None) Words(*definition.Campaign) string { return "experts do not bend the choice" }

// Never asks no one after the initial labels.
type Never struct{ idle }

// Words implements definition.Settings.
func (*Never) Words(*definition.Campaign) string { return "no one is asked" }

// idle is a rule that does nothing.
type idle struct{}

// Complete implements definition.Settings.
func (idle) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
func (idle) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

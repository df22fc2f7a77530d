package unaided

import "github.com/campaignd/campaignd/events/definition"

// None is the settings of `trust: none`: experts' answers bend no choice.
type None struct{ idle }

// Words implements definition.Settings.
func (*None) Words(*definition.Campaign) string { return "experts do not bend the choice" }

// Never is the settings of `handover: never`: no expert is asked once the
// initial questions are answered.
type Never struct{ idle }

// Words implements definition.Settings.
func (*Never) Words(*definition.Campaign) string { return "no one is asked" }

// idle is the part that settings of a rule without settings share.
type idle struct{}

// Complete implements definition.Settings.
func (idle) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
func (idle) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

package campaignfile

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
)

// Begun returns the definition that this file gives for a campaign that has begun with another.
// Settings that the file leaves to campaignd stay as the campaign began: the size and kind of
// the initial design, which follow from the space and the budget and would change with an
// amendment of these, and the absence of settings that this program has and the one that began
// the campaign had not.
//
// Without it, `amend` and `run` would find differences in a file that no one has
// touched, after each new version of the program.
func (f *File) Begun(reg registry.Registry, def, begun definition.Campaign) definition.Campaign {
	said := f.said.Initial
	if said.Experiments == nil && len(said.Points) == 0 {
		def.Initial.Experiments = begun.Initial.Experiments
	}
	if said.Design == "" && len(said.Points) == 0 {
		def.Initial.Design = begun.Initial.Design
	}
	return withoutLater(reg, def, f.said, begun)
}

// CompleteBegun is [Complete] for a definition that a campaign might have begun
// with instead of another one: settings that were introduced later, and that
// neither definition has, stay absent.
func CompleteBegun(reg registry.Registry, def, begun definition.Campaign) definition.Campaign {
	return withoutLater(reg, Complete(reg, def), def, begun)
}

// withoutLater removes from a definition the settings that were introduced
// after a campaign had begun, unless the file gives them (said). A definition
// without such a setting means what it meant then, so that neither a decision
// of the campaign nor its audit changes.
//
// It needs no list of settings and versions: the additions of completing the recorded
// definition today are that list.
func withoutLater(reg registry.Registry, def, said, begun definition.Campaign) definition.Campaign {
	sayings, tree := plain(said), plain(def)
	// The settings that completing the begun definition adds today are those its program did
	// not know.
	for _, later := range Diff(begun, Complete(reg, begun)) {
		steps := strings.Split(later.Path, "/")[1:]
		parent, name := steps[:len(steps)-1], steps[len(steps)-1]
		if _, isSaid := under(sayings, parent)[name]; later.From == "" && !isSaid {
			delete(under(tree, parent), name)
		}
	}
	without, err := fromPlain(tree)
	if err != nil {
		panic("campaignfile: a definition that lacks a setting cannot be read: " + err.Error())
	}
	return without
}

// under returns the object at a path of a tree, or nil. Callers rely on it that deleting from a
// nil map does nothing.
func under(tree any, path []string) map[string]any {
	for _, step := range path {
		switch at := tree.(type) {
		case map[string]any:
			tree = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			tree = at[i]
		}
	}
	object, _ := tree.(map[string]any)
	return object
}

// fromPlain returns the definition that a tree of [plain] stands for. Numbers pass through as
// text, so that none changes in the last digit.
func fromPlain(tree any) (def definition.Campaign, err error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return def, fmt.Errorf("the definition cannot be written: %w", err)
	}
	if err := json.Unmarshal(data, &def); err != nil {
		return def, fmt.Errorf("the definition cannot be read: %w", err)
	}
	return def, nil
}

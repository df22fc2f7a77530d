package campaignfile

import (
	"maps"
	"reflect"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
)

// Meant returns the definition that a file, read as wanted, gives for a campaign that has a
// definition and was begun with a recorded source. Where the file agrees with that source the
// campaign keeps its own values. So neither a default that has changed since nor a seed from
// the command line is a change of the file. A source that this program cannot read any more is
// ignored: then everything in the file is meant.
//
// `amend`, `run` and `import` use it to compare a file with a campaign.
func Meant(
	reg registry.Registry, recorded definition.Campaign, source string, wanted definition.Campaign,
) (definition.Campaign, error) {
	before, err := Parse(reg, recorded.Name, []byte(source))
	if err != nil {
		return wanted, nil
	}
	return fromPlain(merge(plain(before.Definition), plain(wanted), plain(recorded)))
}

// merge is a three-way merge: recorded, changed where after differs from before. Lists of
// different lengths are not merged; the file's is taken. before is the recorded source as this
// program completes it, after the file likewise, recorded the campaign's definition.
func merge(before, after, recorded any) any {
	if reflect.DeepEqual(before, after) {
		return recorded
	}
	if b, a, r, ok := all[map[string]any](before, after, recorded); ok {
		merged := make(map[string]any)
		names := maps.Clone(a)
		maps.Copy(names, b)
		maps.Copy(names, r)
		for name := range names {
			value := merge(member(b, name), member(a, name), member(r, name))
			if !isAbsent(value) {
				merged[name] = value
			}
		}
		return merged
	}
	if b, a, r, ok := all[[]any](before, after, recorded); ok && len(a) == len(b) && len(a) == len(r) {
		merged := slices.Clone(a)
		for i := range merged {
			merged[i] = merge(b[i], a[i], r[i])
		}
		return merged
	}
	return after
}

// all returns three values as T, and whether all of them are.
func all[T any](x, y, z any) (a, b, c T, ok bool) {
	a, first := x.(T)
	b, second := y.(T)
	c, third := z.(T)
	return a, b, c, first && second && third
}

// isAbsent tells a field that is gone from one that is null.
func isAbsent(value any) bool {
	_, ok := value.(absent)
	return ok
}

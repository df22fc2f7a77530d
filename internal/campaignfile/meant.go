package campaignfile

import (
	"maps"
	"reflect"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/registry"
)

// Meant returns what a file, read as wanted, means for a campaign that has a
// definition, and the source that was recorded with it. Where the file says the
// same as that source the campaign keeps what it has, so that a default that
// has changed since, or a seed that was given on the command line, is no change
// of the file. A source that cannot be read any more tells nothing: then all
// that the file says is meant.
func Meant(
	reg registry.Registry, recorded definition.Campaign, source string, wanted definition.Campaign,
) (definition.Campaign, error) {
	before, err := Parse(reg, recorded.Name, []byte(source))
	if err != nil {
		return wanted, nil
	}
	return fromPlain(merge(plain(before.Definition), plain(wanted), plain(recorded)))
}

// merge returns what is recorded, changed where after differs from before.
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

// all returns three values as a T, where each is one.
func all[T any](x, y, z any) (a, b, c T, ok bool) {
	a, first := x.(T)
	b, second := y.(T)
	c, third := z.(T)
	return a, b, c, first && second && third
}

func isAbsent(value any) bool {
	_, ok := value.(absent)
	return ok
}

package view

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events"
)

// Build names a build of the program in a line: "v1.2.0 go1.26.8 amd64/v1,
// revision 1f2e3d4c5b6a".
func Build(b events.Build) string {
	if b == (events.Build{}) {
		return "not recorded"
	}
	text := strings.Join(strings.Fields(b.Version+" "+b.Go+" "+b.Arch), " ")
	if b.Revision != "" {
		text += ", revision " + Revision(b.Revision)
	}
	return text
}

// Revision is the source of a build, in as many digits as a person needs to
// find it again. It is one of four forms: a commit, a commit with the hash of
// local changes, the sum of a module (h1), or another hash with its name.
func Revision(revision string) string {
	name, sum, hashed := strings.Cut(revision, ":")
	switch {
	case revision == "":
		return "not recorded"
	case !hashed:
		return firstDigits(name)
	case name == "h1": // base64: another length says the same
		return revision
	}
	if commit, ok := strings.CutSuffix(name, "+dirty.sha256"); ok {
		return fmt.Sprintf("%s with changes, sha256:%s", firstDigits(commit), firstDigits(sum))
	}
	return name + ":" + firstDigits(sum)
}

// firstDigits shortens a hash to the digits that distinguish it from others.
func firstDigits(hash string) string {
	const enough = 12
	return hash[:min(enough, len(hash))]
}

package guess

import (
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Say changes roles as a person says, each as "HEADING=ROLE"; a heading may be that of the table,
// or the name made of it. If they name an objective, guessed ones are dropped.
func (g *Guess) Say(roles []string) error {
	said := make([]bool, len(g.Columns))
	for _, text := range roles {
		at := strings.LastIndex(text, "=")
		if at < 0 {
			return problem.New(problem.Invalid, "%q does not give a column a role: write it as in yield=maximize", text)
		}
		heading, role := strings.TrimSpace(text[:at]), Role(strings.TrimSpace(text[at+1:]))
		i := slices.IndexFunc(g.Columns, func(c Column) bool { return c.Heading == heading })
		if i < 0 {
			i = slices.IndexFunc(g.Columns, func(c Column) bool { return c.Name == heading })
		}
		if i < 0 {
			return problem.New(problem.Invalid, "there is no column %q; the columns are %s", heading, g.headings())
		}
		c := &g.Columns[i]
		if !slices.Contains(c.May, role) {
			return problem.New(problem.Invalid, "%s cannot be %q: it holds %s, and may be %s", heading, role, c.Found, roleList(c.May))
		}
		c.Role = role
		c.Why = "That was said."
		said[i] = true
		if !role.Sought() {
			continue
		}
		for k := range g.Columns {
			if other := &g.Columns[k]; !said[k] && other.Role.Sought() {
				other.Role, other.Why = Quantity, "Another one is sought, as was said."
			}
		}
	}
	return nil
}

func (g *Guess) headings() string {
	names := make([]string, len(g.Columns))
	for i, c := range g.Columns {
		names[i] = c.Heading
	}
	return strings.Join(names, ", ")
}

func roleList(roles []Role) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	return format.List(names...)
}

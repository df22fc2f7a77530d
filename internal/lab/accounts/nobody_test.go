package accounts

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a caller without an account may do nothing with the sessions of the
// account without a name.
func TestNobodyHasNoSessions(t *testing.T) {
	b, _ := lab(t, Options{})
	for _, name := range []string{"", " ", "ada"} {
		if _, err := b.EndSessions(t.Context(), Identity{}, name); problem.CodeOf(orNil(err)) != problem.Unauthenticated {
			t.Errorf("ending the sessions of %q: %v", name, err)
		}
	}
}

// Law: the roles that an issuer gives are recorded in one order, each once,
// however it names them.
func TestOIDCRolesHaveAnOrder(t *testing.T) {
	c := newClock()
	p := newProvider(t, c)
	b := open(t, filepath.Join(t.TempDir(), "lab"), c, p.options(t, OIDC{
		RoleClaim: "roles", NewAccounts: true,
		Roles: map[string]Role{"chem": Scientist, "lab": Scientist, "boss": Admin, "book": Auditor},
	}))
	must.Get(b.Add(t.Context(), system, NewAccount{Name: "ada", Grants: []Grant{{Role: Admin}}}))(t)
	want := []Role{Admin, Auditor, Scientist}
	for name, roles := range map[string][]string{
		"eve": {"chem", "boss", "book", "lab"}, "fay": {"lab", "book", "chem", "boss"},
	} {
		_, _, err := p.come(b, "", map[string]any{"sub": name, "preferred_username": name, "roles": roles})
		done(t, err)
		var granted []Role
		after := uint64(0)
		page, err := b.AuditLog(system, Page{After: &after, Limit: 100})
		done(t, err)
		for _, e := range page {
			if e.Kind == KindGranted && e.Account == name {
				granted = append(granted, e.Role)
			}
		}
		if !slices.Equal(granted, want) {
			t.Errorf("%s is granted %q, want %q", name, granted, want)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/cmd/campaignd/app"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// later is the method as later releases of this module may have it: its steps go another
// way, and, with models, it also wants the objective's model.
type later struct {
	policies.Policy
	models bool
}

func (p later) Decide(ctx context.Context, v policies.View, seed uint64) (policies.Decision, error) {
	d, err := p.Policy.Decide(ctx, v, seed+1)
	d.Seed = seed
	return d, err
}

func (p later) Needs() policies.Needs { return policies.Needs{Objective: p.models} }

// release is the program's table in a release of this module: with the version that hillclimb
// has there, and what has changed in it.
func release(version int, changed, models bool) app.Registry {
	registry := table()
	for i, f := range registry.Methods {
		if f.Name != "hillclimb" {
			continue
		}
		registry.Methods[i].Version = version
		if changed {
			registry.Methods[i].New = func(def definition.Campaign, rule next.Rule) (policies.Policy, error) {
				p, err := f.New(def, rule)
				return later{p, models}, err
			}
		}
	}
	return registry
}

// Law: a method of another module may change. What one version decided, its own program
// confirms; those with earlier and later versions say that they do not make it again, and
// accuse nothing: neither the decisions nor the fits and questions around them. A change without a new
// version is found.
func TestVersions(t *testing.T) {
	programs := []app.Registry{release(1, false, false), release(2, true, false), release(3, true, true)}
	for made, program := range programs {
		address, _ := expert(t)
		file := laboratory(t, address)
		if code := app.Run(t.Context(), program, []string{"run", file}, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
			t.Fatalf("version %d: exit code %d", made+1, code)
		}
		audit := func(program app.Registry) (int, string) {
			var out bytes.Buffer
			code := app.Run(t.Context(), program, []string{"audit", file}, strings.NewReader(""), &out, &out)
			return code, out.String()
		}
		for here, program := range programs {
			says, want := "came out the same", 0
			if here != made {
				says = fmt.Sprintf(
					"decisions made by version %d of hillclimb of example.org/lab, this is version %d: not made again",
					made+1, here+1,
				)
				want = 1
			}
			if code, text := audit(program); code != want || !strings.Contains(text, says) || strings.Contains(text, "MISMATCH") {
				t.Errorf("made by version %d, audited by %d: exit code %d\n%s", made+1, here+1, code, text)
			}
		}
		unsaid := release(made+1, made == 0, false)
		if code, text := audit(unsaid); code != 1 || !strings.Contains(text, "MISMATCH") {
			t.Errorf("changed without a new version %d: exit code %d\n%s", made+1, code, text)
		}
	}
}

package app

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/relay"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/lab/doctor"
)

// doctorCommand is `campaignd doctor`.
var doctorCommand = command{
	name: "doctor",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var drives driving
		var folder string
		flags.StringVar(&folder, "folder", ".", "with a database: the `folder` of lab.yaml")
		return func(c *call, args []string) error {
			if err := drives.place(c.app, args, &folder); err != nil {
				return err
			}
			return look(c, folder, drives.database)
		}
	},
}

// look prints the findings of a look at a deployment.
func look(a *call, folder, database string) error {
	found, err := findings(a, folder, database)
	if err != nil {
		return err
	}
	unsafe, unknown := doctor.Count(found, doctor.Unsafe), doctor.Count(found, doctor.Unknown)
	err = a.present(map[string]any{"findings": found, "unsafe": unsafe, "unknown": unknown}, func() {
		for _, f := range found {
			a.printf("%-8s %s: %s\n", f.Verdict, f.Subject, f.Says)
			if f.Remedy != "" {
				a.printf("         → %s\n", f.Remedy)
			}
		}
		a.printf("%d unsafe, %d not known, %d safe.\n", unsafe, unknown, doctor.Count(found, doctor.Safe))
	})
	if err != nil || unsafe == 0 {
		return err
	}
	return fmt.Errorf("%s of what was looked at", format.Count(unsafe, "unsafe finding"))
}

func findings(a *call, folder, database string) ([]doctor.Finding, error) {
	named, fault := labfile.ReadFolder(a.registry, folder)
	services := doctor.Services{LabFile: fault}
	var instruments []string
	if fault == nil {
		if named != nil {
			instruments = slices.Sorted(maps.Keys(named.Instruments))
		} else {
			named = new(labfile.File)
		}
		services = serving{app: a.app, folder: folder, address: defaultAddress}.services(named)
		if services.Shared, fault = lab.DeclaredIn(a.registry, folder)(); fault != nil {
			return nil, inputError{fault}
		}
	}
	if !store.InDatabase(database) {
		f, err := doctor.LookAtFolder(folder, services)
		if err != nil {
			return nil, inputError{err}
		}
		return f.Findings(), nil
	}
	d, err := doctor.LookAtDatabase(a.ctx, database, instruments, services)
	if err != nil {
		return nil, storeError{err}
	}
	return d.Findings(), nil
}

// services are those of a lab file that are off where it is served so, each with the reason.
func (s serving) services(named *labfile.File) doctor.Services {
	o := s.accountOptions(named)
	return doctor.Services{
		NoPasskeys: accounts.CheckPasskeys(o.Passkeys),
		NoOIDC:     accounts.CheckOIDC(o.OIDC),
		NoRelay:    relay.Missing(named.Relays(s.registry.Notifications)),
	}
}

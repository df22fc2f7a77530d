// Package registry is the table of the names that campaign and lab files can use: the drivers of
// instruments, the channels to experts, the methods, and the channels of notifications. A new one
// needs a row here and its own package, nothing else.
package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/adapters/notifications"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
)

// Registry is the table. Lists and messages follow the order of its rows.
type Registry struct {
	Instruments []instruments.Driver
	Experts     []humans.Channel
	Methods     policies.Registry
	// Programs open the outside program of a method that is a program.
	Programs []methods.Driver
	// Notifications are the channels by which a lab file's people are told what waits for them.
	Notifications notifications.Channels
}

// Driver returns the driver with a name.
func (r Registry) Driver(name string) (instruments.Driver, bool) {
	i := slices.IndexFunc(r.Instruments, func(d instruments.Driver) bool { return d.Name == name })
	if i < 0 {
		return instruments.Driver{}, false
	}
	return r.Instruments[i], true
}

// DriverOf returns the driver of a campaign's instrument.
func (r Registry) DriverOf(def *definition.Campaign) (instruments.Driver, bool) {
	return r.Driver(def.Driver().Name)
}

// Simulates reports whether a definition declares its measurements as simulated. Only a program
// itself can say so for a program.
func (r Registry) Simulates(def *definition.Campaign) bool {
	driver, _ := r.DriverOf(def)
	if driver.Identify == nil {
		return false
	}
	_, simulated := driver.Identify(*def)
	return simulated
}

// Foregone returns the best answer of an instrument whose answers are known beforehand, as its file
// has them now; nil for any other instrument, and for an unreadable file. Relative paths of the
// definition start from the folder.
func (r Registry) Foregone(def *definition.Campaign, folder string) *instruments.Foregone {
	driver, _ := r.DriverOf(def)
	if driver.Foregone == nil {
		return nil
	}
	best, err := driver.Foregone(*def, folder)
	if err != nil {
		return nil
	}
	return &best
}

// Channel returns the channel with a name.
func (r Registry) Channel(name string) (humans.Channel, bool) {
	i := slices.IndexFunc(r.Experts, func(c humans.Channel) bool { return c.Name == name })
	if i < 0 {
		return humans.Channel{}, false
	}
	return r.Experts[i], true
}

// Program returns the driver of the program that is a campaign's method; ok is false for a built-in
// method.
func (r Registry) Program(def *definition.Campaign) (methods.Driver, bool) {
	i := slices.IndexFunc(r.Programs, func(d methods.Driver) bool { return d.Rule == def.Policy.Next.Name })
	if i < 0 {
		return methods.Driver{}, false
	}
	return r.Programs[i], true
}

// DriverNames lists the drivers.
func (r Registry) DriverNames() []string {
	names := make([]string, len(r.Instruments))
	for i, d := range r.Instruments {
		names[i] = d.Name
	}
	return names
}

// ChannelNames lists the channels.
func (r Registry) ChannelNames() []string {
	names := make([]string, len(r.Experts))
	for i, c := range r.Experts {
		names[i] = c.Name
	}
	return names
}

// Identity names all rows and the types of their settings: registries with equal identities admit
// the same campaign files.
func (r Registry) Identity() string {
	var b strings.Builder
	row := func(kind, name string, settings definition.Settings) {
		t := reflect.TypeOf(settings).Elem()
		fmt.Fprintf(&b, "%s %s %s.%s\n", kind, name, t.PkgPath(), t.Name())
	}
	for _, d := range r.Instruments {
		row("instrument", d.Name, d.Settings())
	}
	for _, c := range r.Experts {
		row("expert", c.Name, c.Settings())
	}
	for _, f := range r.Methods {
		for _, rule := range f.Rules {
			row(string(rule.Part), rule.Name, rule.Settings())
		}
		for _, m := range f.Methods {
			fmt.Fprintf(&b, "method %s\n", m.Name)
		}
	}
	return b.String()
}

// InstrumentSettings returns the settings of the definition's instrument.
func (r Registry) InstrumentSettings(def *definition.Campaign) (definition.Settings, error) {
	driver, ok := r.DriverOf(def)
	if !ok {
		return nil, unknown("instrument", def.Driver().Name, r.DriverNames())
	}
	return decoded(def.Driver(), driver.Settings())
}

// ExpertSettings returns the settings of an expert's channel.
func (r Registry) ExpertSettings(e definition.Expert) (definition.Settings, error) {
	channel, ok := r.Channel(e.Channel.Name)
	if !ok {
		return nil, unknown("channel to experts", e.Channel.Name, r.ChannelNames())
	}
	return decoded(e.Channel, channel.Settings())
}

// Reach is a part of a definition that reaches beyond the campaign: an instrument or a channel that
// names a program, a file or an address.
type Reach struct {
	// Where it stands: "instrument.process".
	Where string
	// Resource is the name of the instrument in a campaign of several.
	Resource string
	// Choice is the driver, an expert's channel if Expert is set, or the policy's rule if Method is
	// set.
	Choice definition.Choice
	Expert bool
	Method bool
}

// Reaches lists the parts of a definition that reach beyond the campaign.
func (r Registry) Reaches(def *definition.Campaign) (found []Reach) {
	for _, resource := range def.Resources() {
		own := def.For(resource)
		settings, err := r.InstrumentSettings(own)
		if driver := own.Driver(); driver.Name != "" && (err != nil || !confined(settings)) {
			where := definition.PathOf(resource).To(driver.Name).String()
			found = append(found, Reach{Where: where, Resource: resource, Choice: driver})
		}
	}
	if _, ok := r.Program(def); ok {
		next := def.Policy.Next
		found = append(found, Reach{Where: "policy." + next.Name, Choice: next, Method: true})
	}
	for i, e := range def.Experts {
		if settings, err := r.ExpertSettings(e); err != nil || !confined(settings) {
			where := fmt.Sprintf("experts[%d].%s", i, e.Channel.Name)
			found = append(found, Reach{Where: where, Choice: e.Channel, Expert: true})
		}
	}
	return found
}

func confined(s definition.Settings) bool {
	c, ok := s.(definition.Confined)
	return ok && c.Confined()
}

func decoded(c definition.Choice, into definition.Settings) (definition.Settings, error) {
	err := c.Decode(into)
	return into, err
}

func unknown(what, name string, known []string) error {
	return fmt.Errorf("this campaignd has no %s %q; it has %v", what, name, known)
}

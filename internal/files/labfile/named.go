package labfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// Named holds the parts that campaign files can refer to: trees without a place, by name. Those of
// Instruments have the form of instrument: in a campaign file, those of Experts of an entry of
// experts: without its name, those of Stocks and Places that of the lab file.
type Named struct {
	Instruments, Experts, Stocks, Places map[string]*yamltree.Node
	// Order has the names of the places in the order in which they may be held.
	Order []string
}

// part is a kind of entry, with the key that it stands under.
type part struct {
	key     string
	entries map[string]*yamltree.Node
}

// parts are the entries of all kinds.
func (n Named) parts() []part {
	return []part{{"instruments", n.Instruments}, {"experts", n.Experts}, {"stocks", n.Stocks}, {"places", n.Places}}
}

// IsEmpty reports whether nothing is named.
func (n Named) IsEmpty() bool {
	return !slices.ContainsFunc(n.parts(), func(p part) bool { return len(p.entries) > 0 })
}

// ReadNamed reads instruments, experts, stocks and places from a tree with those keys. It checks as
// [Parse] does and keeps the trees: the campaign file that refers to them determines their meaning in
// its campaign.
func ReadNamed(reg registry.Registry, root *yamltree.Node) (Named, []yamltree.Fault) {
	c := checker{reg: reg}
	var all struct {
		Instruments map[string]Instrument `json:"instruments"`
		Experts     map[string]Expert     `json:"experts"`
		Stocks      map[string]Stock      `json:"stocks"`
		Places      []Place               `json:"places"`
	}
	rest := root
	for _, p := range (Named{}).parts() {
		rest = rest.Without(p.key)
	}
	c.faults = rest.Decode(&all)
	instruments(&c, root.Field("instruments"))
	experts(&c, root.Field("experts"))
	stocks(&c, root.Field("stocks"))
	places(&c, root.Field("places"))
	if len(c.faults) > 0 {
		return Named{}, c.faults
	}
	return namedIn(root), nil
}

// namedIn extracts the named parts from a valid tree. Capacity is left out, which a campaign file
// does not know, and a bare word becomes a choice without settings.
func namedIn(root *yamltree.Node) Named {
	take := func(of *yamltree.Node) map[string]*yamltree.Node {
		found := make(map[string]*yamltree.Node)
		for _, name := range of.Keys() {
			entry := of.Field(name).Without("capacity")
			plain := entry.Plain()
			if choice, bare := plain.(string); bare {
				plain = map[string]any{choice: map[string]any{}}
			}
			// A value that was read can be written, so no error occurs.
			if node, err := yamltree.FromValue(plain); err == nil {
				found[name] = node
			}
		}
		return found
	}
	n := Named{
		Instruments: take(root.Field("instruments")), Experts: take(root.Field("experts")),
		Stocks: take(root.Field("stocks")), Places: make(map[string]*yamltree.Node),
	}
	if list := root.Field("places"); list != nil {
		for _, item := range list.Items {
			place := written(item)
			if name := place.Field("name"); name != nil && !name.Faulty {
				text, _ := name.Value.(string)
				n.Order = append(n.Order, text)
				n.Places[text] = place
			}
		}
	}
	return n
}

// Names are the names of entries, by kind.
type Names struct{ Instruments, Experts, Stocks, Places []string }

// Only returns the entries of some names. Missing names are skipped.
func (n Named) Only(names Names) Named {
	keep := func(all map[string]*yamltree.Node, names []string) map[string]*yamltree.Node {
		kept := make(map[string]*yamltree.Node)
		for _, name := range names {
			if all[name] != nil {
				kept[name] = all[name]
			}
		}
		return kept
	}
	others := func(name string) bool { return !slices.Contains(names.Places, name) }
	return Named{
		Instruments: keep(n.Instruments, names.Instruments), Experts: keep(n.Experts, names.Experts),
		Stocks: keep(n.Stocks, names.Stocks), Places: keep(n.Places, names.Places),
		Order: slices.DeleteFunc(slices.Clone(n.Order), others),
	}
}

// Plain is all of them as encoding/json writes them.
func (n Named) Plain() map[string]any {
	plain := make(map[string]any)
	for _, p := range n.parts() {
		if len(p.entries) == 0 {
			continue
		}
		in := make(map[string]any)
		for name, node := range p.entries {
			in[name] = node.Plain()
		}
		plain[p.key] = in
	}
	if len(n.Order) > 0 {
		plain["places"] = n.inOrder()
	}
	return plain
}

// inOrder is the list of the places.
func (n Named) inOrder() (list []any) {
	for _, name := range n.Order {
		list = append(list, n.Places[name].Plain())
	}
	return list
}

// YAML writes them as YAML that [ReadNamed] reads, each line with the given indentation. Keys
// are in alphabetical order. Each entry is a line of JSON, which is YAML as well; so is the list of
// places.
func (n Named) YAML(indent string) (string, error) {
	var b strings.Builder
	line := func(key string, value any) error {
		text, err := json.Marshal(value)
		fmt.Fprintf(&b, "%s%s: %s\n", indent, key, text)
		return err
	}
	for _, p := range n.parts() {
		switch {
		case len(p.entries) == 0:
			continue
		case p.key == "places":
			if err := line(p.key, n.inOrder()); err != nil {
				return "", err
			}
			continue
		}
		fmt.Fprintf(&b, "%s%s:\n", indent, p.key)
		for _, name := range sortedKeys(p.entries) {
			if err := line(fmt.Sprintf("  %q", name), p.entries[name].Plain()); err != nil {
				return "", err
			}
		}
	}
	return b.String(), nil
}

// names of people, instruments and experts.
const (
	namePattern = `^[A-Za-z0-9][A-Za-z0-9._-]*$`
	nameLength  = 64
)

// kindOf describes one kind of choice, from a registry.
type kindOf struct {
	names    []string
	settings func(name string) definition.Settings
	// of the messages: "an instrument", "driver"
	what, choice string
}

// instruments reads the instruments of a lab.
func instruments(c *checker, node *yamltree.Node) map[string]Instrument {
	kind := kindOf{c.reg.DriverNames(), func(name string) definition.Settings {
		driver, _ := c.reg.Driver(name)
		return driver.Settings()
	}, "an instrument", "instrument"}
	return entries(c, node, kind, func(n *yamltree.Node, choice definition.Choice) Instrument {
		in := Instrument{Driver: choice}
		c.faults = append(c.faults, n.Decode(&in)...)
		for _, name := range sortedKeys(in.Steps) {
			if step := n.Field("steps").Field(name); !(in.Steps[name] > 0) {
				c.fault(step, "a step is more than 0", "it is in the parameter's unit")
			}
		}
		if in.GiveUpAfter > 0 && in.StallAfter > in.GiveUpAfter {
			c.fault(n.Field("give_up_after"), "it is shorter than stall_after",
				"a campaign first says that the instrument is silent, and gives up later")
		}
		return in
	})
}

// experts reads the experts of a lab.
func experts(c *checker, node *yamltree.Node) map[string]Expert {
	kind := kindOf{c.reg.ChannelNames(), func(name string) definition.Settings {
		channel, _ := c.reg.Channel(name)
		return channel.Settings()
	}, "an expert", "way to ask"}
	return entries(c, node, kind, func(n *yamltree.Node, choice definition.Choice) Expert {
		e := Expert{Channel: choice}
		c.faults = append(c.faults, n.Decode(&e)...)
		return e
	})
}

// mapping reports whether a part is a mapping that can be read. Anything else that stands there is a
// fault.
func (c *checker) mapping(node *yamltree.Node) bool {
	switch {
	case node == nil || node.Faulty:
		return false
	case !node.IsMapping():
		message, remedy := yamltree.WrongType(node.Plain(), "object")
		c.fault(node, message, remedy)
		return false
	}
	return true
}

// entries reads a mapping of names to choices with fields of their own. An entry whose choice is
// faulty is not in the result, but its other fields have been checked.
func entries[T any](
	c *checker, node *yamltree.Node, kind kindOf, fields func(*yamltree.Node, definition.Choice) T,
) map[string]T {
	if !c.mapping(node) {
		return nil
	}
	read := make(map[string]T)
	for _, name := range node.Keys() {
		entry := node.Field(name)
		c.name(entry, name)
		choice, rest, ok := c.choice(entry, kind, fieldNames[T]())
		value := fields(rest, choice)
		if ok {
			read[name] = value
		}
	}
	return read
}

// named reads a mapping of names to sections.
func named[T any](c *checker, node *yamltree.Node) map[string]T {
	if !c.mapping(node) {
		return nil
	}
	read := make(map[string]T)
	for _, name := range node.Keys() {
		c.name(node.Field(name), name)
		if entry := section[T](c, node.Field(name)); entry != nil {
			read[name] = *entry
		}
	}
	return read
}

// section reads a part of the file; despite faults it returns the valid fields, and nil if nothing
// is readable, so that later checks can go on with the valid parts.
func section[T any](c *checker, node *yamltree.Node) *T {
	if node == nil || node.Faulty {
		return nil
	}
	var read T
	c.faults = append(c.faults, node.Decode(&read)...)
	if !node.IsMapping() {
		return nil
	}
	return &read
}

// choice reads the choice among the keys of an entry, and returns the entry without the keys it has
// read.
//
// An entry may be a bare word (the choice without settings), a mapping with the choice as one key,
// and the settings may be a single value for choices that have a short form. ok is false without a
// usable choice, which is reported.
func (c *checker) choice(
	entry *yamltree.Node, kind kindOf, fields []string,
) (choice definition.Choice, rest *yamltree.Node, ok bool) {
	if entry.Faulty {
		return choice, yamltree.Mapping(), false
	}
	if text, bare := entry.Value.(string); bare {
		if !slices.Contains(kind.names, text) {
			c.fault(entry, fmt.Sprintf("there is no %s %q", kind.choice, text),
				yamltree.Suggest(text, kind.names))
			return choice, yamltree.Mapping(), false
		}
		entry = entry.With(text, yamltree.Mapping())
	}
	if !entry.IsMapping() {
		message, remedy := yamltree.WrongType(entry.Plain(), "object")
		c.fault(entry, message, remedy)
		return choice, yamltree.Mapping(), false
	}
	rest = entry
	var named []string
	for _, key := range entry.Keys() {
		switch {
		case slices.Contains(kind.names, key):
			named = append(named, key)
			rest = rest.Without(key)
		case !slices.Contains(fields, key):
			message, remedy := yamltree.UnknownKey(key, append(slices.Clone(kind.names), fields...))
			c.faults = append(c.faults, entry.Field(key).KeyFault(message, remedy))
			rest = rest.Without(key)
			ok = true // it may have been meant as the choice
		}
	}
	if len(named) != 1 {
		if len(named) > 1 {
			c.fault(entry, fmt.Sprintf("it names more than one %s", kind.choice),
				"keep one of "+strings.Join(named, ", "))
		} else if !ok {
			c.fault(entry, fmt.Sprintf("it names no %s", kind.choice),
				"choose one of "+strings.Join(kind.names, ", "))
		}
		return choice, rest, false
	}
	settings := kind.settings(named[0])
	value := entry.Field(named[0])
	if value.Faulty {
		return choice, rest, false
	}
	if value.IsNull() {
		value = entry.With(named[0], yamltree.Mapping()).Field(named[0])
	}
	if short, shortens := settings.(definition.Shortened); shortens && !value.IsMapping() {
		value = yamltree.Mapping().With(short.Short(), value)
	}
	before := len(c.faults)
	c.faults = append(c.faults, c.above(entry, named[0], value.Decode(settings))...)
	if len(c.faults) > before {
		return choice, rest, false
	}
	return definition.NewChoice(named[0], settings), rest, true
}

// above gives faults of a node without a place that of the key it stands for.
func (c *checker) above(entry *yamltree.Node, key string, faults []yamltree.Fault) []yamltree.Fault {
	for i := range faults {
		if faults[i].Place == (yamltree.Place{}) {
			faults[i].Place = entry.Place
			if node := entry.Field(key); node != nil && node.Key != (yamltree.Place{}) {
				faults[i].Place = node.Key
			}
			faults[i].Path = entry.Path.To(key)
		}
	}
	return faults
}

// sortedKeys keeps messages in one order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

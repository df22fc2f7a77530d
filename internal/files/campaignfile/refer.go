package campaignfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// labKey is the key that refers to the lab file: instrument: {lab: pump}. At the top of a
// campaign file it holds the entries that the names stand for, so that the file needs no lab
// file. Campaigns are recorded with such a file.
const labKey = "lab"

// source resolves references to a lab. Its words are for messages; find alone decides whether
// there is a lab.
type source struct {
	// find returns the entries that the lab names. It is called only where the campaign file
	// refers to something that it does not explain itself, so that other files do not depend on
	// the lab file at all. The error names the lab file.
	find func() (labfile.Named, error)
	// where is the lab file in words: "lab.yaml".
	where string
	// absent is the message for a missing lab file, remedy its remedy.
	absent, remedy string
}

// noLab is the source of a file that is read without a lab.
func noLab() source {
	return source{
		absent: "no lab file is known here",
		remedy: "write out what it stands for, or read the campaign file from the folder of its " + labfile.Name,
	}
}

// inFolder is the lab file in a folder. The lab file is read at most once, and
// only if a name leads to it (see [resolver]).
func inFolder(reg registry.Registry, folder string) source {
	path := filepath.Join(folder, labfile.Name)
	return source{
		where:  labfile.Name,
		absent: fmt.Sprintf("there is no %s", path),
		remedy: "name it there, under instruments:, experts:, stocks: or places:, or write out here what it stands for",
		find: func() (labfile.Named, error) {
			lab, err := labfile.ReadFolder(reg, folder)
			if lab == nil {
				return labfile.Named{}, err
			}
			return lab.Named, err
		},
	}
}

// of is a lab file that was read; nil stands for none. It was read and checked
// when it came, so that finding cannot fail.
func of(lab *labfile.File) source {
	if lab == nil {
		return noLab()
	}
	return source{
		where: labfile.Name,
		find:  func() (labfile.Named, error) { return lab.Named, nil },
	}
}

// resolved is a campaign file with its references written out.
type resolved struct {
	root *yamltree.Node
	// used holds the lab file's entries for the names, empty if the campaign file explains them
	// itself. It is recorded with the campaign.
	used   labfile.Named
	faults []formFault
	// stocks are the lab's declarations of its stocks, by their names in the campaign.
	stocks map[string]definition.Stock
	// rooms are the numbers of batches that the lab's places have room for, by their names in the lab.
	rooms map[string]int
}

// resolve writes out the entries that a campaign file takes from the lab:
//
//	instrument: {lab: pump, steps: …}       the keys of the lab's pump, with those given here in their place
//	instruments: {doser: {lab: pump}}       the same, for each of several
//	experts: [ada]                          {name: ada, …}, with the lab's keys of ada
//	experts: [{name: ada, lab: {}, …}]      the same, with further keys in the place of the lab's
//
// A stock of the lab, stocks: {tips: {lab: tips}}, stays a reference: its contents change. So does a place,
// places: [{lab: oven}], whose name in the campaign is that of the lab where none is given.
//
// The error is that of a lab file that cannot be read.
//
// The tree is not changed: the expanded entries stand in a copy that shares its nodes, so that
// places still lead into the file.
func resolve(reg registry.Registry, root *yamltree.Node, from source) (resolved, error) {
	r := resolver{from: from, out: resolved{root: root}}
	own := root.Field(labKey)
	if own != nil {
		r.out.root = root.Without(labKey)
		if !own.Faulty {
			var faults []yamltree.Fault
			r.own, faults = labfile.ReadNamed(reg, own)
			for _, f := range faults {
				r.out.faults = append(r.out.faults, formFault{Fault: f, at: f.Path})
			}
			r.ownFaulty = len(faults) > 0
		}
	}
	if instrument := r.out.root.Field("instrument"); instrument.Field(labKey) != nil {
		r.out.root = r.out.root.With("instrument", r.instrument(at("instrument"), instrument))
	}
	several := r.out.root.Field("instruments")
	for _, name := range several.Keys() {
		if instrument := several.Field(name); instrument.Field(labKey) != nil {
			several = several.With(name, r.instrument(at("instruments", name), instrument))
			r.out.root = r.out.root.With("instruments", several)
		}
	}
	if experts := r.out.root.Field("experts"); experts.IsList() {
		items := slices.Clone(experts.Items)
		for i, item := range items {
			items[i] = r.expert(i, item)
		}
		r.out.root = r.out.root.With("experts", experts.WithItems(items))
	}
	for _, name := range r.out.root.Field("stocks").Keys() {
		r.stock(name, r.out.root.Field("stocks").Field(name).Field(labKey))
	}
	r.places()
	r.out.used = r.found.Only(r.taken)
	return r.out, r.err
}

// resolver writes out the references of one file. It looks into the lab file
// once at most.
type resolver struct {
	from      source
	own       labfile.Named // what the campaign file explains itself
	ownFaulty bool
	asked     bool          // whether from.find was called
	found     labfile.Named // what the lab file names
	err       error
	out       resolved
	taken     labfile.Names // from the lab file, to be recorded
}

// places looks for the places of the lab that those of the campaign are, and compares their order: two
// campaigns that take them in different orders could wait for one another.
func (r *resolver) places() {
	list := r.out.root.Field("places")
	if !list.IsList() {
		return
	}
	items := slices.Clone(list.Items)
	last, before := -1, ""
	for i, item := range items {
		here := item.Field(labKey)
		if here == nil || here.Faulty {
			continue
		}
		name, ok := here.Value.(string)
		if !ok {
			continue // the schema reports it
		}
		if item.Field("name") == nil {
			items[i] = item.With("name", yamltree.Text(name))
		}
		at := at("places", i, labKey)
		entries := func(n labfile.Named) map[string]*yamltree.Node { return n.Places }
		node := r.named(here, at, "place", name, entries, &r.taken.Places)
		if node == nil {
			continue
		}
		var found labfile.Place
		if len(node.Decode(&found)) == 0 {
			if r.out.rooms == nil {
				r.out.rooms = make(map[string]int)
			}
			r.out.rooms[name] = found.Room
		}
		order := r.own.Order
		if r.own.Places[name] == nil {
			order = r.found.Order
		}
		k := slices.Index(order, name)
		if k <= last {
			message := fmt.Sprintf("the lab has %s before %s: batches of two campaigns could wait for one another", name, before)
			if name == before {
				message = fmt.Sprintf("place %q of the lab stands here twice", name)
			}
			r.out.faults = append(r.out.faults, formFault{at: at,
				Fault: here.Fault(message, "write each once, in the order of the lab file")})
		}
		last, before = k, name
	}
	r.out.root = r.out.root.With("places", list.WithItems(items))
}

// stock looks for the stock of the lab that one of the campaign refers to.
func (r *resolver) stock(name string, here *yamltree.Node) {
	of, ok := "", false
	if here != nil && !here.Faulty {
		of, ok = here.Value.(string)
	}
	if !ok {
		return // it refers to none, or the schema reports it
	}
	entries := func(n labfile.Named) map[string]*yamltree.Node { return n.Stocks }
	node := r.named(here, at("stocks", name, labKey), "stock", of, entries, &r.taken.Stocks)
	var found labfile.Stock
	if node != nil && len(node.Decode(&found)) == 0 {
		if r.out.stocks == nil {
			r.out.stocks = make(map[string]definition.Stock)
		}
		r.out.stocks[name] = found.Declared()
	}
}

// named returns the entry that a name stands for, nil if that is unknown. here is the reference
// itself, entries chooses instruments or experts, and taken is the list to which a name from
// the lab file is added.
//
// The campaign file's own section comes first: a recorded file explains itself, even if the lab
// file has changed since. If that section is faulty its names are not looked for elsewhere.
func (r *resolver) named(
	here *yamltree.Node, at path, what, name string,
	entries func(labfile.Named) map[string]*yamltree.Node, taken *[]string,
) *yamltree.Node {
	if node := entries(r.own)[name]; node != nil {
		return node
	}
	report := func(message, remedy string) {
		r.out.faults = append(r.out.faults, formFault{Fault: here.Fault(message, remedy), at: at})
	}
	if r.ownFaulty {
		r.out.faults = append(r.out.faults, formFault{at: at, implied: true})
		return nil
	}
	if !r.asked && r.from.find != nil {
		r.asked = true
		r.found, r.err = r.from.find()
	}
	switch node := entries(r.found)[name]; {
	case r.err != nil: // it says all
	case node != nil:
		*taken = append(*taken, name)
		return node
	case r.from.find == nil || entries(r.found) == nil:
		report(fmt.Sprintf("%s, and so no %s %q", r.from.absent, what, name), r.from.remedy)
	default:
		remedy := yamltree.Suggest(name, slices.Sorted(maps.Keys(entries(r.found))))
		if remedy == "" {
			remedy = fmt.Sprintf("add it under %ss:", what)
		}
		report(fmt.Sprintf("%s names no %s %q", r.from.where, what, name), remedy)
	}
	return nil
}

// instrument writes out an instrument's reference. Keys of the campaign file take the place of
// the lab's. A dangling reference leaves the other keys in place, so that they are still
// checked.
func (r *resolver) instrument(at path, instrument *yamltree.Node) *yamltree.Node {
	here := instrument.Field(labKey)
	rest := instrument.Without(labKey)
	if here.Faulty {
		return rest
	}
	name, ok := here.Value.(string)
	at = at.To(labKey)
	if !ok {
		message, remedy := yamltree.WrongType(here.Plain(), "string")
		r.out.faults = append(r.out.faults, formFault{Fault: here.Fault(message, remedy), at: at})
		return rest
	}
	entries := func(n labfile.Named) map[string]*yamltree.Node { return n.Instruments }
	node := r.named(here, at, "instrument", name, entries, &r.taken.Instruments)
	return merged(rest, node)
}

// expert writes out an expert's reference, by a bare name or with lab: among
// other keys.
//
// lab: {} takes the expert of the same name; lab: NAME one under another name.
func (r *resolver) expert(i int, expert *yamltree.Node) *yamltree.Node {
	entries := func(n labfile.Named) map[string]*yamltree.Node { return n.Experts }
	if name, bare := expert.Value.(string); bare && !expert.Faulty {
		// With the name, a fault of the rest is that of the whole entry.
		node := r.named(expert, at("experts", i, labKey), "expert", name, entries, &r.taken.Experts)
		return merged(expert.With("name", yamltree.Text(name)), node)
	}
	here := expert.Field(labKey)
	if here == nil {
		return expert
	}
	rest := expert.Without(labKey)
	var name string
	named := false
	if n := expert.Field("name"); n != nil && !n.Faulty {
		name, named = n.Value.(string)
	}
	if text, ok := here.Value.(string); ok {
		name, named = text, true
	} else if !here.IsNull() && (!here.IsMapping() || len(here.Keys()) > 0) {
		r.out.faults = append(r.out.faults, formFault{
			Fault: here.Fault("it says more than that the expert is the lab's",
				"write lab: {}; other keys go next to it"), at: at("experts", i, labKey),
		})
		return rest
	}
	if !named || here.Faulty {
		return rest // the missing name is a fault of its own
	}
	node := r.named(here, at("experts", i, labKey), "expert", name, entries, &r.taken.Experts)
	return merged(rest, node)
}

// merged returns the campaign file's mapping, completed by the lab's. lab may be nil, which has
// no keys. Keys are taken whole: a mapping within is not merged. A person who writes a key
// means all of it: half of a program's settings from here and half from there would be an
// instrument that no one has seen.
func merged(here, lab *yamltree.Node) *yamltree.Node {
	for _, key := range lab.Keys() {
		if here.Field(key) == nil {
			here = here.With(key, lab.Field(key))
		}
	}
	return here
}

// selfContained returns a campaign file that explains its references: the text
// as it was read, with used at its end; root is its tree. Where a section
// cannot be added to the text, because it has one already or is written in
// JSON, it is the whole file as JSON.
//
// The campaign records this text, so that its log can be read, audited and continued on a
// machine without the lab file.
func selfContained(text string, root *yamltree.Node, used labfile.Named) (string, error) {
	if used.IsEmpty() {
		return text, nil
	}
	plain := root.Plain().(map[string]any)
	section := used.Plain()
	if own, ok := plain[labKey].(map[string]any); ok {
		// It explains some names itself: they stay.
		for _, key := range sortedKeys(own) {
			both, _ := section[key].(map[string]any)
			more, _ := own[key].(map[string]any)
			if both == nil {
				both = make(map[string]any)
			}
			maps.Copy(both, more)
			section[key] = both
		}
	}
	plain[labKey] = section
	if root.Field(labKey) == nil {
		lines, err := used.YAML("  ")
		if err != nil {
			return "", err
		}
		longer := strings.TrimRight(text, "\n") + "\n\n# What " + labfile.Name +
			" said when this was recorded:\n" +
			labKey + ":\n" + lines
		// The text is read again to be sure: a block of YAML at the end of a
		// file in flow style, say, would not mean the same.
		again, faults := yamltree.Read([]byte(longer), Format)
		if len(faults) == 0 && reflect.DeepEqual(again.Plain(), any(plain)) {
			return longer, nil
		}
	}
	data, err := json.MarshalIndent(plain, "", "  ")
	return string(data) + "\n", err
}

// LabInstrument is [LabInstruments] of the only instrument.
func LabInstrument(source string) string { return LabInstruments(source)[""] }

// LabInstruments are the names under which a recorded campaign file takes its instruments from the
// lab file, by their own; that of the only one is "". It reads the source alone, and needs no lab
// file.
func LabInstruments(source string) map[string]string {
	root, _ := yamltree.Read([]byte(source), Format)
	names := make(map[string]string)
	take := func(resource string, instrument *yamltree.Node) {
		if here := instrument.Field(labKey); here != nil {
			if name, ok := here.Value.(string); ok {
				names[resource] = name
			}
		}
	}
	take("", root.Field("instrument"))
	several := root.Field("instruments")
	for _, resource := range several.Keys() {
		take(resource, several.Field(resource))
	}
	return names
}

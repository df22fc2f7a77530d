package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/units"
	"github.com/campaignd/campaignd/projections/campaign"
)

// MetadataName is the file that makes a folder an RO-Crate.
const MetadataName = "ro-crate-metadata.json"

// The standards of a crate: RO-Crate 1.2 and the Process Run Crate profile 0.5 (Leo et al. 2024,
// "Recording provenance of workflow runs with RO-Crate"), in which each run of a tool is a
// CreateAction.
const (
	crateVersion = "https://w3id.org/ro/crate/1.2"
	runProfile   = "https://w3id.org/ro/wfrun/process/0.5"
	homepage     = "https://github.com/campaignd/campaignd"
)

// Provenance holds a crate's facts beyond the campaign's state.
type Provenance struct {
	// License is the URI of the license of the crate; may be empty.
	License string
	// Version is the version of the program.
	Version string
	// Began is who began the campaign, and Reported who reported the outcome of
	// each experiment and act, as actors of events.
	Began    string
	Reported map[string]string
}

// Read takes the actors from the events of a campaign.
func (p *Provenance) Read(all iter.Seq2[events.Event, error]) error {
	p.Reported = make(map[string]string)
	for e, err := range all {
		if err != nil {
			return err
		}
		switch e.Kind {
		case events.KindCampaignDefined:
			p.Began = e.Actor
		case events.KindExperimentMeasured, events.KindExperimentFailed, events.KindExperimentInfeasible,
			events.KindExperimentResolved, events.KindExperimentCorrected, events.KindActEnded, events.KindActResolved:
			p.Reported[events.CloudEventAttributes(e)["subject"]] = e.Actor
		}
	}
	return nil
}

// Crate returns the bundle of a campaign as an RO-Crate: with a description of
// each experiment, and the metadata first. In a zip archive below one folder it
// is an .eln file of the ELN Consortium, too.
func Crate(s Source, p Provenance) []Entry {
	entries := Entries(s)
	modified := entries[0].Modified
	for i := range s.State.Experiments {
		x := &s.State.Experiments[i]
		entries = append(entries, Entry{
			Path: descriptionOf(x.ID), Modified: modified,
			Write: func(w io.Writer) error { return writeJSON(w, x) },
		})
	}
	metadata := Entry{Path: MetadataName, Modified: modified, Write: func(w io.Writer) error {
		return writeJSON(w, newGraph(s.State, p, entries).document())
	}}
	return append([]Entry{metadata}, entries...)
}

// descriptionOf is where the description of an experiment is.
func descriptionOf(experiment string) string { return "experiments/" + experiment + "/experiment.json" }

// writeJSON writes a value for people, too; the same value gives the same text.
func writeJSON(w io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}

// stamp writes a time as ISO 8601 has it, with the zone in digits, which the
// profile wants.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05+00:00") }

// entity is a node of the graph. encoding/json writes its keys in order.
type entity map[string]any

// ref points to an entity.
func ref(id string) entity { return entity{"@id": id} }

// graph is the metadata of a crate while it is put together.
type graph struct {
	state *campaign.State
	nodes []entity
	known map[string]bool
	files map[string]string // of attached files, by their identifiers
}

// newGraph describes a campaign and the files of its crate.
func newGraph(s *campaign.State, p Provenance, entries []Entry) *graph {
	g := &graph{state: s, known: make(map[string]bool), files: make(map[string]string)}
	var parts, actions []entity
	inExperiment := make(map[string][]entity)
	for _, e := range entries {
		id, of := g.file(e), ""
		if rest, ok := strings.CutPrefix(e.Path, "experiments/"); ok {
			of, _, _ = strings.Cut(rest, "/")
		}
		if of == "" {
			parts = append(parts, ref(id))
			continue
		}
		inExperiment[of] = append(inExperiment[of], ref(id))
	}
	for _, f := range s.Files {
		if f.Withdrawn || f.Kept() {
			continue
		}
		g.elsewhere(f)
		if f.Experiment == "" {
			parts = append(parts, ref(f.URI))
			continue
		}
		inExperiment[f.Experiment] = append(inExperiment[f.Experiment], ref(f.URI))
	}
	for i := range s.Experiments {
		x := &s.Experiments[i]
		parts = append(parts, g.dataset(x, inExperiment[x.ID]))
		actions = append(actions, g.action(x, inExperiment[x.ID], p))
	}
	for i := range s.Acts {
		actions = append(actions, g.act(&s.Acts[i], p))
	}
	g.nodes = append(g.frame(p, entries[0].Modified, parts, actions), g.nodes...)
	return g
}

// document is the whole of the metadata.
func (g *graph) document() entity {
	return entity{"@context": crateVersion + "/context", "@graph": g.nodes}
}

// add adds an entity, once.
func (g *graph) add(e entity) string {
	id := e["@id"].(string)
	if !g.known[id] {
		g.known[id] = true
		g.nodes = append(g.nodes, e)
	}
	return id
}

// frame are the metadata's own entity, the root and what both name.
func (g *graph) frame(p Provenance, published time.Time, parts, actions []entity) []entity {
	license := entity{
		"@id": "#no-license", "@type": "CreativeWork", "name": "No license is given",
		"description": "Who wants to use it asks who conducted the campaign.",
	}
	if p.License != "" {
		license = entity{"@id": p.License, "@type": "CreativeWork", "name": p.License, "description": "The license of this crate"}
	}
	s := g.state
	described := s.Definition.Description
	if described == "" {
		described = fmt.Sprintf("A campaign that seeks to %s %s, with %d experiments.",
			s.Definition.Sought().Goal, s.Definition.Sought().Name, len(s.Experiments))
	}
	root := entity{
		"@id": "./", "@type": "Dataset", "name": s.Name, "description": described,
		"datePublished": stamp(published), "license": ref(license["@id"].(string)),
		"conformsTo": ref(runProfile), "hasPart": parts, "publisher": ref("#campaignd"),
	}
	if len(actions) > 0 {
		root["mentions"] = actions
	}
	if p.Began != "" {
		root["author"] = ref(g.person(p.Began))
	}
	return []entity{
		{
			"@id": MetadataName, "@type": "CreativeWork", "conformsTo": ref(crateVersion), "about": ref("./"),
			"sdPublisher": ref("#campaignd"), "version": "1.0",
		},
		root,
		license,
		{"@id": runProfile, "@type": []string{"CreativeWork", "Profile"}, "name": "Process Run Crate", "version": "0.5"},
		{"@id": "#campaignd", "@type": "Organization", "name": "campaignd", "slogan": strings.TrimSpace("written by campaignd " + p.Version), "url": homepage},
	}
}

// file is a file of the crate.
func (g *graph) file(e Entry) string {
	if e.Attached == nil {
		return g.add(entity{
			"@id": e.Path, "@type": "File", "name": names[e.Path], "encodingFormat": formatOf(e.Path),
			"dateModified": stamp(e.Modified),
		}.complete(e.Path))
	}
	f := e.Attached
	g.files[f.ID] = e.Path
	return g.add(g.attached(e.Path, *f))
}

// names says what the files are that each crate has.
var names = map[string]string{
	TableName:  "The experiments as a table",
	LogName:    "All events of the campaign, as CloudEvents",
	SourceName: "The campaign file, as it was sent last",
	IndexName:  "The attached files",
}

// complete gives a file of an experiment the name that names has for others.
func (e entity) complete(path string) entity {
	if e["name"] == "" {
		_, rest, _ := strings.Cut(path, "/")
		experiment, _, _ := strings.Cut(rest, "/")
		e["name"] = "What is known of " + experiment
	}
	return e
}

// formatOf is the media type of a file that the bundle itself makes.
func formatOf(path string) string {
	if strings.HasSuffix(path, ".jsonl") {
		return "application/x-ndjson"
	}
	return events.MediaTypeOf(path)
}

// attached is an attached file under an identifier.
func (g *graph) attached(id string, f campaign.File) entity {
	e := entity{
		"@id": id, "@type": "File", "name": f.Name, "identifier": f.ID,
		"encodingFormat": cmp.Or(f.MediaType, "application/octet-stream"),
		"dateModified":   stamp(f.Time),
	}
	if f.Size > 0 {
		e["contentSize"] = strconv.FormatInt(f.Size, 10)
	}
	if hex := events.HashIn(f.Digest); hex != "" {
		e["sha256"] = hex
	}
	if f.Comment != "" {
		e["description"] = f.Comment
	}
	if strings.HasPrefix(f.Actor, "person:") {
		e["author"] = ref(g.person(f.Actor))
	}
	return e
}

// elsewhere is a file that stays where it is.
func (g *graph) elsewhere(f campaign.File) { g.files[f.ID] = g.add(g.attached(f.URI, f)) }

// person returns the actor.
func (g *graph) person(actor string) string {
	name := events.ActorName(actor)
	return g.add(entity{"@id": "#person-" + url.PathEscape(name), "@type": "Person", "name": name})
}

// dataset is an experiment in the form of the ELN Consortium's format: a folder with its files.
func (g *graph) dataset(x *campaign.Experiment, parts []entity) entity {
	e := entity{
		"@id": "experiments/" + x.ID + "/", "@type": "Dataset", "name": x.ID, "identifier": x.ID,
		"description": g.outcome(x), "hasPart": parts, "dateCreated": stamp(x.RequestedAt),
	}
	if !x.EndedAt.IsZero() {
		e["dateModified"] = stamp(x.EndedAt)
	}
	return ref(g.add(e))
}

// outcome describes in a sentence how an experiment ended.
func (g *graph) outcome(x *campaign.Experiment) string {
	q, measured := g.state.Value(x)
	if !measured {
		return strings.TrimSuffix(fmt.Sprintf("%s: %s", x.Status, x.Cause), ": ")
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s = %g %s", x.Status, q.Name, q.Value, q.Unit))
}

// action is an experiment as the run of an instrument: the composition goes in,
// quantities and files come out.
func (g *graph) action(x *campaign.Experiment, files []entity, p Provenance) entity {
	e := entity{
		"@id": "#run-" + x.ID, "@type": "CreateAction", "name": "Experiment " + x.ID, "description": g.outcome(x),
		"instrument": g.performers(x), "object": append(g.composition(x), g.drawn(x.ID, g.state.Used(x))...),
		"result": append(slices.Clone(files), g.quantities(x)...), "actionStatus": statusOf(x),
	}
	began, ended := x.Command.DispatchedAt, x.EndedAt
	if m := x.Measurement; m != nil {
		if !m.Began.IsZero() {
			began = m.Began
		}
		if !m.Ended.IsZero() {
			ended = m.Ended
		}
	}
	if !began.IsZero() {
		e["startTime"] = stamp(began)
	}
	if !ended.IsZero() {
		e["endTime"] = stamp(ended)
	}
	if x.Status != campaign.Measured && x.Cause != "" {
		e["error"] = x.Cause
	}
	g.agent(e, x.ID, p)
	return ref(g.add(e))
}

// agent gives an action the person who reported its outcome, or else the one who began the campaign.
func (g *graph) agent(e entity, subject string, p Provenance) {
	if by := cmp.Or(p.Reported[subject], p.Began); strings.HasPrefix(by, "person:") {
		e["agent"] = ref(g.person(by))
	} else if strings.HasPrefix(p.Began, "person:") {
		e["agent"] = ref(g.person(p.Began))
	}
}

// act is an act of a procedure as the run of its instrument, for its experiments. One from which
// quantities or files came out has created something; any other controls a device.
func (g *graph) act(a *campaign.Act, p Provenance) entity {
	e := entity{
		"@id": "#act-" + a.ID, "@type": "ControlAction", "name": fmt.Sprintf("%s of %s (%s)", a.Stage, a.Batch, a.ID),
		"instrument": ref(g.deviceOf(a)), "startTime": stamp(a.Command.DispatchedAt),
	}
	var object, result []entity
	for _, id := range a.Experiments {
		object = append(object, ref("experiments/"+id+"/"))
		if m := a.For(id).Measurement; m != nil {
			result = append(result, g.values(a.ID+"-"+id, m.All())...)
		}
	}
	for _, f := range g.state.FilesGiven(a) {
		if id := g.files[f.ID]; id != "" {
			result = append(result, ref(id))
		}
	}
	e["object"] = append(object, g.drawn(a.ID, a.Command.Drawn)...)
	if result != nil {
		e["@type"], e["result"] = "CreateAction", result
	}
	word := "Active"
	switch {
	case a.Status == events.ActDone:
		word = "Completed"
	case !a.Open():
		word = "Failed"
	}
	e["actionStatus"] = status(word)
	if !a.Open() {
		e["endTime"] = stamp(a.EndedAt)
	}
	if a.Cause != "" {
		e["error"] = a.Cause
	}
	g.agent(e, a.ID, p)
	return ref(g.add(e))
}

// statusOf returns the status of an experiment, in schema.org's words.
func statusOf(x *campaign.Experiment) entity {
	word := "Active"
	switch {
	case x.Status == campaign.Measured:
		word = "Completed"
	case x.Status == campaign.Requested:
		word = "Potential"
	case !x.Status.Open():
		word = "Failed"
	}
	return status(word)
}

// status is a status of schema.org's.
func status(word string) entity { return ref("http://schema.org/" + word + "ActionStatus") }

// performers are the instruments of an experiment: those of its acts, each once, or that of its command.
func (g *graph) performers(x *campaign.Experiment) (all []entity) {
	for a := range g.state.ActsFor(x) {
		if id := g.deviceOf(a); !slices.ContainsFunc(all, func(e entity) bool { return e["@id"] == id }) {
			all = append(all, ref(id))
		}
	}
	if all == nil {
		all = append(all, ref(g.instrument(x)))
	}
	return all
}

// deviceOf is the instrument of an act, by the campaign's name for it.
func (g *graph) deviceOf(a *campaign.Act) string { return g.device(a.Resource, a.Command.Identity) }

// instrument is the performer of an experiment.
func (g *graph) instrument(x *campaign.Experiment) string {
	name := cmp.Or(x.Command.Instrument, g.state.Definition.Driver().Name, "instrument")
	identity := x.Command.Identity
	if x.Measurement != nil {
		identity = cmp.Or(x.Measurement.Identity, identity)
	}
	return g.device(name, identity)
}

// device is an instrument by its name, and its identity where that is known. The profile requires a
// program there: it is the driver, and the device behind it in its version.
func (g *graph) device(name, identity string) string {
	id := "#instrument-" + url.PathEscape(strings.TrimSuffix(name+"-"+identity, "-"))
	return g.add(entity{
		"@id": id, "@type": "SoftwareApplication", "name": name, "url": homepage,
		"version": cmp.Or(identity, "not reported"),
	})
}

// composition is the actual composition of an experiment, as properties.
func (g *graph) composition(x *campaign.Experiment) (list []entity) {
	point := x.Parameters
	if x.Measurement != nil && x.Measurement.Actual != nil {
		point = x.Measurement.Actual
	}
	for _, par := range g.state.Definition.Parameters {
		v, there := point[par.Name]
		if !there {
			continue
		}
		list = append(list, g.property(x.ID+"-in-"+par.Name, par.Name, v.String(), par.Unit))
	}
	return list
}

// drawn are the labels and amounts that an experiment or an act used up, as properties.
func (g *graph) drawn(subject string, parts []events.Drawn) (list []entity) {
	for _, d := range parts {
		value := strings.Join(d.Labels, ", ")
		if d.Unit != "" {
			value = strconv.FormatFloat(d.Amount, 'g', -1, 64)
		}
		list = append(list, g.property(subject+"-used-"+d.Stock, d.Stock, value, d.Unit))
	}
	return list
}

// quantities are the measured quantities of an experiment, and those the campaign computes from it,
// as properties.
func (g *graph) quantities(x *campaign.Experiment) []entity {
	if x.Measurement == nil {
		return nil
	}
	all := x.Measurement.All()
	if sought, ok := g.state.Given(x); ok && g.state.Definition.Sought().Computed() {
		all = append([]definition.Quantity{sought}, all...)
	}
	return g.values(x.ID, all)
}

// values are quantities that came out of an experiment or an act, as properties.
func (g *graph) values(subject string, all []definition.Quantity) (list []entity) {
	for _, q := range all {
		value := strconv.FormatFloat(q.Value, 'g', -1, 64)
		list = append(list, g.property(subject+"-out-"+q.Name, q.Name, value, q.Unit))
	}
	return list
}

// ucum is the address before a unit's UCUM code, as linked data has it.
const ucum = "https://w3id.org/uom/"

// property is a value with its name and unit.
func (g *graph) property(id, name, value, unit string) entity {
	e := entity{"@id": "#" + url.PathEscape(id), "@type": "PropertyValue", "name": name, "value": value}
	if unit != "" {
		e["unitText"] = unit
		if code, ok := units.Code(unit); ok {
			e["unitCode"] = ucum + url.PathEscape(code)
		}
	}
	return ref(g.add(e))
}

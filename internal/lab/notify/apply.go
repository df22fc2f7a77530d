package notify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// takes reports whether an event can concern people. The excluded kinds hold computed data: they
// are many, and long. They are most of a log, and a start without a valid snapshot reads all of it,
// so they are not even decoded. A kind that begins or ends a matter must not be excluded.
func takes(e *events.Event) bool {
	switch e.Kind {
	case events.KindDecisionMade, events.KindModelFitted, events.KindMeasurementsJudged,
		events.KindTrustAdjusted:
		return false
	case events.KindExperimentDispatched:
		return e.Version > 1 // it draws from stocks
	}
	return true
}

// Apply folds an event of a campaign. The events of a campaign come in order; those that [takes]
// refuses need not come; those applied already are skipped.
//
// It only opens and closes matters; [Planner.Due] decides, by the present lab file, who hears of
// them and when.
func (p *Planner) Apply(e events.Event, payload events.Payload) {
	s := p.state.Streams[e.Campaign]
	if d, defined := payload.(*events.CampaignDefined); defined && (s == nil || s.Instance != d.Instance) {
		// Another campaign of the same name: messages about the old one would be taken to be about
		// it.
		p.state.Matters = slices.DeleteFunc(p.state.Matters,
			func(m *matter) bool { return m.Campaign == e.Campaign })
		s = &stream{Instance: d.Instance, Definition: &d.Definition}
		p.state.Streams[e.Campaign] = s
	}
	if s == nil {
		s = &stream{}
		p.state.Streams[e.Campaign] = s
	}
	if e.Sequence <= s.Sequence {
		return
	}
	s.Sequence = e.Sequence
	s.ready()
	// A log with a definition that this program cannot read still has questions and alarms; they
	// are sent without the definition's details.
	def := s.Definition
	if def == nil {
		def = &definition.Campaign{Name: e.Campaign}
	}
	switch payload := payload.(type) {
	case *events.CampaignAmended:
		s.Definition = &payload.Definition
	case *events.RegionExcluded:
		s.Barred[payload.Exclusion] = payload.Region
	case *events.RegionAllowed:
		delete(s.Barred, payload.Exclusion)
	case *events.QuestionAsked:
		p.asked(def, e, payload)
	case *events.QuestionAnswered:
		s.Answered[payload.Question] = events.ActorName(e.Actor)
		p.close(e, question, payload.Question, "answered by "+events.ActorName(e.Actor))
	case *events.QuestionContested:
		p.contest(e, payload.Question, s.Answered[payload.Question], "has answered %s of %s too",
			"Your answer counts; the other one is kept in the log.")
	case *events.QuestionSuperseded:
		was := s.Answered[payload.Question]
		s.Answered[payload.Question] = events.ActorName(e.Actor)
		p.contest(e, payload.Question, was, "has changed the answer to %s of %s",
			"It was yours, which is kept in the log.")
	case *events.QuestionExpired:
		p.close(e, question, payload.Question, "nobody answered in time")
	case *events.QuestionWithdrawn:
		p.close(e, question, payload.Question, orElse(payload.Reason, "withdrawn"))
	case *events.CampaignPaused:
		// A person who pauses a campaign knows of it: only a pause that no one ordered is an alarm.
		if !strings.HasPrefix(e.Actor, "person:") {
			p.begin(e, &matter{Kind: paused, Heading: e.Campaign + " is paused: " + payload.Reason})
		}
	case *events.CampaignResumed:
		p.close(e, paused, "", "resumed")
		p.driftOver(s, e, "", "resumed")
	case *events.NoteAdded:
		p.close(e, drift, payload.About, "a note on it was written")
	case *events.CampaignStopped:
		p.ended(def, e, fmt.Sprintf("%s was stopped by %s", e.Campaign, events.ActorName(e.Actor)),
			payload.Reason)
	case *events.CampaignCompleted:
		p.ended(def, e, e.Campaign+" is complete", orElse(payload.Detail, payload.Reason))
	default:
		p.experiment(def, s, e, payload)
	}
	if !ends(payload) {
		p.stocks(s, def, e, payload)
	}
	// The memory of an ended campaign shrinks to its sequence, which identifies events that are
	// read again: a lab has many more ended campaigns than running ones.
	if ends(payload) { // its details are no longer needed
		s.Definition = nil
		s.Stocks = nil
		s.Undrawn = nil
		s.Points = nil
		s.Open = nil
		s.Results = nil
		s.Suspects = nil
		s.Remade = nil
		s.References = nil
		s.Answered = nil
	}
	p.doubts(s, e)
}

// ready prepares a stream for events: JSON omits empty maps, so they are nil after reading.
func (s *stream) ready() {
	if s.Points == nil {
		s.Points = make(map[string]string)
	}
	if s.Open == nil {
		s.Open = make(map[string]bool)
	}
	if s.Results == nil {
		s.Results = make(map[string]result)
	}
	if s.Asked == nil {
		s.Asked = make(map[string]definition.Point)
	}
	if s.Barred == nil {
		s.Barred = make(map[string]definition.Region)
	}
	if s.Suspects == nil {
		s.Suspects = make(map[string]string)
	}
	if s.Remade == nil {
		s.Remade = make(map[string]bool)
	}
	if s.References == nil {
		s.References = make(map[string]bool)
	}
	if s.Answered == nil {
		s.Answered = make(map[string]string)
	}
}

// ends reports whether an event ends its campaign.
func ends(payload events.Payload) bool {
	switch payload.(type) {
	case *events.CampaignStopped, *events.CampaignCompleted:
		return true
	}
	return false
}

// experiment folds the outcomes of experiments. Any outcome, or a deferral, settles an unknown fate
// or a silent instrument.
func (p *Planner) experiment(def *definition.Campaign, s *stream, e events.Event, payload events.Payload) {
	measured := func(experiment string, m *events.Measurement) {
		value, ok := computed.Value(def, m)
		if !ok || s.References[experiment] {
			return
		}
		s.Results[experiment] = result{Value: value.Value, Cheaper: !def.AtTarget(m.Actual), Made: m.Actual,
			Line: format.CompositionsOf(def).Line(m.Actual)}
	}
	over := func(experiment string) {
		delete(s.Open, experiment)
		p.close(e, unresolved, experiment, "settled")
		p.close(e, stalled, experiment, "it is heard of again")
	}
	switch payload := payload.(type) {
	case *events.ExperimentRequested:
		s.Points[payload.Experiment] = pointKey(payload.Parameters)
		s.Asked[payload.Experiment] = payload.Parameters
		s.Open[payload.Experiment] = true
		if payload.Origin == events.OriginReference {
			s.References[payload.Experiment] = true
		}
	case *events.ExperimentStarted, *events.ActAccepted, *events.InstrumentSignalled:
		p.close(e, stalled, payload.Subject(), "it is heard of again")
	case *events.ExperimentMeasured:
		over(payload.Experiment)
		p.driftOver(s, e, payload.Experiment, "measured again as "+payload.Experiment)
		measured(payload.Experiment, &payload.Measurement)
	case *events.ExperimentFailed:
		over(payload.Experiment)
	case *events.ExperimentInfeasible:
		over(payload.Experiment)
	case *events.ExperimentDeferred:
		over(payload.Experiment)
	case *events.ExperimentCancelled:
		over(payload.Experiment)
	case *events.ExperimentResolved:
		over(payload.Experiment)
		if payload.Resolution == events.ResolvedMeasured {
			measured(payload.Experiment, payload.Measurement)
		}
	case *events.ExperimentUnresolved:
		p.lost(e, payload.Experiment, payload.Instrument, payload.Cause)
	case *events.CancellationAnswered:
		switch {
		case payload.Again:
			p.lost(e, payload.Subject(), payload.Instrument, campaign.LookAgain)
		case s.Remade[payload.Act] && payload.Fate == "unknown":
			p.lost(e, payload.Act, payload.Instrument, "it was called off, and its instrument does not know what became of it")
		}
	case *events.ActDispatched:
		stages := def.Procedure
		if i := slices.IndexFunc(stages, func(s definition.Stage) bool { return s.Name == payload.Stage }); i >= 0 &&
			stages[i].Repeatable && !def.At(stages[i].On).ByHand {
			s.Remade[payload.Act] = true
		}
	case *events.ActUnresolved:
		if !s.Remade[payload.Act] {
			p.lost(e, payload.Act, payload.Instrument, payload.Cause)
		}
	case *events.ActEnded:
		delete(s.Remade, payload.Act)
		over(payload.Act)
	case *events.ActResolved:
		delete(s.Remade, payload.Act)
		over(payload.Act)
	case *events.InstrumentStalled:
		waited := time.Duration(payload.Waited * float64(time.Second))
		p.begin(e, &matter{
			Kind: stalled, Subject: payload.Subject(),
			Heading: fmt.Sprintf("%s has been silent about %s of %s for %s",
				payload.Instrument, payload.Subject(), e.Campaign, format.Duration(waited)),
		})
	case *events.MeasurementFlagged:
		delete(s.Suspects, payload.Experiment)
		switch payload.Verdict {
		case events.VerdictDrift:
			p.driftOver(s, e, payload.Experiment, "again in "+payload.Experiment)
			p.begin(e, &matter{
				Kind: drift, Subject: payload.Experiment,
				Heading: fmt.Sprintf("%s of %s is outside the limits of its control chart: %s", payload.Experiment, e.Campaign, payload.Reason),
				Lines:   []string{"The instrument may have drifted: look at it, and write a note on the experiment."},
			})
		case events.VerdictSuspect:
			s.Suspects[payload.Experiment] = payload.Reason
		case events.VerdictOverturned:
			r := s.Results[payload.Experiment]
			r.Excluded = true
			s.Results[payload.Experiment] = r
		}
	case *events.MeasurementCorrected:
		delete(s.Suspects, payload.Experiment)
		p.close(e, drift, payload.Experiment, "corrected")
		if s.References[payload.Experiment] {
			return
		}
		r := s.Results[payload.Experiment]
		r.Excluded = payload.Excluded
		if payload.New != nil {
			r.Value = payload.New.Value
		}
		if payload.Actual != nil {
			r.Line, r.Cheaper = format.CompositionsOf(def).Line(payload.Actual), !def.AtTarget(payload.Actual)
			r.Made = payload.Actual
		}
		s.Results[payload.Experiment] = r
	case *events.ExperimentCorrected:
		delete(s.Suspects, payload.Experiment)
		p.close(e, drift, payload.Experiment, "corrected")
		delete(s.Results, payload.Experiment)
		if payload.Outcome == events.ResolvedMeasured && !payload.Excluded {
			measured(payload.Experiment, payload.Measurement)
		}
	}
}

// doubts makes doubtful measurements wait for a person unless the same composition is being
// measured again. It is called after every event, since any event may end or begin the repetition.
func (p *Planner) doubts(s *stream, e events.Event) {
	repeated := make(map[string]bool)
	for experiment := range s.Open {
		if s.References[experiment] {
			continue
		}
		repeated[s.Points[experiment]] = true
	}
	for _, m := range p.state.Matters {
		if m.Kind != suspect || m.Campaign != e.Campaign || !m.open() {
			continue
		}
		if _, doubted := s.Suspects[m.Subject]; !doubted || repeated[s.Points[m.Subject]] {
			p.end(e, m, "settled")
		}
	}
	for _, experiment := range sortedKeys(s.Suspects) {
		if repeated[s.Points[experiment]] || p.find(e.Campaign, suspect, experiment) != nil {
			continue
		}
		p.begin(e, &matter{
			Kind: suspect, Subject: experiment,
			Heading: fmt.Sprintf("%s of %s is in doubt: %s", experiment, e.Campaign, s.Suspects[experiment]),
		})
	}
}

// driftOver ends the alarms about the reference that an experiment measures; "" for all.
func (p *Planner) driftOver(s *stream, e events.Event, experiment, ending string) {
	for _, m := range p.state.Matters {
		of := experiment == "" || s.References[experiment] && s.Points[m.Subject] == s.Points[experiment]
		if of && m.open() && m.Campaign == e.Campaign && m.Kind == drift {
			p.end(e, m, ending)
		}
	}
}

// asked opens a question. Its words are made now and kept with the matter: an amendment may change
// names and units before a reminder is sent, and the question was asked in these.
func (p *Planner) asked(def *definition.Campaign, e events.Event, payload *events.QuestionAsked) {
	words, lines := asks(def, e, payload)
	m := &matter{
		Kind: question, Subject: payload.Question, Expert: payload.Expert, Expires: payload.Expires,
		Heading: fmt.Sprintf("%s of %s%s", payload.Question, e.Campaign, words),
		Lines:   lines,
	}
	if payload.Explanation != "" {
		m.Lines = append(m.Lines, payload.Explanation)
	}
	p.begin(e, m)
}

// contest tells the author of an answer that another person has changed its standing. was is that
// author, who hears nothing of their own acts. A later matter replaces an earlier one, whose text
// would be out of date.
func (p *Planner) contest(e events.Event, question, was, does, text string) {
	who := events.ActorName(e.Actor)
	if was == "" || was == who {
		return
	}
	p.close(e, contested, question, "what came later says it")
	p.begin(e, &matter{
		Kind: contested, Subject: question, Expert: was,
		Heading: who + " " + fmt.Sprintf(does, question, e.Campaign), Lines: []string{text},
	})
}

// asks puts a question into words. A log from elsewhere may hold an invalid question; then only its
// number can be given.
func asks(
	def *definition.Campaign, e events.Event, payload *events.QuestionAsked,
) (words string, lines []string) {
	switch {
	case len(def.Parameters) == 0:
		return "", nil
	case payload.Form == events.FormLabel && len(payload.Options) == 1:
	case payload.Form == events.FormComparison && len(payload.Options) > 1:
	case payload.Form == events.FormPinpoint:
	case payload.Form == events.FormEstimate && payload.Scale != nil:
	case payload.Form == events.FormOutcomes && len(payload.Options) == 2:
	default:
		return "", nil
	}
	words, lines = view.Asks(def, &campaign.Question{
		ID: payload.Question, Status: campaign.Asked, Form: payload.Form, Expert: payload.Expert,
		Options: payload.Options, Scale: payload.Scale, Suggestion: payload.Suggestion,
		Explanation: payload.Explanation, AskedAt: e.Time, Expires: payload.Expires,
	})
	if payload.Form == events.FormLabel {
		words += ": worth an experiment?"
	}
	return words, lines
}

// ended closes everything a campaign waited for, and reports its end. A campaign that ended before
// this memory began is not news: its log is only read again.
func (p *Planner) ended(def *definition.Campaign, e events.Event, text, reason string) {
	for _, m := range p.state.Matters {
		if m.open() && m.Campaign == e.Campaign {
			p.end(e, m, "the campaign has ended")
		}
	}
	// Judged by the event's time, not by the order in which stores are read: a store may be added
	// to a server that has long been sending.
	if e.Time.Before(p.state.Began) {
		return
	}
	if reason != "" {
		text += ": " + reason
	}
	m := &matter{Kind: finished, Heading: text}
	if best := p.state.Streams[e.Campaign].best(def); best != "" {
		m.Lines = []string{best}
	}
	p.begin(e, m)
}

// best describes the best measured composition that the campaign could still choose; "" without
// one. Of equal ones it takes the first in the alphabetical order of the experiments, so that the
// same events give the same words.
func (s *stream) best(def *definition.Campaign) string {
	sought, at := def.Sought(), ""
	bounded := *def
	for _, exclusion := range sortedKeys(s.Barred) {
		bounded.Excluded = append(slices.Clip(bounded.Excluded), s.Barred[exclusion])
	}
	bounds, err := space.NewBounds(bounded)
	if err != nil {
		return ""
	}
	for _, experiment := range sortedKeys(s.Results) {
		r := s.Results[experiment]
		if why, _ := bounds.Outside(s.Asked[experiment], r.Made); r.Excluded || r.Cheaper || why != "" {
			continue
		}
		x := s.Results[experiment].Value
		if at == "" || sought.Better(x, s.Results[at].Value) {
			at = experiment
		}
	}
	if at == "" {
		return ""
	}
	best := s.Results[at]
	return fmt.Sprintf("Best measured: %s (%s: %s)", format.ValueOf(sought, best.Value), at, best.Line)
}

// lost begins the matter of an experiment, or an act, whose fate is unknown.
func (p *Planner) lost(e events.Event, subject, instrument, cause string) {
	p.close(e, stalled, subject, "its fate is unknown")
	p.begin(e, &matter{
		Kind: unresolved, Subject: subject,
		Heading: fmt.Sprintf("The fate of %s of %s is unknown: %s", subject, e.Campaign, cause),
		Lines:   []string{"Look at " + instrument + ", then settle it. It is not repeated before."},
	})
}

// begin opens a matter from an event on, unless it is open already. The key contains the event's
// sequence, so that a doubt that returns is another matter. Texts are made harmless here, once,
// since they come from the log.
func (p *Planner) begin(e events.Event, m *matter) {
	if p.find(e.Campaign, m.Kind, m.Subject) != nil {
		return
	}
	instance := p.state.Streams[e.Campaign].Instance
	m.Key = matterKey(e.Campaign, instance, fmt.Sprintf("%d/%s/%s", e.Sequence, m.Kind, m.Subject))
	// A matter that the old memory had folded and did not list was over for it; later ones are as
	// new as ever.
	before := p.state.Before[e.Campaign]
	m.Done = before.Instance == instance && e.Sequence <= before.Sequence && !p.state.Known[m.Key]
	m.Campaign = e.Campaign
	m.Since = e.Time
	m.Heading = harmless(m.Heading)
	for i := range m.Lines {
		m.Lines[i] = harmless(m.Lines[i])
	}
	at := len(p.state.Matters) // in one order, however the stores are read
	for at > 0 && p.state.Matters[at-1].Since.After(m.Since) {
		at--
	}
	p.state.Matters = slices.Insert(p.state.Matters, at, m)
}

// matterKey returns the key of a matter of a campaign. An instance distinguishes the campaign from
// others that had its name. Logs from before instances have none, and keep their old keys.
func matterKey(campaign, instance, rest string) string {
	if instance != "" {
		campaign += "/" + instance
	}
	return campaign + "/" + rest
}

// find returns the open matter, or nil. Open matters are few, so a search is enough: an index would
// have to be kept right through forget and a snapshot.
func (p *Planner) find(campaign string, k kind, subject string) *matter {
	for _, m := range p.state.Matters {
		if m.open() && m.Campaign == campaign && m.Kind == k && m.Subject == subject {
			return m
		}
	}
	return nil
}

// close ends the matter of that kind and subject, if it is open.
func (p *Planner) close(e events.Event, k kind, subject, ending string) {
	if m := p.find(e.Campaign, k, subject); m != nil {
		p.end(e, m, ending)
	}
}

// end restarts Seen: the end of a matter is itself news, after the wait for more.
func (p *Planner) end(e events.Event, m *matter, ending string) {
	m.Closed = e.Time
	m.Ending = harmless(ending)
	m.By = events.ActorName(e.Actor)
}

// pointKey returns a text that is equal for equal compositions.
func pointKey(point definition.Point) string {
	text, err := json.Marshal(point) // keys in alphabetical order
	if err != nil {
		return fmt.Sprint(point)
	}
	return string(text)
}

// orElse returns the other text in place of an empty one.
func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

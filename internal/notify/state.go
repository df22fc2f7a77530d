package notify

import (
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// kind is what a message is about.
type kind string

const (
	question   kind = "question"
	unresolved kind = "unresolved" // the fate of an experiment is unknown
	stalled    kind = "stalled"    // an instrument is silent
	paused     kind = "paused"     // campaignd paused the campaign
	suspect    kind = "suspect"    // a measurement is in doubt, and is not being repeated
	finished   kind = "finished"
	contested  kind = "contested" // two people have answered a question
)

// matter is something that people get messages about, for as long as it holds.
type matter struct {
	// Key identifies it for ever: the campaign with its instance, and the
	// sequence of the event that began it.
	Key      string `json:"key"`
	Campaign string `json:"campaign"`
	Kind     kind   `json:"kind"`
	// Subject is the question or experiment.
	Subject string `json:"subject,omitempty"`
	// Expert is who is asked.
	Expert  string    `json:"expert,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires,omitzero"`
	// Heading says it in a line, Lines say more.
	Heading string   `json:"heading"`
	Lines   []string `json:"lines,omitempty"`
	// Closed is when it ceased to hold, and Ending why: "answered by bo". By is
	// who did it.
	Closed time.Time `json:"closed,omitzero"`
	Ending string    `json:"ending,omitempty"`
	By     string    `json:"by,omitempty"`
	// Done says that there was nothing more to say about it in the memory from
	// before the stream.
	Done bool `json:"done,omitempty"`
}

// open reports whether it holds. A closed one stays for a while, since that it
// is over can be news.
func (m *matter) open() bool { return m.Closed.IsZero() }

// changed is since when it is as it is now, open or closed.
func (m *matter) changed() time.Time {
	if m.open() {
		return m.Since
	}
	return m.Closed
}

// isNews reports whether a matter is only to be told: nothing ends it. Such a
// one would stay open for ever, so that its age ends it (old).
func (m *matter) isNews() bool { return m.Kind == finished || m.Kind == contested }

// telling is what a person was sent about a matter.
type telling struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Times int       `json:"times"`
	// Over is set where they were sent that it holds no longer.
	Over bool `json:"over,omitempty"`
}

// notice is one thing that a message tells.
type notice struct {
	Matter string `json:"matter"`
	// Time counts the messages about the matter before this one; −1 says that it is
	// over.
	Time int `json:"time"`
}

// over is the Time of a notice that its matter holds no longer. It is in
// recorded events.
const over = -1

// attempt is a message that is being sent. Where the process died it is unknown
// whether that happened.
type attempt struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Notices []notice  `json:"notices"`
}

// channel is how a person is reached in one place.
type channel struct {
	Attempt *attempt `json:"attempt,omitempty"`
	// Sent are the times of the messages of the last hour.
	Sent []time.Time `json:"sent,omitempty"`
	// Failures counts the attempts that failed since the last success.
	Failures  int       `json:"failures,omitempty"`
	Again     time.Time `json:"again,omitzero"`
	Delivered time.Time `json:"delivered,omitzero"`
	Error     string    `json:"error,omitempty"`
	Failed    time.Time `json:"failed,omitzero"`
}

// stream is what is remembered of a campaign's events.
type stream struct {
	Instance string          `json:"instance,omitempty"`
	Sequence events.Sequence `json:"sequence"`
	// Definition is the campaign's in force, until it ends: one that goes on is
	// amended.
	Definition *definition.Campaign `json:"definition,omitempty"`
	// Points is the composition of each experiment, as text that is equal for
	// equal ones.
	Points map[string]string `json:"points,omitempty"`
	// Asked is the composition that each experiment was asked for, Barred the regions
	// that people have excluded, by the exclusion.
	Asked  map[string]definition.Point  `json:"asked,omitempty"`
	Barred map[string]definition.Region `json:"barred,omitempty"`
	// Open are the experiments without an outcome.
	Open map[string]bool `json:"open,omitempty"`
	// Results are the measurements that count, Suspects those in doubt, with
	// the reason.
	Results  map[string]result `json:"results,omitempty"`
	Suspects map[string]string `json:"suspects,omitempty"`
	// Answered is who gave the answer to each question that counts.
	Answered map[string]string `json:"answered,omitempty"`
}

// result is a measurement.
type result struct {
	Value float64 `json:"value"`
	// Line is its composition in words, Made the composition.
	Line string           `json:"line"`
	Made definition.Point `json:"made,omitempty"`
	// Cheaper is set where it is not at the target of the campaign's fidelity.
	Cheaper bool `json:"cheaper,omitempty"`
	// Excluded is set where it does not count.
	Excluded bool `json:"excluded,omitempty"`
}

// place is the last event of a store that was folded.
type place struct {
	Position events.Position `json:"position"`
	Campaign string          `json:"campaign"`
	Sequence events.Sequence `json:"sequence"`
	Time     time.Time       `json:"time"`
}

// placeOf is the place of an event. The position alone would not do: another
// log of that path has events at the same positions.
func placeOf(e events.Event) place { return place{e.Position, e.Campaign, e.Sequence, e.Time} }

// state is what the events of the campaigns and of [Stream] come to.
//
// All of it is in a snapshot, and none of it is anywhere but in the logs
// besides: dropping a snapshot loses nothing. A change of its form needs no
// version, since only the build that wrote a snapshot reads it; what is in
// recorded events ([outcome], [earlier]) has to stay readable.
type state struct {
	// Began is when the stream begins: campaigns that ended before are old
	// news.
	Began    time.Time           `json:"began"`
	Places   map[string]place    `json:"places"` // by store
	Streams  map[string]*stream  `json:"streams"`
	Matters  []*matter           `json:"matters"` // in the order in which they began to hold
	Channels map[string]*channel `json:"channels"`
	// Said is who was sent what, by matter and channel; of a matter that is not
	// there its events are not folded yet, or there is no more to say.
	Said map[string]map[string]telling `json:"said"`
	// Before is how far a memory from before the stream went, by campaign, and Known
	// are the matters in it.
	Before map[string]earlierStream `json:"before,omitempty"`
	Known  map[string]bool          `json:"known,omitempty"`
}

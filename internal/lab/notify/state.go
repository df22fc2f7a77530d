package notify

import (
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// kind is the subject of a message.
type kind string

const (
	question   kind = "question"
	unresolved kind = "unresolved" // the fate of an experiment is unknown
	stalled    kind = "stalled"    // an instrument is silent
	paused     kind = "paused"     // campaignd paused the campaign
	suspect    kind = "suspect"    // a measurement is in doubt, and is not being repeated
	drift      kind = "drift"      // a reference experiment is outside its limits
	shortage   kind = "shortage"   // an experiment waits for a stock
	low        kind = "low"        // a stock comes to an end
	serviced   kind = "serviced"   // an instrument is out of service
	expiring   kind = "expiring"   // its calibration expires soon
	expired    kind = "expired"
	finished   kind = "finished"
	contested  kind = "contested" // two people have answered a question
)

// matter is a subject of messages to people, for as long as it is open.
type matter struct {
	// Key identifies it permanently: the campaign with its instance, and the sequence of the event
	// that opened it.
	Key      string `json:"key"`
	Campaign string `json:"campaign"`
	Kind     kind   `json:"kind"`
	// Subject is the question or experiment.
	Subject string `json:"subject,omitempty"`
	// Expert is the person asked.
	Expert  string    `json:"expert,omitempty"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires,omitzero"`
	// From is when it begins to hold, of one that was foreseen.
	From time.Time `json:"from,omitzero"`
	// Heading is a one-line summary, Lines hold the details.
	Heading string   `json:"heading"`
	Lines   []string `json:"lines,omitempty"`
	// Closed is when it ended, and Ending how: "answered by bo". By is the person who ended it.
	Closed time.Time `json:"closed,omitzero"`
	Ending string    `json:"ending,omitempty"`
	By     string    `json:"by,omitempty"`
	// Done means that, in the memory from before the stream, all messages about it had been sent.
	Done bool `json:"done,omitempty"`
}

// open reports whether it is open. A closed one stays for a while, since its end can be news.
func (m *matter) open() bool { return m.Closed.IsZero() }

// changed is the time of its opening or closing.
func (m *matter) changed() time.Time {
	if m.open() {
		return m.Since
	}
	return m.Closed
}

// isNews reports whether a matter only informs: nothing closes it. It would stay open for ever, so
// its age ends it (old).
func (m *matter) isNews() bool { return m.Kind == finished || m.Kind == contested }

// telling records the messages to a person about a matter.
type telling struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Times int       `json:"times"`
	// Over is set if they were told of its end.
	Over bool `json:"over,omitempty"`
}

// notice is one item of a message.
type notice struct {
	Matter string `json:"matter"`
	// Time counts the earlier messages about the matter; −1 marks its end.
	Time int `json:"time"`
}

// over is the Time of a notice that its matter has ended. It is in recorded events.
const over = -1

// attempt is a message being sent. If the process died it is unknown whether it was.
type attempt struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Notices []notice  `json:"notices"`
}

// channel is the state of a person's address.
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

// stream is the memory of a campaign's events.
type stream struct {
	Instance string          `json:"instance,omitempty"`
	Sequence events.Sequence `json:"sequence"`
	// Definition is the campaign's in force, until it ends: a continued campaign is amended.
	Definition *definition.Campaign `json:"definition,omitempty"`
	// Stocks are what there is, Undrawn the experiments that have not been dispatched yet; empty where
	// experiments use nothing up.
	Stocks  []campaign.Stock `json:"stocks,omitempty"`
	Undrawn []string         `json:"undrawn,omitempty"`
	// Points is the composition of each experiment, as text that is equal for equal ones.
	Points map[string]string `json:"points,omitempty"`
	// Asked is the requested composition of each experiment, Barred the regions that people have
	// excluded, by the exclusion.
	Asked map[string]definition.Point `json:"asked,omitempty"`
	// References names the reference experiments.
	References map[string]bool              `json:"references,omitempty"`
	Barred     map[string]definition.Region `json:"barred,omitempty"`
	// Open are the experiments without an outcome.
	Open map[string]bool `json:"open,omitempty"`
	// Results are the valid measurements, Suspects the doubtful ones, with the reason.
	Results  map[string]result `json:"results,omitempty"`
	Suspects map[string]string `json:"suspects,omitempty"`
	// Remade are the acts under way that are made again without a person, where their fate is unknown.
	Remade map[string]bool `json:"remade,omitempty"`
	// Answered is the author of each question's valid answer.
	Answered map[string]string `json:"answered,omitempty"`
}

// result is a measurement.
type result struct {
	Value float64 `json:"value"`
	// Line is its composition in words, Made the composition.
	Line string           `json:"line"`
	Made definition.Point `json:"made,omitempty"`
	// Cheaper is set if it is not at the target of the campaign's fidelity.
	Cheaper bool `json:"cheaper,omitempty"`
	// Excluded is set if it does not count.
	Excluded bool `json:"excluded,omitempty"`
}

// place is the last folded event of a store.
type place struct {
	Position events.Position `json:"position"`
	Campaign string          `json:"campaign"`
	Sequence events.Sequence `json:"sequence"`
	Time     time.Time       `json:"time"`
}

// placeOf returns the place of an event. The position alone would not do: another log of that path
// has events at the same positions.
func placeOf(e events.Event) place { return place{e.Position, e.Campaign, e.Sequence, e.Time} }

// state is the fold of the campaigns' events and of [Stream].
//
// A snapshot contains all of it, and it can be rebuilt from the logs: dropping a snapshot loses
// nothing. A change of its form needs no version, since only the build that wrote a snapshot reads
// it; recorded payloads ([outcome], [earlier]) must stay readable.
type state struct {
	// Began is the beginning of the stream: campaigns that ended before are old news.
	Began    time.Time           `json:"began"`
	Places   map[string]place    `json:"places"` // by store
	Streams  map[string]*stream  `json:"streams"`
	Matters  []*matter           `json:"matters"` // in the order in which they began to hold
	Channels map[string]*channel `json:"channels"`
	// Said records the messages sent, by matter and channel; a missing matter has events that are
	// not folded yet, or needs no further message.
	Said map[string]map[string]telling `json:"said"`
	// Before is the extent of a memory from before the stream, by campaign, and Known are the
	// matters in it.
	Before map[string]earlierStream `json:"before,omitempty"`
	Known  map[string]bool          `json:"known,omitempty"`
}

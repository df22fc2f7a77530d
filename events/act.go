package events

// BatchPlanned says which experiments go through the campaign's procedure together. From here on they
// are under way: matter is made for them.
type BatchPlanned struct {
	// Batch is the identifier, "b1", "b2", … in order.
	Batch string `json:"batch"`
	// Experiments are in the order of their positions.
	Experiments []string `json:"experiments"`
}

// ActDispatched says that the command of an act was handed to an instrument. It is durable before the
// instrument sees the command. What the instrument is sent follows from the procedure and the
// experiments.
type ActDispatched struct {
	// Act is the identifier, "a1", "a2", … in order.
	Act   string `json:"act"`
	Batch string `json:"batch"`
	Stage string `json:"stage"`
	// Experiments are those that it serves: all that are left of the batch, or one of them.
	Experiments []string `json:"experiments"`
	// Command identifies the physical action for ever; an instrument performs one command at most once.
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
	// Identity names the device, as the instrument described it then.
	Identity string `json:"identity,omitempty"`
	// Drawn are the parts of the campaign's stocks that the act uses up: see [ExperimentDispatched].
	Drawn []Drawn `json:"drawn,omitempty"`
}

// ActAccepted says that the instrument confirmed the command of an act.
type ActAccepted struct {
	Act        string `json:"act"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
}

// ActStatus is the outcome of an act, or its part for one experiment.
type ActStatus string

const (
	ActDone       ActStatus = "done"
	ActFailed     ActStatus = "failed"
	ActInfeasible ActStatus = "infeasible" // the composition cannot be made or measured
	ActDeferred   ActStatus = "deferred"   // it did not take place, and is tried again
	ActCancelled  ActStatus = "cancelled"  // it was called off before it began
)

// ActEnded says how an act ended, by its instrument.
type ActEnded struct {
	Act        string    `json:"act"`
	Command    string    `json:"command"`
	Instrument string    `json:"instrument"`
	Status     ActStatus `json:"status"`
	// Cause says why, where it is not done.
	Cause string `json:"cause,omitempty"`
	// Gave are its results for each of its experiments, in their order, where it is done and has any:
	// one that is not listed is done, without a measurement.
	Gave []Given `json:"gave,omitempty"`
	// Rejected is the instrument's answer where it could not be used.
	Rejected string `json:"rejected,omitempty"`
}

// Given is the result of an act for one experiment.
type Given struct {
	Experiment string `json:"experiment"`
	// Status is empty where it is done.
	Status ActStatus `json:"status,omitempty"`
	Cause  string    `json:"cause,omitempty"`
	// Measurement has the quantities that the stage gives, in Quantities and Missing.
	Measurement *Measurement `json:"measurement,omitempty"`
}

// ActUnresolved says that the fate of an act is unknown. It holds its instrument and its batch until
// a person says what became of it, and nothing else.
type ActUnresolved struct {
	Act        string `json:"act"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
	Cause      string `json:"cause"`
}

// ActResolved is a person's word on an act whose fate is unknown, or that a person carries out.
type ActResolved struct {
	Act string `json:"act"`
	// Status is done, failed, infeasible or deferred: it was not performed.
	Status ActStatus `json:"status"`
	// Gave is as in [ActEnded].
	Gave   []Given `json:"gave,omitempty"`
	Reason string  `json:"reason,omitempty"`
}

// BatchEnded says that nothing more is done with a batch, and that its places are free.
type BatchEnded struct {
	Batch string `json:"batch"`
	// Scrapped is set where a person has taken it out of the procedure.
	Scrapped bool   `json:"scrapped,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

func (p ActDispatched) CommandID() string { return p.Command }
func (p ActAccepted) CommandID() string   { return p.Command }
func (p ActEnded) CommandID() string      { return p.Command }
func (p ActUnresolved) CommandID() string { return p.Command }

// Subject implements [Payload].
func (p BatchPlanned) Subject() string  { return p.Batch }
func (p ActDispatched) Subject() string { return p.Act }
func (p ActAccepted) Subject() string   { return p.Act }
func (p ActEnded) Subject() string      { return p.Act }
func (p ActUnresolved) Subject() string { return p.Act }
func (p ActResolved) Subject() string   { return p.Act }
func (p BatchEnded) Subject() string    { return p.Batch }

// Of is the result of an act for an experiment: it is done where nothing else is said.
func Of(gave []Given, experiment string) Given {
	for _, g := range gave {
		if g.Experiment == experiment {
			if g.Status == "" {
				g.Status = ActDone
			}
			return g
		}
	}
	return Given{Experiment: experiment, Status: ActDone}
}

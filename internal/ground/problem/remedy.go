package problem

// Remedy is something that a person can do.
type Remedy struct {
	// Text says what to do, as a clause in the imperative: "settle it", "if the
	// value was wrong, leave it out". It begins in lower case, except for a
	// name, and has no full stop.
	Text string `json:"text"`
	// Action is the act; Subject is its object: an experiment, a question, an exclusion. If Subject
	// is empty, the person chooses.
	Action  Action `json:"action"`
	Subject string `json:"subject,omitempty"`
	// Ways are the values or parts to choose from, where only some of the
	// action's are meant.
	Ways []string `json:"ways,omitempty"`
	// Settings are those of the campaign file to be changed.
	Settings []Setting `json:"settings,omitempty"`
}

// Setting is a key of the campaign's file, as in "budget.experiments", and its
// value in the file's language.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Action is an act of a person. Those with a request of the same name are fulfilled by it.
type Action string

const (
	// Start begins a campaign in the store; Run continues the one there is.
	Start Action = "start"
	Run   Action = "run"
	// Suggest asks for the next experiments of a campaign whose experiments
	// people run.
	Suggest Action = "suggest"
	// Resume ends a pause.
	Resume Action = "resume"
	// Resolve settles an experiment whose fate is unknown. Its ways are the
	// resolutions of package events.
	Resolve Action = "resolve"
	// Cancel calls an experiment's command off.
	Cancel Action = "cancel"
	// Correct changes how an experiment ended. Its ways are the outcomes of
	// package events, or parts of the correction (the Way constants).
	Correct Action = "correct"
	// Answer answers a question. Its ways are answers.
	Answer Action = "answer"
	// CorrectAnswer changes the answer to a question. Its ways are answers.
	CorrectAnswer Action = "correct_answer"
	// Tell records the result of an experiment; without a subject, of one's own
	// experiment. Its ways are the quantities to be named, where no single one is
	// sought.
	Tell Action = "tell"
	// Note records a remark about the subject.
	Note Action = "note"
	// Count says what there is of a stock.
	Count Action = "count"
	// CountLab says what there is of a stock of the lab.
	CountLab Action = "count_lab"
	// Service says that an instrument of the lab is back in service.
	Service Action = "service"
	// Amend changes settings of the campaign.
	Amend Action = "amend"
	// Allow takes an exclusion back.
	Allow Action = "allow"
	// Export shows the campaign as a table; TakeOver imports its measurements
	// into another campaign.
	Export   Action = "export"
	TakeOver Action = "take_over"
	// Review shows the records, Explain the reasons of a decision, Diagnose how far the model can
	// be trusted.
	Review   Action = "review"
	Explain  Action = "explain"
	Diagnose Action = "diagnose"
	// Trail shows the audit log of accounts.
	Trail Action = "trail"
	// LogIn authenticates; Confirm does so again, for acts that must not be possible from a session
	// left open.
	LogIn   Action = "log_in"
	Confirm Action = "confirm"
	// AddAccount makes an account; ChangeAccount changes its details, such as who they answer as;
	// Grant gives it a role, one of the ways; SetPassword gives it a new password; Unlock forgets
	// the failed attempts to log in; Enable lets it log in again; Disable ends that. These are acts
	// of an administrator of accounts.
	AddAccount    Action = "add_account"
	ChangeAccount Action = "change_account"
	Grant         Action = "grant"
	SetPassword   Action = "set_password"
	Unlock        Action = "unlock"
	Enable        Action = "enable"
	Disable       Action = "disable"
	// Complete repeats the request with one of the ways (the Way constants)
	// added.
	Complete Action = "complete"
)

// Parts of a request, named as in its JSON.
const (
	WayReason  = "reason"  // why
	WayValue   = "value"   // a measured value
	WayActual  = "actual"  // the composition that was made
	WayPoint   = "point"   // the composition that is meant
	WayExclude = "exclude" // leave it out of the models
	WayInclude = "include" // take in again what was left out
	WayFurther = "further" // a further quantity
	WayAnyway  = "anyway"  // take what the campaign could not ask for

	WayCalibrated = "calibrated_until" // until when it is calibrated

	WayEndProgram = "end_program" // end the instrument's program
	WayPower      = "power"       // the device was without power
)

package forgery

import (
	"regexp"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/events"
)

// Fact is a fact on which nothing else in a log depends.
type Fact struct {
	// Kinds and Fields are regular expressions of kinds of events, and of the paths of
	// forgeries.
	Kinds, Fields string
	// Why describes it.
	Why string
}

// Free are the facts on which nothing else in a log depends: only the log's own integrity vouches
// for them and, once all hashes were computed anew, a checkpoint that was stored elsewhere.
// docs/audit.md lists them.
var Free = []Fact{
	{`note\.added`, `text`, "a person's words"},
	{`anchors\.declared`, `instead`, "where there were none to take back"},
	{`note\.added`, `about`, "what a person had in mind"},
	{`.*`, `(reason|comment)`, "a person's words"},
	{`file\.attached`, `(experiment|name|media_type|size|uri|quantity|digest)`, "what a file is said to be, and of: its bytes are held to digest and size where files are audited"},
	{`file\.withdrawn`, `file`, "which file a person had in mind"},
	{`stock\.counted`, `(lot|amount|labels(/#)?)`, "what a person saw of a stock, where nothing was drawn that they say is not there"},
	{`region\.excluded`, `region/where/.*`, "what a person does not want; a suggestion in it would be found"},
	{`region\.excluded`, `about`, "what a person had in mind"},
	{`question\.asked`, `by_hand`, "whether people ran the experiments, where the time to answer does not depend on it"},
	{`question\.withdrawn`, `reason`, "how an adapter failed"},
	{`experiment\.(failed|unresolved|cancelled|infeasible|deferred)`, `cause`, "an instrument's words"},
	{`experiment\.failed`, `rejected`, "an instrument's words"},
	{`act\.(ended|unresolved)`, `(cause|rejected|gave/#/cause)`, "an instrument's words"},
	{`act\.dispatched`, `experiments/#`, "for which of several experiments an act was that gave nothing"},
	{`act\.ended`, `gave/#/measurement/(identity|began|ended|further(/.*)?)`, "the device's account of itself, and of more than the stage gives"},
	{`experiment\.measured`, `(identity|began|ended|further/.*|further)`, "what the device says of itself, and of more than the objective"},
	{`experiment\.failed`, `measurement/(identity|missing/#/reason)`, "what the device says of itself, and of what it did not measure"},
	{`quantity\.arrived`, `(unread|missing/reason)`, "an instrument's words, where it said that there is no value"},
	{`experiment\.resolved`, `resolution`, "a person's word on what they saw"},
	{`recovery\.done`, `commands/#/fate`, "the device's word on its past"},
	{`campaign\.defined`, `instance`, "the beginning: it is in every command"},
	{`(campaign\.defined|recovery\.done|model\.fitted|measurements\.judged|decision\.made)`, `build(/.*)?`, "which program it was: the comparison is then to a tolerance, and the audit says so"},
	{`campaign\.(paused|resumed|stopped)`, `reason`, "a person's words"},
	{`(experiment|act)\.dispatched`, `identity`, "what a device says of itself, where a process handed out one experiment alone"},
	{`(experiment|act)\.dispatched`, `\.simulated of one dispatch`, "whether the device is simulated, where a process handed out one experiment and heard nothing"},
	{`method\.answered`, `(took|rejected|cause)`, "a program's words, where it proposed nothing, and how long that took"},
	{`method\.answered`, `program/(version|files|deterministic)`, "what a program says of itself, where it proposed nothing"},
	{`question\.answered`, `program/(name|version|files)`, "what a program in an expert's place says of itself"},
	{`.*`, `\.actor name`, "which person it was"},
	{`.*`, `\.account name`, "which account reported it, of a person's act that one event records"},
	{`note\.added`, `\.actor for`, "whose words they are, where the engine's and a person's may stand"},
	{`question\.answered`, `\.actor for`, "whether experts answered themselves, or a person who was told"},
	{`question\.(answered|superseded)`, `answer(/label|/order(/#)?|/estimates(/#/(option|value))?)?`, "an answer on which no decision depended"},
	{`question\.contested`, `answer(/label)?`, "an answer that does not count"},
	{`question\.contested`, `exclude`, "a person's wish that was not followed"},
	{`question\.(answered|superseded|contested)`, `(took|shown(/.*)?)`, "what a channel says of what it showed, and when"},
	{`file\.attached`, `\.actor for`, "whose file it is: a person may attach one to any experiment"},
	{`experiment\.requested`, `own parameters/.*`, "what a person ran of their own accord: no one else knows"},
	{`experiment\.cancelled`, `\.actor for`, "whose word it is: a person may call off what is not handed out, too"},
	{`instrument\.answered`, `text`, "an instrument's words"},
	{`instrument\.signalled`, `(handle|fraction|text|next_by)`, "a device's account of its work; a silence that it contradicts would be found"},
	{`(model|measurements|decision|experiment|instrument|act|cancellation)\..*`, `\.trace span`, "where the campaign has no trace, that of a process which has one"},
	{`campaign\.defined`, `\.time earlier`, "nothing is before it"},
	{`campaign\.(defined|amended)|decision\.made`, `\.version later`, "that an earlier program wrote it, which wrote the same in an earlier version"},
	{`campaign\.defined`, `\.version before accounts`, "that an earlier program began the campaign, where no account is recorded, and another build than the one that audits"},
	{`.*`, `\.request of another name`, "under which identifier a person asked, and whether under one"},
	{`.*`, `\.request digest`, "what else a person may have sent with the same meaning"},
	{`.*`, `\.time by a little`, "within what clocks differ by"},
}

// FreeMoves are the events that can be removed, or exchanged with their successor, without
// contradicting anything else in a log. Their fields are the kind of move ([Removed], [Exchanged]).
var FreeMoves = []Fact{
	{`note\.added|file\.(attached|withdrawn)`, Removed, "a note or a file: nothing follows from it"},
	{`(experiment\.started|act\.accepted)|instrument\.(stalled|answered|signalled)`, Removed, "a device may confirm a start or not, and be silent while no program waits"},
	{`cancellation\.(ordered|answered)`, Removed, "a command that ended otherwise"},
	{`safety\.(ordered|answered)`, Removed, "an abort, or a device that did not answer"},
	{`recovery\.done`, Removed, "that another process went on, where nothing was under way"},
	{`(cancellation|safety)\.(ordered|answered)`, Exchanged, "the order of what was ordered, or answered, in one instant"},
	{`experiment\.failed`, Removed, "the end of an experiment of an ended campaign, that may still be under way"},
	{`campaign\.(paused|stopped)`, Removed, "a pause or a stop in which nothing else would have happened"},
	{`question\.(answered|superseded|expired)`, Removed, "an answer, or the end of a question, on which no decision depended"},
	{`model\.fitted`, Removed, "a fit that no decision read, when its program may have ended"},
	{`note\.added|file\.attached|quantity\.arrived|question\.answered`, Exchanged, "the order of what was reported in one instant"},
}

// IsFreeMove reports whether a move is one of those.
func IsFreeMove(kind events.Kind, what string) bool {
	return slices.ContainsFunc(FreeMoves, func(f Fact) bool {
		return f.Fields == what && whole(f.Kinds).MatchString(string(kind))
	})
}

// whole is an expression of all of a text.
func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// free are the expressions of [Free], each of a whole kind and a whole path.
var free = sync.OnceValue(func() (all [][2]*regexp.Regexp) {
	for _, f := range Free {
		all = append(all, [2]*regexp.Regexp{whole(f.Kinds), whole(f.Fields)})
	}
	return all
})

// IsFree reports whether a forgery changes nothing but such a fact.
func IsFree(kind events.Kind, path string) bool {
	return slices.ContainsFunc(free(), func(f [2]*regexp.Regexp) bool {
		return f[0].MatchString(string(kind)) && f[1].MatchString(path)
	})
}

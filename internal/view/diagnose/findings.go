package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/policies"
	channels "github.com/campaignd/campaignd/policies/answers"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Finding is a fault or a note.
type Finding struct {
	// Level is note, untested, doubtful or unusable.
	Level Verdict `json:"level"`
	// Code names the kind of finding for programs.
	Code string `json:"code"`
	// Title describes it in a few words, Text in a sentence with its numbers, and Next holds what a
	// person should know next, empty if the remedies are enough.
	Title string `json:"title"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
	// Remedies are what a person can do, the likeliest first.
	Remedies []problem.Remedy `json:"remedies,omitempty"`
	// Experiments and Expert are its subjects, if any.
	Experiments []string `json:"experiments,omitempty"`
	Expert      string   `json:"expert,omitempty"`
}

// Codes of findings.
const (
	NoModel         = "no_model"         // nothing was fitted yet
	BrokenModel     = "broken_model"     // the model cannot be built
	FailedFit       = "failed_fit"       // the last fit failed, an older one is in use
	FewCompositions = "few_compositions" // too few to judge by
	EqualValues     = "equal_values"     // all measurements are the same
	LowR2           = "low_r2"           // left-out compositions are predicted badly
	AllNoise        = "all_noise"        // the noise is as large as the whole spread
	TooSure         = "too_sure"         // intervals are too narrow
	TooCautious     = "too_cautious"     // intervals are too wide
	Contradiction   = "contradiction"    // a measurement contradicts all others
	Scatter         = "scatter"          // repetitions scatter otherwise than the noise says
	Lagged          = "lagged"           // results are those of the experiment before
	TooFast         = "too_fast"         // a lengthscale at its lower bound
	NotConverged    = "not_converged"    // the search for hyperparameters ended early
	Jitter          = "jitter"           // the covariance needed help
	Stale           = "stale"            // measurements since the fit
	Logarithm       = "logarithm"        // the logarithm would be easier to model
	Misleading      = "misleading"       // an expert's answers are worse than guessing
	Uncalibrated    = "uncalibrated"     // probabilities to be feasible say nothing
	Together        = "together"         // errors of two models go together
	MissingQuantity = "missing_quantity" // experiments do not have a quantity that decisions rest on
	NotFinite       = "not_finite"       // experiments have no finite value of the formula
	OpenReference   = "open_reference"   // the compromise depends on a worst value that was inferred
)

// Thresholds of the verdict.
const (
	// lowR2 is the leave-one-out R² below which a model predicts little; Ax
	// warns at the same value.
	lowR2 = 0.1
	// hopelessR2 is the R² below which the mean of the measurements is a much
	// better prediction.
	hopelessR2 = -1
	// unlikely is the probability under a calibrated model below which one of the three coverages
	// counts as a fault, and impossible that of a model whose intervals mean nothing.
	unlikely, impossible = 0.001, 1e-6
	// stretch is the factor by which a fit to few measurements is overconfident even with a right
	// prior (of 20 draws in 2 or 4 dimensions, its 50 % intervals hold 37 % of the new values; of
	// 50, 44 %): only worse calibrations are reported.
	stretch = 1.3
	// noisy is the share of noise in the variance of all measurements above
	// which little is left to model.
	noisy = 0.7
)

// reader turns the checks of a diagnosis into findings.
type reader struct {
	d *Diagnosis
	v policies.View
	// needed is the number of compositions needed to judge a model.
	needed int
	// logarithm is the gain of the logarithm, in nats.
	logarithm float64
}

// read writes the findings and the verdict. Experts are read last: their value depends on whether
// the model can be used.
func (r *reader) read() {
	d := r.d
	switch {
	case r.v.ObjectiveError() != nil:
		f := r.find(Unusable, sayBrokenModel, r.v.ObjectiveError())
		f.offer(exclude("", "look for measurements of nearly the same composition, and leave the wrong one out"))
	case !r.v.Campaign.Definition.Measures():
		r.find(Untested, sayNothingMeasured)
	case d.Fit == nil && r.v.Campaign.Failure != "":
		f := r.find(Unusable, sayNoFit, r.v.Campaign.Failure)
		f.offer(look, correct)
	case d.Fit == nil && r.lacksSought(): // the findings name the quantity
	case d.Fit == nil:
		n := r.counted()
		is := fmt.Sprintf("are %d", n)
		if n == 1 {
			is = "is 1"
		}
		f := r.find(Untested, sayNoModel, quantity.LeastObservations, is)
		f.offer(r.more(quantity.LeastObservations - n)...)
	default:
		r.model()
	}
	r.valueless()
	r.several()
	for i := range d.Experts {
		r.expert(&d.Experts[i])
	}
	slices.SortStableFunc(d.Findings, func(a, b Finding) int { return cmp.Compare(gravity[b.Level], gravity[a.Level]) })
	d.Verdict = Good
	for _, f := range d.Findings {
		if gravity[f.Level] > gravity[d.Verdict] {
			d.Verdict = f.Level
		}
	}
	d.Headline = r.headline()
}

// Remedies for wrong measurements when it is unknown which are wrong.
var (
	look    = problem.Remedy{Text: "look at the measurements", Action: problem.Export}
	correct = problem.Remedy{Text: "correct the wrong values, or leave them out", Action: problem.Correct}
)

// find adds a finding. The values are those of its text.
func (r *reader) find(level Verdict, w wording, values ...any) *Finding {
	text := w.text
	if values != nil {
		text = fmt.Sprintf(w.text, values...)
	}
	f := Finding{Level: level, Code: w.code, Title: w.title, Text: text, Next: w.next}
	r.d.Findings = append(r.d.Findings, f)
	return &r.d.Findings[len(r.d.Findings)-1]
}

// titled fills in the finding's title.
func (f *Finding) titled(values ...any) *Finding {
	f.Title = fmt.Sprintf(f.Title, values...)
	return f
}

// say adds a sentence to the finding's Next.
func (f *Finding) say(sentence string) {
	f.Next = strings.TrimSpace(f.Next + " " + sentence)
}

// offer adds remedies.
func (f *Finding) offer(remedies ...problem.Remedy) {
	f.Remedies = append(f.Remedies, remedies...)
}

// model reads the checks of an existing model.
//
// The order is that of causes: results of the wrong composition make everything else meaningless,
// and too few of them leave the rest untested.
func (r *reader) model() {
	if failure := r.v.Campaign.Failure; failure != "" {
		r.find(Doubtful, sayOldFit, failure).offer(look, correct)
	}
	if lag := r.d.Lag; lag != nil && lag.alarming(len(r.v.Objective().Fit.Lengthscales)) {
		instrument := lag.Instrument
		if instrument == "" {
			instrument = "the instrument"
		}
		level := Doubtful
		if lag.Evidence < surelyLagged {
			level = Unusable
		}
		f := r.find(level, sayLagged, lag.Results, instrument, number(-lag.Evidence))
		f.offer(look, correct)
		if level == Unusable {
			return // all other faults of the model follow from it
		}
	}
	r.search()
	check := r.d.LeaveOneOut
	if check == nil || r.d.Fit.Compositions < r.needed {
		n := r.d.Fit.Compositions
		f := r.find(Untested, sayFewCompositions, plural(n, "composition"),
			plural(len(r.d.Parameters), "parameter"))
		f.Next = fmt.Sprintf(f.Next, r.needed)
		f.offer(r.more(r.needed - n)...)
		r.repetitions()
		return
	}
	if check.R2 == nil {
		r.find(Unusable, sayEqualValues)
		return
	}
	r.outliers()
	r.repetitions()
	r.predictions(check)
	r.calibration(check)
	for _, p := range r.d.Parameters {
		if p.Reading == ReadingTooFast {
			f := r.find(Doubtful, sayTooFast, p.Name, percent(p.Share)).titled(p.Name)
			f.Next = fmt.Sprintf(f.Next, p.Name)
		}
	}
	if r.logarithm > 0 {
		level := Note
		if *check.R2 < 0.5 {
			level = Doubtful
		}
		f := r.find(level, sayLogarithm, number(r.logarithm)).titled(r.d.Objective)
		f.offer(problem.Remedy{
			Text: "begin a campaign whose instrument reports the logarithm of " + r.d.Objective +
				", and take what was measured over",
			Action: problem.TakeOver,
		})
	}
}

// counted counts the measurements that a model would be fitted to.
func (r *reader) counted() (n int) {
	repeats := r.v.Campaign.Definition.Outliers.Action == definition.OutlierRepeat
	for x := range r.v.Campaign.Results() {
		withheld := repeats && x.Flag != nil && x.Flag.Verdict == events.VerdictSuspect
		if !withheld {
			n++
		}
	}
	return n
}

// search reads the end of the search for hyperparameters.
func (r *reader) search() {
	f := r.d.Fit
	if f.Stale {
		since := "Measurements were added or corrected since the last fit"
		if n := f.Observations - f.Fitted; n > 0 {
			since = plural(n, "measurement") + " came after the last fit"
		}
		r.find(Note, sayStale, since)
	}
	if f.Slope != nil && *f.Slope > steep {
		r.find(Doubtful, sayNotConverged, number(*f.Slope)).
			offer(amend("if this stays, take a rougher kernel",
				problem.Setting{Key: "model", Value: "{kernel: matern52}"}))
	}
	if f.Jitter > 0 {
		level := Note
		if f.Jitter > r.v.Objective().Fit.Noise {
			level = Doubtful
		}
		r.find(level, sayJitter, number(f.Jitter)).offer(exclude("", "take it out"))
	}
}

// outliers reads the measurements that contradict all others.
func (r *reader) outliers() {
	for i, o := range r.d.Outliers {
		f := r.find(Doubtful, sayContradiction,
			o.Experiment, r.quantity(o.Measured), number(o.Predicted), r.quantity(o.SD),
			number(math.Abs(o.Z)))
		f.titled(o.Experiment)
		f.Experiments = []string{o.Experiment}
		if last := i == len(r.d.Outliers)-1; last && r.d.WithoutOutliers != nil && r.d.LeaveOneOut.R2 != nil {
			without := "it"
			if i > 0 {
				without = "them"
			}
			f.Text += fmt.Sprintf(" Without %s the leave-one-out R² is %s instead of %s.",
				without, number(*r.d.WithoutOutliers), number(*r.d.LeaveOneOut.R2))
		}
		if x := r.v.Campaign.Experiment(o.Experiment); x != nil && x.Flag != nil &&
			x.Flag.Verdict != events.VerdictElsewhere {
			f.say("It is flagged already.")
		}
		f.offer(
			problem.Remedy{
				Text:   "measure the composition of " + o.Experiment + " again, and tell the result",
				Action: problem.Tell,
			},
			exclude(o.Experiment, "if the value was wrong, leave it out"),
			problem.Remedy{
				Text:   "if it holds, the objective changes there faster than elsewhere: keep what you saw",
				Action: problem.Note, Subject: o.Experiment,
			},
		)
	}
}

// repetitions compares repeated measurements with the noise. Surprise is a probability: it is small
// if the scatter contradicts the noise.
func (r *reader) repetitions() {
	n := r.d.Noise
	p := n.Replicates
	if p == nil || p.Surprise >= unlikely || n.SD == 0 {
		return
	}
	source := map[string]string{
		NoiseDeclared: "objective.noise of the campaign", NoiseInstrument: "the instrument",
		NoiseInferred: "the fit",
	}[n.Source]
	if p.SD < n.SD {
		r.find(Note, sayLittleScatter, r.quantity(p.SD), number(p.Lower), number(p.Upper),
			r.quantity(n.SD), source)
		return
	}
	f := r.find(Doubtful, sayMuchScatter, r.quantity(p.SD), number(p.Lower), number(p.Upper),
		r.quantity(n.SD), source,
		p.Widest[0], p.Widest[1], r.quantity(p.Difference))
	f.Experiments = p.Widest[:]
	f.offer(
		exclude(p.Widest[1], fmt.Sprintf("if one of %s and %s is wrong, leave it out", p.Widest[0],
			p.Widest[1])),
		problem.Remedy{
			Text: "if not, the noise is larger than said: begin a campaign of its own with the right " +
				"objective.noise, and take the measurements over",
			Action: problem.TakeOver,
		},
	)
}

// predictions reads the quality of the left-out predictions.
func (r *reader) predictions(check *LeaveOneOut) {
	if *check.R2 >= lowR2 {
		return
	}
	n := r.d.Noise
	share := n.SD * n.SD / (n.Spread * n.Spread)
	if share >= noisy {
		r.find(Doubtful, sayAllNoise, r.quantity(n.SD), r.quantity(n.Spread), number(*check.R2)).
			offer(r.more(r.d.Fit.Compositions)...)
		return
	}
	level, than := Doubtful, "hardly better than by the mean of all"
	if *check.R2 < 0 {
		than = "worse than by the mean of all"
	}
	if *check.R2 < hopelessR2 {
		level = Unusable
	}
	f := r.find(level, sayLowR2, than, number(*check.R2))
	if c := check.RankCorrelation; c != nil && *c > 0.5 {
		f.Text += fmt.Sprintf(" Their order is right for the most part (rank correlation %s).", number(*c))
	}
	if len(r.d.Outliers) > 0 {
		f.say(settleFirst)
	} else {
		f.say(readLittle)
	}
	f.offer(r.more(r.d.Fit.Compositions)...)
}

// calibration reads how well the model knows its own uncertainty. The three intervals are judged
// separately, and the worst decides; too much caution harms little and is a note.
func (r *reader) calibration(check *LeaveOneOut) {
	worst := check.Coverage[0]
	most := check.Coverage[0]
	fewer := 1.0
	for _, c := range check.Coverage {
		if p := check.coverage(c.Nominal, stretch).Fewer; p < fewer {
			worst, fewer = c, p
		}
		if c.More < most.More {
			most = c
		}
	}
	held := func(c Coverage) string {
		return fmt.Sprintf("its %s intervals hold %d of %d left-out compositions, where %d to %d are expected",
			percent(c.Nominal), c.Within, len(check.Rows), c.Low, c.High)
	}
	switch {
	case fewer < unlikely:
		level := Doubtful
		if fewer < impossible && worst.Share < worst.Nominal/2 {
			level = Unusable
		}
		f := r.find(level, sayTooSure, held(worst))
		f.Next = fmt.Sprintf(f.Next, number(check.ZSD))
		r.lessSure(f)
	case most.More < unlikely:
		r.find(Note, sayTooCautious, held(most))
	}
}

// lessSure adds the remedies for an overconfident model.
func (r *reader) lessSure(f *Finding) {
	rougher := problem.Setting{Key: "model", Value: "{kernel: matern52, free_output_scale: true}"}
	switch {
	case len(r.d.Outliers) > 0:
		f.say(settleFirst)
	case r.d.Noise.Source == NoiseInferred:
		f.offer(amend("a rougher or freer prior may do better; to try one", rougher))
	default:
		f.say("The noise may be larger than said: measure one composition three times.")
		f.offer(amend("or the prior is too smooth; to try a rougher one", rougher))
	}
}

// expert reads how an expert's labels have held.
func (r *reader) expert(e *Expert) {
	for _, f := range r.d.Findings {
		if f.Level == Unusable && (e.Labels != nil || e.Choices != nil || e.Estimates != nil || e.Quantities != nil) {
			e.Reading = ReadingNoJudge
			return
		}
	}
	if e.Reading != ReadingDisagree {
		return
	}
	what := "labels"
	of := "an accepted and a rejected composition, the accepted one"
	pairs := e.Labels
	if pairs == nil || pairs.reading() != ReadingDisagree {
		what = "choices"
		of = "two compositions, the one they prefer"
		pairs = e.Choices
	}
	if pairs == nil || pairs.reading() != ReadingDisagree {
		what = "estimates"
		of = "two compositions, the one they expect more of"
		pairs = e.Estimates
	}
	for _, q := range e.Quantities {
		if pairs == nil || pairs.reading() != ReadingDisagree {
			what, pairs = "estimates of "+q.Quantity, q.Agreement
		}
	}
	f := r.find(Note, sayMisleading, e.Name, what, of, percent(pairs.Share), percent(pairs.Lower),
		percent(pairs.Upper))
	f.titled(what, e.Name)
	f.Expert = e.Name
	f.offer(problem.Remedy{
		Text:   "put a wrong answer right",
		Action: problem.CorrectAnswer,
		Ways:   []string{string(events.LabelAccept), string(events.LabelReject)},
	})
	if r.v.Campaign.Definition.Policy.Trust.Name == channels.Name {
		f.say("The policy turns such answers over, and learns from them.")
	}
	width, asks := cobol.WidthOf(r.v.Campaign.Definition.Policy)
	if asks && width.Gate != nil && *width.Gate {
		f.say("The policy's gate asks such an expert no more.")
	} else if asks {
		f.offer(amend("have the policy notice by itself",
			problem.Setting{Key: "handover", Value: "{width: {gate: true}}"}))
	}
}

// headline is the verdict in one sentence.
func (r *reader) headline() string {
	if r.d.Verdict != Good {
		for _, f := range r.d.Findings {
			if f.Level == r.d.Verdict {
				return map[Verdict]string{
					Untested: "There is too little to judge the model by: ",
					Doubtful: "Take the model with care: ", Unusable: "Do not rely on the model: ",
				}[f.Level] + f.Title + "."
			}
		}
	}
	check, of := r.d.LeaveOneOut, ""
	if def := r.v.Campaign.Definition; def != nil && def.Several() {
		of, check = r.d.weakest(def)
		r.d.Weakest = &Judged{of, *check.R2}
		of = " of " + of
		if len(r.d.Quantities) > 0 {
			of += ", the least of what decisions rest on"
		}
	}
	c := check.Coverage[len(check.Coverage)-1]
	how := Predicts(*check.R2)
	but := ", and the model"
	if how == Roughly {
		but = ": enough to steer a search by, not to read values off. The model"
	}
	return fmt.Sprintf("Compositions it was not shown are predicted %s "+
		"(leave-one-out R² %s%s)%s knows how far off it is (%d of %d within its 95 %% intervals).",
		how, number(*check.R2), of, but, c.Within, len(check.Rows))
}

// Roughly describes a model good enough to steer a search, but not to read values off: its order is
// better than its values.
const Roughly = "only roughly"

// Predicts describes the predictions of a model with a leave-one-out R², if that is good enough for
// a verdict of good.
func Predicts(r2 float64) string {
	switch {
	case r2 >= 0.8:
		return "well"
	case r2 >= 0.5:
		return "fairly"
	}
	return Roughly
}

// more returns the remedies that bring n more compositions. They depend on the campaign: it may
// have room in its budget, have used it up or have been stopped.
func (r *reader) more(n int) []problem.Remedy {
	s := r.v.Campaign
	n = max(n, 1)
	left := s.Left()
	measure := problem.Remedy{Text: fmt.Sprintf("let the campaign measure %d more", n), Action: problem.Run}
	if s.Definition.ByHand() {
		measure = problem.Remedy{
			Text: fmt.Sprintf("measure %d more by hand, and tell the results: the campaign suggests them", n), Action: problem.Suggest,
		}
	}
	switch {
	case s.Status == campaign.Stopped:
		return []problem.Remedy{{
			Text:   "the campaign was stopped: take its measurements over into another one",
			Action: problem.TakeOver,
		}}
	case !s.Status.Ended() && left >= n:
		return []problem.Remedy{measure}
	}
	budget := strconv.Itoa(s.Definition.Budget.Experiments + n - max(left, 0))
	return []problem.Remedy{
		amend(fmt.Sprintf("for %d more, raise the budget", n),
			problem.Setting{Key: "budget.experiments", Value: budget}),
		measure,
	}
}

// quantity writes a value of the objective.
func (r *reader) quantity(x float64) string { return strings.TrimSpace(number(x) + " " + r.d.Unit) }

// number writes x in three significant digits, plainly where that is readable.
func number(x float64) string {
	if size := math.Abs(x); x != 0 && (size < 1e-3 || size >= 1e6) {
		return strconv.FormatFloat(x, 'g', 3, 64)
	} else if x != 0 {
		return strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(size)))), 64)
	}
	return "0"
}

// percent writes a share.
func percent(x float64) string {
	if x > 0 && x < 0.095 {
		return strconv.FormatFloat(100*x, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(100*x, 'f', 0, 64) + " %"
}

// plural counts nouns that take an s.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

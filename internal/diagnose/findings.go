package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Finding is one thing that is wrong or worth knowing.
type Finding struct {
	// Level is note, untested, doubtful or unusable.
	Level Verdict `json:"level"`
	// Code names the kind of finding for programs.
	Code string `json:"code"`
	// Title says it in a few words, Text in a sentence with its numbers, and Next
	// what a person can do.
	Title string `json:"title"`
	Text  string `json:"text"`
	Next  string `json:"next"`
	// Experiments and Expert are whom it is about, if anyone.
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
	TooFast         = "too_fast"         // a lengthscale at its lower bound
	NotConverged    = "not_converged"    // the search for hyperparameters ended early
	Jitter          = "jitter"           // the covariance needed help
	Stale           = "stale"            // measurements since the fit
	Logarithm       = "logarithm"        // the logarithm would be easier to model
	Misleading      = "misleading"       // an expert's answers are worse than guessing
)

// Thresholds of the verdict.
const (
	// lowR2 is the leave-one-out R² below which a model says little; Ax warns at the same value.
	lowR2 = 0.1
	// hopelessR2 is that below which the mean of the measurements is much the better prediction.
	hopelessR2 = -1
	// unlikely is the probability under a calibrated model below which one of
	// the three coverages is taken for a fault, and impossible that of a model
	// whose intervals mean nothing.
	unlikely, impossible = 0.001, 1e-6
	// stretch is by how much a fit to few measurements is too sure of itself even
	// where its prior is right (of 20 draws in 2 or 4 dimensions, its 50 % intervals
	// hold 37 % of what comes; of 50, 44 %): only what is worse is worth a word.
	stretch = 1.3
	// noisy is the share of the variance of all measurements that is noise from
	// which on little is left to model.
	noisy = 0.7
)

// reader turns the checks of a diagnosis into findings.
type reader struct {
	d     *Diagnosis
	v     policies.View
	store string
	// needed is the number of compositions from which on a model is judged.
	needed int
	// logarithm is how many nats the logarithm gains.
	logarithm float64
}

// read writes the findings and the verdict.
func (r *reader) read() {
	d := r.d
	switch {
	case r.v.ObjectiveError != nil:
		r.add(Unusable, BrokenModel, "it cannot be built from the measurements", fmt.Sprintf("The model cannot be built from the measurements and its last fit: %v.", r.v.ObjectiveError),
			"Decisions come from a space-filling design until it can: look for measurements of nearly the same composition, and exclude the wrong one with `"+r.command("correct", "EXPERIMENT --exclude --reason WHY")+"`.")
	case !r.v.Campaign.Definition.Measures():
		r.add(Untested, NoModel, "nothing is measured", "Nothing is measured in this campaign: the experts' comparisons are the objective, and there is no measurement to judge them by.",
			"Measure what the experts hold best: only that can tell whether they were right.")
	case d.Fit == nil:
		text, next := "There is no model yet.", r.more(2)
		if r.v.Campaign.Failure != "" {
			text = "There is no model: the fit failed: " + r.v.Campaign.Failure + "."
			r.add(Unusable, FailedFit, "the fit failed", text, "Look at the measurements with `"+r.command("export", "")+"`, and correct or exclude what is wrong with `"+r.command("correct", "EXPERIMENT")+"`.")
		} else {
			r.add(Untested, NoModel, "there is none yet", text, next)
		}
	default:
		r.model()
	}
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

func (r *reader) add(level Verdict, code, title, text, next string) *Finding {
	r.d.Findings = append(r.d.Findings, Finding{Level: level, Code: code, Title: title, Text: text, Next: next})
	return &r.d.Findings[len(r.d.Findings)-1]
}

// model reads the checks of a model that there is.
func (r *reader) model() {
	if failure := r.v.Campaign.Failure; failure != "" {
		r.add(Doubtful, FailedFit, "the last fit failed", "The last fit failed, and the model is that of an older one: "+failure+".",
			"It is tried again after the next measurement; look at the measurements with `"+r.command("export", "")+"`, and correct what is wrong.")
	}
	r.search()
	check := r.d.LeaveOneOut
	if check == nil || r.d.Fit.Compositions < r.needed {
		n := r.d.Fit.Compositions
		r.add(Untested, FewCompositions, "too few compositions yet",
			fmt.Sprintf("%s for %s: too few to tell whether the model predicts anything, and its lengthscales are mostly the prior's.", plural(n, "composition"), plural(len(r.d.Parameters), "parameter")),
			"Read nothing into lengthscales and slices before there are "+strconv.Itoa(r.needed)+" compositions. "+r.more(r.needed-n))
		r.repetitions()
		return
	}
	if check.R2 == nil {
		r.add(Unusable, EqualValues, "all measurements are equal", "All measurements are equal: there is nothing to model.",
			"Check that the instrument measures at all, and that its unit has decimals enough; then measure compositions that lie further apart.")
		return
	}
	r.outliers()
	r.repetitions()
	r.predictions(check)
	r.calibration(check)
	for _, p := range r.d.Parameters {
		if p.Reading == ReadingTooFast {
			r.add(Doubtful, TooFast, "it knows nothing along "+p.Name+" between measurements", fmt.Sprintf("The lengthscale of %s is at its lower bound, %s of its range: between measurements the model knows nothing along it.", p.Name, percent(p.Share)),
				"Measure compositions that differ in "+p.Name+" alone, a little at a time; a single wrong value does the same to a fit.")
		}
	}
	if r.logarithm > 0 {
		level := Note
		if *check.R2 < 0.5 {
			level = Doubtful
		}
		r.add(level, Logarithm, "the logarithm of "+r.d.Objective+" would be easier to model", fmt.Sprintf("The measurements span more than a factor of ten, and their logarithm would be much easier to model (by %s nats of evidence).", number(r.logarithm)),
			"An objective cannot be changed under way: begin a campaign whose instrument reports the logarithm of "+r.d.Objective+", and take what was measured over with `campaignd import`.")
	}
}

// search reads how the search for hyperparameters ended.
func (r *reader) search() {
	f := r.d.Fit
	if f.Stale {
		text := "Measurements were added or corrected since the last fit"
		if n := f.Observations - f.Fitted; n > 0 {
			text = plural(n, "measurement") + " came after the last fit"
		}
		r.add(Note, Stale, "measurements are newer than the fit", text+": the model holds the present ones, its lengthscales and noise are older.", "Nothing: it is fitted again when a decision needs it.")
	}
	if f.Slope != nil && *f.Slope > steep {
		r.add(Doubtful, NotConverged, "the search for the hyperparameters ended early", fmt.Sprintf("The search for the hyperparameters ended before the maximum (the slope left is %s): other lengthscales explain the measurements better.", number(*f.Slope)),
			"It is searched again, from here too, after the next measurement; if this stays, set model: {kernel: matern52} in the campaign file and `campaignd amend FILE`.")
	}
	if f.Jitter > 0 {
		level := Note
		if f.Jitter > r.v.Objective.Fit.Noise {
			level = Doubtful
		}
		r.add(level, Jitter, "compositions lie too close together", fmt.Sprintf("The covariance could be factored only with %s of jitter on its diagonal: compositions lie too close together for so little noise.", number(f.Jitter)),
			"Where two nearly equal compositions gave different values one of them is wrong; `"+r.command("correct", "EXPERIMENT --exclude --reason WHY")+"` takes it out.")
	}
}

// outliers reads the measurements that contradict all others.
func (r *reader) outliers() {
	for i, o := range r.d.Outliers {
		text := fmt.Sprintf("%s measured %s where all other measurements predict %s ± %s: %s standard deviations away.",
			o.Experiment, r.quantity(o.Measured), number(o.Predicted), r.quantity(o.SD), number(math.Abs(o.Z)))
		if last := i == len(r.d.Outliers)-1; last && r.d.WithoutOutliers != nil && r.d.LeaveOneOut.R2 != nil {
			without := "it"
			if i > 0 {
				without = "them"
			}
			text += fmt.Sprintf(" Without %s the leave-one-out R² is %s instead of %s.", without, number(*r.d.WithoutOutliers), number(*r.d.LeaveOneOut.R2))
		}
		next := ""
		if x := r.v.Campaign.Experiment(o.Experiment); x != nil && x.Flag != nil && x.Flag.Verdict == events.VerdictSuspect {
			next = "It is flagged already. "
		}
		f := r.add(Doubtful, Contradiction, o.Experiment+" contradicts all other measurements", text,
			next+fmt.Sprintf("Measure the composition of %s again (`%s` records it). If the value was wrong: `%s`. If it holds, keep what you saw: `%s`; then the objective changes there faster than elsewhere.",
				o.Experiment, r.command("tell", "--parameters … VALUE"), r.command("correct", o.Experiment+" --exclude --reason WHY"), r.command("note", "WHAT --about "+o.Experiment)))
		f.Experiments = []string{o.Experiment}
	}
}

// repetitions compares repeated measurements with the noise.
func (r *reader) repetitions() {
	n := r.d.Noise
	p := n.Replicates
	if p == nil || p.Surprise >= unlikely || n.SD == 0 {
		return
	}
	source := map[string]string{NoiseDeclared: "objective.noise of the campaign", NoiseInstrument: "the instrument", NoiseInferred: "the fit"}[n.Source]
	if p.SD < n.SD {
		r.add(Note, Scatter, "repetitions scatter less than the noise says", fmt.Sprintf("Repetitions scatter by %s (95 %%: %s to %s), less than the %s of %s.", r.quantity(p.SD), number(p.Lower), number(p.Upper), r.quantity(n.SD), source),
			"The model is more cautious than it need be. What repetitions do not see, such as a fresh preparation, is noise too.")
		return
	}
	f := r.add(Doubtful, Scatter, "repetitions scatter more than the noise says", fmt.Sprintf("Repetitions scatter by %s (95 %%: %s to %s), more than the %s of %s; %s and %s differ most, by %s.",
		r.quantity(p.SD), number(p.Lower), number(p.Upper), r.quantity(n.SD), source, p.Widest[0], p.Widest[1], r.quantity(p.Difference)),
		fmt.Sprintf("If one of %s and %s is wrong: `%s`. If not, the noise is larger than said: a campaign of its own with the right objective.noise can take the measurements over with `campaignd import`.",
			p.Widest[0], p.Widest[1], r.command("correct", p.Widest[1]+" --exclude --reason WHY")))
	f.Experiments = p.Widest[:]
}

// predictions reads how well left-out compositions are predicted.
func (r *reader) predictions(check *LeaveOneOut) {
	if *check.R2 >= lowR2 {
		return
	}
	n := r.d.Noise
	share := n.SD * n.SD / (n.Spread * n.Spread)
	if share >= noisy {
		r.add(Doubtful, AllNoise, "the noise is as large as the whole spread", fmt.Sprintf("The noise of one measurement (%s) is nearly as large as the spread of all of them (%s): left-out compositions are predicted no better than by the mean (R² %s).",
			r.quantity(n.SD), r.quantity(n.Spread), number(*check.R2)),
			"Measure each composition several times (replicates: in a campaign's file), reduce the scatter of the instrument, or vary the parameters over wider ranges. "+r.more(r.d.Fit.Compositions))
		return
	}
	level, than := Doubtful, "hardly better than by the mean of all"
	if *check.R2 < 0 {
		than = "worse than by the mean of all"
	}
	if *check.R2 < hopelessR2 {
		level = Unusable
	}
	text := fmt.Sprintf("Left-out compositions are predicted %s (leave-one-out R² %s).", than, number(*check.R2))
	if c := check.RankCorrelation; c != nil && *c > 0.5 {
		text += fmt.Sprintf(" Their order is right for the most part (rank correlation %s).", number(*c))
	}
	next := r.more(r.d.Fit.Compositions)
	if len(r.d.Outliers) > 0 {
		next = "Settle what contradicts the others first. " + next
	} else {
		next = "Take means and slices for guesses. If something that matters is not among the parameters, such as a temperature, hold it fixed or add it. " + next
	}
	r.add(level, LowR2, "it predicts left-out compositions badly", text, next)
}

// calibration reads how well the model knows how far off it is.
func (r *reader) calibration(check *LeaveOneOut) {
	worst, most, fewer := check.Coverage[0], check.Coverage[0], 1.0
	for _, c := range check.Coverage {
		if p := check.coverage(c.Nominal, stretch).Fewer; p < fewer {
			worst, fewer = c, p
		}
		if c.More < most.More {
			most = c
		}
	}
	held := func(c Coverage) string {
		return fmt.Sprintf("its %s intervals hold %d of %d left-out compositions, where %d to %d are expected", percent(c.Nominal), c.Within, len(check.Rows), c.Low, c.High)
	}
	switch {
	case fewer < unlikely:
		level := Doubtful
		if fewer < impossible && worst.Share < worst.Nominal/2 {
			level = Unusable
		}
		next := "Multiply the model's standard deviations by about " + number(check.ZSD) + " in your head. "
		switch {
		case len(r.d.Outliers) > 0:
			next += "Settle what contradicts the others first."
		case r.d.Noise.Source == NoiseInferred:
			next += "A rougher or freer prior may do better: set model: {kernel: matern52, free_output_scale: true} in the campaign file and `campaignd amend FILE`."
		default:
			next += "The noise may be larger than said: measure one composition three times. Or the prior is too smooth: set model: {kernel: matern52, free_output_scale: true} in the campaign file and `campaignd amend FILE`."
		}
		r.add(level, TooSure, "it is too sure of itself", "The model is too sure of itself: "+held(worst)+".", next)
	case most.More < unlikely:
		r.add(Note, TooCautious, "it is more cautious than it need be", "The model is more cautious than it need be: "+held(most)+".", "Nothing needs to be done; the campaign explores a little more than it must.")
	}
}

// expert reads how an expert's labels have held.
func (r *reader) expert(e *Expert) {
	for _, f := range r.d.Findings {
		if f.Level == Unusable && (e.Labels != nil || e.Choices != nil) {
			e.Reading = ReadingNoJudge
			return
		}
	}
	if e.Reading != ReadingDisagree {
		return
	}
	next := "Show them the measurements: they may be judging another goal. A wrong answer is put right with `" + r.command("correct", "QUESTION accept|reject --reason WHY") + "`."
	width, asks := cobol.WidthOf(r.v.Campaign.Definition.Policy)
	if asks && width.Gate != nil && *width.Gate {
		next += " The policy's gate asks such an expert no more."
	} else if asks {
		next += " To have the policy notice by itself, set handover: {width: {gate: true}} in the campaign file and `campaignd amend FILE`."
	}
	what, pairs, of := "labels", e.Labels, "an accepted and a rejected composition, the accepted one"
	if pairs == nil || pairs.reading() != ReadingDisagree {
		what, pairs, of = "choices", e.Choices, "two compositions, the one they prefer"
	}
	f := r.add(Note, Misleading, "the "+what+" of "+e.Name+" are worse than guessing",
		fmt.Sprintf("%s's %s are worse than guessing: of %s is the better in %s of pairs (95 %%: %s to %s; guessing gives half).",
			e.Name, what, of, percent(pairs.Share), percent(pairs.Lower), percent(pairs.Upper)), next)
	f.Expert = e.Name
}

// headline is the verdict in a sentence.
func (r *reader) headline() string {
	if r.d.Verdict != Good {
		for _, f := range r.d.Findings {
			if f.Level == r.d.Verdict {
				return map[Verdict]string{
					Untested: "There is too little to judge the model by: ", Doubtful: "Take the model with care: ", Unusable: "Do not rely on the model: ",
				}[f.Level] + f.Title + "."
			}
		}
	}
	check := r.d.LeaveOneOut
	how, but := "only roughly", ": enough to steer a search by, not to read values off. The model"
	switch {
	case *check.R2 >= 0.8:
		how, but = "well", ", and the model"
	case *check.R2 >= 0.5:
		how, but = "fairly", ", and the model"
	}
	c := check.Coverage[len(check.Coverage)-1]
	return fmt.Sprintf("Compositions it was not shown are predicted %s (leave-one-out R² %s)%s knows how far off it is (%d of %d within its 95 %% intervals).",
		how, number(*check.R2), but, c.Within, len(check.Rows))
}

// more says how the campaign comes to n more compositions.
func (r *reader) more(n int) string {
	s := r.v.Campaign
	n = max(n, 1)
	left := s.Definition.Budget.Experiments - s.Spent()
	switch {
	case s.Status == campaign.Stopped:
		return "The campaign was stopped: another one can take its measurements over with `campaignd import`."
	case !s.Status.Ended() && left >= n:
		return fmt.Sprintf("Let the campaign measure %d more: `%s`.", n, r.command("run", ""))
	}
	return fmt.Sprintf("For %d more, raise budget.experiments in the campaign file to %d, then `campaignd amend FILE` and `%s`.", n, s.Definition.Budget.Experiments+n-max(left, 0), r.command("run", ""))
}

// command writes a command of the program about the campaign's store.
func (r *reader) command(name, arguments string) string {
	words := []string{"campaignd", name}
	for _, word := range []string{r.store, arguments} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

package simulated

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// Name of the channel in a campaign file.
const Name = "simulated"

// Channel is the program's row for simulated experts.
var Channel = humans.Channel{
	Name:     Name,
	Settings: func() definition.Settings { return new(Settings) },
	Open: func(
		ctx context.Context, e definition.Expert, def definition.Campaign, env humans.Environment,
	) (humans.Reviewer, error) {
		if settings, err := settingsOf(e); err == nil && settings.Table != "" {
			return knowingRows(ctx, e, def, settings.Table, env)
		}
		return New(e, def, env.Sample)
	},
}

// Settings of a simulated expert, who rejects a composition of rank ρ with
// probability S(aρ), where ρ scales the task's objective over the space to [−3,
// 3], good to bad (Xu et al. 2024, Example 2.2). Of two compositions it prefers
// the one of rank ρ to that of rank ρ' with probability S(a(ρ' − ρ)).
type Settings struct {
	// Accuracy is a: 2 expert, 1 good, 0 guesses, −2 adversary. Default 1.
	Accuracy *float64 `json:"accuracy,omitempty"`
	// ChoiceNoise makes comparisons of the objective itself instead, each side
	// with normal noise of this standard deviation, in the objective's unit
	// (Adachi et al. 2024, §5); a negative Accuracy takes the other side.
	ChoiceNoise *float64 `json:"choice_noise,omitempty" jsonschema:"minimum=0"`
	// Anchored makes comparisons of the objective itself too, each side with
	// normal noise whose variance, in the square of the objective's unit, is
	// that of the campaign's model.utility around the expert's own anchors,
	// a·exp(−q), whatever the link (Sinaga et al. 2026, Eq. 6): small near an
	// anchor, a far from all. Not with ChoiceNoise.
	Anchored bool `json:"anchored,omitempty"`
	// Correlation makes estimates normal scores of the objective over the space instead, with
	// normal noise, so that the two correlate so far: 1 knows the order of all compositions, 0
	// guesses, negative the other way round. Absent: estimates are a times the rank with logistic
	// noise; labels are their signs.
	Correlation *float64 `json:"correlation,omitempty" jsonschema:"minimum=-1,maximum=1"`
	// Correlations are those of single quantities, where the expert estimates several:
	// they may know one of them and guess another. Absent: Correlation, or by Accuracy.
	Correlations map[string]float64 `json:"correlations,omitempty"`
	// Prejudice makes the errors of such estimates a smooth function of the
	// composition, the same at every question, instead of noise: its
	// lengthscale is this share of the parameters' ranges, times the root of
	// their number. It may go with the truth by chance, or against it:
	// Correlation is then the average over seeds. Labels and comparisons go by
	// the same belief then, in place of the rank. 0: noise.
	Prejudice float64 `json:"prejudice,omitempty" jsonschema:"minimum=0"`
	// WrongRegion is how far from the optimum the expert takes everything for
	// the worst of the space, in all answers: this share of the parameters'
	// ranges, times the root of their number.
	WrongRegion float64 `json:"wrong_region,omitempty" jsonschema:"minimum=0"`
	// Strictness is added to the logit of a rejection: of a strict expert (5)
	// only the best is accepted.
	Strictness float64 `json:"strictness,omitempty"`
	// Repeats makes the expert's answer about a composition depend on the composition alone: asked
	// again, they say the same, errors included.
	Repeats bool `json:"repeats,omitempty"`
	// Copies is the probability that an answer copies the expert's first
	// instead of judging: the same label, the same number as the first of the
	// sitting, or the order in which options are shown.
	Copies float64 `json:"copies,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Tires is the number of answers after which the expert is half as
	// accurate, and so on; each composition of a sitting is one. Correlation
	// falls likewise. 0: never.
	Tires float64 `json:"tires,omitempty" jsonschema:"minimum=0"`
	// Utility is the worth of outcomes to the expert, where they are to compare those: the sum over
	// quantities. Such an expert knows no task.
	Utility []Worth `json:"utility,omitempty"`
	// UtilityNoise is the standard deviation of the normal noise with which they
	// judge each outcome, in the unit of the weights. Default 0. A negative
	// Accuracy says the opposite.
	UtilityNoise float64 `json:"utility_noise,omitempty" jsonschema:"minimum=0"`
	// Task the expert knows. Default: the simulated instrument's.
	Task string `json:"task,omitempty"`
	// Table is a CSV file whose rows the expert knows, in place of a task,
	// relative to the campaign file. Its header names the parameters and the
	// objective; what the expert judges is among its rows.
	Table string `json:"table,omitempty"`
	// UnsureRate is the probability of "can't tell", about each composition
	// that is to be estimated. Default 0.
	UnsureRate float64 `json:"unsure_rate,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Latency of each answer. Default 0.
	Latency definition.Duration `json:"latency,omitempty"`
}

// SettingsOf returns the settings of an expert who is simulated.
func SettingsOf(e definition.Expert) (Settings, error) {
	return definition.SettingsOf[Settings](e.Channel)
}

// Choose returns the choice of this channel with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Confined implements definition.Confined.
func (s *Settings) Confined() bool { return s.Table == "" }

// Complete implements definition.Settings.
func (s *Settings) Complete(def *definition.Campaign) {
	if s.Accuracy == nil {
		accuracy := float64(DefaultAccuracy)
		s.Accuracy = &accuracy
	}
	if s.Task == "" && s.Table == "" && len(s.Utility) == 0 {
		s.Task = measured(def)
	}
}

// measured is the task that the campaign's instrument simulates, empty for
// others.
func measured(def *definition.Campaign) string {
	if def.Driver().Name != simulated.Name {
		return ""
	}
	settings, _ := simulated.SettingsOf(*def)
	return settings.Task
}

// Check implements definition.Settings.
//
// What can be said of one setting is in the schema; here are those that
// contradict each other, or do not fit the campaign. An expert must know a
// truth, and know it of everything that they may be asked about: hence the
// cases about task and table.
func (s *Settings) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	var faults []definition.Fault
	report := func(at definition.Path, problem, remedy string) {
		faults = append(faults, definition.Fault{At: at, Problem: problem, Remedy: remedy})
	}
	e := expertAt(def, here)
	if s.Accuracy != nil && (math.IsNaN(*s.Accuracy) || math.IsInf(*s.Accuracy, 0)) {
		report(here.To("accuracy"), "it is not finite", "")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Correlations)) {
		if c := s.Correlations[name]; !(c >= -1 && c <= 1) {
			report(here.To("correlations", name), "a correlation lies between -1 and 1", "")
		}
	}
	if s.Prejudice > 0 && s.Correlation == nil {
		report(here.To("prejudice"), "it shapes the errors of estimates that correlate with the truth",
			"add correlation, 0 for one who knows nothing, or remove prejudice")
	}
	switch {
	case s.Anchored && s.ChoiceNoise != nil:
		report(here.To("anchored"), "choice_noise already says how noisy comparisons are",
			"keep one of anchored and choice_noise")
	case s.Anchored && len(e.Anchors) == 0:
		report(here.To("anchored"), e.Name+" has no anchors to be reliable at",
			"add anchors, or remove anchored")
	}
	if def.Preferred() != nil || len(s.Utility) > 0 {
		return append(faults, s.checkUtility(def, here)...)
	}
	faults = append(faults, s.checkColumns(def, here)...)
	const nameOne = "name the task that a simulated expert knows, for example task: electrolyte, or a table"
	switch {
	case s.Table != "" && s.Task != "":
		report(here.To("table"), e.Name+" already knows the task "+s.Task, "keep one of task and table")
	case s.Table != "" && len(def.Candidates) == 0 && def.Driver().Name != table.Name:
		report(here.To("table"), e.Name+
			" knows nothing but the rows of a table, and may be asked about anything",
			"list its rows under candidates")
	case s.Table != "":
	case s.Task == "" && !def.Measures():
		report(here, "it does not say what "+e.Name+" judges by", nameOne)
	case s.Task == "":
		report(here, e.Name+" does not know what the instrument measures", nameOne)
	case s.Task != measured(def):
		faults = append(faults, tasks.Check(def, here.To("task"), s.Task)...)
	}
	return faults
}

// CheckFiles implements definition.Filed.
func (s *Settings) CheckFiles(folder string, here definition.Path) []definition.Fault {
	return table.CheckFile(folder, s.Table, here.To("table"))
}

// expertAt is the expert whose settings stand at a path. Settings do not know
// whose they are; the index in the path does.
func expertAt(def *definition.Campaign, here definition.Path) definition.Expert {
	for _, step := range here {
		if i, ok := step.(int); ok && i < len(def.Experts) {
			return def.Experts[i]
		}
	}
	return definition.Expert{}
}

// Words implements definition.Settings. Only what differs from the plain expert
// of that accuracy is said.
func (s *Settings) Words(def *definition.Campaign) string {
	text := "simulated with accuracy " + format.Setting(*s.Accuracy)
	switch {
	case s.Anchored:
		text += "; compares the objective itself, with less noise near their anchors"
	case s.ChoiceNoise != nil:
		text += "; compares the objective itself, each side with noise of standard deviation " +
			format.SettingIn(*s.ChoiceNoise, def.Sought().Unit)
	}
	if c := s.Correlation; c != nil {
		text += "; their estimates correlate at " + format.Setting(*c) + " with the truth"
		if s.Prejudice > 0 {
			text += ", with a prejudice of lengthscale " + format.Setting(s.Prejudice)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Correlations)) {
		text += fmt.Sprintf("; those of %s correlate at %s", name, format.Setting(s.Correlations[name]))
	}
	if s.WrongRegion > 0 {
		text += "; takes everything within " + format.Setting(s.WrongRegion) + " of the optimum for the worst"
	}
	if s.Strictness != 0 {
		text += "; strict by " + format.Setting(s.Strictness)
	}
	if s.Repeats {
		text += "; says the same when asked again"
	}
	if s.Copies > 0 {
		text += fmt.Sprintf("; copies the first answer in %s%%", format.Setting(100*s.Copies))
	}
	if s.Tires > 0 {
		text += "; half as accurate after " + format.Setting(s.Tires) + " answers"
	}
	if len(s.Utility) > 0 {
		text += "; values" + s.utilityWords(def)
	}
	if s.Table != "" {
		text += "; knows the rows of " + s.Table
	}
	if s.UnsureRate > 0 {
		text += fmt.Sprintf("; cannot tell in %s%% of the questions", format.Setting(100*s.UnsureRate))
	}
	return text
}

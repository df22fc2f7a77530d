package campaignfile

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
)

// Remarks say what is possible in a definition and probably not meant. Relative
// paths are relative to dir, the folder of the campaign file.
func Remarks(def events.Definition, dir string) (remarks []string) {
	return slices.Concat(unasked(def), unlaunchable(def, dir), drowned(def))
}

// unasked remarks on budgets that leave the policy no choice, and on experts whom
// nobody asks.
func unasked(def events.Definition) (remarks []string) {
	if def.Policy.Duel.Set() {
		if initial := *def.Initial.Comparisons * len(def.Experts); initial > 0 && initial >= def.Budget.Comparisons {
			remarks = append(remarks, fmt.Sprintf("all of the %s are initial ones, so that the policy makes no choice of its own: raise budget.comparisons, or lower initial.comparisons (%d for each expert)",
				format.Count(def.Budget.Comparisons, "comparison"), *def.Initial.Comparisons))
		}
		return remarks
	}
	if !readsExperts(def.Policy) && len(def.Experts) > 0 {
		names := make([]string, len(def.Experts))
		for i, e := range def.Experts {
			names[i] = e.Name
		}
		remarks = append(remarks, fmt.Sprintf("the policy reads nothing of what %s may say: choose one that does, such as cobol or coexbo, or remove experts", strings.Join(names, " and ")))
	}
	return remarks
}

// readsExperts says whether any part of a policy that measures asks experts, or
// reads what they said.
func readsExperts(p events.Policy) bool {
	return p.Trust.None == nil || p.Handover.Never == nil || p.Next.Prior != nil || p.Next.Manual != nil
}

// unlaunchable remarks on programs that are not there.
func unlaunchable(def events.Definition, dir string) (remarks []string) {
	say := func(format string, args ...any) { remarks = append(remarks, fmt.Sprintf(format, args...)) }
	if p := def.Instrument.Process; p != nil && len(p.Command) > 0 {
		if p.Dir != "" && filepath.IsAbs(p.Dir) {
			dir = p.Dir
		} else {
			dir = filepath.Join(dir, p.Dir)
		}
		missing := func(file string) bool {
			if !filepath.IsAbs(file) {
				file = filepath.Join(dir, file)
			}
			_, err := os.Stat(file)
			return err != nil
		}
		program := p.Command[0]
		if _, err := exec.LookPath(program); !strings.ContainsRune(program, '/') && err != nil || strings.ContainsRune(program, '/') && missing(program) {
			say("instrument.process.command: there is no program %s here", program)
		}
		for _, arg := range p.Command[1:] {
			if slices.Contains([]string{".py", ".sh", ".jl", ".js", ".rb", ".pl", ".R", ".lua", ".jar"}, filepath.Ext(arg)) && !strings.HasPrefix(arg, "-") && missing(arg) {
				say("instrument.process.command: there is no file %s in %s; `campaignd instrument check` tries the program", arg, dir)
			}
		}
	}
	return remarks
}

// drowned remarks on noise beside which nothing could be learnt.
func drowned(def events.Definition) (remarks []string) {
	say := func(format string, args ...any) { remarks = append(remarks, fmt.Sprintf(format, args...)) }
	if o := def.Objective; o.Noise != nil && o.Min != nil && o.Max != nil && *o.Noise > math.Abs(*o.Max-*o.Min)/2 {
		say("objective.noise: a standard deviation of %s drowns results between %s and %s: nothing could be learnt from a measurement", format.SettingIn(*o.Noise, o.Unit), format.Setting(*o.Min), format.Setting(*o.Max))
	}
	return remarks
}

package app

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/study/rehearse"
)

// rehearseCommand is `campaignd rehearse`. It reads the file alone: no instrument is started.
var rehearseCommand = command{
	name: "rehearse",
	args: cobra.ExactArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var takes map[string]string
		var capacity map[string]int
		var other time.Duration
		flags.StringToStringVar(&takes, "takes", nil, "how long an act takes, by `STAGE=TIME`: dose=3m,measure=10m")
		flags.DurationVar(&other, "else", 10*time.Minute,
			"how long an act of any other stage takes: `TIME`; of a simulated instrument its latency")
		flags.StringToIntVar(&capacity, "capacity", nil,
			"how many acts an instrument performs at once, by `INSTRUMENT=N`: meter=8 (default 1)")
		for _, name := range []string{"takes", "capacity"} {
			flags.Lookup(name).DefValue = "" // the library would show an empty list
		}
		return func(c *call, args []string) error {
			t, err := c.fileTarget(args[0], "rehearse takes a campaign file")
			if err != nil {
				return err
			}
			def := t.file.Alone()
			if len(def.Procedure) == 0 {
				return badInput("%s has no procedure: each experiment is one act, at one instrument", args[0])
			}
			setup := rehearse.Setup{Takes: latencies(def), Else: other, Capacity: capacity}
			for _, name := range slices.Sorted(maps.Keys(takes)) {
				var d definition.Duration
				text, err := json.Marshal(takes[name])
				if err == nil {
					err = json.Unmarshal(text, &d)
				}
				if err != nil {
					return badInput("--takes %s: %w", name, err)
				}
				var known []string
				for _, s := range def.Procedure {
					known = append(known, s.Name)
				}
				if !slices.Contains(known, name) {
					return badInput("--takes: unknown stage %q; %s", name, yamltree.Suggest(name, known))
				}
				setup.Takes[name] = time.Duration(d)
			}
			for name, n := range capacity {
				if _, known := def.Instruments[name]; !known {
					return badInput("--capacity: unknown instrument %q; %s", name, yamltree.Suggest(name, def.Resources()))
				}
				if n < 1 {
					return badInput("--capacity: %s performs one act at once at least", name)
				}
			}
			report, err := rehearse.Run(def, setup)
			switch {
			case err != nil:
				return inputError{err}
			case c.json:
				return c.printJSON(report)
			}
			return report.Write(c.stdout)
		}
	},
}

// latencies are the times of acts that the simulated instruments of a procedure take.
func latencies(def *definition.Campaign) map[string]time.Duration {
	takes := make(map[string]time.Duration)
	for _, s := range def.Procedure {
		settings, ok := definition.SettingsIf[simulated.Settings](def.Instruments[s.On].Driver, simulated.Name)
		if ok && settings.Latency > 0 {
			takes[s.Name] = time.Duration(settings.Latency)
		}
	}
	return takes
}

package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
)

// plan is the procedure of a line of machines as its judge has it: by its own words, and not by the
// definition.
type plan struct {
	stages []planned
	// capacity of each machine, and room of each place.
	capacity, room map[string]int
}

// planned is a stage.
type planned struct {
	name, on     string
	together     bool
	after        map[string]time.Duration // the least time since the end of a stage
	until        map[string]time.Duration
	holds, frees string
	tips         int
	gives        []string
	repeatable   bool
	always       bool
}

func (p *plan) stage(name string) *planned {
	for i := range p.stages {
		if p.stages[i].name == name {
			return &p.stages[i]
		}
	}
	return nil
}

// machineTemper is how a machine behaves: probabilities for each command, or each time it is asked.
type machineTemper struct {
	// Forgets: a reboot may cost it its memory, and then it says of anything that it was never
	// started. Keeps: it says that its ledger is durable, and it is. Mute: it cannot say what became
	// of a command.
	Forgets, Keeps, Mute bool
	// Lost is the probability that a start is lost on its way, Late that it arrives after the one who
	// sent it has given up, Refuses that it is put off, Unconfirmed that the confirmation is lost.
	Lost, Late, Refuses, Unconfirmed float64
	// Fails is the probability of an act without result, Slow that it takes longer than is waited for,
	// Cut that the line breaks while it is awaited, Off that it goes out of reach.
	Fails, Slow, Cut, Off float64
	// Reboots is the mean time between them; 0: it does not.
	Reboots time.Duration
}

// line is a world of a campaign with a procedure. It follows from its seed.
type line struct {
	World
	plan     plan
	machines map[string]machineTemper
	people   Temper
	// byHand: people do what is done at the bench.
	byHand bool
	// least: a batch need not be full.
	least bool
	// control is the one rule that is broken.
	control string
	file    string
}

// drawLine returns the line of a seed.
func drawLine(t *testing.T, seed uint64, control string) *line {
	t.Helper()
	l := &line{World: World{Seed: seed, Operator: Absent}, machines: make(map[string]machineTemper), control: control}
	r := l.chance("line")
	p := &l.plan
	p.capacity = map[string]int{"doser": 1, "arm": 1, "meter": 1 + r.IntN(2)}
	p.room = map[string]int{"oven": 1}
	minutes := func(least, most int) time.Duration { return time.Duration(least+r.IntN(most-least+1)) * time.Minute }
	p.stages = append(p.stages, planned{name: "dose", on: "doser", together: r.IntN(2) == 0, tips: 1 + r.IntN(2)})
	before, frees := "dose", ""
	switch {
	case control == "order": // down the list of places and up again
		p.room["press"], p.room["tray"] = 1, 1
		p.stages = append(p.stages,
			planned{name: "bake", on: "arm", together: true, after: map[string]time.Duration{"dose": 0}, holds: "tray"},
			planned{name: "press", on: "arm", together: true, after: map[string]time.Duration{"bake": 0}, holds: "press", frees: "tray"})
		before, frees = "press", "press"
	case r.IntN(2) == 0:
		p.room["press"] = 1
		p.stages = append(p.stages,
			planned{name: "press", on: "arm", together: true, after: map[string]time.Duration{"dose": minutes(0, 10)}, holds: "press"})
		before, frees = "press", "press"
	}
	p.stages = append(p.stages,
		planned{name: "load", on: "arm", together: true, after: map[string]time.Duration{before: minutes(0, 5)}, holds: "oven", frees: frees},
		planned{name: "unload", on: "arm", together: true, frees: "oven", after: map[string]time.Duration{"load": minutes(10, 60)},
			until: map[string]time.Duration{"load": 2*time.Hour + minutes(0, 600)}},
		planned{name: "measure", on: "meter", after: map[string]time.Duration{"unload": 0}, gives: []string{"yield", "viscosity"}, repeatable: true})
	last := []string{"measure"}
	if r := l.chance("more"); control == "" {
		for place := range p.room {
			p.room[place] += l.chance("room", place).IntN(4) / 3
		}
		measure := p.stage("measure")
		measure.together = r.IntN(4) == 0
		if r.IntN(3) == 0 {
			measure.until = map[string]time.Duration{"unload": time.Hour + time.Duration(r.IntN(600))*time.Minute}
		}
		l.byHand = r.IntN(2) == 0
		l.least = r.IntN(3) == 0
	}
	if r.IntN(2) == 0 {
		p.capacity["bench"] = 1
		p.stages = append(p.stages, planned{name: "look", on: "bench", together: r.IntN(2) == 0, after: map[string]time.Duration{"unload": 0}})
		last = append(last, "look")
	}
	if r.IntN(4) > 0 {
		clean := planned{name: "clean", on: "doser", together: true, always: true, after: make(map[string]time.Duration)}
		for _, name := range last {
			clean.after[name] = 0
		}
		p.stages = append(p.stages, clean)
	}
	size, batches := 1+r.IntN(4), 1+r.IntN(2)
	if control == "order" || control == "place" {
		batches = 2
	}
	l.people = []Temper{Prompt, Careless, Absent, Busy}[r.IntN(4)]
	l.Kills = []float64{0, 0.5, 1}[r.IntN(3)]
	for _, name := range []string{"doser", "arm", "meter", "bench"} {
		r := l.chance("temper", name)
		some := func(p float64) float64 { return p * float64(r.IntN(3)) / 2 * r.Float64() }
		l.machines[name] = machineTemper{
			Forgets: r.IntN(2) == 0, Keeps: r.IntN(3) == 0, Mute: r.IntN(6) == 0,
			Lost: some(0.2), Late: some(0.3), Refuses: some(0.2), Unconfirmed: some(0.2),
			Fails: some(0.2), Slow: some(0.1), Cut: some(0.2), Off: some(0.1),
			Reboots: time.Duration(r.IntN(3)) * 10 * time.Hour,
		}
	}
	l.file = l.written(r.IntN(1000), size, batches, max(3, size*(2+r.IntN(3))+r.IntN(2)))
	file, err := campaignfile.Parse(builtin.Registry(), "line.yaml", []byte(l.file))
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, l.file)
	}
	l.Definition = file.Definition
	if control == "order" { // which no file may say
		for i := range l.Definition.Procedure {
			s := &l.Definition.Procedure[i]
			s.Holds, s.Frees = strings.ReplaceAll(s.Holds, "tray", "oven"), strings.ReplaceAll(s.Frees, "tray", "oven")
		}
	}
	return l
}

// written is the campaign file.
func (l *line) written(seed, size, batches, budget int) string {
	var b strings.Builder
	room := func(place string) int {
		if l.control == "place" {
			return 2 // there is less than the file says
		}
		return l.plan.room[place]
	}
	batch := fmt.Sprintf("of: %d", size)
	if l.least {
		batch += ", at_least: 1, within: 30m"
	}
	fmt.Fprintf(&b, `
name: line
seed: %d
parameters: [{name: x, min: 0, max: 1}, {name: y, min: 0, max: 1}]
objective: {name: yield, unit: "%%", goal: maximize}
quantities: [{name: viscosity, unit: mPa·s}]
policy: sobol
budget: {experiments: %d}
parallel: %d
batch: {%s}
stocks: {tips: {labels: %s}}
`, seed+1, budget, size*batches, batch, rack(0))
	b.WriteString("places: [")
	if l.control == "order" {
		b.WriteString("tray, ")
	}
	if l.plan.room["press"] > 0 {
		fmt.Fprintf(&b, "{name: press, room: %d}, ", room("press"))
	}
	fmt.Fprintf(&b, "{name: oven, room: %d}]\ninstruments:\n", room("oven"))
	for _, name := range []string{"doser", "arm", "meter", "bench"} {
		switch {
		case l.plan.capacity[name] == 0:
		case name == "bench" && l.byHand:
			b.WriteString("  bench: {manual: {}}\n")
		default:
			fmt.Fprintf(&b, "  %s: {process: {command: [%s]}, stall_after: 2h, give_up_after: 4h}\n", name, name)
		}
	}
	b.WriteString("procedure:\n")
	for _, s := range l.plan.stages {
		fmt.Fprintf(&b, "  %s: {on: %s", s.name, s.on)
		if s.together {
			b.WriteString(", together: true")
		}
		for i, name := range inOrder(l.plan, s.after) {
			fmt.Fprintf(&b, "%s%s: %dm..", []string{", after: {", ", "}[min(i, 1)], name, int(s.after[name].Minutes()))
			if until := s.until[name]; until > 0 {
				fmt.Fprintf(&b, "%dm", int(until.Minutes()))
			}
		}
		if len(s.after) > 0 {
			b.WriteString("}")
		}
		for _, part := range []struct{ key, value string }{{"holds", s.holds}, {"frees", s.frees}, {"gives", strings.Join(s.gives, ", ")}} {
			switch {
			case part.key == "gives" && part.value != "":
				fmt.Fprintf(&b, ", gives: [%s]", part.value)
			case part.value != "":
				fmt.Fprintf(&b, ", %s: %s", part.key, part.value)
			}
		}
		if s.tips > 0 {
			fmt.Fprintf(&b, ", draws: {tips: %d}", s.tips)
		}
		if s.repeatable {
			b.WriteString(", repeatable: true, tries: 3")
		}
		if s.always {
			b.WriteString(", always: true")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// inOrder lists the stages of a map in the order of the plan.
func inOrder(p plan, of map[string]time.Duration) (names []string) {
	for _, s := range p.stages {
		if _, ok := of[s.name]; ok {
			names = append(names, s.name)
		}
	}
	return names
}

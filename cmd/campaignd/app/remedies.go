package app

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// What can be done about a problem comes as data, a problem.Remedy, from the
// package that knows it. Here, and nowhere else, it becomes command lines. The
// pages of a browser make links of the same data.

// commands writes command lines about a campaign. The zero value writes them
// without a store.
//
// What a person typed themselves is repeated as they typed it, so that a
// suggested line works where they stand.
type commands struct {
	// server is target.server.
	server string
	// store is the store as the person named it, file the campaign file,
	// campaign the one that they chose of several; each may be empty.
	store, file, campaign string
}

// commandsFor returns the writer of commands about a target.
func (a *app) commandsFor(t target) commands {
	c := commands{store: t.store, file: t.path, campaign: a.campaign}
	if t.remote {
		c.server, c.campaign = t.server, ""
	}
	return c
}

// verbs are the commands that carry out an action, with the placeholders a
// person replaces where the remedy leaves something to them. Actions that no
// single command carries out are written in how.
var verbs = map[problem.Action]struct {
	name    string
	subject string // placeholder of the subject; empty: the command takes none
	after   string // the text behind the subject
}{
	problem.Run:           {name: "run"},
	problem.Suggest:       {name: "suggest"},
	problem.Resume:        {name: "resume"},
	problem.Resolve:       {name: "resolve", subject: "EXPERIMENT"},
	problem.Cancel:        {name: "cancel", subject: "EXPERIMENT"},
	problem.Correct:       {name: "correct", subject: "EXPERIMENT"},
	problem.Answer:        {name: "tell", subject: "QUESTION"},
	problem.CorrectAnswer: {name: "correct", subject: "QUESTION"},
	problem.Tell:          {name: "tell", subject: "--parameters COMPOSITION", after: "VALUE"},
	problem.Allow:         {name: "allow", subject: "EXCLUSION"},
	problem.Count:         {name: "stock", subject: "STOCK", after: "WHAT"},
	problem.CountLab:      {name: "stock --lab", subject: "STOCK", after: "WHAT"},
	problem.Service:       {name: "service", subject: "INSTRUMENT", after: "--back"},
	problem.Export:        {name: "export"},
	problem.Explain:       {name: "explain", subject: "DECISION"},
	problem.Diagnose:      {name: "diagnose"},

	problem.Trail:         {name: accounting + "trail"},
	problem.AddAccount:    {name: accounting + "add", subject: "NAME", after: "--role ROLE"},
	problem.ChangeAccount: {name: accounting + "change", subject: "NAME", after: "--answers-as EXPERT"},
	problem.Grant:         {name: accounting + "grant", subject: "NAME", after: "ROLE"},
	problem.SetPassword:   {name: accounting + "password", subject: "NAME"},
	problem.Unlock:        {name: accounting + "unlock"},
	problem.Enable:        {name: accounting + "enable", subject: "NAME"},
	problem.Disable:       {name: accounting + "disable", subject: "NAME"},
}

// accounting begins the names of commands about accounts, which name no store.
const accounting = "account "

// parts are the parts of a request (ways of a remedy) as they are typed.
var parts = map[string]string{
	problem.WayReason:  "--reason WHY",
	problem.WayValue:   "--value VALUE",
	problem.WayActual:  "--actual COMPOSITION",
	problem.WayPoint:   "--at COMPOSITION",
	problem.WayExclude: "--exclude",
	problem.WayInclude: "--include",
	problem.WayFurther: "--further NAME=VALUE",
	problem.WayAnyway:  "--anyway",

	problem.WayCalibrated: "--calibrated-until DATE",

	problem.WayEndProgram: "--end-program",
	problem.WayPower:      "--voided power",

	string(events.ResolvedFailed):       "--failed",
	string(events.ResolvedInfeasible):   "--infeasible",
	string(events.ResolvedNotPerformed): "--not-performed",
}

// how is the end of a sentence about a remedy: " with `campaignd …`". It is empty for a remedy
// without a command, such as one done in the browser.
func (c commands) how(r problem.Remedy) string {
	switch r.Action {
	case problem.Start:
		return " with " + code("campaignd", "run", "FILE")
	case problem.Amend:
		return c.amend(r.Settings)
	case problem.TakeOver:
		return " with " + c.command("export") + " and " + code("campaignd", "import", "FILE", "TABLE.csv")
	case problem.Review:
		return " with " + c.command("status") + " or " + c.command("events")
	case problem.Complete:
		return " with " + alternatives(r.Ways)
	case problem.LogIn, problem.Confirm, "":
		return "" // in the browser, or in no single way
	}
	return " with " + code(c.words(r)...)
}

// line is the command line of a remedy that a single command carries out,
// without quotes.
func (c commands) line(r problem.Remedy) string { return joined(c.words(r)...) }

// words are the words of that command, each written for a shell; some may be empty. Alternatives
// are joined by |, as usages write them.
func (c commands) words(r problem.Remedy) []string {
	verb := verbs[r.Action]
	if strings.HasPrefix(verb.name, accounting) {
		line := []string{"campaignd", verb.name}
		if verb.subject != "" {
			line = append(line, shellArg(subjectOr(r.Subject, verb.subject)))
		}
		if r.Action == problem.Grant {
			verb.after = subjectOr(strings.Join(r.Ways, "|"), verb.after)
		}
		return append(line, verb.after)
	}
	if r.Action == problem.CountLab || r.Action == problem.Service {
		line := []string{"campaignd", verb.name}
		lab := ""
		switch database, _, err := store.Split(c.store); {
		case c.server != "":
			line = append(line, "--server", shellArg(c.server))
		case c.store != "" && store.InDatabase(c.store) && err == nil:
			lab = shellArg(database)
		case c.store != "" && filepath.Dir(c.store) != ".":
			lab = shellArg(filepath.Dir(c.store))
		}
		if lab != "" && r.Action == problem.Service {
			lab = "--lab " + lab
		}
		line = append(line, lab, shellArg(subjectOr(r.Subject, verb.subject)), verb.after)
		for _, way := range r.Ways {
			line = append(line, parts[way])
		}
		return line
	}
	if r.Action == problem.Note {
		return c.onStore("note", "WHAT", "--about", subjectOr(r.Subject, "EXPERIMENT"))
	}
	words := []string{subjectOr(r.Subject, verb.subject)}
	switch {
	case r.Action == problem.Correct && r.Ways != nil:
		words = append(words, chosenFrom(r.Ways), parts[problem.WayReason])
	case r.Action == problem.Cancel && r.Ways != nil:
		words = append(words, chosenFrom(r.Ways))
	case r.Action == problem.CorrectAnswer:
		words = append(words, chosenFrom(r.Ways), parts[problem.WayReason])
	case r.Action == problem.Resolve, r.Action == problem.Answer:
		words = append(words, strings.Join(r.Ways, "|"))
	case r.Action == problem.Tell && r.Ways != nil:
		verb.after = ""
		for _, name := range r.Ways {
			words = append(words, "--quantity "+shellArg(name+"=VALUE"))
		}
	}
	return c.onStore(verb.name, append(words, verb.after)...)
}

// amend says how settings are changed: in the campaign file, which is named
// where it is known, and then with `campaignd amend`.
func (c commands) amend(settings []problem.Setting) string {
	amend := code("campaignd", "amend", shellArg(subjectOr(c.file, "FILE")))
	if settings == nil {
		return " in the campaign file, then " + amend
	}
	set := make([]string, len(settings))
	for i, s := range settings {
		set[i] = s.Key + ": " + s.Value
	}
	return ": set " + strings.Join(set, " and ") + " in the campaign file, then " + amend
}

// command writes a command about the campaign's store, in backquotes. Empty
// words are left out; the others must be written for a shell already.
func (c commands) command(name string, words ...string) string {
	return code(c.onStore(name, words...)...)
}

// onStore are the words of a command about the campaign's store, with --server
// and --campaign where the person gave them. The store stands before the other
// arguments, where an optional target belongs.
func (c commands) onStore(name string, words ...string) []string {
	line := []string{"campaignd", name}
	if c.store != "" {
		line = append(line, shellArg(c.store))
	}
	line = append(line, words...)
	if c.server != "" {
		line = append(line, "--server", shellArg(c.server))
	}
	if c.campaign != "" {
		line = append(line, "--campaign", shellArg(c.campaign))
	}
	return line
}

// code marks words as something to be typed, in backquotes.
func code(words ...string) string { return "`" + joined(words...) + "`" }

func joined(words ...string) string {
	var line []string
	for _, word := range words {
		if word != "" {
			line = append(line, word)
		}
	}
	return strings.Join(line, " ")
}

// subjectOr is the subject, or the placeholder where the person has to choose
// one.
func subjectOr(subject, placeholder string) string {
	if subject != "" {
		return subject
	}
	return placeholder
}

// chosenFrom writes alternatives as arguments: "--include|--value VALUE".
func chosenFrom(ways []string) string {
	words := make([]string, len(ways))
	for i, way := range ways {
		if words[i] = parts[way]; words[i] == "" {
			words[i] = way
		}
	}
	return strings.Join(words, "|")
}

// alternatives writes ways as flags that can be added: "`--a`, `--b` or `--c`".
func alternatives(ways []string) string {
	last := len(ways) - 1
	text := ""
	for i, way := range ways {
		switch {
		case i > 0 && i == last:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += code(parts[way])
	}
	return text
}

// clause is a message followed by its remedies, in one sentence without its full stop: "MESSAGE;
// REMEDY with `…`, or REMEDY with `…`".
func (c commands) clause(message string, remedies []problem.Remedy) string {
	for i, r := range remedies {
		joint := ", or "
		if i == 0 {
			joint = "; "
		}
		message += joint + r.Text + c.how(r)
	}
	return message
}

// sentence is a remedy as a sentence of its own.
func (c commands) sentence(r problem.Remedy) string {
	first, size := utf8.DecodeRuneInString(r.Text)
	return string(unicode.ToUpper(first)) + r.Text[size:] + c.how(r) + "."
}

// advice is the advice for a person, in sentences; before is the part that they should know first.
func (c commands) advice(before string, remedies []problem.Remedy) string {
	var sentences []string
	if before != "" {
		sentences = append(sentences, before)
	}
	for _, r := range remedies {
		sentences = append(sentences, c.sentence(r))
	}
	return strings.Join(sentences, " ")
}

// shellArg writes a path or a name as one word of a POSIX shell, quoted only
// where it has to be. What a person copies from a message must never be a
// command that someone else has put into a name.
func shellArg(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path // no flag
	}
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_@%+=:,./-", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

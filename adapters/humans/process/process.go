// Package process asks a program in an expert's place: any that speaks JSON
// Lines on its standard input and output. The protocol is that of methods
// (docs/process-method.md), with questions in the place of decisions.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// Name of the channel in a campaign file.
const Name = "process"

// Channel is the program's row for programs in an expert's place.
var Channel = humans.Channel{
	Name:     Name,
	Settings: func() definition.Settings { return new(Settings) },
	Open: func(
		_ context.Context, expert definition.Expert, def definition.Campaign, env humans.Environment,
	) (humans.Reviewer, error) {
		settings, err := definition.SettingsOf[Settings](expert.Channel)
		if err != nil {
			return nil, err
		}
		return New(settings, expert.Name, def.Name, env.Folder, env.Logf)
	},
	Program: true,
}

// DefaultReplyWithin is how long a program may take to answer.
const DefaultReplyWithin = definition.Duration(time.Minute)

// Settings of a program in an expert's place (docs/process-method.md). In a
// campaign file a bare list stands for the command.
type Settings struct {
	// Command is the program and its arguments. A relative path with a slash is
	// relative to the campaign file.
	Command []string `json:"command" jsonschema:"required,minItems=1"`
	// Dir is the working directory. Default: the folder of the campaign file.
	Dir string `json:"dir,omitempty"`
	// Env holds further environment variables.
	Env map[string]string `json:"env,omitempty"`
	// Environment names variables of campaignd's own environment that the
	// program gets besides the harmless ones (PATH, HOME, LANG, PYTHONPATH, …):
	// what it needs of the shell's secrets is named here, and never recorded.
	Environment []string `json:"environment,omitempty" jsonschema:"uniqueItems=true"`
	// ReplyWithin is how long the program may take to answer; AnswerWithin of the
	// expert ends a question as well. Default "1m".
	ReplyWithin definition.Duration `json:"reply_within,omitempty"`
	// Settings are passed to the program with the handshake, in which it can give
	// a schema of them.
	Settings map[string]any `json:"settings,omitempty"`
}

// Short implements definition.Shortened: a bare list is the command.
func (*Settings) Short() string { return "command" }

// Complete implements definition.Settings.
func (s *Settings) Complete(*definition.Campaign) {
	definition.Default(&s.ReplyWithin, DefaultReplyWithin)
}

// Check implements definition.Settings.
func (s *Settings) Check(_ *definition.Campaign, here definition.Path) []definition.Fault {
	return (*definition.Program)(s).Check(here)
}

// Words implements definition.Settings.
func (s *Settings) Words(*definition.Campaign) string {
	return fmt.Sprintf("in whose place the program %s answers", (*definition.Program)(s))
}

// Remarks implements definition.Remarkable.
func (s *Settings) Remarks(folder string, here definition.Path) []string {
	return program.Remarks(definition.Program(*s), folder, here, "campaignd method check")
}

// attempts is how often a program is asked a question whose answer cannot be used; each repetition
// tells it the fault.
const attempts = 3

// reviewer asks the program.
type reviewer struct {
	humans.Reviewer
	client   *program.Client
	expert   string
	patience time.Duration
}

// New returns the reviewer of an expert in whose place a program answers. The
// program is looked up now, relative to the folder, and started when it is first
// asked. Troubles go to logf.
func New(
	of Settings, expert, campaign, folder string, logf func(format string, args ...any),
) (humans.Reviewer, error) {
	host, err := program.NewHost(definition.Program(of), folder, program.DefaultReplyWithin, logf)
	if err != nil {
		return nil, fmt.Errorf("the program in %s's place: %w", expert, err)
	}
	r := &reviewer{
		client: program.NewClient(host, program.RoleExpert, campaign, of.Settings),
		expert: expert, patience: host.ReplyWithin,
	}
	r.Reviewer = humans.NewReviewer(expert, r.ask)
	return r, nil
}

// Describe implements humans.Reviewer.
func (r *reviewer) Describe() humans.Description {
	return humans.Description{Expert: r.expert, OneAtATime: true}
}

// Close implements io.Closer.
func (r *reviewer) Close() error { return r.client.Close() }

// question is a question as programs get it.
type question struct {
	ID          string                 `json:"id"`
	Expert      string                 `json:"expert"`
	Form        events.Form            `json:"form"`
	Parameters  []definition.Parameter `json:"parameters"`
	Steps       map[string]float64     `json:"steps,omitempty"`
	Options     []events.Option        `json:"options,omitempty"`
	Scale       *events.Scale          `json:"scale,omitempty"`
	Suggestion  *events.Option         `json:"suggestion,omitempty"`
	Objective   definition.Objective   `json:"objective"`
	Explanation string                 `json:"explanation,omitempty"`
	Expires     time.Time              `json:"expires,omitzero"`
}

// ask asks the program until an answer can be used, a bounded number of times. problem is the fault
// of an answer that could be read.
func (r *reviewer) ask(ctx context.Context, q humans.Question, problem string) (humans.Reply, error) {
	refused := []string{}
	for {
		if problem != "" {
			refused = append(refused, problem)
		}
		if len(refused) >= attempts {
			return humans.Reply{}, fmt.Errorf("its answer could not be used, %d times; the last: %s",
				len(refused), problem)
		}
		reply, err := r.once(ctx, q, refused)
		if ctx.Err() != nil {
			return humans.Reply{}, context.Cause(ctx)
		}
		if err == nil {
			if err = reply.Check(q.Form, len(q.Options), q.Scale); err == nil && reply.Answer.Point != nil && q.Allowed != nil {
				err = q.Allowed(reply.Answer.Point)
			}
		}
		if err == nil {
			return reply, nil
		}
		if errors.Is(err, program.ErrClosed) {
			return humans.Reply{}, err
		}
		problem = plaintext.Recorded(err.Error(), 1000)
	}
}

// mostComment is the longest comment that is kept, in characters.
const mostComment = 2000

// once asks the program once.
func (r *reviewer) once(ctx context.Context, q humans.Question, refused []string) (humans.Reply, error) {
	fields := map[string]any{
		"question": question{
			ID: q.ID, Expert: q.Expert, Form: q.Form, Parameters: q.Parameters, Steps: q.Steps, Options: q.Options,
			Scale: q.Scale, Suggestion: q.Suggestion, Objective: q.Objective, Explanation: q.Explanation,
			Expires: q.Expires,
		},
		"refused": refused,
	}
	if q.View != nil {
		fields["view"] = json.RawMessage(q.View)
	}
	var answer struct {
		Answer  json.RawMessage `json:"answer"`
		Comment string          `json:"comment"`
	}
	said, err := r.client.Ask(ctx, "answer", fields, r.patience, &answer)
	if err != nil {
		return humans.Reply{}, err
	}
	by := q.Shown
	by.Name = said.Name
	by.Version = said.Version
	by.Files = said.Files
	by.Deterministic = said.Deterministic
	reply := humans.Reply{
		Comment: plaintext.Recorded(answer.Comment, mostComment),
		Took:    said.Took.Round(time.Millisecond).Seconds(),
		Program: &by,
	}
	if len(answer.Answer) == 0 || string(answer.Answer) == "null" {
		return reply, errors.New(`its answer has no "answer": {} says that it cannot tell`)
	}
	decoder := json.NewDecoder(strings.NewReader(string(answer.Answer)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&reply.Answer); err != nil {
		return reply, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return reply, errors.New("its answer cannot be read: there is more than one")
	}
	return reply, nil
}

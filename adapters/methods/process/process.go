// Package process makes a method of any program that speaks JSON Lines on its
// standard input and output. The protocol is described in
// docs/process-method.md.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// Settings are those of the rule that a program serves; its owner is
// policies/process.
type Settings interface {
	definition.Settings
	Program() definition.Program
}

// Driver is the program's row for the rule of a name, whose settings are decoded
// into a new value.
func Driver(rule string, settings func() Settings) methods.Driver {
	return methods.Driver{
		Rule: rule,
		Open: func(
			def definition.Campaign, folder string, logf func(format string, args ...any),
		) (methods.Method, error) {
			s := settings()
			if err := def.Policy.Next.Decode(s); err != nil {
				return nil, err
			}
			return New(s.Program(), def.Name, folder, logf)
		},
	}
}

// Method is a program behind the contract of package methods.
type Method struct {
	client   *program.Client
	patience time.Duration
}

// New returns the method that a program is, for a campaign of that name. The
// program is looked up now, relative to the folder, and started when it is first
// asked. Troubles go to logf.
func New(
	of definition.Program, campaign, folder string, logf func(format string, args ...any),
) (*Method, error) {
	host, err := program.NewHost(of, folder, program.DefaultReplyWithin, logf)
	if err != nil {
		return nil, fmt.Errorf("the program of the policy: %w", err)
	}
	return &Method{
		client:   program.NewClient(host, program.RoleMethod, campaign, of.Settings),
		patience: host.ReplyWithin,
	}, nil
}

// Describe implements methods.Method.
func (m *Method) Describe(ctx context.Context) (methods.Description, error) {
	said, err := m.client.Describe(ctx)
	return methods.Description{Name: said.Name, Version: said.Version,
		Deterministic: said.Deterministic}, err
}

// Bounds on an answer; longer parts are cut.
const (
	mostReason   = 2000 // characters
	mostNumbers  = 32
	mostRejected = 2000 // characters
)

// Propose implements methods.Method.
func (m *Method) Propose(ctx context.Context, q methods.Question) (events.MethodAnswered, error) {
	refused := q.Refused
	if refused == nil {
		refused = []string{}
	}
	var answer struct {
		Proposal json.RawMessage `json:"proposal"`
	}
	said, err := m.client.Ask(ctx, "propose", map[string]any{
		"decision": q.Decision, "seed": q.Seed, "attempt": q.Attempt, "refused": refused,
		"view": json.RawMessage(q.View),
	}, m.patience, &answer)
	if ctx.Err() != nil {
		return events.MethodAnswered{}, context.Cause(ctx)
	}
	a := events.MethodAnswered{
		Program: events.Program{
			Name: said.Name, Version: said.Version, Files: said.Files, Deterministic: said.Deterministic,
		},
		Took: said.Took.Round(time.Millisecond).Seconds(),
	}
	if err == nil {
		err = read(answer.Proposal, &a)
	}
	if err != nil {
		a.Parameters = nil
		a.Reason = ""
		a.Numbers = nil
		a.Cause = plaintext.Recorded(err.Error(), mostReason)
		a.Rejected = plaintext.Recorded(string(said.Line), mostRejected)
	}
	return a, nil
}

// read reads a proposal. Fields that the protocol does not have are refused: a
// mistyped one would be a decision that was not meant.
func read(text json.RawMessage, into *events.MethodAnswered) error {
	if len(text) == 0 || string(text) == "null" {
		return errors.New(`its answer has no "proposal"`)
	}
	var proposal struct {
		Parameters json.RawMessage    `json:"parameters"`
		Reason     string             `json:"reason"`
		Numbers    map[string]float64 `json:"numbers"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&proposal); err != nil {
		return fmt.Errorf("its proposal cannot be read: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("its proposal cannot be read: there is more than one")
	}
	if len(proposal.Parameters) == 0 || proposal.Parameters[0] != '{' {
		return errors.New(`its proposal has no "parameters", an object with the value of each parameter`)
	}
	if err := json.Unmarshal(proposal.Parameters, &into.Parameters); err != nil {
		return fmt.Errorf("the parameters of its proposal cannot be read: %w", err)
	}
	if len(into.Parameters) == 0 {
		return errors.New("its proposal names no parameter")
	}
	into.Reason = plaintext.Recorded(proposal.Reason, mostReason)
	if len(proposal.Numbers) > mostNumbers {
		return fmt.Errorf("its proposal has %d numbers, and may have %d",
			len(proposal.Numbers), mostNumbers)
	}
	for name, value := range proposal.Numbers {
		into.Numbers = append(into.Numbers,
			events.Number{Name: plaintext.Recorded(name, 100), Value: value})
	}
	slices.SortFunc(into.Numbers,
		func(a, b events.Number) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// Kill ends the program as a crash would, for the conformance suite.
func (m *Method) Kill() { m.client.KillRun() }

// CloseWithin is Close with another grace period, and reports whether the program
// ended with its input: for a conformance suite.
func (m *Method) CloseWithin(grace time.Duration) (ended bool) { return m.client.CloseWithin(grace) }

// Close implements methods.Method.
func (m *Method) Close() error { return m.client.Close() }

var _ methods.Method = (*Method)(nil)

package instrumenttest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// durableLedger holds an instrument to its declaration of a durable ledger. On its word that a
// command was not started campaignd sends another one in its place, and no person looks.
func durableLedger(ctx context.Context, s *Session) error {
	if err := s.restart(ctx); err != nil { // a process that finds a ledger
		return err
	}
	if _, err := call(s, ctx, "Describe", s.inst.Describe); err != nil {
		return fmt.Errorf("its Describe: %w", err)
	}
	keeper, ok := s.inst.(instruments.Keeper)
	if !ok || !keeper.Keeps() {
		return skip("it does not declare that its ledger is durable and complete: " +
			"what a crash leaves between a command and its start waits for a person")
	}
	if s.description.Identity == "" {
		return errors.New("it declares that its ledger is durable and complete, and describes no identity: " +
			"campaignd cannot know that it is the same device, and does not believe it. Describe one")
	}
	if err := unreadStart(ctx, s); err != nil {
		return err
	}
	return killedOverTheLedger(ctx, s)
}

// unreadStart stops the program where it stands until a start was given up, and asks for the
// command's fate before the program goes on. It reads the start first: a start that it has read,
// but not written down, may not be denied.
func unreadStart(ctx context.Context, s *Session) error {
	holder, ok := s.inst.(instruments.Holder)
	if !ok {
		return nil
	}
	release, err := holder.Hold()
	if errors.Is(err, errors.ErrUnsupported) {
		s.remark("this system cannot stop a program where it stands: no start was left unread")
		return nil
	}
	if err != nil {
		return fmt.Errorf("its program cannot be stopped: %w", err)
	}
	defer release()
	cmd := s.command(0)
	if err := s.start(ctx, cmd); err == nil { // until it is given up, by reply_within
		return unjudged("its program answered a start while it was stopped")
	}
	type answer struct {
		fate instruments.Fate
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		fate, _, err := s.fate(ctx, cmd)
		answered <- answer{fate, err}
	}()
	if err := s.pause(ctx, s.env.Prompt/10); err != nil { // the question lies behind the start
		return err
	}
	release()
	a := <-answered
	if a.err != nil {
		return fmt.Errorf("its Recover of a command whose start was given up: %w", a.err)
	}
	if a.fate == instruments.FateNotStarted {
		return s.neverBegins(ctx, cmd)
	}
	return s.survived(ctx, cmd, nil)
}

// killedOverTheLedger kills the program as soon as it acts on a command, or has confirmed
// it. One that writes its ledger after the act is caught between the two.
func killedOverTheLedger(ctx context.Context, s *Session) error {
	if err := s.mustKill(); err != nil {
		s.remark("its program was not killed: whether a start is in its ledger before the act was not seen")
		return nil
	}
	cmd := s.command(0)
	given, giveUp := context.WithCancel(ctx)
	defer giveUp()
	confirmed := make(chan error, 1)
	go func() { confirmed <- s.start(given, cmd) }()
	for limit := time.Now().Add(s.env.Prompt); time.Now().Before(limit); {
		if acts, err := s.acts.on(cmd); err != nil || acts > 0 || len(confirmed) > 0 {
			break
		}
		if err := s.pause(ctx, s.env.Prompt/500); err != nil {
			return err
		}
	}
	err := s.kill(ctx, true)
	giveUp()
	<-confirmed
	if err != nil {
		return err
	}
	fate, _, err := s.fate(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("its Recover after the program was killed: %w", err)
	case fate == instruments.FateNotStarted && s.issued[cmd.ID].accepted, fate != instruments.FateNotStarted:
		return s.survived(ctx, cmd, nil)
	}
	return s.neverBegins(ctx, cmd)
}

// neverBegins holds an instrument to its word that a command was not started: nothing has
// moved, the command can be called off, and nothing moves afterwards.
func (s *Session) neverBegins(ctx context.Context, cmd instruments.Command) error {
	denied := func(err error) error {
		return fmt.Errorf("it said that command %s was not started, and declares that its ledger is durable and complete: %w. "+
			"Another command would have taken its place: write a start to the ledger, and sync it to disk, before anything else "+
			"is done with it", cmd.ID, err)
	}
	if err := s.acts.acted(cmd, 0); err != nil {
		return denied(err)
	}
	if err := s.cancel(ctx, cmd); err != nil {
		return fmt.Errorf("its Cancel of a command that it says was not started: %w", err)
	}
	if s.acts.counted() { // a queue is looked at when a port answers
		if err := s.pause(ctx, s.env.Prompt); err != nil {
			return err
		}
	}
	if err := s.nothingBegins(ctx, cmd, 0); err != nil {
		return denied(err)
	}
	return nil
}

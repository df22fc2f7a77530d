package notify

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/lab/relay"
)

// relayed sends messages through campaignd-forward, which knows the services of shoutrrr.
type relayed struct{}

// Send implements [Sender]. An error holds no part of the address.
func (relayed) Send(ctx context.Context, to labfile.Secret, m Message) error {
	address, err := to.Reveal()
	if err != nil {
		return err
	}
	err = relay.Send(ctx, relay.Message{Address: address, Title: m.Title, Text: m.Text})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s has not answered in time", to)
	}
	return errors.New(to.Scrub(err.Error()))
}

package notify

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/adapters/notifications"
	"github.com/campaignd/campaignd/internal/files/labfile"
)

// By returns the sender that sends by a table of channels.
func By(channels notifications.Channels) Sender { return by{channels} }

type by struct{ channels notifications.Channels }

// Send implements [Sender]. An error holds no part of the address.
func (b by) Send(ctx context.Context, to labfile.Secret, m Message) error {
	address, err := to.Reveal()
	if err != nil {
		return err
	}
	err = b.channels.Send(ctx, address, notifications.Message{ID: m.ID, Title: m.Title, Text: m.Text})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s has not answered in time", to)
	}
	return errors.New(to.Scrub(err.Error()))
}

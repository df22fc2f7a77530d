package process

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
)

// Safe implements [instruments.Safer]. A program that has ended is started again for it.
func (i *Instrument) Safe(ctx context.Context, reason string) error {
	p, err := i.reconnect(ctx)
	if err != nil {
		return err
	}
	if !p.safe {
		return fmt.Errorf("%s does not say in its handshake that the device has a safe state", i.host.Name())
	}
	reply, err := p.call(ctx, wire.Request{Op: wire.OpSafe, Reason: reason}, nil)
	if err == nil && !reply.OK {
		err = fmt.Errorf("%s answered without ok or error", i.host.Name())
	}
	return err
}

// Secures implements [instruments.Safer]: the declaration of the latest run of the program.
func (i *Instrument) Secures() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.secures
}

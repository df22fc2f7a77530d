package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/internal/lock"
)

// TakeDevice takes a device for this process, by the identity that it described, or its
// name where it has none: no other campaign of the machine drives it until release is
// called. where says what holds it, a store or a campaign file; campaign is empty for a
// check. On a system without such locks remark is told so, once.
func TakeDevice(
	d instruments.Description, campaign, where string, remark func(format string, args ...any),
) (release func(), err error) {
	holder := lock.Holder{
		Device:   cmp.Or(d.Identity, d.Name),
		Campaign: campaign,
		Store:    where,
		PID:      os.Getpid(),
		User:     fmt.Sprintf("user %d", os.Getuid()),
		Since:    time.Now().UTC(),
	}
	if who, err := user.Current(); err == nil {
		holder.User = who.Username
	}
	if path, err := filepath.Abs(where); err == nil {
		holder.Store = path
	}
	release, err = lock.Take(lock.Dir(), holder)
	if errors.Is(err, errors.ErrUnsupported) {
		remark("nothing keeps other campaigns off %s: %v", holder.Device, err)
		return func() {}, nil
	}
	return release, err
}

// Package lock keeps two campaigns on one machine from driving the same device.
//
// A lock is a file in a folder that all users of the machine share, named after
// the device and locked by the operating system. The lock ends with the process
// that holds it, however that ends, so nothing has to be cleaned up. The text in
// the file only says who holds the lock. Files are never removed: that could
// remove the lock of another process.
package lock

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// Variable is the environment variable that names another folder than the
// system's, for machines on which /tmp is not the same for everybody.
const Variable = "CAMPAIGND_LOCKS"

// Holder says who drives a device.
type Holder struct {
	Device string `json:"device"`
	// Campaign is empty where a check drives it; Store is where to look.
	Campaign string    `json:"campaign,omitempty"`
	Store    string    `json:"store"`
	PID      int       `json:"pid"`
	User     string    `json:"user"`
	Since    time.Time `json:"since"`
}

// HeldError says that another process drives the device.
type HeldError struct {
	Device string
	Holder Holder // zero where the other has only just begun
}

func (e *HeldError) Error() string {
	who := "another process, which has only just begun"
	if h := e.Holder; h.PID != 0 {
		what := "an instrument check"
		if h.Campaign != "" {
			what = "the campaign " + h.Campaign
		}
		who = fmt.Sprintf("%s (process %d of %s since %s, in %s)",
			what, h.PID, h.User, h.Since.Local().Format(time.DateTime), h.Store)
	}
	return fmt.Sprintf("%s is driven by %s, and the two would disturb each other. Try again when that has ended; "+
		"if yours is another device, let its program describe an `identity` of its own", e.Device, who)
}

// errHeld is returned by tryLock for a lock that another process holds.
var errHeld = errors.New("locked")

// Dir is the folder of this machine's locks.
func Dir() string {
	if dir := os.Getenv(Variable); dir != "" {
		return dir
	}
	return systemDir()
}

// Take takes the lock of h.Device in the folder, or returns a [HeldError]; on a
// system without such locks an error that wraps [errors.ErrUnsupported]. release
// gives it back before the process ends.
func Take(dir string, h Holder) (release func(), err error) {
	remedy := func(err error) error {
		return fmt.Errorf("the lock of %s cannot be taken: %w; "+
			"set %s to a folder in which everybody who drives the device may write",
			h.Device, err, Variable)
	}
	if err := shared(dir); err != nil {
		return nil, remedy(err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%x.lock", sha256.Sum256([]byte(h.Device))))
	f, err := tryLock(path)
	if errors.Is(err, errHeld) {
		return nil, &HeldError{Device: h.Device, Holder: readHolder(path)}
	}
	if err != nil {
		return nil, remedy(err)
	}
	text, err := json.Marshal(h)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		f.Close()
		return nil, remedy(err)
	}
	return func() { _ = f.Truncate(0); f.Close() }, nil
}

// mostText is more than any holder writes about itself.
const mostText = 16 << 10

// readHolder reads who holds a lock; zero where that is not written yet. Every
// user can write the file, so its contents are only shown.
func readHolder(path string) (h Holder) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostText {
		return Holder{}
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	for _, word := range []*string{&h.Campaign, &h.Store, &h.User} {
		*word = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '\uFFFD'
			}
			return r
		}, *word)
	}
	return h
}

// shared creates the folder, in which everybody may create files and nobody may
// remove those of others.
func shared(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if err == nil {
		return os.Chmod(dir, 0o777|os.ModeSticky) // whatever the umask
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return err
}

package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/internal/ground/input"
)

// The key that signs checkpoints belongs to the user and is never in a store: a person who can
// rewrite a store must not find in it the key that vouches for it.
const (
	signingKeyName  = "checkpoint.key"
	verifierKeyName = "checkpoint.pub"
)

// keyFolder is the folder of the user's keys, in the user's configuration. On
// Linux XDG_CONFIG_HOME moves it, as for other programs.
func keyFolder() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "campaignd"), nil
}

// newKey makes the user's key pair under a name and returns the path of the
// private key and the text of the verifier key. An older pair is never
// overwritten: checkpoints it has signed could not be checked any more.
//
// The private key is written first and must not exist yet: of two processes one
// makes the pair.
func newKey(name string) (path, public string, err error) {
	secret, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return "", "", err
	}
	if _, err := note.NewVerifier(public); err != nil {
		return "", "", badInput("%q is not a name for a key: take one without spaces and +, "+
			"for example lab.example.org", name)
	}
	dir, err := keyFolder()
	if err != nil {
		return "", "", badInput("there is no place for the key: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, signingKeyName)
	if err := writeNew(path, secret+"\n", 0o600); errors.Is(err, fs.ErrExist) {
		return "", "", badInput("there is a key already, %s: its checkpoints could not be checked any more without it. "+
			"To begin with another one, move it away", path)
	} else if err != nil {
		return "", "", err
	}
	public += "\n"
	if err := os.WriteFile(filepath.Join(dir, verifierKeyName), []byte(public), 0o644); err != nil {
		return "", "", err
	}
	return path, strings.TrimSpace(public), nil
}

// writeNew writes a file that must not exist yet, and syncs it. The error of any
// of the three steps is reported: half a key is worse than none.
func writeNew(path, content string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// signer returns the key in the file of that path, or the user's own where path
// is empty; nil without an error where the user has none. A private key that
// others can read is refused, as ssh does.
//
// The error is bad input where the file holds something else, so that a wrong
// --sign-with leaves everything as it was.
func signer(path string) (note.Signer, error) {
	wanted := path != ""
	if !wanted {
		dir, err := keyFolder()
		if err != nil {
			return nil, nil // a user without a home has no key
		}
		path = filepath.Join(dir, signingKeyName)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !wanted {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, badInput("the key %s can be read by others; take that from them (chmod 600), "+
			"and think of making a new one", path)
	}
	text, err := input.ReadText(path, longestKey)
	if err != nil {
		return nil, err
	}
	s, err := note.NewSigner(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, badInput("%s holds no key that signs (campaignd checkpoint --new-key makes one)", path)
	}
	return s, nil
}

// longestKey bounds the file of a key, in bytes.
const longestKey = 64 << 10

// keyText is a verifier key, given itself or by the path of a file with it. A text that cannot be
// read as a file is taken for the key: a key is an unlikely name of a file.
func keyText(given string) string {
	if content, err := input.ReadText(given, longestKey); err == nil {
		given = string(content)
	}
	return strings.TrimSpace(given)
}

// verifiers returns the keys that given names, each a verifier key or a file with one, and then the
// user's own, if it exists.
//
// A user without a key is not an error, and neither is a user's folder that cannot be found.
func verifiers(given []string) (known []note.Verifier, err error) {
	for _, text := range given {
		text = keyText(text)
		v, err := note.NewVerifier(text)
		if err != nil {
			return nil, badInput("--key %q is neither a verifier key (NAME+HASH+KEY, "+
				"as `campaignd checkpoint --new-key` prints it) nor a file with one", text)
		}
		known = append(known, v)
	}
	dir, err := keyFolder()
	if err != nil {
		return known, nil
	}
	content, err := input.ReadText(filepath.Join(dir, verifierKeyName), longestKey)
	if err != nil {
		return known, nil
	}
	own, err := note.NewVerifier(strings.TrimSpace(string(content)))
	if err != nil {
		return nil, badInput("%s is not a verifier key: %w", filepath.Join(dir, verifierKeyName), err)
	}
	for _, v := range known {
		if v.Name() == own.Name() && v.KeyHash() == own.KeyHash() {
			return known, nil // a list names each key once
		}
	}
	return append(known, own), nil
}

// signedBy says who signed a checkpoint, or what an unsigned one is worth. unchecked are names
// whose key is not known. A name alone proves nothing, so that an unchecked signature is called
// that.
func signedBy(signed, unchecked []string) string {
	switch {
	case len(signed) > 0:
		return "signed by " + strings.Join(signed, " and ")
	case len(unchecked) > 0:
		return fmt.Sprintf("signed in the name of %s, which was not checked: give the verifier key with --key",
			strings.Join(unchecked, " and "))
	}
	return "not signed: it is worth what you know of where it was kept"
}

package checkpoint

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// ErrInvalid is wrapped by the errors about an invalid file: malformed, changed after it was
// signed, or with a proof that does not hold.
var ErrInvalid = errors.New("invalid")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// MaxSize is the greatest number of events of a checkpoint. tlog's arithmetic
// ends a little further on.
const MaxSize = 1 << 60

// maxFile is the greatest length of a file in bytes: a record in base64, and
// its proof.
const maxFile = 64 << 20

// Checkpoint is a tree head with the name of the log it is of.
type Checkpoint struct {
	// Origin names the log: see [Origin].
	Origin string
	// Tree is the number of events and the root hash.
	Tree tlog.Tree
	// Signed names the keys whose signatures were checked, Unchecked the unknown ones. Both are
	// empty for an unsigned checkpoint.
	Signed, Unchecked []string
}

// Origin names the log that begins with the event first, in the name of a key,
// or of none where that is empty: KEY/CAMPAIGN/INSTANCE, of a lab's log
// KEY/lab/INSTANCE. The instance is a random word.
func Origin(key string, first events.Event) (string, error) {
	instance, err := instanceOf(first)
	if err != nil {
		return "", err
	}
	parts := []string{key, first.Campaign, instance}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return strings.Join(parts, "/"), nil
}

// instanceOf is the random word in the first event of a log.
func instanceOf(first events.Event) (string, error) {
	vocabulary := events.Decode
	if first.Kind == events.KindLabBegun {
		vocabulary = events.Lab.Decode
	}
	payload, err := vocabulary(first)
	if err != nil {
		return "", err
	}
	switch begun := payload.(type) {
	case *events.CampaignDefined:
		return begun.Instance, nil
	case *events.LabBegun:
		return begun.Instance, nil
	}
	return "", fmt.Errorf("checkpoint: the log begins with %s, not with the definition of a campaign",
		first.Kind)
}

// SameLog reports whether two origins name the same log: they are equal, or one
// is the other without the name of a key.
func SameLog(a, b string) bool {
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

// Write returns the text of a checkpoint, as a note signed by signer or, where
// that is nil, unsigned.
func Write(origin string, tree tlog.Tree, signer note.Signer) ([]byte, error) {
	text := fmt.Sprintf("%s\n%d\n%v\n", origin, tree.N, tree.Hash)
	if _, err := parseText(text); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if signer == nil {
		return []byte(text), nil
	}
	if !covers(signer.Name(), origin) {
		return nil, fmt.Errorf("checkpoint: the key %q does not sign for the log %q",
			signer.Name(), origin)
	}
	msg, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: sign: %w", err)
	}
	return msg, nil
}

// covers reports whether a key of that name signs for a log: for the one of its
// own name, and for all whose names are below it.
func covers(key, origin string) bool { return origin == key || strings.HasPrefix(origin, key+"/") }

// Read returns the content of a checkpoint. Signatures of known keys are checked and a wrong one is
// an error; the others are named in Unchecked.
func Read(msg []byte, known ...note.Verifier) (Checkpoint, error) {
	if len(msg) > maxFile {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", invalid("%d bytes are too many", len(msg)))
	}
	c, err := read(msg, known)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	return c, nil
}

func read(msg []byte, known []note.Verifier) (Checkpoint, error) {
	if !bytes.Contains(msg, []byte("\n\n")) { // nothing but the text
		return parseText(string(msg))
	}
	n, err := note.Open(msg, note.VerifierList(known...))
	var unverified *note.UnverifiedNoteError
	if errors.As(err, &unverified) {
		n, err = unverified.Note, nil
	}
	if err != nil {
		return Checkpoint{}, invalid("the signatures do not hold: %v", err)
	}
	c, err := parseText(n.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	for _, s := range slices.Concat(n.Sigs, n.UnverifiedSigs) {
		// The last letter has bits to spare, which note ignores.
		if _, err := base64.StdEncoding.Strict().DecodeString(s.Base64); err != nil {
			return Checkpoint{}, invalid("a signature is not in base64")
		}
	}
	for _, s := range n.Sigs {
		if !covers(s.Name, c.Origin) {
			return Checkpoint{}, invalid("the key %q has signed for the log %q, which is not its own",
				s.Name, c.Origin)
		}
		c.Signed = append(c.Signed, s.Name)
	}
	for _, s := range n.UnverifiedSigs {
		if !printable(s.Name) {
			return Checkpoint{}, invalid("the name of a key holds characters that cannot be shown")
		}
		c.Unchecked = append(c.Unchecked, s.Name)
	}
	return c, nil
}

// parseText reads the three lines of a checkpoint.
func parseText(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 4 || lines[3] != "" {
		return Checkpoint{}, invalid("it is not the three lines of a checkpoint: origin, number of events, root hash")
	}
	c := Checkpoint{Origin: lines[0]}
	if c.Origin == "" || len(c.Origin) > 4*events.MaxStringSize || !printable(c.Origin) {
		return Checkpoint{}, invalid("its first line is not the name of a log")
	}
	n, err := parseNumber(lines[1])
	if err != nil {
		return Checkpoint{}, err
	}
	hash, err := parseHash(lines[2])
	if err != nil {
		return Checkpoint{}, err
	}
	c.Tree = tlog.Tree{N: n, Hash: hash}
	return c, nil
}

// printable keeps out what would change the terminal it is shown in.
func printable(s string) bool {
	return utf8.ValidString(s) &&
		strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// parseNumber reads a number in its only form.
func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > MaxSize || strconv.FormatInt(n, 10) != text {
		return 0, invalid("%q is not a number of events", text)
	}
	return n, nil
}

// parseHash reads a hash in its only form.
func parseHash(text string) (h tlog.Hash, err error) {
	hash, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(hash) != tlog.HashSize || strings.ContainsAny(text, "\r\n") {
		return h, invalid("%q is not a hash", text)
	}
	copy(h[:], hash)
	return h, nil
}

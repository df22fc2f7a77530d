package checkpoint

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// maxHashes is the greatest number of hashes of a proof, a few more than a tree
// of [MaxSize] events needs.
const maxHashes = 2 * 63

// Inclusion proves that an event is in the log of a checkpoint.
type Inclusion struct {
	// Index is the event's position minus one.
	Index int64
	// Record is the event's stored form: see [events.AppendRecord].
	Record []byte
	// Hashes lead from the record to the root hash.
	Hashes tlog.RecordProof
	// Checkpoint is the checkpoint's text, for [Read].
	Checkpoint []byte
}

// Consistency proves that the log of a checkpoint begins with the first Old
// events as they were when another checkpoint was made.
type Consistency struct {
	Old int64
	// Hashes lead from the earlier root hash to the later one.
	Hashes tlog.TreeProof
	// Checkpoint is the later checkpoint's text, for [Read].
	Checkpoint []byte
}

const (
	inclusionLine = "c2sp.org/tlog-proof@v1"
	extraWord     = "extra "
	indexWord     = "index "
	oldWord       = "old "
)

// Text returns the proof as a file.
func (p *Inclusion) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s%s\n%s%d\n", inclusionLine, extraWord,
		base64.StdEncoding.EncodeToString(p.Record), indexWord, p.Index)
	writeHashes(&b, p.Hashes, p.Checkpoint)
	return b.Bytes()
}

// Text returns the proof as a file.
func (p *Consistency) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%d\n", oldWord, p.Old)
	writeHashes(&b, p.Hashes, p.Checkpoint)
	return b.Bytes()
}

func writeHashes(b *bytes.Buffer, hashes []tlog.Hash, checkpoint []byte) {
	for _, h := range hashes {
		fmt.Fprintf(b, "%v\n", h)
	}
	b.WriteByte('\n')
	b.Write(checkpoint)
}

// Check checks the proof against the tree head of its checkpoint and returns
// the event that is proved, with the position that is proved.
func (p *Inclusion) Check(tree tlog.Tree) (events.Event, error) {
	e, err := events.DecodeRecord(p.Record)
	if err != nil {
		return events.Event{}, fmt.Errorf("checkpoint: %w: %w", ErrInvalid, err)
	}
	if err := tlog.CheckRecord(p.Hashes, tree.N, tree.Hash, p.Index, tlog.RecordHash(p.Record)); err != nil {
		return events.Event{}, fmt.Errorf("checkpoint: %w",
			invalid("the event is not shown to be in the log of the checkpoint (%v)", err))
	}
	e.Position = events.Position(p.Index) + 1 // proved just now: the record does not hold it
	return e, nil
}

// Check checks that the log of the proof's checkpoint, whose tree head is tree,
// begins with that of old.
func (p *Consistency) Check(old, tree tlog.Tree) error {
	if old.N != p.Old {
		return fmt.Errorf("checkpoint: %w",
			invalid("it is a proof for a checkpoint of %d events, not of %d", p.Old, old.N))
	}
	if err := tlog.CheckTree(p.Hashes, tree.N, tree.Hash, old.N, old.Hash); err != nil {
		return fmt.Errorf("checkpoint: %w",
			invalid("the later log is not shown to begin with the %d events of the earlier checkpoint (%v)",
				old.N, err))
	}
	return nil
}

// File is the content that [Decode] found: exactly one part is set.
type File struct {
	Inclusion   *Inclusion
	Consistency *Consistency
	// Checkpoint is the text of a file that is a checkpoint, for [Read].
	Checkpoint []byte
}

// Decode recognizes the kind of a file. The proof is not checked, nor is the checkpoint read.
func Decode(msg []byte) (File, error) {
	f, err := decode(msg)
	if err != nil {
		return File{}, fmt.Errorf("checkpoint: %w", err)
	}
	return f, nil
}

func decode(msg []byte) (f File, err error) {
	if len(msg) > maxFile {
		return f, invalid("%d bytes are too many", len(msg))
	}
	text := string(msg)
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case first == inclusionLine:
		f.Inclusion, err = decodeInclusion(text)
	case strings.HasPrefix(first, oldWord):
		f.Consistency, err = decodeConsistency(text)
	default:
		f.Checkpoint = msg
	}
	return f, err
}

func decodeInclusion(text string) (*Inclusion, error) {
	lines, checkpoint, err := proofLines(text)
	if err != nil {
		return nil, err
	}
	if len(lines) < 3 || !strings.HasPrefix(lines[1], extraWord) ||
		!strings.HasPrefix(lines[2], indexWord) {
		return nil, invalid("a proof of inclusion has the lines extra, with the event's record, and index")
	}
	p := &Inclusion{Checkpoint: checkpoint}
	record := lines[1][len(extraWord):]
	if p.Record, err = base64.StdEncoding.Strict().DecodeString(record); err != nil ||
		strings.Contains(record, "\r") {
		return nil, invalid("the record of the event is not in base64")
	}
	if p.Index, err = parseNumber(lines[2][len(indexWord):]); err != nil {
		return nil, err
	}
	p.Hashes, err = parseHashes(lines[3:])
	return p, err
}

func decodeConsistency(text string) (*Consistency, error) {
	lines, checkpoint, err := proofLines(text)
	if err != nil {
		return nil, err
	}
	p := &Consistency{Checkpoint: checkpoint}
	if p.Old, err = parseNumber(lines[0][len(oldWord):]); err != nil {
		return nil, err
	}
	p.Hashes, err = parseHashes(lines[1:])
	return p, err
}

// proofLines parts a proof into its lines and the checkpoint behind the empty
// one.
func proofLines(text string) (lines []string, checkpoint []byte, err error) {
	proof, rest, ok := strings.Cut(text, "\n\n")
	if !ok {
		return nil, nil, invalid("the proof ends before its checkpoint")
	}
	return strings.Split(proof, "\n"), []byte(rest), nil
}

func parseHashes(lines []string) (hashes []tlog.Hash, err error) {
	if len(lines) > maxHashes {
		return nil, invalid("%d hashes are too many for a proof", len(lines))
	}
	hashes = make([]tlog.Hash, len(lines))
	for i, line := range lines {
		if hashes[i], err = parseHash(line); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

package checkpoint

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// seeded is a source of randomness for keys that are the same in every run.
type seeded struct{ *mathrand.ChaCha8 }

func keys(t testing.TB, name string, seed byte) (note.Signer, note.Verifier) {
	t.Helper()
	secret, public := must.Get2(note.GenerateKey(seeded{mathrand.NewChaCha8([32]byte{seed})}, name))(t)
	signer := must.Get(note.NewSigner(secret))(t)
	verifier := must.Get(note.NewVerifier(public))(t)
	return signer, verifier
}

// tree is a Merkle tree made by tlog alone: the oracle of the proofs.
type tree struct {
	records [][]byte
	hashes  []tlog.Hash
}

func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		out[i] = t.hashes[index]
	}
	return out, nil
}

func (t *tree) head(tb testing.TB, n int) tlog.Tree {
	tb.Helper()
	hash := must.Get(tlog.TreeHash(int64(n), t))(tb)
	return tlog.Tree{N: int64(n), Hash: hash}
}

func newTree(tb testing.TB, n int) *tree {
	tb.Helper()
	t := &tree{}
	for i := range n {
		record := must.Get(events.AppendRecord(nil, events.Event{
			Sequence: events.Sequence(i + 1), Campaign: "tiny", ID: fmt.Sprint(i + 1), Kind: events.KindNoteAdded, Version: 1,
			Time: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Actor: "person:ada", Data: []byte(`{"text":"λ"}`),
		}))(tb)
		hashes := must.Get(tlog.StoredHashes(int64(i), record, t))(tb)
		t.records, t.hashes = append(t.records, record), append(t.hashes, hashes...)
	}
	return t
}

const origin = "lab.example/tiny/K3JD"

// The text of a checkpoint never changes: others' programs read it.
func TestCheckpointText(t *testing.T) {
	signer, verifier := keys(t, "lab.example", 1)
	head := newTree(t, 7).head(t, 7)
	msg := must.Get(Write(origin, head, signer))(t)
	if text, _, _ := strings.Cut(string(msg), "\n\n— lab.example "); text != "lab.example/tiny/K3JD\n7\n"+head.Hash.String() {
		t.Errorf("the text is %q", text)
	}
	c, err := Read(msg, verifier)
	if err != nil || c.Tree != head || c.Origin != origin || len(c.Signed) != 1 || c.Signed[0] != "lab.example" || c.Unchecked != nil {
		t.Errorf("read as %+v, %v", c, err)
	}
	// The last letter of a signature has two bits that say nothing: it has one form too.
	last := len(msg) - len("=\n") - 1
	for _, letter := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		other := bytes.Clone(msg)
		other[last] = letter
		if _, err := Read(other, verifier); (err == nil) != (letter == msg[last]) {
			t.Errorf("with %c for %c at the end of the signature: %v", letter, msg[last], err)
		}
		canonical := strings.IndexByte("AEIMQUYcgkosw048", letter) >= 0
		if _, err := Read(other); (err == nil) != canonical {
			t.Errorf("without a key, with %c for %c at the end of the signature: %v", letter, msg[last], err)
		}
	}
	if c, err := Read(msg); err != nil || c.Signed != nil || len(c.Unchecked) != 1 {
		t.Errorf("without a key: %+v, %v", c, err)
	}
	plain := must.Get(Write("tiny/K3JD", head, nil))(t)
	if c, err := Read(plain, verifier); err != nil || c.Tree != head || c.Signed != nil || c.Unchecked != nil {
		t.Errorf("unsigned: %+v, %v", c, err)
	}
	for _, other := range []string{"other.example/tiny", "lab.example.org/tiny", "lab.exampl"} {
		if _, err := Write(other, head, signer); err == nil {
			t.Errorf("the key lab.example signs for the log %s", other)
		}
	}
	other, _ := keys(t, "other.example", 2)
	stolen := must.Get(note.Sign(&note.Note{Text: string(plain)}, other))(t)
	_, known := keys(t, "other.example", 2)
	if _, err := Read(stolen, known); !errors.Is(err, ErrInvalid) {
		t.Errorf("a known key vouches for a log of another name: %v", err)
	}
}

// Law: a log is named by its campaign's first definition, in the name of a key or of
// nobody; that is the same log, and one with another word, campaign or key is not.
func TestOrigin(t *testing.T) {
	first := must.Get(events.New("tiny", &events.CampaignDefined{Instance: "K3JD"}))(t)
	for key, want := range map[string]string{"lab.example": origin, "": "tiny/K3JD"} {
		if got, err := Origin(key, first); err != nil || got != want {
			t.Errorf("in the name of %q: %q, %v; want %q", key, got, err, want)
		}
	}
	begun, err := events.Lab.New(events.LabStream, events.KindLabBegun, &events.LabBegun{Instance: "K3JD"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Origin("lab.example", begun); err != nil || got != "lab.example/lab/K3JD" {
		t.Errorf("a lab's log is called %q, %v", got, err)
	}
	note := must.Get(events.New("tiny", &events.NoteAdded{Text: "first"}))(t)
	if got, err := Origin("lab.example", note); err == nil {
		t.Errorf("a log that begins with a note is called %q", got)
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{origin, origin, true},
		{origin, "tiny/K3JD", true},
		{origin, "iny/K3JD", false},
		{origin, "tiny/K3JE", false},
		{origin, "other.example/tiny/K3JD", false},
		{origin, "K3JD", true}, // whatever a campaign was called
	} {
		if SameLog(c.a, c.b) != c.same || SameLog(c.b, c.a) != c.same {
			t.Errorf("%s and %s are the same log: %t, want %t", c.a, c.b, !c.same, c.same)
		}
	}
}

// Law: a file in which any byte is another, or missing, is refused; what is read
// differently is at least not what was signed or proved.
func TestTamperedFiles(t *testing.T) {
	signer, verifier := keys(t, "lab.example", 1)
	logged := newTree(t, 21)
	head, old := logged.head(t, 21), logged.head(t, 13)
	checkpoint := must.Get(Write(origin, head, signer))(t)
	included := must.Get(tlog.ProveRecord(head.N, 6, logged))(t)
	extended := must.Get(tlog.ProveTree(head.N, old.N, logged))(t)
	// holds checks a file as an auditor does who has the key and the old head.
	holds := func(msg []byte) error {
		f, err := Decode(msg)
		if err != nil {
			return err
		}
		text := f.Checkpoint
		switch {
		case f.Inclusion != nil:
			text = f.Inclusion.Checkpoint
		case f.Consistency != nil:
			text = f.Consistency.Checkpoint
		}
		c, err := Read(text, verifier)
		switch {
		case err != nil:
			return err
		case len(c.Signed) == 0:
			return errors.New("nobody has signed")
		case f.Inclusion != nil:
			_, err = f.Inclusion.Check(c.Tree)
		case f.Consistency != nil:
			err = f.Consistency.Check(old, c.Tree)
		}
		return err
	}
	files := map[string][]byte{
		"checkpoint":  checkpoint,
		"inclusion":   (&Inclusion{Index: 6, Record: logged.records[6], Hashes: included, Checkpoint: checkpoint}).Text(),
		"consistency": (&Consistency{Old: old.N, Hashes: extended, Checkpoint: checkpoint}).Text(),
	}
	for name, msg := range files {
		if err := holds(msg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i := range msg {
			for _, flip := range []byte{1, 4, 0x20, 0x80} {
				changed := bytes.Clone(msg)
				changed[i] ^= flip
				if err := holds(changed); err == nil {
					t.Errorf("%s: with byte %d changed from %q to %q it still holds", name, i, msg[i], changed[i])
				}
			}
			if err := holds(msg[:i]); err == nil {
				t.Errorf("%s: its first %d bytes hold", name, i)
			}
			if err := holds(append(bytes.Clone(msg[:i]), msg[i+1:]...)); err == nil {
				t.Errorf("%s: without byte %d it still holds", name, i)
			}
		}
	}

	// Each event of each tree is proved, and by no other proof.
	for n := 1; n <= 21; n++ {
		head := logged.head(t, n)
		for i := range n {
			hashes := must.Get(tlog.ProveRecord(int64(n), int64(i), logged))(t)
			p := Inclusion{Index: int64(i), Record: logged.records[i], Hashes: hashes}
			if e, err := p.Check(head); err != nil || e.Position != events.Position(i+1) {
				t.Errorf("%d of %d: %v", i, n, err)
			}
			// The record does not say where it belongs: the proof does.
			for other := range int64(n) + 1 {
				moved := p
				moved.Index = other - 1
				if _, err := moved.Check(head); (err == nil) != (other-1 == int64(i)) {
					t.Errorf("%d of %d: its proof for the place %d: %v", i, n, other-1, err)
				}
			}
			p.Record = logged.records[(i+1)%21]
			if _, err := p.Check(head); !errors.Is(err, ErrInvalid) {
				t.Errorf("%d of %d: the proof of another event: %v", i, n, err)
			}
		}
	}
}

// Law: what is too much is refused before it is worked on: a file, a proof, a log.
func TestTooMuch(t *testing.T) {
	if _, err := Decode(make([]byte, maxFile+1)); !errors.Is(err, ErrInvalid) {
		t.Errorf("a file of %d bytes: %v", maxFile+1, err)
	}
	// And what is not too much is read: as long a file, and the proof of the greatest event
	// there is, of the greatest log there may be.
	if f, err := Decode(make([]byte, maxFile)); err != nil || len(f.Checkpoint) != maxFile {
		t.Errorf("a file of %d bytes: %v", maxFile, err)
	}
	longest := strings.Repeat("a", events.MaxStringSize)
	greatest := must.Get(events.AppendRecord(nil, events.Event{
		Sequence: events.AnySequence - 1, Version: math.MaxInt32,
		Campaign: longest, ID: longest, Kind: events.Kind(longest), Actor: longest, Account: longest, Cause: longest, Trace: longest,
		Time: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), Data: make([]byte, events.MaxDataSize),
	}))(t)
	text := must.Get(Write(strings.Repeat("a", 4*events.MaxStringSize), tlog.Tree{N: MaxSize}, nil))(t)
	most := Inclusion{Index: MaxSize, Record: greatest, Hashes: make([]tlog.Hash, maxHashes), Checkpoint: text}
	if f, err := Decode(most.Text()); err != nil || !reflect.DeepEqual(f.Inclusion, &most) {
		t.Errorf("the proof of an event of %d bytes: %v", len(greatest), err)
	} else if c, err := Read(f.Inclusion.Checkpoint); err != nil || c.Tree.N != MaxSize {
		t.Errorf("a checkpoint of %d events: %v", c.Tree.N, err)
	}
	hashes := make([]tlog.Hash, maxHashes+1)
	for _, text := range [][]byte{(&Inclusion{Hashes: hashes}).Text(), (&Consistency{Hashes: hashes}).Text()} {
		if _, err := Decode(text); !errors.Is(err, ErrInvalid) {
			t.Errorf("a proof with %d hashes: %v", len(hashes), err)
		}
	}
	for n, want := range map[int64]bool{MaxSize: true, MaxSize + 1: false} {
		text := fmt.Sprintf("tiny\n%d\n%v\n", n, tlog.Hash{})
		if c, err := Read([]byte(text)); (err == nil) != want {
			t.Errorf("a checkpoint of %d events: %+v, %v", n, c, err)
		}
	}
	// A name that would change the line it is shown in.
	stranger, _ := keys(t, "lab\u202eexample", 3)
	signed := must.Get(note.Sign(&note.Note{Text: fmt.Sprintf("tiny\n1\n%v\n", tlog.Hash{})}, stranger))(t)
	if c, err := Read(signed); !errors.Is(err, ErrInvalid) {
		t.Errorf("read as %+v, %v", c, err)
	}
}

// What is not a checkpoint is refused, and nothing that changes a terminal gets through.
func TestReadRefuses(t *testing.T) {
	hash := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for _, text := range []string{
		"", "\n", "a\n1\n" + hash, "a\n1\n" + hash + "\nmore\n", "\n1\n" + hash + "\n", "a\n-1\n" + hash + "\n", "a\n01\n" + hash + "\n", "a\n+1\n" + hash + "\n",
		"a\n9223372036854775807\n" + hash + "\n", "a\n1\n" + hash[:40] + "\n", "a\n1\n" + hash + hash + "\n", "a\x1b[2J\n1\n" + hash + "\n", "a\u202eb\n1\n" + hash + "\n",
		"a\xff\n1\n" + hash + "\n", "a\n1\n" + hash + "\n\nno signature\n", strings.Repeat("a", 1<<20) + "\n1\n" + hash + "\n",
	} {
		if c, err := Read([]byte(text)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.60q is read as %+v, %v", text, c, err)
		}
	}
}

// Law: a proof of which any line is missing or is not what it is to be is refused: nothing
// of it is taken for a file of another kind, or for no proof at all.
func TestDecodeRefuses(t *testing.T) {
	hash := base64.StdEncoding.EncodeToString(make([]byte, 32))
	growth := "old 3\n" + hash + "\n\ncheckpoint\n"
	event := inclusionLine + "\nextra aaaa\nindex 3\n" + hash + "\n\ncheckpoint\n"
	for _, c := range []struct{ sound, part, other string }{
		{growth, "old 3\n", "old \n"},
		{growth, "old 3\n", "old -3\n"},
		{growth, "old 3\n", "old 03\n"},
		{growth, "old 3\n", "old three\n"},
		{growth, hash, hash[:40]},
		{growth, hash, hash + "\n?"},
		{growth, "\n\n", "\n"},
		{event, "extra aaaa\n", ""},
		{event, "extra aaaa\n", "extra aaa\n"},
		{event, "extra", "other"},
		{event, "index 3\n" + hash, ""},
		{event, "index", "other"},
		{event, "index 3\n", "index \n"},
		{event, "index 3\n", "index -3\n"},
		{event, hash, hash[:40]},
		{event, "\n\n", "\n"},
	} {
		if f, err := Decode([]byte(c.sound)); err != nil || (f.Inclusion == nil) == (f.Consistency == nil) || f.Checkpoint != nil {
			t.Errorf("%q: %+v, %v", c.sound, f, err)
		}
		text := strings.Replace(c.sound, c.part, c.other, 1)
		if f, err := Decode([]byte(text)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q is decoded as %+v, %v", text, f, err)
		}
	}
}

func fuzzSeeds(f *testing.F) {
	signer, _ := keys(f, "lab.example", 1)
	logged := newTree(f, 5)
	checkpoint := must.Get(Write(origin, logged.head(f, 5), signer))(f)
	hashes := must.Get(tlog.ProveRecord(5, 2, logged))(f)
	growth := must.Get(tlog.ProveTree(5, 3, logged))(f)
	f.Add(checkpoint)
	f.Add([]byte("tiny\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"))
	f.Add([]byte("tiny\n0\n47DEQpj8HBSa+/TImW+5JCeu\rQeRkm5NMpJWZG3hSuFU=\n"))
	f.Add([]byte("tiny\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=\n")) // two bits to spare
	// Of the records' texts these are all forms that base64 would read as the same.
	for end := range 3 {
		short := (&Inclusion{Index: 2, Record: logged.records[2][:60+end], Checkpoint: checkpoint}).Text()
		f.Add(bytes.Replace(short, []byte("extra "), []byte("extra \r"), 1))
		at := bytes.Index(short, []byte("\nindex")) - 1
		for short[at] == '=' {
			at--
		}
		other := bytes.Clone(short)
		other[at]++
		f.Add(other)
	}
	f.Add((&Inclusion{Index: 2, Record: logged.records[2], Hashes: hashes, Checkpoint: checkpoint}).Text())
	f.Add((&Consistency{Old: 3, Hashes: growth, Checkpoint: checkpoint}).Text())
	f.Add([]byte("old 1152921504606846976\n\ntiny\n1152921504606846976\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"))
}

// FuzzRead: no checkpoint makes the reader panic, and an unsigned one that is read is
// the only text for what it says.
func FuzzRead(f *testing.F) {
	fuzzSeeds(f)
	_, verifier := keys(f, "lab.example", 1)
	f.Fuzz(func(t *testing.T, msg []byte) {
		c, err := Read(msg, verifier)
		if err != nil {
			return
		}
		text := must.Get(Write(c.Origin, c.Tree, nil))(t)
		if !bytes.HasPrefix(msg, text) {
			t.Errorf("%q is read as %q", msg, text)
		}
	})
}

// FuzzDecode: no file makes decoding or checking a proof panic or go on for ever,
// and a proof that is decoded is written back as it was.
func FuzzDecode(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, msg []byte) {
		file, err := Decode(msg)
		if err != nil {
			return
		}
		switch {
		case file.Inclusion != nil:
			if text := file.Inclusion.Text(); !bytes.Equal(text, msg) {
				t.Errorf("%q is written back as %q", msg, text)
			}
			if c, err := Read(file.Inclusion.Checkpoint); err == nil {
				_, _ = file.Inclusion.Check(c.Tree)
			}
		case file.Consistency != nil:
			if text := file.Consistency.Text(); !bytes.Equal(text, msg) {
				t.Errorf("%q is written back as %q", msg, text)
			}
			if c, err := Read(file.Consistency.Checkpoint); err == nil {
				_ = file.Consistency.Check(tlog.Tree{N: file.Consistency.Old, Hash: c.Tree.Hash}, c.Tree)
			}
		}
	})
}

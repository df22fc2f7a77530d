package attest

import (
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/checkpoint"
)

// File is the result of checking a file.
type File struct {
	File string `json:"file"`
	// What is "checkpoint", "inclusion" or "consistency".
	What   string `json:"what,omitempty"`
	Origin string `json:"origin,omitempty"`
	Events int64  `json:"events,omitempty"`
	Root   string `json:"root,omitempty"`
	// SignedBy are the keys with verified signatures, Unchecked the others.
	SignedBy  []string `json:"signed_by,omitempty"`
	Unchecked []string `json:"unchecked,omitempty"`
	// Event is the event that a proof of inclusion is about, as a CloudEvent,
	// and Position its place in the log.
	Event    json.RawMessage `json:"event,omitempty"`
	Position events.Position `json:"position,omitempty"`
	// Grown is the earlier number of events in a proof of consistency.
	Grown int64 `json:"grown,omitempty"`
	// Unknown is set if only the keys for checking its signatures are missing.
	Unknown bool `json:"-"`
	// Problem is why the file proves nothing; empty if it holds.
	Problem string `json:"problem,omitempty"`

	decoded checkpoint.File
	head    checkpoint.Checkpoint
}

// Files is the result of checking several files together.
type Files struct {
	Files []*File `json:"files"`
	// Forks lists checkpoints that contradict each other.
	Forks []string `json:"forks,omitempty"`
}

// Hold reports whether each file proves what it claims, and none contradicts
// another.
func (v *Files) Hold() bool {
	for _, f := range v.Files {
		if f.Problem != "" {
			return false
		}
	}
	return len(v.Forks) == 0
}

// Text is a file as it was read.
type Text struct {
	File  string
	Bytes []byte
}

// VerifyFiles checks each file alone and together with the related ones. If a key is given,
// unsigned files prove nothing.
//
// It makes three passes, each on the results of the one before: each file alone, the proofs of
// consistency against the earlier checkpoints among the files, and then every two that hold, for a
// fork. A fork is evidence against the log's owner and not against a file.
func VerifyFiles(texts []Text, known []note.Verifier, mustSign bool) *Files {
	v := &Files{}
	for _, text := range texts {
		f := &File{File: text.File}
		f.read(text.Bytes, known, mustSign)
		v.Files = append(v.Files, f)
	}
	for _, f := range v.Files {
		if f.Problem == "" && f.decoded.Consistency != nil {
			f.Problem = v.consistent(f)
		}
	}
	for i, f := range v.Files {
		for _, g := range v.Files[:i] {
			if f.contradicts(g) {
				v.Forks = append(v.Forks, fmt.Sprintf("%s and %s are both of %s with %d events, and differ: "+
					"somebody keeps two logs under one name", g.File, f.File, f.head.Origin, f.head.Tree.N))
			}
		}
	}
	return v
}

// contradicts reports whether two valid files of one log and the same number of events differ. Of
// different lengths they cannot be compared without the log, or a proof of consistency.
func (f *File) contradicts(g *File) bool {
	return f.Problem == "" && g.Problem == "" &&
		checkpoint.SameLog(f.head.Origin, g.head.Origin) &&
		f.head.Tree.N == g.head.Tree.N &&
		f.head.Tree != g.head.Tree
}

// read decodes a file and checks it alone.
//
// Signatures come before the proof: a stranger's signature proves nothing, whatever the hashes. A
// missing key is marked (Unknown), since supplying it may be sufficient.
func (f *File) read(msg []byte, known []note.Verifier, mustSign bool) {
	var err error
	if f.decoded, err = checkpoint.Decode(msg); err != nil {
		f.Problem = err.Error()
		return
	}
	text := f.decoded.Checkpoint
	f.What = "checkpoint"
	switch {
	case f.decoded.Inclusion != nil:
		f.What, text = "inclusion", f.decoded.Inclusion.Checkpoint
	case f.decoded.Consistency != nil:
		f.What, text = "consistency", f.decoded.Consistency.Checkpoint
	}
	if f.head, err = checkpoint.Read(text, known...); err != nil {
		f.Problem = err.Error()
		return
	}
	f.Origin = f.head.Origin
	f.Events = f.head.Tree.N
	f.Root = f.head.Tree.Hash.String()
	f.SignedBy, f.Unchecked = f.head.Signed, f.head.Unchecked
	switch {
	case len(f.SignedBy) == 0 && len(f.Unchecked) > 0:
		f.Unknown = true
		f.Problem = fmt.Sprintf("it is signed in the name of %s, whose key is not known here",
			strings.Join(f.Unchecked, " and "))
	case len(f.SignedBy) == 0 && mustSign:
		f.Problem = "nobody has signed it"
	case f.decoded.Inclusion != nil:
		e, err := f.decoded.Inclusion.Check(f.head.Tree)
		if err == nil {
			f.Position = e.Position
			f.Event, err = events.MarshalCloudEvent(e)
		}
		if err != nil {
			f.Problem = err.Error()
		}
	case f.decoded.Consistency != nil:
		f.Grown = f.decoded.Consistency.Old
	}
}

// consistent checks a proof of consistency against the earlier checkpoint among the files, and
// returns the problem. It takes the first that fits: two that fit and differ are a fork, which is
// found in any case.
func (v *Files) consistent(f *File) string {
	p := f.decoded.Consistency
	for _, g := range v.Files {
		if g == f || g.Problem != "" || g.head.Tree.N != p.Old ||
			!checkpoint.SameLog(g.head.Origin, f.head.Origin) {
			continue
		}
		if err := p.Check(g.head.Tree, f.head.Tree); err != nil {
			return err.Error()
		}
		return ""
	}
	return fmt.Sprintf("it needs the earlier checkpoint, of %d events of %s, among the files",
		p.Old, f.head.Origin)
}

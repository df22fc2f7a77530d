package program

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// MaxLine is the longest line either side accepts, in bytes. A measurement
// takes a few hundred bytes; spectra belong in files that the result names.
// Without a bound a program that writes no newline would fill the memory.
const MaxLine = 1 << 20

// Clip shortens a program's output for a message.
func Clip(data []byte) string { return plaintext.Recorded(string(bytes.TrimSpace(data)), 300) }

// Oversized is the kept part of a line longer than the protocol allows: enough to tell which
// request it answers. Length counts the whole line in bytes, its newline included.
type Oversized struct {
	Length int
	Subject
	// Head is its beginning.
	Head []byte
}

// EachLine calls line for each line of r, and long for each that is longer than the protocol
// allows, until r ends. A line's bytes are valid during the call. Of a line that is too long only
// its head is kept, while the rest is scanned for its subject: memory is bounded whatever a program
// writes. Dropping such a line in silence would lose the result of an experiment that took place,
// and never say so.
func EachLine(r io.Reader, line func([]byte), long func(Oversized)) {
	// Enough for a message to a person; the subject is found by the scanner,
	// wherever it stands in the line.
	const head = 1 << 10
	reader := bufio.NewReaderSize(r, 1<<16)
	var buffer []byte
	var over Oversized
	var subject scanner
	length := 0
	for {
		part, err := reader.ReadSlice('\n')
		length += len(part)
		switch {
		case length <= MaxLine:
			buffer = append(buffer, part...)
		// The scanner begins only now, with the bytes kept so far: lines within the bound are
		// parsed instead.
		case over.Head == nil: // it has just become too long
			over.Head = append([]byte{}, append(buffer, part...)[:head]...)
			subject.Write(buffer)
			buffer = buffer[:0]
			subject.Write(part)
		default:
			subject.Write(part)
		}
		// No newline yet: the line goes on.
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		switch complete := err == nil; {
		case over.Head != nil:
			over.Length, over.Subject = length, subject.Subject()
			long(over)
		case complete || len(buffer) > 0:
			line(bytes.TrimSuffix(buffer, []byte("\n")))
		}
		if err != nil {
			return
		}
		buffer = buffer[:0]
		length = 0
		over = Oversized{}
		subject = scanner{}
	}
}

package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// EachLine calls line for each line of r, and long with the length of each that
// is longer than the protocol allows, until r ends. A line's bytes are valid
// during the call.
func EachLine(r io.Reader, line func([]byte), long func(int)) {
	reader := bufio.NewReaderSize(r, 1<<16)
	var buffer []byte
	length := 0
	for {
		part, err := reader.ReadSlice('\n')
		length += len(part)
		if length <= MaxLine {
			buffer = append(buffer, part...)
		} else {
			buffer = buffer[:0]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		switch complete := err == nil; {
		case length > MaxLine:
			long(length)
		case complete || len(buffer) > 0:
			line(bytes.TrimSuffix(buffer, []byte("\n")))
		}
		if err != nil {
			return
		}
		buffer, length = buffer[:0], 0
	}
}

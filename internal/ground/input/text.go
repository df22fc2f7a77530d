package input

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// ReadText is [Read] for a file that people write, with [Text].
func ReadText(path string, most int64) ([]byte, error) {
	data, err := Read(path, most)
	if err != nil {
		return nil, err
	}
	return Text(data), nil
}

// The byte order marks of UTF-8 and UTF-16.
var (
	mark8   = []byte{0xef, 0xbb, 0xbf}
	mark16L = []byte{0xff, 0xfe}
	mark16B = []byte{0xfe, 0xff}
)

// Text converts what people have written to UTF-8 without a byte order mark. Editors and shells of
// Windows write a mark, or UTF-16; the text is the same. Data that are not text are returned
// unchanged, and so are line ends.
func Text(data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, mark8):
		return data[len(mark8):]
	case bytes.HasPrefix(data, mark16L):
		return from16(data, data[len(mark16L):], binary.LittleEndian)
	case bytes.HasPrefix(data, mark16B):
		return from16(data, data[len(mark16B):], binary.BigEndian)
	// Without a mark: human text begins with an ASCII character.
	case len(data) >= 4 && data[0] != 0 && data[1] == 0 && data[2] != 0 && data[3] == 0:
		return from16(data, data, binary.LittleEndian)
	case len(data) >= 4 && data[0] == 0 && data[1] != 0 && data[2] == 0 && data[3] != 0:
		return from16(data, data, binary.BigEndian)
	}
	return data
}

// from16 decodes UTF-16; if half a character is left over, data is not text.
func from16(data, text []byte, order binary.ByteOrder) []byte {
	if len(text)%2 != 0 {
		return data
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16(text[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

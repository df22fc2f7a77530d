package events

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// flagAccount is the second flag of earlier records: there is an account.
const flagAccount = 2

// EarlierRecord reports whether bytes are a whole record of the form that
// campaignd had before 0.1.0, and the position that it holds. Behind the time
// that one has the position, and the account last of the texts, where its flag
// is set. It has no version of its own, so that only the whole of it tells the
// two apart: its checksum, and that every field fits.
func EarlierRecord(record []byte) (Position, bool) {
	if len(record) < recordHeader+recordChecksum {
		return 0, false
	}
	body := record[:len(record)-recordChecksum]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(record[len(body):]) {
		return 0, false
	}
	if body[0] != versionPlain || body[1]&^(flagSimulated|flagAccount) != 0 {
		return 0, false
	}
	r := recordReader{rest: body[recordHeader:]}
	position := r.uvarint()
	sequence := r.uvarint()
	version := r.uvarint()
	if position == 0 || sequence == 0 || sequence > position || version == 0 ||
		version > math.MaxInt32 {
		return 0, false
	}
	texts := 6 // campaign, ID, kind, actor, cause, trace
	if body[1]&flagAccount != 0 {
		texts++
	}
	for range texts {
		n := r.length()
		if checkString(string(r.rest[:n])) != nil {
			return 0, false
		}
		r.skip(n)
	}
	n := r.length()
	return Position(position), !r.failed && n == len(r.rest)
}

package events

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"time"
	"unicode/utf8"
)

// The stored form of an event, which a log hashes and keeps:
//
//	version   1 byte: 2 where the event carries a caller's request, else 1
//	flags     1 byte, bit 0: simulated
//	time      8 bytes, big endian, microseconds since 1970 (two's complement)
//	sequence  uvarint
//	schema    uvarint, the payload's version
//	campaign, ID, kind, actor, account, cause, trace
//	          a uvarint length and the bytes, each
//	request, its digest
//	          likewise, in version 2 alone
//	data      a uvarint length and the bytes
//	checksum  4 bytes, big endian, CRC-32C of everything before it
//
// Every event has exactly one record and every record exactly one event, but
// for its position, so that equal hashes mean equal events. The position is
// where the log has put the record: some logs know it only once the record is
// stored. What binds an event to its place is the log's Merkle tree, in which
// the record is the leaf of index position − 1, and, within its campaign, the
// sequence.

const (
	// RecordVersion is the newest version of the stored form, its first byte. A
	// version of its own tells an earlier program what it does not know, and
	// leaves the bytes, and so the hashes, of all other records as they were.
	RecordVersion = versionRequest
	// MaxStringSize is the greatest length in bytes of each string of an
	// envelope: campaign, ID, kind, actor, account, request, cause and trace.
	MaxStringSize = 1024
	// MaxDigestSize is that of a request's digest, which is remembered of every
	// request.
	MaxDigestSize = 64
	// MaxDataSize is the greatest length in bytes of a payload.
	MaxDataSize = 16 << 20
	// MaxBatchSize is the greatest sum of the payloads' lengths in one batch.
	MaxBatchSize = 64 << 20

	versionPlain   = 1
	versionRequest = 2

	recordHeader   = 10 // version, flags, time
	recordChecksum = 4
	flagSimulated  = 1
)

// ErrInvalidEvent means that a log refused an event whose envelope breaks the
// rules that [AppendRecord] lists. Nothing was stored.
var ErrInvalidEvent = errors.New("the event cannot be recorded")

// ErrBadRecord means that bytes are not the stored form of an event: they were
// damaged, or are something else.
var ErrBadRecord = errors.New("not a valid event record")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendRecord appends the stored form of e, which does not hold its position,
// to dst and returns the longer slice.
//
// It refuses with [ErrInvalidEvent] what a record cannot hold: a sequence that
// is 0 or [AnySequence]; a version below 1; an empty campaign, ID or kind; a
// string that is longer than [MaxStringSize], not UTF-8 or holds a control
// character; a time that is not UTC to the microsecond or is outside the years
// 1 to 9999; a payload longer than [MaxDataSize].
func AppendRecord(dst []byte, e Event) ([]byte, error) {
	if err := checkEvent(&e); err != nil {
		return dst, err
	}
	start := len(dst)
	var flags byte
	if e.Simulated {
		flags |= flagSimulated
	}
	version := byte(versionPlain)
	if e.Request != "" {
		version = versionRequest
	}
	dst = append(dst, version, flags)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Time.UnixMicro()))
	dst = binary.AppendUvarint(dst, uint64(e.Sequence))
	dst = binary.AppendUvarint(dst, uint64(e.Version))
	all := texts(&e)
	for _, s := range all[:textsOf(version)] {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(e.Data)))
	dst = append(dst, e.Data...)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli)), nil
}

// DecodeRecord returns the event that record holds, with position 0: who read
// the record knows where it was. The event shares no memory with record.
// Whatever [AppendRecord] cannot have written is refused with [ErrBadRecord];
// no input makes it panic.
func DecodeRecord(record []byte) (Event, error) {
	if len(record) < recordHeader+recordChecksum {
		return Event{}, badRecord("%d bytes are too few", len(record))
	}
	body := record[:len(record)-recordChecksum]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(record[len(body):]) {
		return Event{}, badRecord("its checksum does not match")
	}
	if body[0] != versionPlain && body[0] != versionRequest {
		return Event{}, badRecord("its version is %d, this campaignd knows up to %d",
			body[0], RecordVersion)
	}
	if body[1]&^flagSimulated != 0 {
		return Event{}, badRecord("unknown flags %#x", body[1])
	}
	e := Event{Simulated: body[1]&flagSimulated != 0}
	e.Time = time.UnixMicro(int64(binary.BigEndian.Uint64(body[2:]))).UTC()

	r := recordReader{rest: body[recordHeader:]}
	e.Sequence = Sequence(r.uvarint())
	version := r.uvarint()
	if version > math.MaxInt32 {
		r.failed = true
	}
	e.Version = int(version)

	// One string holds the whole of the envelope's text, and its fields are
	// parts of it: one allocation instead of nine.
	var fields [allTexts][2]int
	text := r.rest
	for i := range fields[:textsOf(body[0])] {
		n := r.length()
		at := len(text) - len(r.rest)
		r.skip(n)
		fields[i] = [2]int{at, at + n}
	}
	envelope := string(text[:len(text)-len(r.rest)])
	data := r.rest
	if n := r.length(); !r.failed {
		data = r.rest
		if n != len(data) {
			r.failed = true
		}
	}
	if r.failed {
		return Event{}, badRecord("its fields do not fit its length")
	}
	part := func(i int) string { return envelope[fields[i][0]:fields[i][1]] }
	e.Campaign = part(0)
	e.ID = part(1)
	e.Kind = Kind(part(2))
	e.Actor = part(3)
	e.Account = part(4)
	e.Cause = part(5)
	e.Trace = part(6)
	e.Request = part(7)
	e.RequestDigest = part(8)
	if (e.Request != "") != (body[0] == versionRequest) {
		return Event{}, badRecord("its version is %d and its request %q", body[0], e.Request)
	}
	if len(data) > 0 {
		e.Data = append(make([]byte, 0, len(data)), data...)
	}
	if err := checkEvent(&e); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrBadRecord, err)
	}
	return e, nil
}

// checkEvent reports what keeps an event from having a record.
func checkEvent(e *Event) error {
	switch {
	case e.Sequence == 0:
		return invalidEvent("its sequence is 0, the first is 1")
	case e.Sequence == AnySequence:
		return invalidEvent("its sequence is reserved")
	case e.Campaign == "":
		return invalidEvent("it names no campaign")
	case e.ID == "":
		return invalidEvent("it has no ID")
	case e.Kind == "":
		return invalidEvent("it has no kind")
	case e.Version < 1 || e.Version > math.MaxInt32:
		return invalidEvent("its payload's version is %d, the first is 1", e.Version)
	case e.Time.Location() != time.UTC || e.Time.Nanosecond()%1000 != 0:
		return invalidEvent("its time %v is not UTC to the microsecond", e.Time)
	case e.Time.Year() < 1 || e.Time.Year() > 9999: // what RFC 3339 can write
		return invalidEvent("its time %v is outside the years 1 to 9999", e.Time)
	case len(e.Data) > MaxDataSize:
		return invalidEvent("its payload of %d bytes is longer than %d", len(e.Data), MaxDataSize)
	}
	for i, s := range texts(e) {
		if err := checkString(s); err != nil {
			return invalidEvent("its %s %w", textNames[i], err)
		}
	}
	switch {
	case e.RequestDigest != "" && e.Request == "":
		return invalidEvent("it has the digest of a request, and no request")
	case len(e.RequestDigest) > MaxDigestSize:
		return invalidEvent("the digest of its request of %d bytes is longer than %d",
			len(e.RequestDigest), MaxDigestSize)
	}
	return nil
}

// Texts of an envelope: those of every record, and with those of a request.
const (
	plainTexts = 7
	allTexts   = 9
)

var textNames = [allTexts]string{
	"campaign", "ID", "kind", "actor", "account", "cause", "trace", "request", "request's digest",
}

// texts are an envelope's texts in the order of its record.
func texts(e *Event) [allTexts]string {
	return [allTexts]string{
		e.Campaign, e.ID, string(e.Kind), e.Actor, e.Account, e.Cause, e.Trace,
		e.Request, e.RequestDigest,
	}
}

// textsOf is how many of the texts a record of a version holds.
func textsOf(version byte) int {
	if version == versionRequest {
		return allTexts
	}
	return plainTexts
}

// checkString reports what keeps a string out of an envelope. Control
// characters are kept out because envelopes are shown to people, on terminals
// too.
func checkString(s string) error {
	if len(s) > MaxStringSize {
		return fmt.Errorf("of %d bytes is longer than %d", len(s), MaxStringSize)
	}
	ascii := true
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c == 0x7f {
			return fmt.Errorf("%q holds a control character", s)
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii && !utf8.ValidString(s) {
		return fmt.Errorf("%q is not UTF-8", s)
	}
	return nil
}

// recordReader takes fields off the front of a record. After a failure it goes
// on returning zeros, so that its user checks once.
type recordReader struct {
	rest   []byte
	failed bool
}

// uvarint takes a number, in its shortest form only.
func (r *recordReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n != (bits.Len64(v|1)+6)/7 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// length takes a number that counts bytes still to come.
func (r *recordReader) length() int {
	v := r.uvarint()
	if v > uint64(len(r.rest)) {
		r.failed = true
		return 0
	}
	return int(v)
}

func (r *recordReader) skip(n int) { r.rest = r.rest[n:] }

func badRecord(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadRecord, fmt.Sprintf(format, args...))
}

func invalidEvent(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalidEvent, fmt.Errorf(format, args...))
}

package pebblelog

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
	"github.com/campaignd/campaignd/events/internal/records"
)

// The first byte of a key gives its kind.
const (
	// They are part of the store's format, as are the forms of the keys below:
	// a change needs a new formatVersion.
	eventPrefix    = 'e'
	sequencePrefix = 's'
	offsetPrefix   = 'o'
	valuePrefix    = 'v'

	eventKeySize = 1 + 8
)

// appendEventKey appends an event's key. Numbers are big-endian, so that keys
// sort as the numbers do.
func appendEventKey(dst []byte, p events.Position) []byte {
	return binary.BigEndian.AppendUint64(append(dst, eventPrefix), uint64(p))
}

// parseEventKey reads an event's key; false for any other. Keys of another
// length are a fault of the database, and the caller says so.
func parseEventKey(key []byte) (events.Position, bool) {
	if len(key) != eventKeySize || key[0] != eventPrefix {
		return 0, false
	}
	return events.Position(binary.BigEndian.Uint64(key[1:])), true
}

// appendCampaignPrefix appends the beginning of the index keys of one campaign. The length comes
// first, so that no campaign's prefix is the start of another's.
func appendCampaignPrefix(dst []byte, campaign string) []byte {
	dst = binary.BigEndian.AppendUint16(append(dst, sequencePrefix), uint16(len(campaign)))
	return append(dst, campaign...)
}

// appendSequenceKey appends the index key of a campaign's event.
func appendSequenceKey(dst []byte, campaign string, s events.Sequence) []byte {
	return binary.BigEndian.AppendUint64(appendCampaignPrefix(dst, campaign), uint64(s))
}

// parseSequenceKey reads an index key; false for any other.
func parseSequenceKey(key []byte) (string, events.Sequence, bool) {
	if len(key) < 3+8 || key[0] != sequencePrefix ||
		int(binary.BigEndian.Uint16(key[1:])) != len(key)-3-8 {
		return "", 0, false
	}
	return string(key[3 : len(key)-8]), events.Sequence(binary.BigEndian.Uint64(key[len(key)-8:])), true
}

// offsetKey is that of a consumer's offset. Nothing follows the name, so that
// names that begin alike are different keys.
func offsetKey(consumer string) []byte {
	return append([]byte{offsetPrefix}, consumer...)
}

// valueKey is that of a value.
func valueKey(key string) []byte {
	return append([]byte{valuePrefix}, key...)
}

// parsePosition reads a position that is stored as a value.
func parsePosition(value []byte) (events.Position, bool) {
	if len(value) != 8 {
		return 0, false
	}
	return events.Position(binary.BigEndian.Uint64(value)), true
}

// splitValue parts an event's value into its record and its hashes. Hashes have
// a fixed length and come last, so that no length is stored: the position gives
// their number.
func splitValue(p events.Position, value []byte) (record, hashes []byte, err error) {
	n := len(value) - merkle.HashCount(uint64(p))*tlog.HashSize
	if n < 0 {
		return nil, nil, fmt.Errorf("%w: position %d holds %d bytes, too few for an event",
			events.ErrDamaged, p, len(value))
	}
	return value[:n], value[n:], nil
}

// decodeValue returns the event that the value of p holds. That it belongs
// there is for the tree to say, and for its sequence.
func decodeValue(p events.Position, value []byte) (events.Event, error) {
	record, _, err := splitValue(p, value)
	if err != nil {
		return events.Event{}, err
	}
	return records.Decode(p, record)
}

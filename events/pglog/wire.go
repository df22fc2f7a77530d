package pglog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// The types that arguments and columns have, by the numbers that are theirs in every
// database (pg_type.dat), and their binary forms (the functions of PostgreSQL's
// source that are called …_recv and …_send). They are these few, so that pgx's
// conversions of all types, which are larger than this package, are not used.
const (
	boolType      = 16
	byteaType     = 17
	nameType      = 19
	int8Type      = 20
	int4Type      = 23
	textType      = 25
	byteaArray    = 1001
	textArray     = 1009
	int8Array     = 1016
	timestampType = 1184 // with time zone
	intervalType  = 1186
)

// epoch is PostgreSQL's, in microseconds after Go's.
const epoch = 946_684_800_000_000

// parameters returns the binary forms and the types of arguments.
func parameters(args []any) (values [][]byte, types []uint32, err error) {
	values, types = make([][]byte, len(args)), make([]uint32, len(args))
	for i, arg := range args {
		if values[i], types[i], err = parameter(arg); err != nil {
			return nil, nil, fmt.Errorf("argument $%d: %w", i+1, err)
		}
	}
	return values, types, nil
}

// parameter returns the binary form of an argument, nil for NULL, and its type. A
// slice that is nil is NULL.
func parameter(arg any) (value []byte, typ uint32, err error) {
	switch v := arg.(type) {
	case bool:
		if v {
			return []byte{1}, boolType, nil
		}
		return []byte{0}, boolType, nil
	case int:
		return int8Value(int64(v)), int8Type, nil
	case int64:
		return int8Value(v), int8Type, nil
	case string:
		return []byte(v), textType, nil
	case []byte:
		return v, byteaType, nil
	case time.Duration: // microseconds, days and months
		return append(int8Value(v.Microseconds()), make([]byte, 8)...), intervalType, nil
	case []int64:
		return arrayValue(v, int8Type, int8Value), int8Array, nil
	case []string:
		return arrayValue(v, textType, func(s string) []byte { return []byte(s) }), textArray, nil
	case [][]byte:
		return arrayValue(v, byteaType, func(b []byte) []byte { return b }), byteaArray, nil
	}
	return nil, 0, fmt.Errorf("a value of type %T cannot be sent to the database", arg)
}

func int8Value(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// arrayValue is an array of one dimension: how many dimensions it has, whether there
// are NULLs, the elements' type, how many there are, the index of the first; and of
// each its length and form.
func arrayValue[T any](elements []T, typ uint32, value func(T) []byte) []byte {
	if elements == nil {
		return nil
	}
	var out []byte
	for _, n := range []uint32{1, 0, typ, uint32(len(elements)), 1} {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	for _, e := range elements {
		b := value(e)
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(b))), b...)
	}
	return out
}

// scan reads a column of a row into the variable behind a pointer, which keeps none of these bytes.
// NULL gives a nil []byte, or a nil pointer where into points to a pointer; no other type can hold
// NULL.
func scan(column pgconn.FieldDescription, value []byte, into any) error {
	var ok bool
	switch p := into.(type) {
	case **int64:
		return scanOptional(column, value, p)
	case **string:
		return scanOptional(column, value, p)
	case **time.Time:
		return scanOptional(column, value, p)
	case *[]byte:
		*p, ok = bytes.Clone(value), column.DataTypeOID == byteaType
	case *bool:
		if ok = column.DataTypeOID == boolType && len(value) == 1; ok {
			*p = value[0] == 1
		}
	case *int:
		var n int64
		n, ok = scanInt(column.DataTypeOID, value)
		*p = int(n)
	case *int64:
		*p, ok = scanInt(column.DataTypeOID, value)
	case *string:
		*p, ok = string(value), value != nil &&
			(column.DataTypeOID == textType || column.DataTypeOID == nameType)
	case *time.Time:
		if ok = column.DataTypeOID == timestampType && len(value) == 8; ok {
			n := int64(binary.BigEndian.Uint64(value))
			*p, ok = time.UnixMicro(n+epoch), n < math.MaxInt64-epoch && n != math.MinInt64 // infinity
		}
	case *[]int64:
		*p, ok = scanArray(value, int8Type, scanInt)
	case *[]string:
		*p, ok = scanArray(value, textType,
			func(_ uint32, b []byte) (string, bool) { return string(b), true })
	}
	if !ok {
		return fmt.Errorf("column %s: the database answered with %q, of type %d, which cannot be read into a %T",
			column.Name, value, column.DataTypeOID, into)
	}
	return nil
}

func scanOptional[T any](column pgconn.FieldDescription, value []byte, into **T) error {
	*into = nil
	if value == nil {
		return nil
	}
	*into = new(T)
	return scan(column, value, *into)
}

func scanInt(typ uint32, value []byte) (int64, bool) {
	switch {
	case typ == int8Type && len(value) == 8:
		return int64(binary.BigEndian.Uint64(value)), true
	case typ == int4Type && len(value) == 4:
		return int64(int32(binary.BigEndian.Uint32(value))), true
	}
	return 0, false
}

// scanArray reads an array without NULLs, of one dimension or empty (see arrayValue).
func scanArray[T any](value []byte, typ uint32, element func(uint32, []byte) (T, bool)) ([]T, bool) {
	next := func(size uint32) (b []byte, ok bool) {
		if uint64(len(value)) < uint64(size) {
			return nil, false
		}
		b, value = value[:size], value[size:]
		return b, true
	}
	head, ok := next(12)
	if !ok || binary.BigEndian.Uint32(head[8:]) != typ {
		return nil, false
	}
	if binary.BigEndian.Uint32(head) == 0 {
		return []T{}, true
	}
	size, ok := next(8)
	if !ok || binary.BigEndian.Uint32(head) != 1 {
		return nil, false
	}
	elements := []T{}
	for range binary.BigEndian.Uint32(size) {
		length, ok := next(4)
		if !ok {
			return nil, false
		}
		b, ok := next(binary.BigEndian.Uint32(length))
		if !ok {
			return nil, false
		}
		e, ok := element(typ, b)
		if !ok {
			return nil, false
		}
		elements = append(elements, e)
	}
	return elements, true
}

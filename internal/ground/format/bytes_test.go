package format

import "testing"

// Law: a size is written with two digits or three, in the unit that people use.
func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1 kB", 1249: "1.2 kB", 9950: "10 kB", 12_499: "12 kB",
		999_499: "999 kB", 999_500: "1 MB", 50_000_000: "50 MB", 52_428_800: "52 MB", 3e12: "3 TB", 4e15: "4000 TB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

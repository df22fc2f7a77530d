package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
)

// namespace is what a signature is for, so that it cannot be shown as one of
// something else.
const namespace = "campaignd-release"

// seal writes the checksums of all files, and signs them with an SSH key where one
// is given: what it takes to verify that is on any machine with OpenSSH.
func (r *release) seal(key string) error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		data, err := os.ReadFile(r.path(e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	list := r.path("SHA256SUMS")
	if err := os.WriteFile(list, sums.Bytes(), 0o644); err != nil {
		return err
	}
	if key == "" {
		fmt.Printf("campaignd %s is in %s; it is not signed\n", r.version, r.out)
		return nil
	}
	if _, err := output("", "ssh-keygen", "-Y", "sign", "-q", "-f", key, "-n", namespace, list); err != nil {
		return err
	}
	fmt.Printf("campaignd %s is in %s, signed by %s\n", r.version, r.out, key)
	return nil
}

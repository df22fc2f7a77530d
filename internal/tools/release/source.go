package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// source is what a release is made of.
type source struct {
	dir     string    // a checkout of the commit and of nothing else
	commit  string    // its hash
	at      time.Time // when it was committed: the time of every file in the release
	version string    // without the v: "0.3.0", or "0.3.0-dev+1f2e3d4c5b6a"
}

// checkout takes a tag, or HEAD where there is none, out of a repository into a
// folder.
//
// It is a clone, so that nothing in the working tree can get into a release, and
// that the Go command notes the commit, and the tag, in the program.
func checkout(root, dir, tag string) (source, error) {
	what := "HEAD"
	if tag != "" {
		what = "refs/tags/" + tag
	}
	s := source{dir: dir}
	var err error
	if s.commit, err = output(root, "git", "rev-parse", "--verify", "--quiet", what+"^{commit}"); err != nil {
		return s, fmt.Errorf("there is no %s", what)
	}
	if tag == "" {
		if changed, err := output(root, "git", "status", "--porcelain"); err != nil {
			return s, err
		} else if changed != "" {
			fmt.Fprintln(os.Stderr, "release: what is not committed is not in it")
		}
	}
	for _, args := range [][]string{
		{"clone", "--quiet", "--shared", "--no-checkout", root, dir},
		{"-C", dir, "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", s.commit},
	} {
		if _, err := output("", "git", args...); err != nil {
			return s, err
		}
	}
	seconds, err := output(dir, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return s, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, err
	}
	s.at = time.Unix(n, 0).UTC()
	if err := os.Setenv("SOURCE_DATE_EPOCH", seconds); err != nil { // nfpm's
		return s, err
	}
	return s, s.ask(tag)
}

// ask asks the program itself which version it is; one built from a tag must be
// that release.
func (s *source) ask(tag string) error {
	host := filepath.Join(s.dir, "..", "host")
	if err := s.compile(".", "./cmd/campaignd", host, ""); err != nil {
		return err
	}
	answer, err := output("", host, "version", "--json")
	if err != nil {
		return err
	}
	var said struct {
		Version, Commit string
		Modified        bool
	}
	if err := json.Unmarshal([]byte(answer), &said); err != nil {
		return err
	}
	if said.Commit != s.commit || said.Modified {
		return fmt.Errorf("the program says %s, not that it is built from %s", answer, s.commit)
	}
	if tag != "" && said.Version != tag {
		return fmt.Errorf("what %s holds calls itself %s: see \"A release\" in CONTRIBUTING.md", tag, said.Version)
	}
	s.version = strings.TrimPrefix(said.Version, "v")
	return nil
}

// compile builds a command of a module, for this machine or for what the variables say.
func (s *source) compile(module, path, to, flags string, variables ...string) error {
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags="+flags, "-o", to, path)
	c.Dir = filepath.Join(s.dir, module)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	c.Env = append(c.Env, variables...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c.Run()
}

// output runs a command and returns what it prints, without the last line's end.
func output(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

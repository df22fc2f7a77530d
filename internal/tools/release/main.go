// Release makes all that a user can install, from a commit alone, into dist/: for
// each platform the program in an archive and in a Python wheel, packages for
// Debian and Red Hat, an image for containers, bills of materials, checksums, and a
// signature of them. The same commit and the same Go give the same bytes.
//
// It is a module of its own, so that what it needs weighs neither on building
// campaignd nor on its dependencies. Run it as `.ci/release`.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// platforms are those that a release is for.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
}

// platform is an operating system and an architecture, in Go's names.
type platform struct{ OS, Arch string }

func (p platform) String() string { return p.OS + "/" + p.Arch }

// file is the name of a command there.
func (p platform) file(command string) string {
	if p.OS == "windows" {
		return command + ".exe"
	}
	return command
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

const usage = `usage: .ci/release [-o FOLDER] [-only OS/ARCHITECTURE,…] [-unsigned] [TAG]

makes the release TAG, or a development version of HEAD, from what is committed. CAMPAIGND_RELEASE_KEY names the file of an
SSH key, by which the checksums are signed.
`

func run(args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	out := flags.String("o", "dist", "the folder to write, from the root of the repository")
	only := flags.String("only", "", "the platforms, instead of all")
	unsigned := flags.Bool("unsigned", false, "make a release without a signature")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if flags.NArg() > 1 {
		return errors.New("one TAG at most; see .ci/release -h")
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	key := os.Getenv("CAMPAIGND_RELEASE_KEY")
	if flags.NArg() == 1 && key == "" && !*unsigned {
		return errors.New("a release is signed: let CAMPAIGND_RELEASE_KEY name an SSH key (ssh-keygen -t ed25519), or give -unsigned")
	}
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	s, err := checkout(root, filepath.Join(work, "source"), flags.Arg(0))
	if err != nil {
		return err
	}
	if !filepath.IsAbs(*out) {
		*out = filepath.Join(root, *out)
	}
	r := release{source: s, out: *out, work: work}
	if err := r.make(chosen); err != nil {
		return err
	}
	return r.seal(key)
}

// choose reads a list of platforms; an empty one is all.
func choose(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var chosen []platform
	for _, name := range strings.Split(list, ",") {
		known := false
		for _, p := range platforms {
			if p.String() == name {
				chosen, known = append(chosen, p), true
			}
		}
		if !known {
			return nil, fmt.Errorf("%q is none of the platforms %v", name, platforms)
		}
	}
	return chosen, nil
}

// release is one in the making.
type release struct {
	source
	out, work string
}

// path is that of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.out, name) }

// make makes everything but the checksums.
func (r *release) make(chosen []platform) error {
	if err := os.RemoveAll(r.out); err != nil { // nothing of an earlier one is signed with this one
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	wheel, err := readPackage(filepath.Join(r.dir, "internal", "python"))
	if err != nil {
		return err
	}
	var onLinux []*program
	for _, p := range chosen {
		b, err := r.build(p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		makers := []func(*program) error{r.bill, r.archive, func(b *program) error { return r.wheel(wheel, b) }}
		if p.OS == "linux" {
			makers = append(makers, r.packages)
			onLinux = append(onLinux, b)
		}
		for _, maker := range makers {
			if err := maker(b); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
		}
		for _, c := range b.commands {
			fmt.Printf("%s: %s, %.1f MB\n", p, c.name, float64(len(c.data))/1e6)
		}
	}
	return r.image(onLinux)
}

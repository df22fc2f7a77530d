package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes the packages of Linux distributions: the program, its services,
// which are off until somebody enables one, and the user that they run as.
func (r *release) packages(b *program) error {
	folder := filepath.Join(r.work, "package-"+b.Arch)
	var contents files.Contents
	add := func(at string, e entry) error {
		source := filepath.Join(folder, at)
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(source, e.data, e.mode); err != nil {
			return err
		}
		contents = append(contents, &files.Content{Source: source, Destination: at,
			FileInfo: &files.ContentFileInfo{Mode: e.mode, MTime: r.at, Owner: "root", Group: "root"}})
		return nil
	}
	serve, err := r.unit("campaignd.service")
	if err != nil {
		return err
	}
	work, err := r.unit("campaignd-work.service")
	if err != nil {
		return err
	}
	texts, err := r.texts(b)
	if err != nil {
		return err
	}
	examples, err := r.examples()
	if err != nil {
		return err
	}
	sysusers := []byte("u campaignd - \"the campaigns of a lab\" /var/lib/campaignd\n")
	tmpfiles := []byte("d /run/lock/campaignd 1777 root root -\n") // locks of devices, for all users
	errs := []error{
		add("/usr/lib/systemd/system/campaignd.service", entry{data: serve, mode: 0o644}),
		add("/usr/lib/systemd/system/campaignd-work.service", entry{data: work, mode: 0o644}),
		add("/usr/lib/sysusers.d/campaignd.conf", entry{data: sysusers, mode: 0o644}),
		add("/usr/lib/tmpfiles.d/campaignd.conf", entry{data: tmpfiles, mode: 0o644}),
	}
	for _, c := range b.commands {
		errs = append(errs, add("/usr/bin/"+c.name, c))
	}
	for _, e := range append(texts, examples...) {
		errs = append(errs, add("/usr/share/doc/campaignd/"+e.name, e))
	}
	script := filepath.Join(folder, "postinstall")
	errs = append(errs, os.WriteFile(script, []byte(postinstall), 0o755))
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for _, kind := range []string{"deb", "rpm"} {
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "campaignd", Arch: b.Arch, Platform: "linux", Version: r.version, MTime: r.at,
			Section: "science", Priority: "optional", License: "Apache-2.0", Maintainer: "campaignd", DisableGlobbing: true,
			Description: "campaigns of a lab, with experts and instruments\nBayesian optimization in collaboration with human experts," +
				" with an event log that can be audited.",
			Overridables: nfpm.Overridables{
				Contents: contents, Scripts: nfpm.Scripts{PostInstall: script},
				RPM: nfpm.RPM{BuildHost: "campaignd"},
			},
		})
		packager, err := nfpm.Get(kind)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, kind); err != nil {
			return err
		}
		var out bytes.Buffer
		if err := packager.Package(info, &out); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if err := os.WriteFile(r.path(packager.ConventionalFileName(info)), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// postinstall makes the user of the service and the folder of locks, where systemd is there.
const postinstall = `#!/bin/sh
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers campaignd.conf
fi
if command -v systemd-tmpfiles >/dev/null; then
  systemd-tmpfiles --create campaignd.conf
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
`

// unit is a service of docs/deploy, with the program where a package puts it,
// and without the words about how to install it.
func (r *release) unit(name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(r.dir, "docs", "deploy", name))
	if err != nil {
		return nil, err
	}
	_, unit, found := strings.Cut(string(text), "\n[Unit]")
	const local = "ExecStart=/usr/local/bin/"
	if !found || !strings.Contains(unit, local) {
		return nil, fmt.Errorf("docs/deploy/%s has no [Unit], or does not start a program of /usr/local/bin", name)
	}
	return []byte("[Unit]" + strings.Replace(unit, local, "ExecStart=/usr/bin/", 1)), nil
}

package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is who an image runs as.
const user = 65532

// image writes an image for containers, of all architectures in one, as an archive
// in the layout of OCI. It has no base: in it are the program, the roots of
// certificates that browsers trust, the time zones, and an empty folder for the lab.
func (r *release) image(programs []*program) error {
	if len(programs) == 0 {
		return nil
	}
	goroot, err := output(r.dir, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	zones, err := os.ReadFile(filepath.Join(goroot, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return err
	}
	index := v1.ImageIndex(empty.Index)
	index = mutate.IndexMediaType(index, types.OCIImageIndex)
	for _, b := range programs {
		entries := []entry{
			{"etc/passwd", fmt.Appendf(nil, "campaignd:x:%d:%d::/lab:/\n", user, user), 0o644},
			{"etc/ssl/certs/ca-certificates.crt", roots(), 0o644},
			{"usr/share/zoneinfo.zip", zones, 0o644},
			{"usr/share/doc/campaignd/THIRD-PARTY-LICENSES", b.notices, 0o644},
			{"usr/share/doc/campaignd/campaignd.cdx.json", b.bill, 0o644},
			{"lab/", nil, 0o700},
		}
		entries = append(entries, b.commands...)
		var layer bytes.Buffer
		if err := writeTar(&layer, entries, r.at); err != nil {
			return err
		}
		image, err := r.single(b, layer.Bytes())
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.OS, Architecture: b.Arch}}})
	}
	return r.writeLayout(index)
}

// single is the image of one architecture.
func (r *release) single(b *program, content []byte) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer,
		History: v1.History{Created: v1.Time{Time: r.at}, CreatedBy: "campaignd " + r.version}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.OS, b.Arch, v1.Time{Time: r.at}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user),
		Env: []string{"HOME=/lab", "TMPDIR=/lab", "USER=campaignd", "ZONEINFO=/usr/share/zoneinfo.zip",
			"PATH=/"},
		WorkingDir: "/lab", Volumes: map[string]struct{}{"/lab": {}}, ExposedPorts: map[string]struct{}{"7070/tcp": {}},
		StopSignal: "SIGTERM", Entrypoint: []string{"/campaignd"}, Cmd: []string{"serve", "/lab", "--listen", "127.0.0.1:7070"},
		Labels: map[string]string{
			"org.opencontainers.image.title": "campaignd", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.created": r.at.Format("2006-01-02T15:04:05Z"),
		},
	}
	return mutate.ConfigFile(image, config)
}

// writeLayout packs an index: index.json names it by its version, for the programs
// that load it.
func (r *release) writeLayout(index v1.ImageIndex) error {
	dir := filepath.Join(r.work, "layout")
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	name := "campaignd:" + pythonVersion(r.version) // a tag has no +
	name = string(bytes.ReplaceAll([]byte(name), []byte("+"), []byte("-")))
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": name[len("campaignd:"):], // podman's, skopeo's
		"io.containerd.image.name":          "docker.io/library/" + name,
	})); err != nil {
		return err
	}
	entries, err := tree(dir, "", func(string) bool { return true })
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := writeTar(&out, entries, r.at); err != nil {
		return err
	}
	return os.WriteFile(r.path("campaignd-oci-"+r.version+".tar"), out.Bytes(), 0o644)
}

// roots are those of Mozilla's, as PEM.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // one that is trusted for some certificates alone cannot be said so in PEM
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return out.Bytes()
}

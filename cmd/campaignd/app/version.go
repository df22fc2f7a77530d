package app

import "github.com/spf13/cobra"

// versioned is the document of `version --json`. Commit, Time and Modified come
// from version control and are missing where the program was not built from a
// checkout.
type versioned struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Arch     string `json:"arch"`
	Revision string `json:"revision"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
}

// versionCommand is `campaignd version`. Revision is the one that decisions record, which is not
// always a commit: see [revisionOf].
var versionCommand = command{
	name: "version",
	args: cobra.NoArgs,
	run: func(c *call, args []string) error {
		b := thisBuild()
		v := versioned{Version: b.Version, Go: b.Go, Arch: b.Arch, Revision: b.Revision}
		v.Commit, v.Time, v.Modified = revision()
		return c.present(v, func() {
			c.printf("campaignd %s\n", b)
			if v.Commit != "" {
				changed := ""
				if v.Modified {
					changed = ", with changes"
				}
				c.printf("commit %s of %s%s\n", v.Commit, v.Time, changed)
			}
		})
	},
}

// Package docs holds the documentation, so that the program can show it.
package docs

import "embed"

// Files are the pages.
//
//go:embed *.md decisions/*.md
var Files embed.FS

package server_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// picturesVariable names a folder for the pictures of README.md, which this test takes, such as
// docs/images.
const picturesVariable = "CAMPAIGND_PICTURES"

// The pictures of README.md show the campaign of its first command.
func TestPictures(t *testing.T) {
	folder := os.Getenv(picturesVariable)
	if folder == "" {
		t.Skip(picturesVariable + " names no folder for pictures")
	}
	v := lives(t)
	v.do("size", chromedp.EmulateViewport(1120, 1000))
	v.open("/begin")
	v.press(`button[value=electrolyte]`)
	v.until("the campaign has ended", `document.querySelector("#state").innerText.includes("completed")`)
	for name, path := range map[string]string{
		"page":   "/campaigns/electrolyte",
		"report": "/api/v1/campaigns/electrolyte/report",
	} {
		v.open(path)
		v.do("take a picture of the "+name, func(ctx context.Context, to *chromedp.Target) (none chromedp.Void, err error) {
			quality := int64(60)
			taken, err := cdp.Call(ctx, to, page.CaptureScreenshot,
				page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
			if err != nil {
				return none, err
			}
			return none, os.WriteFile(filepath.Join(folder, name+".webp"), taken.Data, 0o644)
		})
	}
}

package server_test

import (
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Law: ? shows the keys of a page and gives the focus back, also where the list has changed beneath, g and a letter lead to the pages, / finds a
// campaign from anywhere; none of them is heard where somebody is typing. A key that is pressed before
// the script has come is not lost.
func TestKeys(t *testing.T) {
	t.Parallel()
	v := lives(t)
	v.define("labels", labels)
	press := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			v.do("press "+key, chromedp.KeyEvent(key))
		}
	}
	at := func(path string) {
		t.Helper()
		v.until("it is at "+path, `location.pathname === "`+path+`" && document.documentElement.dataset.keys === "heard"`)
	}
	v.open("/campaigns/labels")
	at("/campaigns/labels")
	press("g", "c")
	at("/campaigns")
	v.do("focus a link", chromedp.Evaluate[chromedp.Void](`document.querySelector("h2 a").focus()`))
	press("?")
	v.sees("Go to Campaigns")
	v.sees("Go to Questions")
	v.inPlace("the keys of the list")
	turn := func(to, shows string) {
		t.Helper()
		v.posts("/campaigns/labels/"+to, `{reason: "lunch"}`)
		v.until("the list has "+shows, `[...document.querySelectorAll("#list button")].some(b => b.textContent.startsWith("`+shows+`"))`)
	}
	turn("pause", "Resume")
	turn("resume", "Pause")
	press("\u001b")
	v.until("the focus is back", `!document.querySelector("dialog") && document.activeElement === document.querySelector("h2 a")`)
	press("/")
	v.until("it finds", `document.activeElement.id === "q"`)
	v.do("empty it", chromedp.Evaluate[chromedp.Void](`document.activeElement.value = ""`))
	press("g", "q", "?", "/")
	if typed := ask[string](v, `document.activeElement.value`); typed != "gq?/" || v.has("dialog") {
		t.Errorf("typed is %q", typed)
	}
	v.open("/campaigns/labels/log")
	at("/campaigns/labels/log")
	v.do("go to no field", chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	press("g", "o")
	at("/campaigns/labels")
	press("/")
	v.until("the list finds", `location.pathname === "/campaigns" && document.activeElement.id === "q"`)

	command(v, network.Enable, network.EnableParams{})
	late := []*network.BlockPattern{{URLPattern: "*://*:*/static/console.js*", Block: true}}
	command(v, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: late})
	v.open("/questions/labels/q1")
	if ask[bool](v, `!!document.documentElement.dataset.keys`) {
		t.Fatal("the script is there")
	}
	press("a")
	v.sees("Worth an experiment?")
	command(v, network.SetBlockedURLs, network.SetBlockedURLsParams{})
	v.do("the script comes", chromedp.Evaluate[chromedp.Void](mark), chromedp.Evaluate[chromedp.Void](`(() => {
		const script = document.createElement("script");
		script.src = document.querySelector('script[src*="console.js"]').src + "&late";
		document.head.append(script);
	})()`))
	v.sees("Your answer: Accept. It is sent in")
	v.do("take it back by its key", chromedp.KeyEvent("z"))
	v.sees("Taken back")
}

// Package chromium drives Debian's Chromium from tests, by the DevTools protocol
// over a pipe. It does only what the tests of the page need: open a page, ask it
// questions in JavaScript, press keys, look at it.
//
//	b := chromium.Start(t)
//	page := b.Open("http://127.0.0.1:8089/")
//	page.Wait(`document.querySelector("h1") !== null`)
//
// Where there is no Chromium, Start skips the test and says so. The browser looks
// for nothing on the network but what a page asks for.
package chromium

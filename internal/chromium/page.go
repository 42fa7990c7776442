package chromium

import (
	"encoding/json"
	"os"
	"time"
)

// Page is a tab.
type Page struct {
	browser *Browser
	session string
}

// Open opens a URL in a tab of its own.
func (b *Browser) Open(url string) *Page {
	b.t.Helper()
	var target struct {
		TargetID string `json:"targetId"`
	}
	b.ask("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.ask("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &Page{b, attached.SessionID}
	p.ask("Page.enable", nil, nil)
	p.Go(url)
	return p
}

// Go leads the tab to a URL, and waits until what is there is loaded.
func (p *Page) Go(url string) {
	p.browser.t.Helper()
	var went struct {
		ErrorText string `json:"errorText"`
	}
	p.ask("Page.navigate", map[string]any{"url": url}, &went)
	if went.ErrorText != "" {
		p.browser.t.Fatalf("%s: %s", url, went.ErrorText)
	}
	p.Wait(`document.readyState === "complete"`)
}

// Do evaluates an expression, which may be a promise, and puts its value into v
// unless that is nil.
func (p *Page) Do(expression string, v any) {
	p.browser.t.Helper()
	if err := p.do(expression, v); err != "" {
		p.browser.t.Fatalf("%s: %s", expression, err)
	}
}

func (p *Page) do(expression string, v any) (failed string) {
	var out struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	text, err := p.browser.call(p.session, "Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
	})
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	switch {
	case err != nil:
		return err.Error()
	case out.Exception != nil:
		return out.Exception.Text + " " + out.Exception.Exception.Description
	case v == nil || len(out.Result.Value) == 0:
		return ""
	}
	if err := json.Unmarshal(out.Result.Value, v); err != nil {
		return err.Error()
	}
	return ""
}

// Text is the value of an expression that is a string.
func (p *Page) Text(expression string) (s string) {
	p.browser.t.Helper()
	p.Do(expression, &s)
	return s
}

// Wait waits until an expression is true. While the tab goes elsewhere nothing is.
func (p *Page) Wait(expression string) {
	p.browser.t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for why := "it is false"; ; <-tick.C {
		var ok bool
		if failed := p.do(expression, &ok); failed != "" {
			why = failed
		} else if ok {
			return
		}
		if time.Now().After(deadline) {
			p.browser.t.Fatalf("waited in vain for %s: %s", expression, why)
		}
	}
}

// Press presses keys one after the other: "Tab", "Enter", "Space".
func (p *Page) Press(keys ...string) {
	p.browser.t.Helper()
	known := map[string]struct {
		code int
		text string
	}{"Tab": {9, ""}, "Enter": {13, "\r"}, "Space": {32, " "}}
	for _, key := range keys {
		k := known[key]
		name := map[string]string{"Space": " "}[key]
		if name == "" {
			name = key
		}
		down := map[string]any{"type": "keyDown", "key": name, "code": key, "windowsVirtualKeyCode": k.code}
		if k.text != "" {
			down["text"] = k.text
		}
		p.ask("Input.dispatchKeyEvent", down, nil)
		p.ask("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "code": key, "windowsVirtualKeyCode": k.code}, nil)
	}
}

// Type types text where the focus is.
func (p *Page) Type(text string) {
	p.browser.t.Helper()
	p.ask("Input.insertText", map[string]any{"text": text}, nil)
}

// Look sets the size of the tab and whether the user likes it dark.
func (p *Page) Look(width, height int, dark bool) {
	p.browser.t.Helper()
	p.ask("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
	}, nil)
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	p.ask("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Shoot writes what the tab shows, all of it, to a PNG file.
func (p *Page) Shoot(path string) {
	p.browser.t.Helper()
	var shot struct {
		Data []byte `json:"data"`
	}
	p.ask("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	if err := os.WriteFile(path, shot.Data, 0o600); err != nil {
		p.browser.t.Fatal(err)
	}
}

// Scripts switches them on or off, from the next page on.
func (p *Page) Scripts(on bool) {
	p.browser.t.Helper()
	p.ask("Emulation.setScriptExecutionDisabled", map[string]any{"value": !on}, nil)
}

func (p *Page) ask(method string, params, v any) {
	p.browser.t.Helper()
	p.browser.ask(p.session, method, params, v)
}

func (b *Browser) ask(session, method string, params, v any) {
	b.t.Helper()
	text, err := b.call(session, method, params)
	if err == nil && v != nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

package feed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

var sampleTree = Tree{
	Version: 1, Group: "mzxw6", Cert: "https://x.example/c.pem?a=1&b=2", Fingerprint: "sha-256:00ff",
	TTL: 15 * time.Minute, Head: 1<<64 - 1, Bootstrap: []string{"/dnsaddr/x.example/p2p/12D3", "/ip4/192.0.2.1/tcp/1"},
}

// The snippet that a publisher pastes is read back under every kind of root.
func TestTreeSnippet(t *testing.T) {
	for _, c := range []struct{ before, after string }{
		{"<rss version='2.0'><channel><title>t</title>", "</channel></rss>"},
		{"<feed xmlns='http://www.w3.org/2005/Atom'><title>t</title>", "</feed>"},
		{"<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'><channel><title>t</title>", "</channel></rdf:RDF>"},
	} {
		for _, extra := range []string{"", Poll{Allow: "none", Min: time.Hour}.XML()} {
			f := mustParse(t, []byte(c.before+sampleTree.XML()+extra+c.after))
			if f.Tree == nil || !reflect.DeepEqual(*f.Tree, sampleTree) {
				t.Errorf("%s: %+v", c.before, f.Tree)
			}
			if extra != "" && (f.Poll == nil || *f.Poll != Poll{"none", time.Hour}) {
				t.Errorf("%s: %+v", c.before, f.Poll)
			}
			back := mustParse(t, render(t, f, f.Format, Options{}))
			if !reflect.DeepEqual(back.Tree, f.Tree) || !reflect.DeepEqual(back.Poll, f.Poll) {
				t.Errorf("rendered: %+v %+v", back.Tree, back.Poll)
			}
		}
	}
}

func TestTreeInJSON(t *testing.T) {
	doc := `{"version":"https://jsonfeed.org/version/1.1","title":"t","_feedtree":` + sampleTree.JSON() + `,"items":[]}`
	f := mustParse(t, []byte(doc))
	if !reflect.DeepEqual(*f.Tree, sampleTree) {
		t.Errorf("%+v", f.Tree)
	}
	if !json.Valid([]byte(sampleTree.JSON())) {
		t.Error(sampleTree.JSON())
	}
}

func TestTreeThatTheCallerSets(t *testing.T) {
	for _, name := range fixtures {
		f := mustParse(t, fixture(t, name))
		f.Tree, f.Poll = &sampleTree, &Poll{"cooperative", time.Minute}
		for _, format := range formats {
			doc := render(t, f, format, Options{})
			back := mustParse(t, doc)
			if !reflect.DeepEqual(back.Tree, f.Tree) || !reflect.DeepEqual(back.Poll, f.Poll) {
				t.Errorf("%s as %v: %+v %+v", name, format, back.Tree, back.Poll)
			}
			if n := strings.Count(string(doc), ":tree ") + strings.Count(string(doc), `"_feedtree": {"version"`); n != 1 {
				t.Errorf("%s as %v: %d trees", name, format, n)
			}
		}
		f.Tree = nil // a policy alone
		for _, format := range formats {
			if back := mustParse(t, render(t, f, format, Options{})); back.Tree != nil || back.Poll == nil || *back.Poll != *f.Poll {
				t.Errorf("%s as %v: %+v %+v", name, format, back.Tree, back.Poll)
			}
		}
	}
}

func TestTreeFromStrangers(t *testing.T) {
	many := strings.Repeat("<ft:bootstrap>/ip4/1</ft:bootstrap>", 1000)
	long := strings.Repeat("x", 5000)
	f := mustParse(t, []byte(`<rss><channel><title>t</title><ft:tree xmlns:ft="`+Namespace+
		`" version="one" group="`+long+`" ttl="-5" head="99999999999999999999">`+many+`<ft:poll allow="NONE" min="1e9"/></ft:tree></channel></rss>`))
	if f.Tree.Group != "" || f.Tree.TTL != 0 || f.Tree.Version != 0 || len(f.Tree.Bootstrap) != maxBootstrap || f.Poll.Allow != "none" || f.Poll.Min != 0 {
		t.Errorf("%+v %+v", f.Tree, f.Poll)
	}
	for _, value := range []string{`3`, `"x"`, `null`, `[]`, `{}`, `{"group":3}`, `{"ttl":"x","group":"g"}`, `{"bootstrap":3,"group":"g"}`} {
		doc := fmt.Sprintf(`{"version":"https://jsonfeed.org/version/1.1","title":"t","_feedtree":%s}`, value)
		f := mustParse(t, []byte(doc))
		if has := f.Tree != nil; has != strings.Contains(value, `"g"`) {
			t.Errorf("%s: %+v", value, f.Tree)
		}
	}
}

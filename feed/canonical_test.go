package feed

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/internal/fuzz"
)

func vectors(t testing.TB, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(fixture(t, name), into); err != nil {
		t.Fatal(err)
	}
}

type canonicalVector struct {
	In    string
	Out   string
	Error bool
}

func TestCanonicalVectors(t *testing.T) {
	var vs []canonicalVector
	vectors(t, "canonical.json", &vs)
	for _, v := range vs {
		got, err := Canonical(v.In)
		switch {
		case v.Error:
			if !errors.Is(err, ErrURL) {
				t.Errorf("%q: %q, error %v", v.In, got, err)
			}
		case err != nil || got != v.Out:
			t.Errorf("%q:\nis   %q %v\nwant %q", v.In, got, err, v.Out)
		default:
			if again, err := Canonical(got); err != nil || again != got {
				t.Errorf("%q is not a fixed point: %q %v", got, again, err)
			}
		}
	}
}

func TestCanonicalIsBounded(t *testing.T) {
	for _, s := range []string{
		"https://example.com/" + strings.Repeat("a", 3000),
		"https://example.com/" + strings.Repeat("é", 700), // only encoded it is too long
		"https://" + strings.Repeat("a.", 200) + "example/",
		"https://" + strings.Repeat("a", 64) + ".example/",
	} {
		if got, err := Canonical(s); err == nil {
			t.Errorf("%.40q… became %.40q…", s, got)
		}
	}
}

func TestPublicVectors(t *testing.T) {
	var vs []struct {
		URL    string
		Public bool
	}
	vectors(t, "public.json", &vs)
	for _, v := range vs {
		ok, why := Public(v.URL)
		if ok != v.Public || ok != (why == "") {
			t.Errorf("%s: %v (%s)", v.URL, ok, why)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	var vs []canonicalVector
	vectors(f, "canonical.json", &vs)
	for _, v := range vs {
		f.Add(v.In)
	}
	fuzz.Hold(f, func(t *testing.T, s string) {
		c, err := Canonical(s)
		if err != nil {
			return
		}
		if again, err := Canonical(c); err != nil || again != c {
			t.Fatalf("%q → %q → %q, %v", s, c, again, err)
		}
		if len(c) > maxURL || strings.ContainsAny(c, " #\"<>\n") {
			t.Fatalf("%q → %q", s, c)
		}
		Public(c)
	})
}

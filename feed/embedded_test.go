package feed

import "testing"

func TestEmbedded(t *testing.T) {
	for _, c := range []struct{ rest, want string }{
		{"https://h/x", "https://h/x"},
		{"https://h/x?a=b&c=d//e", "https://h/x?a=b&c=d//e"},
		{"https:/h/x", "https://h/x"},
		{"HTTPS:/h/x", "HTTPS://h/x"},
		{"https%3A%2F%2Fh%2Fx%3Fa%3Db", "https://h/x?a=b"},
		{"https%3a%2f%2fh%2fx", "https://h/x"},
		{"https%3A%2F%2Fh%2Fa%2520b", "https://h/a%20b"},
		{"https%3A%2F%2Fh%2Fx?a=b", "https://h/x?a=b"},
		{"https%3A%2F%2Fh%2Fx%3Fa%3Db?c=d", "https://h/x?a=b&c=d"},
		{"http%3A//h%3A8080/a%2520b%3Fc%3Dd%26e%3Df", "http://h:8080/a%20b?c=d&e=f"},
		{"https%3A//h/a%2Fb?c=%2F", "https://h/a%2Fb?c=%2F"},
		{"https%3A/h/a%2Fb", "https://h/a%2Fb"},
		{"https://h/a%2Fb", "https://h/a%2Fb"},
		{"feed:https://h/x", "https://h/x"},
		{"feed://h/x", "http://h/x"},
		{"feed:/h/x", "http://h/x"},
	} {
		got, err := Embedded(c.rest)
		if err != nil || got != c.want {
			t.Errorf("Embedded(%q) = %q, %v, want %q", c.rest, got, err, c.want)
		}
	}
	for _, rest := range []string{"example.org/x", "", "ftp://h/x", "//h/x", "https%3A%2F%2Fh%ZZ"} {
		if got, err := Embedded(rest); err == nil {
			t.Errorf("Embedded(%q) = %q, want an error", rest, got)
		}
	}
}

package proxy

import (
	"strconv"
	"strings"
)

// wantsGzip reads Accept-Encoding (RFC 9110 §12.5.3): whether gzip is welcome
// and not less so than the plain bytes.
func wantsGzip(fields []string) bool {
	gzip, plain, rest := -1.0, -1.0, -1.0
	for field := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		coding, q := weighted(field)
		switch coding {
		case "gzip", "x-gzip":
			gzip = q
		case "identity":
			plain = q
		case "*":
			rest = q
		}
	}
	if gzip < 0 {
		gzip = rest
	}
	return gzip > 0 && gzip >= plain
}

// weighted reads one element such as "gzip;q=0.8". A weight that is none counts
// as a refusal: nobody who means it writes it so.
func weighted(field string) (coding string, q float64) {
	coding, params, found := strings.Cut(field, ";")
	q = 1
	if found {
		name, value, _ := strings.Cut(strings.TrimSpace(params), "=")
		w, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || w < 0 || w > 1 || !strings.EqualFold(strings.TrimSpace(name), "q") {
			w = 0
		}
		q = w
	}
	return strings.ToLower(strings.TrimSpace(coding)), q
}

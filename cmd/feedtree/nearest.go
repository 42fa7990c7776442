package main

import "slices"

// nearest returns the name that is spelled most like word, "" if none is close
// enough to be what was meant. Of equals the first in order is taken.
func nearest(word string, names []string) string {
	found, least := "", max(len(word)/3, 1)+1
	for _, name := range slices.Sorted(slices.Values(names)) {
		if d := distance(word, name); d < least {
			found, least = name, d
		}
	}
	return found
}

// distance counts the letters to insert, drop or replace and the neighbours to
// swap that make b of a: what people do wrong when they type.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

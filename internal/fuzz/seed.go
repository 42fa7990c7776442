package fuzz

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// header begins a file of Go's corpus. Each line behind it is a value in Go's
// syntax: []byte("…") or string("…").
const header = "go test fuzz v1\n"

// readCorpus reads the seeds of a directory in the order of their names. There need
// be none.
func readCorpus(dir string, types []reflect.Type) (seeds [][][]byte, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		values, err := parseSeed(string(file), types)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		seeds = append(seeds, values)
	}
	return seeds, nil
}

func parseSeed(file string, types []reflect.Type) (values [][]byte, err error) {
	lines := strings.Split(strings.TrimSpace(strings.TrimPrefix(file, header)), "\n")
	if !strings.HasPrefix(file, header) || len(lines) != len(types) {
		return nil, fmt.Errorf("no seed of %d values", len(types))
	}
	for i, line := range lines {
		quoted, ok := strings.CutPrefix(strings.TrimSuffix(line, ")"), types[i].String()+"(")
		if types[i].Kind() == reflect.Slice {
			quoted, ok = strings.CutPrefix(strings.TrimSuffix(line, ")"), "[]byte(")
		}
		value, err := strconv.Unquote(quoted)
		if !ok || err != nil {
			return nil, fmt.Errorf("value %d is no %v", i+1, types[i])
		}
		values = append(values, []byte(value))
	}
	return values, nil
}

// writeSeed keeps an input among those that every run of the tests tries, and
// returns where.
func writeSeed(dir string, types []reflect.Type, values [][]byte) string {
	file := header
	for i, v := range values {
		kind := types[i].String()
		if types[i].Kind() == reflect.Slice {
			kind = "[]byte"
		}
		file += fmt.Sprintf("%s(%q)\n", kind, v)
	}
	name := filepath.Join(dir, fmt.Sprintf("%.8x", sha256.Sum256([]byte(file))))
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = os.WriteFile(name, []byte(file), 0o666)
	}
	if err != nil {
		return fmt.Sprintf("no file (%v): it is\n%s", err, file)
	}
	return name
}

package sim

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// ReadMatrix reads a square table of measured one-way delays for Matrix: CSV,
// one line per place, one number of milliseconds per place in it, no heading.
// What is not that is an error that names the line.
func ReadMatrix(r io.Reader) ([][]time.Duration, error) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = -1 // told below, in this format's words
	var table [][]time.Duration
	for {
		record, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("latency table: %w", err)
		}
		line, _ := lines.FieldPos(0)
		if len(table) > 0 && len(record) != len(table[0]) {
			return nil, fmt.Errorf("latency table, line %d: %d numbers, expected %d as in the first line", line, len(record), len(table[0]))
		}
		row, err := delays(record)
		if err != nil {
			return nil, fmt.Errorf("latency table, line %d, %w", line, err)
		}
		table = append(table, row)
	}
	switch {
	case len(table) == 0:
		return nil, errors.New("latency table: empty, expected a line of delays in milliseconds for each place")
	case len(table) != len(table[0]):
		return nil, fmt.Errorf("latency table: %d lines of %d numbers, expected as many lines as numbers in a line", len(table), len(table[0]))
	}
	return table, nil
}

func delays(record []string) ([]time.Duration, error) {
	row := make([]time.Duration, len(record))
	for i, field := range record {
		ms, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || !(ms >= 0 && ms <= 60_000) {
			return nil, fmt.Errorf("number %d: %q, expected a one-way delay of 0 to 60000 milliseconds", i+1, field)
		}
		row[i] = time.Duration(ms * float64(time.Millisecond))
	}
	return row, nil
}

// cities are where SmallMatrix has its places: degrees north and east, more of
// them where there are more hosts.
var cities = [...][2]float64{
	{52.4, 4.9}, {50.1, 8.7}, {51.5, -0.1}, {48.9, 2.4}, {59.3, 18.1}, {52.2, 21.0}, // Amsterdam, Frankfurt, London, Paris, Stockholm, Warsaw
	{40.4, -3.7}, {45.5, 9.2}, {44.4, 26.1}, {41.0, 29.0}, {55.8, 37.6}, // Madrid, Milan, Bucharest, Istanbul, Moscow
	{40.7, -74.0}, {39.0, -77.5}, {41.9, -87.6}, {32.8, -96.8}, {34.1, -118.2}, {37.4, -122.1}, {47.6, -122.3}, {43.7, -79.4}, // New York, Ashburn, Chicago, Dallas, Los Angeles, Palo Alto, Seattle, Toronto
	{-23.6, -46.6}, {19.4, -99.1}, // São Paulo, Mexico City
	{35.7, 139.7}, {37.6, 127.0}, {22.3, 114.2}, {1.4, 103.8}, {19.1, 72.9}, {25.2, 55.3}, // Tokyo, Seoul, Hong Kong, Singapore, Mumbai, Dubai
	{-33.9, 151.2}, {-26.2, 28.0}, {6.5, 3.4}, {30.0, 31.2}, {32.1, 34.8}, // Sydney, Johannesburg, Lagos, Cairo, Tel Aviv
}

// SmallMatrix returns one-way delays between 32 cities for Matrix where no
// measured table is at hand. They are made up: light in glass along the great
// circle, on ways that are from 1.2 to 2.4 times as long, so that there, as in
// the Internet, a detour is often faster.
func SmallMatrix() [][]time.Duration {
	const glass = 200.0 // km/ms
	table := make([][]time.Duration, len(cities))
	for i := range table {
		table[i] = make([]time.Duration, len(cities))
		for j := range i {
			way := 1.2 + float64(1.2*unit(mix(uint64(i), uint64(j))))
			d := time.Duration((0.5 + way*greatCircle(cities[i], cities[j])/glass) * float64(time.Millisecond))
			table[i][j], table[j][i] = d, d
		}
	}
	return table
}

// greatCircle is the distance of two spots on Earth in km.
func greatCircle(a, b [2]float64) float64 {
	const degree, radius = math.Pi / 180, 6371
	hav := func(x float64) float64 { s := math.Sin(x * degree / 2); return float64(s * s) }
	h := hav(a[0]-b[0]) + float64(math.Cos(a[0]*degree)*math.Cos(b[0]*degree)*hav(a[1]-b[1]))
	return 2 * radius * math.Asin(math.Sqrt(min(h, 1)))
}

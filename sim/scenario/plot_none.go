//go:build noplot

package scenario

import "errors"

// Plot draws nothing in this build.
func (Result) Plot(string) ([]string, error) {
	return nil, errors.New("this build draws no plots: the tag noplot leaves out 7 MB of fonts and drawing; the figures are in the JSON, too")
}

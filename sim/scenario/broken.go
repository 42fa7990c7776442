package scenario

import (
	"slices"

	"github.com/feedtree/feedtree/sim"
)

// breaks switches off what Config.Broken names. Without repair nodes keep but
// one event to give to who missed it, so that nobody gets back what came before.
func (r *run) breaks(c *sim.TreesConfig) {
	if slices.Contains(r.cfg.Broken, "repair") {
		c.Tree.Buffer = 1
	}
}

package scenario

import (
	"slices"
	"time"
)

// penalties are the bounds of RAD and RMD without the cost of sending, for up
// to 100,000 nodes and beyond.
func penalties(cfg Config) []Target {
	bounds := map[string][2]float64{"matrix": {1.2, 1.1}, "transit-stub": {1.35, 1.4}}
	if cfg.Nodes > 100_000 {
		bounds = map[string][2]float64{"matrix": {1.3, 1.15}, "transit-stub": {1.5, 1.6}}
	}
	b := bounds[cfg.Latency]
	t := []Target{atMost("rad_median", b[0]), atMost("rmd_median", b[1])}
	if cfg.Nodes <= 100_000 {
		t = append(t, atMost("rad_max", 1.5), atMost("rmd_max", 2))
	}
	return t
}

func staticTargets(cfg Config) []Target {
	t := slices.Concat(penalties(cfg), settlingTargets, []Target{
		atMost("hops_max", 7), atMost("redundant_copies", 0.01), atMost("noise_share", 0.01),
		atMost("children_group_max", 16), atLeast("coverage", 1),
	})
	if cfg.Nodes >= 1_000_000 {
		t = append(t, atMost("wall_s", 15*60), atMost("peak_rss_mib", 16<<10))
	}
	return t
}

var settlingTargets = []Target{
	atMost("warmup_rounds", 12), atMost("messages_per_node_warmup", 250), atMost("busiest_requests_per_round", 400),
}

func serialTargets(cfg Config) []Target {
	b := map[string][2]float64{"matrix": {1.85, 1.4}, "transit-stub": {1.6, 1.65}}[cfg.Latency]
	return []Target{
		atMost("rad_median", b[0]), atMost("rmd_median", b[1]), atMost("redundant_copies", 0.01), atLeast("coverage", 1),
	}
}

func groupsTargets(cfg Config) []Target {
	return append(penalties(cfg),
		atMost("hops_max", 7), atMost("redundant_copies", 0.01), atMost("noise_share", 0.01), atMost("noise_share_small", 0),
		atMost("children_max", 64), atMost("children_group_max", 16), atMost("sends_p99_to_mean", 6), atLeast("coverage", 1))
}

func churnTargets(cfg Config) []Target {
	coverage := 0.9999
	if cfg.Session != 0 && cfg.Session < time.Hour {
		coverage = 0.999
	}
	return []Target{atLeast("coverage", coverage), atMost("redundant_copies", 0.05)}
}

func killTargets(Config) []Target {
	return []Target{
		atLeast("kill50_within_10s", 0.997), atLeast("kill50_within_60s", 1),
		atLeast("kill70_within_10s", 0.965), atLeast("kill70_within_60s", 1),
	}
}

func repairTargets(Config) []Target {
	return []Target{atMost("repair_p99_s", 3), atMost("repair_closed_p99_s", 1), atLeast("coverage", 1)}
}

func idleTargets(Config) []Target {
	return []Target{
		atMost("control_1_feed", 0.5), atMost("control_100_feeds", 0.5), atMost("control_5000_feeds", 0.5),
		atMost("control_growth", 2), atMost("neighbours_disjoint_max", 128),
	}
}

func droppersTargets(Config) []Target {
	return []Target{atLeast("random_within_5s", 0.9999), atLeast("interior_within_10s", 0.999)}
}

func feedsTargets(Config) []Target {
	return []Target{atLeast("coverage", 1), atMost("children_group_max", 16), atMost("neighbours_max", 128), atMost("heavy_neighbours", 128)}
}

func imc05Targets(Config) []Target {
	return []Target{atLeast("coverage", 1), atMost("redundant_copies", 0.01), atMost("noise_share", 0.01)}
}

package tally

import (
	"fmt"
	"testing"
)

func TestReasonsAreBounded(t *testing.T) {
	var counts Tally
	counts.Count("")
	if all := counts.All(); all == nil || len(all) != 0 {
		t.Errorf("without a reason: %v", all)
	}
	for i := range 10 * Most {
		counts.Count(fmt.Sprintf("judge: %d", i))
	}
	counts.Count("judge: 0")
	all := counts.All()
	if len(all) > Most+1 || all["judge: 0"] != 2 || all["judge: other"] != 9*Most {
		t.Errorf("%d reasons, %d others, the first %d times", len(all), all["judge: other"], all["judge: 0"])
	}
	all["judge: 0"] = 7
	if counts.All()["judge: 0"] != 2 {
		t.Error("who gets the counts can change them")
	}
}

package scenario_test

import (
	"context"
	"fmt"

	"github.com/feedtree/feedtree/sim/scenario"
)

func ExampleScenario_Run() {
	static, err := scenario.Find("static")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := static.Run(context.Background(), scenario.Config{Nodes: 50, Seed: 1}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v items, %.0f %% delivered\n", result.Measures["items"], 100*result.Measures["coverage"])
	// Output: 10 items, 100 % delivered
}

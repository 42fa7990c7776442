package main

import (
	"fmt"
	"os"
	"runtime/pprof"
)

// profiled is a command that can say where its time goes.
type profiled struct {
	CPUProfile string `name:"cpu-profile" help:"Write where the processor's time goes, for go tool pprof." placeholder:"FILE" type:"path" env:"-"`
}

// during does something and writes its profile, whatever becomes of it.
func (p profiled) during(do func() error) (err error) {
	if p.CPUProfile == "" {
		return do()
	}
	f, err := os.Create(p.CPUProfile)
	if err != nil {
		return fmt.Errorf("--cpu-profile: %w", err)
	}
	defer func() {
		pprof.StopCPUProfile()
		if e := f.Close(); e != nil && err == nil {
			err = fmt.Errorf("--cpu-profile: %w", e)
		}
	}()
	if err := pprof.StartCPUProfile(f); err != nil {
		return fmt.Errorf("--cpu-profile: %w", err)
	}
	return do()
}

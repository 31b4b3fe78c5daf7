//go:build linux

package record

import (
	"fmt"
	"os"
	"sync"
)

// A feature is something that a kernel has or lacks, found out by trying, once.
type feature struct {
	name   string
	config string // the option that switches it on
	probe  func() error

	once   sync.Once
	answer error
}

// check returns nil if the kernel has the feature, or why not and what would switch it on.
func (f *feature) check() error {
	f.once.Do(func() {
		if err := f.probe(); err != nil {
			f.answer = fmt.Errorf("the kernel has no %s (%s): %w", f.name, f.config, err)
		}
	})
	return f.answer
}

var kprobes = &feature{
	name: "kprobes", config: "CONFIG_KPROBE_EVENTS",
	probe: func() error {
		// As a PMU since 4.17.
		if _, err := os.Stat("/sys/bus/event_source/devices/kprobe"); err == nil {
			return nil
		}
		tracefs, err := tracefsDir()
		if err != nil {
			return err
		}
		_, err = os.Stat(tracefs + "/kprobe_events")
		return err
	},
}

// The tracepoint is in every kernel: where nothing changes the frequency, it would be attached and say nothing.
var cpufreq = &feature{
	name: "scaling of CPU frequencies", config: "CONFIG_CPU_FREQ, and no cpufreq.off=1",
	probe: func() error {
		_, err := os.Stat("/sys/devices/system/cpu/cpufreq")
		return err
	},
}

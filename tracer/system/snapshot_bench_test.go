//go:build linux

package system

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// BenchmarkSnapshot is what a recording reads from /proc when it begins, where the kernel has no iterator.
func BenchmarkSnapshot(b *testing.B) {
	cgroups, err := FindCgroups()
	if err != nil {
		b.Skip(err)
	}
	cpu := func() float64 {
		var u unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
	}
	run := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			before := cpu()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpu()-before)/float64(b.N), "CPU-ms/op") // wall time depends on who else is busy
		})
	}
	run("tasks", func() error {
		_, err := ReadTasks(cgroups, nil)
		return err
	})
	run("mappings", func() error {
		pids, err := numericNames("/proc")
		for _, pid := range pids {
			err = errors.Join(err, ReadMappings(uint32(pid), func(*event.Mapping) error { return nil }))
		}
		return err
	})
}

//go:build linux

package record

import (
	"io"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// The kernel's BPF statistics cost 75 to 170 ns for every run of a program. They are on for the
// first second, then for one second in thirty, and what they say is extrapolated.
const (
	statsOn     = time.Second
	statsPeriod = 30 * time.Second
)

// statsWindow switches the statistics on and off.
type statsWindow struct {
	enabled  io.Closer // nil while off
	since    uint64    // when they were switched on
	next     time.Time // of the next change
	measured uint64    // nanoseconds with statistics so far
	broken   bool      // this kernel has none
}

// tick switches when it is time to.
func (s *statsWindow) tick(now time.Time) {
	if s.broken || now.Before(s.next) {
		return
	}
	if s.enabled != nil {
		s.stop()
		s.next = now.Add(statsPeriod - statsOn)
		return
	}
	enabled, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		s.broken = true
		return
	}
	s.enabled, s.since, s.next = enabled, system.BootTime(), now.Add(statsOn)
}

func (s *statsWindow) stop() {
	if s.enabled == nil {
		return
	}
	s.measured += system.BootTime() - s.since
	s.enabled.Close()
	s.enabled = nil
}

// programCosts reads what each program cost. Statistics that somebody switched on for good
// (kernel.bpf_stats_enabled) cover the whole recording.
func programCosts(programs []*attached, measured, recorded uint64) []tracefile.Program {
	if always, _ := os.ReadFile("/proc/sys/kernel/bpf_stats_enabled"); string(always) == "1\n" {
		measured = recorded
	}
	costs := []tracefile.Program{}
	for _, a := range programs {
		if a.program == nil {
			continue
		}
		p := tracefile.Program{Name: a.name, Measured: measured}
		if stats, err := a.program.Stats(); err == nil {
			p.Runs, p.RunTime, p.Skipped = stats.RunCount, uint64(stats.Runtime), stats.RecursionMisses
		}
		costs = append(costs, p)
	}
	return costs
}

// selfCost sums up what recording took.
func (r *recorder) selfCost(programs []tracefile.Program) tracefile.Self {
	recorded := r.ended - r.start
	self := tracefile.Self{
		StartCPU: r.startCPU, Attach: r.start - r.began, BytesWritten: uint64(r.writer.Size()),
	}
	for _, p := range programs {
		if p.Measured > 0 {
			self.BPF += uint64(float64(p.RunTime) * float64(recorded) / float64(p.Measured))
		}
	}
	self.CPU, self.MaxRSS = ownUsage()
	return self
}

// ownUsage returns this process's CPU time and its largest resident set.
func ownUsage() (cpu, maxRSS uint64) {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	return uint64(usage.Utime.Nano() + usage.Stime.Nano()), uint64(usage.Maxrss) << 10
}

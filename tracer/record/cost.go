//go:build linux

package record

import (
	"io"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/system"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// The kernel's BPF statistics cost 75 to 170 ns for every run of a program. They are on for the
// first second, then for one second in thirty, and what they say is extrapolated.
const (
	statsOn     = time.Second
	statsPeriod = 30 * time.Second
)

// tally counts what programs gave: the measure by which their cost is extrapolated. The first seconds of
// a boot are as busy as minutes of the rest, so time would be a wrong one.
type tally struct {
	words  uint64 // of sched rings
	events uint64 // of all other programs
}

func (o tally) since(before tally) tally {
	return tally{o.words - before.words, o.events - before.events}
}

func (o tally) and(more tally) tally { return tally{o.words + more.words, o.events + more.events} }

func (r *recorder) tally() tally { return tally{words: r.rings.read(), events: r.drained} }

// statsWindow switches the statistics on and off.
type statsWindow struct {
	enabled  io.Closer // nil while off
	since    uint64    // when they were switched on
	before   tally     // what there had been by then
	next     time.Time // of the next change
	measured uint64    // nanoseconds with statistics so far
	during   tally     // what the programs gave meanwhile
	broken   bool      // this kernel has none
}

// due tells whether it is time to switch.
func (s *statsWindow) due(now time.Time) bool { return !s.broken && !now.Before(s.next) }

// change switches them. It is told what the programs have given so far.
func (s *statsWindow) change(now time.Time, o tally) {
	if s.enabled != nil {
		s.stop(o)
		s.next = now.Add(statsPeriod - statsOn)
		return
	}
	enabled, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		s.broken = true
		return
	}
	s.enabled, s.since, s.before, s.next = enabled, system.BootTime(), o, now.Add(statsOn)
}

func (s *statsWindow) stop(o tally) {
	if s.enabled == nil {
		return
	}
	s.measured += system.BootTime() - s.since
	s.during = s.during.and(o.since(s.before))
	s.enabled.Close()
	s.enabled = nil
}

// statsAlways tells whether somebody switched the statistics on for good.
func statsAlways() bool {
	always, _ := os.ReadFile("/proc/sys/kernel/bpf_stats_enabled")
	return string(always) == "1\n"
}

// programCosts reads what each program cost.
func programCosts(programs []*attached, measured uint64) []tracefile.Program {
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

// costs reads what each program cost, and sums up what recording took.
func (r *recorder) costs() ([]tracefile.Program, tracefile.Self) {
	recorded, all := r.ended-r.start, r.tally()
	measured, during := r.stats.measured, r.stats.during
	if statsAlways() {
		measured, during = recorded, all
	}
	self := tracefile.Self{
		StartCPU: r.startCPU, LoadCPU: uint64(r.loader.loading), Attach: r.start - r.began, BytesWritten: uint64(r.writer.Size()),
	}
	programs, probes := programCosts(r.programs, measured), r.probeOf()
	for _, p := range programs {
		factor := extrapolation(during.events, all.events, measured, recorded)
		if probes[p.Name] == event.ProbeSched {
			factor = extrapolation(during.words, all.words, measured, recorded)
		}
		self.BPF += uint64(float64(p.RunTime) * factor)
	}
	self.CPU, self.MaxRSS = ownUsage()
	return programs, self
}

// extrapolation is by how much more a program ran in all than while it was measured: as much more as it
// gave, or, if it gave too little to tell, as the time was longer.
func extrapolation(during, all, measured, recorded uint64) float64 {
	const enough = 100
	switch {
	case during >= enough:
		return float64(all) / float64(during)
	case measured > 0:
		return max(1, float64(recorded)/float64(measured))
	}
	return 0
}

// ownUsage returns this process's CPU time and its largest resident set.
func ownUsage() (cpu, maxRSS uint64) {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	return uint64(usage.Utime.Nano() + usage.Stime.Nano()), uint64(usage.Maxrss) << 10
}

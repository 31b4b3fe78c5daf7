//go:build vmtest

package vmtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// hotplug is what guest/hotplug.py knows of itself.
type hotplug struct {
	Spinner uint32          `json:"spinner"` // a program that was on CPU 1 when that went
	Changes []hotplugChange `json:"changes"`
	Workers []hotplugWorker `json:"workers"`
}

// A hotplugChange is a CPU that went or came between two moments.
type hotplugChange struct {
	CPU    int    `json:"cpu"`
	Online int    `json:"online"`
	Before uint64 `json:"before"`
	After  uint64 `json:"after"`
}

// A hotplugWorker is a program that has stayed on one CPU.
type hotplugWorker struct {
	PID         uint32  `json:"pid"`
	CPU         int     `json:"cpu"`
	Began       uint64  `json:"began"`
	CPUTime     float64 `json:"cpu_s"`
	Switches    uint64  `json:"switches"`
	MajorFaults uint64  `json:"major_faults"`
}

// TestHotplug records while CPUs go and come, on a machine with two threads per core and more possible CPUs
// than are there, of which the kernel did not bring up one at boot.
func TestHotplug(t *testing.T) {
	for _, c := range []struct {
		guest    string
		possible int // newer kernels don't count sockets that are empty
	}{{"amd64-6.1", 8}, {"amd64-7", 4}} {
		t.Run(c.guest, func(t *testing.T) {
			g := guests[slices.IndexFunc(guests, func(g guest) bool { return g.name() == c.guest })]
			program, err := programs[g.arch]()
			if err != nil {
				t.Fatal(err)
			}
			script, err := guestFiles.ReadFile("guest/hotplug")
			if err != nil {
				t.Fatal(err)
			}
			disk := filepath.Join(t.TempDir(), "disk")
			if err := os.WriteFile(disk, make([]byte, 8<<20), 0o644); err != nil {
				t.Fatal(err)
			}
			r := &run{
				guest: g, disks: []string{disk}, smp: "cpus=4,maxcpus=8,sockets=2,cores=2,threads=2", parameters: "maxcpus=3",
				files: map[string][]byte{"usr/bin/bootscope": program, "selftest": script},
			}
			r.start(t)
			checkHotplug(t, r, c.possible)
			checkKernelLog(t, string(r.results["dmesg"]))
		})
	}
}

func checkHotplug(t *testing.T, r *run, possible int) {
	if status := strings.TrimSpace(string(r.results["hotplug.status"])); status != "0" {
		t.Fatalf("bootscope record ended with status %s:\n%s", status, r.results["hotplug.stderr"])
	}
	var told hotplug
	if err := json.Unmarshal(r.results["hotplug.json"], &told); err != nil {
		t.Fatalf("what the program printed: %v", err)
	}
	data := r.results["hotplug.bst"]
	f, err := tracefile.NewReader(bytes.NewReader(data), int64(len(data)), "hotplug.bst")
	if err != nil {
		t.Fatal(err)
	}
	if h := f.Header(); h.CPUs != possible || !slices.Equal(h.Online, []int{0, 1, 2}) {
		t.Fatalf("%d CPUs, %v online; expected %d, of which 0, 1 and 2", h.CPUs, h.Online, possible)
	}
	seen := &hotplugSink{samples: map[*timeline.Thread][]int{}, ran: map[*timeline.Thread][]timeline.Interval{}}
	tl, err := timeline.Build(f, seen)
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, tl, r.guest)
	checkLives(t, tl)
	for cpu := range 4 {
		checkPresence(t, tl, seen, cpu, told.of(cpu))
	}
	mapped := mappedOn(t, f)
	for i := range told.Workers {
		checkWorker(t, tl, seen, &told.Workers[i], mapped)
	}
	if p := processOf(tl, told.Spinner); p == nil || p.Times[timeline.Running] < 3e8 {
		t.Errorf("the program whose CPU went: %+v; expected one that ran on", p)
	}
}

// hotplugSink keeps who ran where.
type hotplugSink struct {
	timeline.Discard
	samples map[*timeline.Thread][]int // the CPU of each
	ran     map[*timeline.Thread][]timeline.Interval
}

func (s *hotplugSink) Interval(i *timeline.Interval) {
	if i.State == timeline.Running {
		s.ran[i.Thread] = append(s.ran[i.Thread], *i)
	}
}

func (s *hotplugSink) Sample(th *timeline.Thread, e *event.Sample) {
	s.samples[th] = append(s.samples[th], int(e.CPU))
}

// of gives the changes of one CPU.
func (h *hotplug) of(cpu int) (changes []hotplugChange) {
	for _, c := range h.Changes {
		if c.CPU == cpu {
			changes = append(changes, c)
		}
	}
	return changes
}

// awayBy gives when a CPU went and when it came back.
func awayBy(told []hotplugChange, tl *timeline.Timeline) (away [][2]hotplugChange) {
	for i, c := range told {
		switch {
		case c.Online == 0:
			away = append(away, [2]hotplugChange{c, {Before: tl.End, After: tl.End}})
		case i == 0:
			away = append(away, [2]hotplugChange{{Before: tl.Start, After: tl.Start}, c})
		default:
			away[len(away)-1][1] = c
		}
	}
	return away
}

// checkPresence: the recorder knew of every change and followed it, the CPU was away just then, and nobody ran
// there meanwhile.
func checkPresence(t *testing.T, tl *timeline.Timeline, seen *hotplugSink, cpu int, told []hotplugChange) {
	recorded := slices.DeleteFunc(slices.Clone(tl.Trailer.CPUChanges), func(c tracefile.CPUChange) bool { return c.CPU != cpu })
	if len(recorded) != len(told) {
		t.Fatalf("CPU %d: changes %+v, expected %+v", cpu, recorded, told)
	}
	for i, got := range recorded {
		if got.Online != (told[i].Online == 1) || got.Time < told[i].Before || got.Online != (got.Covered > got.Time) {
			t.Errorf("CPU %d: change %+v, expected %+v", cpu, got, told[i])
		}
	}
	c := tl.CPUs[slices.IndexFunc(tl.CPUs, func(c *timeline.CPU) bool { return c.ID == cpu })]
	t.Logf("CPU %d: %d ms busy, %d ms idle, %d ms unknown, %d ms offline", cpu, c.Busy/1e6, c.Idle/1e6, c.Unknown/1e6, c.Offline/1e6)
	if sum := c.Busy + c.Idle + c.Unknown + c.Offline; sum != tl.Duration() || c.Unknown > 1e6 && tl.Lost() == 0 {
		t.Errorf("CPU %d: %+v in %d ns", cpu, c, tl.Duration())
	}
	away := awayBy(told, tl)
	if len(c.Absences) != len(away) {
		t.Fatalf("CPU %d: away in %v, expected %v", cpu, c.Absences, away)
	}
	for i, a := range c.Absences {
		went, came := away[i][0], away[i][1]
		if a.From < went.Before || a.From > went.After || a.To < came.Before || a.To > came.After {
			t.Errorf("CPU %d: away in %v, expected %v", cpu, a, away[i])
		}
		checkNobodyThere(t, seen, cpu, went.After, came.Before)
	}
}

// checkNobodyThere: no thread is said to have run on a CPU in a stretch of time.
func checkNobodyThere(t *testing.T, seen *hotplugSink, cpu int, from, to uint64) {
	for th, ran := range seen.ran {
		for _, i := range ran {
			if i.CPU == cpu && i.Start < to && i.End > from {
				t.Errorf("CPU %d was offline from %d to %d; thread %d (%s) ran there from %d to %d",
					cpu, from, to, th.TID, th.Comm, i.Start, i.End)
			}
		}
	}
}

// mappedOn tells on which CPU each process mapped its interpreter.
func mappedOn(t *testing.T, f tracefile.Source) map[uint32]int {
	mapped := map[uint32]int{}
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.(*event.Mapping); ok && strings.HasPrefix(path.Base(string(m.TailBytes())), "python3") {
			mapped[m.PID] = int(m.CPU)
		}
	}
	return mapped
}

// checkWorker: the trace has all that a program did, and all of it on its CPU.
func checkWorker(t *testing.T, tl *timeline.Timeline, seen *hotplugSink, w *hotplugWorker, mapped map[uint32]int) {
	p := processOf(tl, w.PID)
	if p == nil || len(p.Threads) != 1 {
		t.Fatalf("process %d is not in the trace, or has not one thread: %+v", w.PID, p)
	}
	th := p.Threads[0]
	for _, i := range seen.ran[th] {
		if i.Start > w.Began && i.CPU != w.CPU {
			t.Errorf("process %d ran on CPU %d instead of %d", w.PID, i.CPU, w.CPU)
		}
	}
	samples := 0
	for _, cpu := range seen.samples[th] {
		if cpu == w.CPU {
			samples++
		}
	}
	running := float64(th.Times[timeline.Running]) / 1e9
	t.Logf("process %d on CPU %d: ran %.3f s, says %.3f s; %d switches, says %d; %d major faults, says %d; %d samples",
		w.PID, w.CPU, running, w.CPUTime, th.Switches, w.Switches, th.FaultEvents, w.MajorFaults, samples)
	if running < w.CPUTime*0.75-0.05 || running > w.CPUTime*1.5+0.5 { // see checkProcess
		t.Errorf("process %d ran for %.3f s, by its own account for %.3f s", w.PID, running, w.CPUTime)
	}
	// The last switch may come when the kernel has counted. What may be lost is for checkWhole to say.
	lost := tl.Lost()
	if th.Switches > w.Switches+1 || th.Switches+lost < w.Switches {
		t.Errorf("process %d: %d switches, by its own account %d", w.PID, th.Switches, w.Switches)
	}
	if w.MajorFaults == 0 || th.FaultEvents > w.MajorFaults || th.FaultEvents+lost < w.MajorFaults {
		t.Errorf("process %d: %d major faults, by its own account %d", w.PID, th.FaultEvents, w.MajorFaults)
	}
	// An emulated CPU misses many ticks; one without the event would have none.
	if least := 10; samples < least {
		t.Errorf("process %d: %d samples on CPU %d in %.3f s, expected at least %d", w.PID, samples, w.CPU, w.CPUTime, least)
	}
	if cpu, ok := mapped[w.PID]; !ok || cpu != w.CPU {
		t.Errorf("process %d mapped its interpreter on CPU %d (known: %v), expected %d", w.PID, cpu, ok, w.CPU)
	}
}

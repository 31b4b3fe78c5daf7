package timeline

import (
	"fmt"
	"strings"
	"testing"
)

// describeCPUs writes what the CPUs did, in ms, and when each was away, in ms from the start.
func describeCPUs(tl *Timeline) string {
	var lines []string
	for _, c := range tl.CPUs {
		line := fmt.Sprintf("CPU %d: %d busy, %d idle, %d unknown, %d offline", c.ID, c.Busy/1e6, c.Idle/1e6, c.Unknown/1e6, c.Offline/1e6)
		for _, a := range c.Absences {
			line += fmt.Sprintf(" %d..%d", (a.From-tl.Start)/1e6, (a.To-tl.Start)/1e6)
		}
		lines = append(lines, line)
	}
	return strings.Join(append(lines, fmt.Sprintf("all: %d", tl.CPUTime(tl.Start, tl.End)/1e6)), "\n")
}

func TestHotplug(t *testing.T) {
	for _, c := range []struct{ name, header, trace, want string }{
		{"goes while a thread runs there, which goes on elsewhere, and comes back", `"cpus":2,`, `
			10.000 [0] 100 task state=S start=1s comm="a"
			10.000 [0] 21 task state=S start=1s kernel_thread=1 comm="migration/1"
			10.000 [0] 0 waking target=100
			10.000 [1] 0 switch next=100
			10.200 [1] 100 waking target=21
			10.200 [1] 100 switch next=21 state=preempted
			10.250 [0] 0 switch next=100
			10.500 [1] 0 switch next=21
			10.510 [1] 21 switch next=0 state=stopped
			10.600 [0] 100 switch next=0 state=sleeping syscall=35
			trailer {"end_ns":11000000000,"cpu_changes":[{"t_ns":10230000000,"cpu":1},{"t_ns":10520000000,"cpu":1,"online":true}]}`, `
			CPU 0: 350 busy, 650 idle, 0 unknown, 0 offline
			CPU 1: 210 busy, 490 idle, 0 unknown, 300 offline 200..500
			all: 1700
			100/100 a: running 550, runnable 50, sleeping 400
			21/21 migration/1: unknown 300, running 10, sleeping 200, stopped 490`},
		{"comes for the first time", `"cpus":2,"online":[0],`, `
			10.000 [0] 50 task state=S start=1s comm="a"
			10.400 [1] 0 switch next=50
			10.500 [1] 50 switch next=0 state=sleeping syscall=35
			trailer {"end_ns":11000000000,"cpu_changes":[{"t_ns":10420000000,"cpu":1,"online":true}]}`, `
			CPU 0: 0 busy, 0 idle, 1000 unknown, 0 offline
			CPU 1: 100 busy, 500 idle, 0 unknown, 400 offline 0..400
			all: 1600
			50/50 a: running 100, sleeping 900`},
		{"comes for the first time with a thread that is not known: it was not there from the beginning", `"cpus":2,"online":[0],`, `
			10.400 [1] 50 waking target=51
			10.500 [1] 50 switch next=0 state=sleeping syscall=35
			trailer {"end_ns":11000000000}`, `
			CPU 0: 0 busy, 0 idle, 1000 unknown, 0 offline
			CPU 1: 100 busy, 500 idle, 0 unknown, 400 offline 0..400
			all: 1600
			50/50 : unknown 400, running 100, sleeping 500
			51/51 : unknown 400, runnable 600`},
		{"goes for good", `"cpus":2,`, `
			10.100 [1] 0 switch next=50
			10.200 [1] 50 switch next=0 state=sleeping syscall=35
			trailer {"end_ns":11000000000,"cpu_changes":[{"t_ns":10230000000,"cpu":1}]}`, `
			CPU 0: 0 busy, 0 idle, 1000 unknown, 0 offline
			CPU 1: 100 busy, 100 idle, 0 unknown, 800 offline 200..1000
			all: 1200
			50/50 : running 100, runnable 100, sleeping 800`},
		{"goes for good in a recording that was cut off: nobody has told", `"cpus":2,`, `
			10.100 [1] 0 switch next=50
			10.200 [1] 50 switch next=0 state=sleeping syscall=35
			10.900 [0] 0 waking target=50`, `
			CPU 0: 0 busy, 900 idle, 0 unknown, 0 offline
			CPU 1: 100 busy, 100 idle, 700 unknown, 0 offline
			all: 1800
			50/50 : running 100, sleeping 700`},
		{"is back before anybody was told that it went", `"cpus":2,`, `
			10.100 [1] 0 switch next=21
			10.300 [1] 0 switch next=50
			10.900 [1] 50 switch next=0 state=sleeping syscall=35
			trailer {"end_ns":11000000000,"cpu_changes":[{"t_ns":10500000000,"cpu":1},{"t_ns":10600000000,"cpu":1,"online":true}]}`, `
			CPU 0: 0 busy, 0 idle, 1000 unknown, 0 offline
			CPU 1: 600 busy, 200 idle, 0 unknown, 200 offline 100..300
			all: 1800
			21/21 : unknown 900, runnable 100
			50/50 : running 600, runnable 300, sleeping 100`},
		{"a switch is missing long before it goes", `"cpus":2,`, `
			10.000 [1] 0 switch next=21
			10.100 [1] 0 switch next=50
			10.300 [1] 50 switch next=0 state=sleeping syscall=35
			trailer {"end_ns":20000000000,"cpu_changes":[{"t_ns":18000000000,"cpu":1}]}`, `
			CPU 0: 0 busy, 0 idle, 10000 unknown, 0 offline
			CPU 1: 300 busy, 0 idle, 0 unknown, 9700 offline 300..10000
			all: 10300
			21/21 : unknown 10000
			50/50 : running 200, runnable 100, sleeping 9700`},
		{"without switches, and with changes that make no sense", `"cpus":2,`, `
			trailer {"end_ns":11000000000,"cpu_changes":[{"t_ns":9900000000,"cpu":0},{"t_ns":10300000000,"cpu":1},
			{"t_ns":10400000000,"cpu":1,"online":true},{"t_ns":10400000000,"cpu":0,"online":true},
			{"t_ns":10900000000,"cpu":1},{"t_ns":10900000000,"cpu":1},{"t_ns":10900000000,"cpu":-1}]}`, `
			CPU 0: 0 busy, 0 idle, 1000 unknown, 0 offline
			CPU 1: 0 busy, 0 idle, 800 unknown, 200 offline 300..400 900..1000
			all: 1800`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := build(t, allOnWith(c.header)+strings.ReplaceAll(c.trace, "},\n\t\t\t", "},"))
			got := strings.TrimSpace(describeCPUs(tl) + "\n" + describe(tl))
			if want := strings.TrimSpace(strings.ReplaceAll(c.want, "\n\t\t\t", "\n")); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestHotplugFrequencies: an offline CPU has no frequency.
func TestHotplugFrequencies(t *testing.T) {
	tl := build(t, allOnWith(`"cpus":2,`)+`
		10.200 [0] 0 cpufreq frequency=1800000kHz target_cpu=1
		10.900 [0] 0 cpufreq frequency=600000kHz target_cpu=1
		trailer {"end_ns":11000000000,"cpu_changes":[{"t_ns":10300000000,"cpu":1},{"t_ns":10800000000,"cpu":1,"online":true}]}`)
	if got := fmt.Sprint(tl.CPUs[1].Frequencies); got != "[{600000 300000000} {1800000 200000000}]" {
		t.Errorf("frequencies of CPU 1: %s", got)
	}
}

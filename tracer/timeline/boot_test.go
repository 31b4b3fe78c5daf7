package timeline

import (
	"fmt"
	"strings"
	"testing"
)

func TestPhases(t *testing.T) {
	for _, c := range []struct{ name, manager, want string }{
		{"all of them", "firmware=3s loader=2s initrd=1.5s userspace=4s finished=9s",
			"firmware -5000..-2000, loader -2000..0, kernel 0..1500, initrd 1500..4000, userspace 4000..9000"},
		{"neither firmware nor initrd, not finished", "userspace=1.5s", "kernel 0..1500, userspace 1500.."},
		{"a container", "finished=9s", ""},
		{"computed below zero", "firmware=18446744073.709551000s loader=18446744073.700000000s initrd=18446744073.709551000s userspace=2s finished=18446744073.709551615s",
			"kernel 0..2000, userspace 2000.."},
		{"firmware alone is nonsense", "firmware=40000s loader=2s userspace=2s finished=3s",
			"loader -2000..0, kernel 0..2000, userspace 2000..3000"},
		{"all in the future", "userspace=100s finished=200s initrd=50s", ""},
		{"finished before it began", "userspace=5s finished=3s", "kernel 0..5000, userspace 5000.."},
	} {
		tl := build(t, "10.5 0 manager "+c.manager+"\ntrailer {\"end_ns\":11000000000}")
		var got []string
		for _, p := range tl.Phases() {
			s := fmt.Sprintf("%s %d..", p.Name, p.Start/1e6)
			if p.Ended {
				s += fmt.Sprint(p.End / 1e6)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.name, s, c.want)
		}
	}
	tl := build(t, "1.5 0 kernel_log tail=\"Run /sbin/init as init process\"\n3 0 kernel_log tail=\"Run x\"\n")
	if p := tl.Phases(); len(p) != 1 || p[0] != (Phase{"kernel", 0, 1.5e9, true}) {
		t.Errorf("without systemd: %+v", p)
	}
	if tl := build(t, "10.5 0 rename target=5\n"); tl.Phases() != nil {
		t.Error("phases that nobody told of")
	}
}

// TestFirstStart reads what systemd says of one unit, at different times.
func TestFirstStart(t *testing.T) {
	const live, asked = ` caught_live=1 tail="Id=a.service\x00"`, ` tail="Id=a.service\x00NRestarts=2\x00After=b.target c.service\x00"`
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"once", []string{"11 unit activating=2s active=5s" + asked}, "2000 5000 0"},
		{"a restart has overwritten the first", []string{
			"10.5 unit activating=2s active=5s" + live, "12 unit activating=8s active=9s deactivating=7s inactive=7.5s" + asked}, "2000 5000 0 live"},
		{"the same, told the other way round", []string{
			"12 unit activating=8s active=9s deactivating=7s inactive=7.5s" + asked, "12.5 unit activating=2s active=5s" + live}, "2000 5000 0 live"},
		{"only a later start is known", []string{"12 unit activating=8s active=9s deactivating=7s inactive=7.5s" + asked}, "8000 9000 0 again"},
		{"it is starting again", []string{"12 unit activating=8s active=5s deactivating=6s inactive=7s" + asked}, "0 5000 7000"},
		{"a program that ran once", []string{"12 unit activating=2s inactive=4s" + asked}, "2000 0 4000"},
		{"still starting", []string{"12 unit activating=2s" + asked}, "2000 0 0"},
		{"ended later", []string{"10.5 unit activating=2s active=5s" + live, "12 unit activating=2s active=5s inactive=8s" + asked}, "2000 5000 8000 live"},
		{"never started", []string{"12 unit inactive=18446744073.709551615s" + asked}, "0 0 0"},
		{"computed below zero", []string{"12 unit activating=18446744073.709551000s active=18446744073.709551614s" + asked}, "0 0 0"},
	} {
		tl := build(t, strings.ReplaceAll(strings.Join(c.lines, "\n"), " unit", " 0 unit")+"\ntrailer {\"end_ns\":13000000000}")
		a := tl.FindUnit("a.service").Systemd
		got := fmt.Sprintf("%d %d %d", a.Activating/1e6, a.Active/1e6, a.Inactive/1e6)
		if a.Again {
			got += " again"
		}
		if a.Live {
			got += " live"
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if n, known := a.Restarts(); n != 2 || !known || strings.Join(a.List("After"), ",") != "b.target,c.service" {
			t.Errorf("%s: %d restarts (%v), after %q", c.name, n, known, a.List("After"))
		}
	}
}

func TestUnitsJoinByName(t *testing.T) {
	tl := build(t, `
		10.000 0 cgroup cgroup=7 path="/system.slice/a\\x2db.service"
		10.001 100 task state=S start=2s comm="a" cgroup=7
		10.500 0 unit activating=2s active=3s tail="Id=a\\x2db.service\x00Type=notify\x00"
		10.500 0 unit activating=1s active=1s tail="Id=basic.target\x00"
		10.500 0 unit activating=1s tail="no name"
		trailer {"end_ns":11000000000}`)
	if len(tl.Units) != 2 {
		t.Fatalf("%d units", len(tl.Units))
	}
	u := tl.FindUnit(`a\x2db.service`)
	if u == nil || u.Systemd == nil || u.Systemd.Property("Type") != "notify" || len(u.Processes) != 1 || u.Processes[0].Unit != u {
		t.Errorf("the service: %+v", u)
	}
	if u := tl.FindUnit("basic.target"); u == nil || u.Systemd.Active != 1e9 || len(u.Processes) != 0 {
		t.Errorf("the target: %+v", u)
	}
}

// units is a boot whose target waits for two services, of which one waits for a third.
const units = `
	12 0 unit activating=1s active=1s tail="Id=basic.target\x00"
	12 0 unit activating=2s active=7s tail="Id=net.service\x00After=basic.target late.service never.service gone.service\x00"
	12 0 unit activating=1s active=4s tail="Id=quick.service\x00After=basic.target\x00"
	12 0 unit activating=7.5s inactive=9s tail="Id=once.service\x00After=net.service basic.target once.service\x00"
	12 0 unit activating=9s active=9s tail="Id=multi-user.target\x00After=quick.service once.service graphical.target\x00"
	12 0 unit activating=10s active=11s tail="Id=late.service\x00After=multi-user.target\x00"
	12 0 unit tail="Id=never.service\x00"
	12 0 unit activating=11s tail="Id=hangs.service\x00After=late.service\x00"`

func chainText(links []Link) string {
	var parts []string
	for _, l := range links {
		s := fmt.Sprintf("%s %d..%d", l.Unit.Name, l.From/1e6, l.To/1e6)
		if l.Before > 0 {
			s += fmt.Sprintf(" after %d", l.Before/1e6)
		}
		if l.Own {
			s += " own"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

func TestChain(t *testing.T) {
	tail := "\ntrailer {\"end_ns\":13000000000}"
	tl := build(t, units+tail)
	links, name := tl.Goal()
	want := "basic.target 1000..1000, net.service 2000..7000 after 1000, once.service 7500..9000 after 500, multi-user.target 9000..9000"
	if got := chainText(links); got != want || name != "multi-user.target" {
		t.Errorf("to %s:\n%s\nwant\n%s", name, got, want)
	}
	want = "multi-user.target 9000..9000, late.service 10000..11000 after 1000, hangs.service 11000..13000"
	if got := chainText(tl.Chain(tl.FindUnit("hangs.service"))); !strings.HasSuffix(got, want) {
		t.Errorf("of a unit that is not up: %s", got)
	}
	if links := tl.Chain(tl.FindUnit("never.service")); links != nil {
		t.Errorf("of a unit that never started: %s", chainText(links))
	}

	tl = build(t, units+`
		8.000 0 milestone tail="lines\x00journal:quick.service:ready\x00"
		2.000 0 milestone tail="early\x00unit:nowhere.service\x00"`+tail)
	links, name = tl.Goal()
	if got, want := chainText(links), "basic.target 1000..1000, quick.service 1000..4000, quick.service 4000..8000 own"; got != want || name != "lines" {
		t.Errorf("to %s: %s, want %s", name, got, want)
	}
	if links := tl.ChainTo(&tl.Milestones[0]); links != nil {
		t.Errorf("to a milestone of an unknown unit: %s", chainText(links))
	}
}

// Units that come after each other in a circle, all at the same moment.
func TestChainEnds(t *testing.T) {
	tl := build(t, `
		12 0 unit activating=1s active=1s tail="Id=a.target\x00After=b.target a.target\x00"
		12 0 unit activating=1s active=1s tail="Id=b.target\x00After=a.target\x00"
		trailer {"end_ns":13000000000}`)
	if got, want := chainText(tl.Chain(tl.FindUnit("a.target"))), "b.target 1000..1000, a.target 1000..1000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

const steady = `
	10.000 100 task state=S start=2s comm="a"
	10.100 [0] 0 waking target=100
	10.200 [0] 0 switch next=100
	10.500 [0] 100 switch next=0 state=sleeping syscall=35
	11.500 [0] 0 waking target=100
	11.600 [0] 0 switch next=100
	11.800 [0] 100 switch next=0 state=io_wait syscall=0
	trailer {"end_ns":12000000000}`

func inSeconds(ns uint64) string { return fmt.Sprintf("%d.%09ds", ns/1e9, ns%1e9) }

// A step of the wall clock, in either direction, moves nothing, and stamps of the wall clock mean the
// right moment on both sides.
func TestClockSteps(t *testing.T) {
	want := describe(build(t, steady))
	const now = 1_700_000_000_000_000_000
	for _, c := range []struct {
		name   string
		clocks [4]uint64 // of the wall: at 10 s, before the step at 11 s, which is not recorded, after it, at 12 s
		stamps []uint64
		want   string
		by     int64
	}{
		{"forward by 14 s", [4]uint64{now, now + 1e9, now + 15e9, now + 16e9},
			[]uint64{now + 0.5e9, now + 0.99e9, now + 15.001e9, now + 15.9e9}, "10500 10990 11001 11900", 14e9},
		{"back by 14 s", [4]uint64{now, now + 1e9, now - 13e9, now - 12e9},
			[]uint64{now + 0.5e9, now + 0.99e9, now - 13e9 + 1e6, now - 12.1e9}, "10500 10990 11001 11900", -14e9},
		{"from 1970", [4]uint64{10e9, 11e9, now + 11e9, now + 12e9},
			[]uint64{10.5e9, 10.99e9, now + 11.001e9, now + 11.9e9, now / 2}, "10500 10990 11001 11900", now},
	} {
		trace := fmt.Sprintf(`
			10.000 0 clock realtime=%s monotonic=10s reason=at_start
			11.000 0 clock realtime=%s monotonic=11s reason=stepped
			12.000 0 clock realtime=%s monotonic=12s reason=at_end
			%s`, inSeconds(c.clocks[0]), inSeconds(c.clocks[2]), inSeconds(c.clocks[3]), steady)
		for _, stamp := range c.stamps {
			trace = fmt.Sprintf("0 0 journal realtime=%s tail=\"a.service\\x00a\\x00line\\x00\"\n", inSeconds(stamp)) + trace
		}
		tl := build(t, trace)
		if got := describe(tl); got != want {
			t.Errorf("%s: the step moved something:\n%s\nwant\n%s", c.name, got, want)
		}
		if steps := tl.ClockSteps(); len(steps) != 1 || steps[0].Time != 11e9 || steps[0].By != c.by {
			t.Errorf("%s: steps %+v", c.name, steps)
		}
		var got []string
		for _, l := range tl.Journal {
			got = append(got, fmt.Sprint(l.Time/1e6))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: the journal is at %s, want %s", c.name, s, c.want)
		}
	}
}

// What the recorder was told has the time at which it happened, or nonsense: it is no clock.
func TestToldMovesNothing(t *testing.T) {
	want := describe(build(t, steady))
	tl := build(t, `
		10.300 0 kernel_log sequence=1 tail="ahead"
		11.700 0 unit activating=1s tail="Id=a.service\x00"
		9999.0 0 kernel_log sequence=2 tail="nonsense"
		9999.0 0 milestone tail="never\x00unit:x\x00"
		9999.0 0 journal tail="a\x00b\x00c\x00"
		0.000 0 milestone tail="unset\x00unit:x\x00"
		0.000 0 kernel_log sequence=0 tail="Linux version"
		11.000 0 milestone tail="half"`+steady)
	if got := describe(tl); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(tl.KernelLog) != 2 || tl.KernelLog[0].Text != "Linux version" || tl.KernelLog[1].Time != 10.3e9 {
		t.Errorf("the kernel's log: %+v", tl.KernelLog)
	}
	if len(tl.Milestones) != 1 || tl.Milestones[0].Name != "half" || len(tl.Journal) != 0 {
		t.Errorf("milestones %+v, journal %+v", tl.Milestones, tl.Journal)
	}
	// A trace that was cut off ends with its last event, not with what it was told.
	cut := strings.Split(steady, "trailer")[0]
	if tl := build(t, "9999.0 0 kernel_log tail=\"x\"\n"+cut); tl.End != 11.8e9 {
		t.Errorf("it ends at %d", tl.End)
	}
}

func TestInitcalls(t *testing.T) {
	tl := build(t, `
		0.100 0 kernel_log tail="calling  first_init+0x0/0x20 @ 1"
		0.350 0 kernel_log tail="initcall first_init+0x0/0x20 returned 0 after 249876 usecs"
		0.400 0 kernel_log tail="calling  outer_init+0x0/0x10 [outer] @ 77"
		0.450 0 kernel_log tail="initcall lone_init+0x0/0x20 returned -19 after 30000 usecs"
		0.500 0 kernel_log tail="initcall outer_init+0x0/0x10 [outer] returned 0 after 100000 usecs"
		0.600 0 kernel_log tail="probe of 0000:00:03.0 returned 0 after 20000 usecs"
		0.700 0 kernel_log tail="initcall wild_init+0x0/0x20 returned 0 after 99999999999 usecs"
		0.800 0 kernel_log tail="initcall_debug is fine"
		trailer {"end_ns":11000000000}`)
	var got []string
	for _, c := range tl.Initcalls() {
		got = append(got, fmt.Sprintf("%s %d..%d = %d", c.Name, c.Start/1e6, c.End/1e6, c.Result))
	}
	want := `first_init+0x0/0x20 100..350 = 0
outer_init+0x0/0x10 [outer] 400..500 = 0
lone_init+0x0/0x20 420..450 = -19
probe of 0000:00:03.0 580..600 = 0
wild_init+0x0/0x20 700..700 = 0`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
}

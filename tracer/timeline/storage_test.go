package timeline

import (
	"fmt"
	"strings"
	"testing"
)

// onArm is a header of an arm64 machine with 16 KiB pages, where every probe is on.
const onArm = `header {"arch":"aarch64","page_size":16384,"start_ns":10000000000,"probes":[
{"name":"sched","status":"on","via":"tp_btf"},{"name":"process","status":"on"},{"name":"fault","status":"on"},{"name":"read","status":"on"},
{"name":"reclaim","status":"on"},{"name":"sync","status":"on"},{"name":"socket","status":"on"}]}
`

func buildOnArm(t *testing.T, text string, sinks ...Sink) *Timeline {
	t.Helper()
	return build(t, strings.ReplaceAll(strings.TrimSpace(onArm), "\n", "")+"\n"+text, sinks...)
}

func (r Reads) String() string {
	return fmt.Sprintf("%d KiB, %d by faults, %d ahead, %d again, %d dropped", r.Bytes>>10, r.Faulted>>10, r.Ahead>>10, r.Again>>10, r.Dropped>>10)
}

// storageSink writes down what passes.
type storageSink struct {
	Discard
	lines []string
}

func (s *storageSink) Read(r *Read) {
	s.lines = append(s.lines, fmt.Sprintf("read %d at %d ms, offset %d KiB: %s", r.File.Inode, (r.Start-10e9)/1e6, r.Offset>>10, r.Reads))
}

func (s *storageSink) Sync(y *Sync) {
	s.lines = append(s.lines, fmt.Sprintf("sync %d from %d to %d ms: %d", y.Syscall, (y.Start-10e9)/1e6, (y.End-10e9)/1e6, y.Result))
}

func (s *storageSink) Socket(c *Socket) {
	s.lines = append(s.lines, fmt.Sprintf("%s fd %d to %q: %d", c.Call, c.FD, c.Address, c.Result))
}

func (s *storageSink) check(t *testing.T, want string) {
	t.Helper()
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	if got := strings.Join(s.lines, "\n"); got != strings.Join(lines, "\n") {
		t.Errorf("got\n%s", got)
	}
}

// What a call means decides whether the pages it brought were read; who brought them may have left the CPU
// by the time the event comes.
func TestReads(t *testing.T) {
	var s storageSink
	tl := buildOnArm(t, `
		10.000 100 task state=S start=9s comm="a" cgroup=7
		10.000 0 cgroup cgroup=7 path="/system.slice/a.service"
		10.000 100 mapping inode=5 device=8:1 path="/lib/mapped.so"
		10.010 [0] 100 path file=0x1 inode=1 device=8:1 path="/data"
		10.020 [0] 100 read start=10.011s last=10.012s inode=1 device=8:1 index=4 pages=8 again=2 dropped=1 syscall=63
		10.021 [0] 100 read start=10.013s last=10.013s inode=1 device=8:1 pages=4 syscall=64
		10.022 [0] 100 read start=10.014s last=10.014s inode=1 device=8:1 pages=2 syscall=213
		10.023 [0] 100 read start=10.015s last=10.015s inode=5 device=8:1 pages=16 again=16
		10.024 [0] 100 read start=10.016s last=10.016s inode=0x800001 device=0:3 pages=1 syscall=79
		10.025 [1] 300 read start=10.017s last=10.017s inode=9 device=8:1 pages=1 flags=4
		10.026 [0] 100 open file=0x1 result=3 flags=0x241
		10.027 [0] 100 read start=10.027s last=10.027s inode=1 device=8:1 pages=4 syscall=285
		9.900 [0] 100 read start=9.8s last=9.9s inode=1 device=8:1 pages=100 syscall=63
		trailer {"end_ns":10100000000}`, &s)
	s.check(t, `
		read 1 at 11 ms, offset 64 KiB: 128 KiB, 0 by faults, 0 ahead, 32 again, 16 dropped
		read 1 at 14 ms, offset 0 KiB: 32 KiB, 0 by faults, 32 ahead, 0 again, 0 dropped
		read 5 at 15 ms, offset 0 KiB: 256 KiB, 256 by faults, 0 ahead, 256 again, 0 dropped
		read 8388609 at 16 ms, offset 0 KiB: 16 KiB, 0 by faults, 0 ahead, 0 again, 0 dropped
		read 9 at 17 ms, offset 0 KiB: 16 KiB, 0 by faults, 0 ahead, 0 again, 0 dropped`)
	const sum = "432 KiB, 256 by faults, 32 ahead, 288 again, 16 dropped"
	if p := process(t, tl, 100, 0); p.Reads.String() != sum || p.Unit.Reads.String() != sum {
		t.Errorf("process: %s; unit: %s", p.Reads, p.Unit.Reads)
	}
	names := map[string]string{}
	for _, f := range tl.Files {
		names[fmt.Sprint(f.Inode, f.BlockDevice)] = f.Path
	}
	want := map[string]string{"1 false": "/data", "5 false": "/lib/mapped.so", "8388609 true": "", "9 false": ""}
	if fmt.Sprint(names) != fmt.Sprint(want) {
		t.Errorf("files: %v", names)
	}
}

// The pages and the end of a fault come in either order; both belong to one file.
func TestFaultsHaveFiles(t *testing.T) {
	tl := buildOnArm(t, `
		10.000 100 task state=R start=9s comm="a"
		10.010 [0] 100 switch next=0 state=io_wait
		10.030 [1] 0 waking target=100
		10.030 [0] 0 switch next=100
		10.031 [0] 100 fault addr=0x1000
		10.032 [0] 100 read start=10.009s last=10.009s inode=1 device=8:1 pages=4
		10.040 [0] 100 switch next=200 state=io_wait
		10.041 [0] 200 read start=10.041s last=10.041s inode=3 device=8:1 pages=1 syscall=63
		10.041 [0] 100 read start=10.039s last=10.039s inode=2 device=8:1 pages=4
		10.045 [1] 0 waking target=100
		10.045 [0] 200 switch next=100 state=sleeping syscall=101
		10.046 [0] 100 fault addr=0x2000
		10.050 [0] 100 switch next=0 state=sleeping syscall=101
		10.060 [1] 0 waking target=100
		10.060 [0] 0 switch next=100
		10.061 [0] 100 fault addr=0x3000
		trailer {"end_ns":10100000000}`)
	got := ""
	for _, f := range tl.Files {
		got += fmt.Sprintf("inode %d: %d, %d ms; ", f.Inode, f.Faults.Count, f.Faults.Time/1e6)
	}
	if want := "inode 1: 1, 20 ms; inode 3: 0, 0 ms; inode 2: 1, 5 ms; "; got != want {
		t.Errorf("got %s", got)
	}
	if p := process(t, tl, 100, 0); p.FaultEvents != 3 || p.FaultTime != 25e6 {
		t.Errorf("%d faults, %d ns", p.FaultEvents, p.FaultTime)
	}
}

// A call that had to wait twice, and one that had not.
func TestSyncs(t *testing.T) {
	var s storageSink
	tl := buildOnArm(t, `
		10.000 100 task state=R start=9s comm="a"
		10.005 [0] 100 path file=0x1 inode=1 device=8:1 path="/data"
		10.010 [0] 100 switch next=0 state=io_wait syscall=82
		10.030 [1] 0 waking target=100
		10.030 [0] 0 switch next=100
		10.031 [0] 100 switch next=0 state=blocked syscall=82
		10.050 [1] 0 waking target=100
		10.050 [0] 0 switch next=100
		10.051 [0] 100 sync file=0x1 fd=3 syscall=82
		10.060 [0] 100 sync fd=-1 result=-5 syscall=81
		trailer {"end_ns":10100000000}`, &s)
	s.check(t, "sync 82 from 10 to 51 ms: 0\nsync 81 from 60 to 60 ms: -5")
	if f := tl.Files[0]; f.Syncs != (Syncs{1, 41e6}) || tl.Processes[0].Syncs != (Syncs{2, 41e6}) {
		t.Errorf("file %+v, process %+v", f.Syncs, tl.Processes[0].Syncs)
	}
}

func TestSockets(t *testing.T) {
	var s storageSink
	buildOnArm(t, `
		10.010 [0] 100 socket fd=3 result=-111 call=connect family=1 path="/var/run/x.sock\x00\x00"
		10.020 [0] 100 socket fd=3 call=bind family=1 path="\x00name"
		10.030 [0] 100 socket fd=4 call=connect family=2 port=80 ip=7f000001000000000000000000000000
		10.040 [0] 100 socket fd=5 call=connect family=10 port=443 ip=00000000000000000000000000000001
		10.050 [0] 100 socket fd=5 call=listen
		10.060 [0] 100 socket fd=6 call=connect family=16
		trailer {"end_ns":10100000000}`, &s)
	s.check(t, `
		connect fd 3 to "/run/x.sock": -111
		bind fd 3 to "@name": 0
		connect fd 4 to "127.0.0.1:80": 0
		connect fd 5 to "[::1]:443": 0
		listen fd 5 to "": 0
		connect fd 6 to "": 0`)
}

// Each process is held by the nearest limit above it, as its moves, its reclaims or its unit tell.
func TestMemoryGroups(t *testing.T) {
	tl := buildOnArm(t, `
		10.000 0 cgroup cgroup=7 path="/system.slice/a.service"
		10.000 0 cgroup cgroup=70 hierarchy=4 path="/system.slice/a.service"
		10.000 0 cgroup cgroup=80 hierarchy=4 path="/limited"
		10.000 0 cgroup cgroup=81 hierarchy=4 path="/limited/below"
		10.000 0 memory cgroup=70 hierarchy=4 max=1000B high=0xffffffffffffffff phase=at_start file_refaults=5
		10.000 0 memory cgroup=80 hierarchy=4 max=2000B high=0xffffffffffffffff phase=meanwhile file_refaults=9
		10.000 100 task state=S start=9s comm="unit" cgroup=7
		10.000 200 task state=S start=9s comm="moved"
		10.000 400 task state=S start=9s comm="told"
		10.010 [0] 1 cgroup_attach target=200 cgroup=80 hierarchy=4
		10.020 [0] 200 fork child_tid=300 child_pid=300
		10.030 [0] 400 reclaim cgroup=81 hierarchy=4 phase=begin kind=memcg
		10.031 [0] 400 switch next=0 state=blocked syscall=63
		10.041 [1] 0 waking target=400
		10.041 [0] 0 switch next=400
		10.050 [0] 400 reclaim cgroup=81 hierarchy=4 phase=end kind=memcg pages=2
		10.051 [0] 400 reclaim cgroup=81 hierarchy=4 phase=begin kind=memcg
		10.052 [0] 400 reclaim cgroup=81 hierarchy=4 phase=end kind=memcg pages=0
		10.060 [0] 500 reclaim cgroup=99 hierarchy=4 phase=begin kind=global
		10.064 [0] 500 reclaim cgroup=99 hierarchy=4 phase=end kind=global pages=1
		10.070 0 memory cgroup=70 hierarchy=4 max=1000B high=0xffffffffffffffff phase=at_end file_refaults=15
		trailer {"end_ns":10100000000}`)
	got := ""
	for _, g := range tl.Memory {
		limit, _, _ := g.Limit()
		got += fmt.Sprintf("%s limit %d refaults %d reclaims %+v:", g.Path, limit, g.Growth().FileRefaults, g.Reclaims)
		for _, p := range g.Processes {
			got += fmt.Sprintf(" %d", p.PID)
		}
		got += "\n"
	}
	want := `/limited limit 2000 refaults 9 reclaims {Count:2 Time:21000000 Freed:32768 InVain:1}: 200 400 300
/system.slice/a.service limit 1000 refaults 10 reclaims {Count:0 Time:0 Freed:0 InVain:0}: 100
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if tl.Shortage != (Reclaims{1, 4e6, 16384, 0}) {
		t.Errorf("shortage %+v", tl.Shortage)
	}
	if sl := process(t, tl, 400, 0).Threads[0].Sleeps; len(sl) != 1 || !sl[0].Reclaim || sl[0].Time != 10e6 {
		t.Errorf("sleeps %+v", sl)
	}
}

//go:build linux

package system

import (
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

// TestCgroupOfProcess reads /proc/PID/cgroup as it is on unified, hybrid and old systems.
func TestCgroupOfProcess(t *testing.T) {
	c := &Cgroups{ids: map[string]uint64{"/": 1, "/system.slice/x.service": 4711, "/a:b": 42}}
	for text, want := range map[string]uint64{
		"0::/system.slice/x.service\n":                       4711,
		"12:memory:/other\n1:name=systemd:/other\n0::/a:b\n": 42,
		"0::/\n": 1,
		"12:memory:/system.slice/x.service\n1:name=systemd:/\n": 0,
		"0::/made/since\n": 0,
		"0::/system.slice/x.service (deleted)\n1:cpu:/0::/system.slice\n": 0,
		"": 0,
	} {
		dir := t.TempDir()
		writeTree(t, dir, map[string]string{"cgroup": text})
		if got := c.idOf(dir); got != want {
			t.Errorf("%q: cgroup %d, want %d", text, got, want)
		}
	}
	if got := c.idOf("/no/such/process"); got != 0 {
		t.Errorf("a process that has ended is in cgroup %d", got)
	}
}

// TestWalkTree finds cgroups with the inodes of their directories.
func TestWalkTree(t *testing.T) {
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{"system.slice/x.service/cgroup.procs": "", "cgroup.procs": ""})
	c := &Cgroups{mount: dir, ids: map[string]uint64{}}
	var names []string
	if err := c.Walk(func(e *event.Cgroup) error { names = append(names, string(e.TailBytes())); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(names) != 3 || names[0] != "/" || names[2] != "/system.slice/x.service" || c.ids[names[2]] == 0 || c.ids[names[2]] == c.ids["/"] {
		t.Errorf("the cgroups are %v with ids %v", names, c.ids)
	}
}

//go:build linux && kerneltest

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// finding is one as report --json tells it.
type finding struct {
	ID       string
	Cost     float64 `json:"cost_s"`
	PID      uint32
	Evidence []string
}

// reported is what these tests need of report --json.
type reported struct {
	Findings []finding
	Memory   []struct {
		Cgroup    string
		Reclaims  uint64
		MaxEvents uint64 `json:"max_events"`
	}
	Processes []struct {
		PID     uint32
		Command bool
		Sync    float64 `json:"sync_s"`
	}
}

func (r *reported) of(id string) (list []finding) {
	for _, f := range r.Findings {
		if f.ID == id {
			list = append(list, f)
		}
	}
	return list
}

// reportOn records a command in a directory and reports.
func reportOn(t *testing.T, dir string, command ...string) *reported {
	t.Helper()
	if r := bootscope(t, dir, nil, append([]string{"record", "-o", "t.bst", "--"}, command...)...); r.status != 0 {
		t.Fatalf("record: status %d:\n%s%s", r.status, r.stdout, r.stderr)
	}
	r := bootscope(t, dir, nil, "report", "--json", "t.bst")
	var all reported
	if err := json.Unmarshal([]byte(r.stdout), &all); err != nil || r.status != 0 {
		t.Fatalf("report: status %d, %v: %s", r.status, err, r.stderr)
	}
	for _, f := range all.Findings {
		t.Logf("found: %s, %.3f s\n  %s", f.ID, f.Cost, strings.Join(f.Evidence, "\n  "))
	}
	return &all
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func succeed(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// limitedGroup makes a cgroup (version 1) with a limit of 30 MiB.
func limitedGroup(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join("/sys/fs/cgroup/memory", fmt.Sprintf("bootscope-waits-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no cgroup with a memory limit can be made here: %v", err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	write(t, dir+"/memory.limit_in_bytes", "30M")
	return dir
}

// TestLimits runs three services under the same limit, of which one needs more.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name, script string
		found        int
	}{
		{"below the working set", "for i in 1 2 3 4 5 6 7 8; do cat big >/dev/null; done", 1},
		{"healthy", "for i in 1 2 3 4 5 6 7 8; do cat small small >/dev/null; dd if=once bs=1M count=12 skip=$((i*12)) of=/dev/null 2>/dev/null; done", 0},
		{"caches dropped", "for i in 1 2 3 4 5 6 7 8; do cat small >/dev/null; echo 1 >/proc/sys/vm/drop_caches; done", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, group := t.TempDir(), limitedGroup(t)
			succeed(t, "sh", "-c", "cd "+dir+" && head -c 60M /dev/zero >big && head -c 8M /dev/zero >small && head -c 120M /dev/zero >once && "+
				"sync big small once && echo 1 >/proc/sys/vm/drop_caches")
			all := reportOn(t, dir, "sh", "-c", "echo $$ >"+group+"/cgroup.procs; "+c.script)
			found := all.of("memory-limit-below-working-set")
			if len(found) != c.found {
				t.Errorf("%d findings, want %d", len(found), c.found)
			}
			for _, f := range found {
				if text := strings.Join(f.Evidence, "\n"); !strings.Contains(text, filepath.Base(group)) || !strings.Contains(text, dir+"/big") {
					t.Errorf("the cgroup or the file is not named: %s", text)
				}
			}
			met := false
			for _, m := range all.Memory {
				met = met || strings.HasSuffix(group, m.Cgroup) && m.MaxEvents > 0 && m.Reclaims > 0
			}
			if !met && c.name != "caches dropped" {
				t.Errorf("the limit was not met, so this tests nothing: %+v", all.Memory)
			}
		})
	}
}

// slowDisk mounts an ext4 whose disk does so many writes a second: a loop device that blkio throttles.
func slowDisk(t *testing.T, writes int) (mount string) {
	t.Helper()
	dir := t.TempDir()
	image, mount := dir+"/image", dir+"/mount"
	throttle := "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device"
	if _, err := os.Stat(throttle); err != nil {
		t.Skipf("no disk can be slowed down here: %v", err)
	}
	succeed(t, "sh", "-c", fmt.Sprintf("truncate -s 64M %s && mkfs.ext4 -q %s && mkdir %s", image, image, mount))
	device := succeed(t, "losetup", "--find", "--show", image)
	t.Cleanup(func() { exec.Command("losetup", "--detach", device).Run() })
	succeed(t, "mount", device, mount)
	t.Cleanup(func() { exec.Command("umount", mount).Run() })
	number := succeed(t, "stat", "-c", "%Hr:%Lr", device)
	write(t, throttle, fmt.Sprintf("%s %d", number, writes))
	t.Cleanup(func() { os.WriteFile(throttle, []byte(number+" 0"), 0o644) })
	return mount
}

// TestFsyncOnASlowDisk syncs small files on a disk of 15 writes a second, and the same on one that is not
// slow.
func TestFsyncOnASlowDisk(t *testing.T) {
	const load = `import os, sys, time
start = time.monotonic()
for i in range(6):
    fd = os.open(sys.argv[1] + "/data", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.write(fd, b"x" * 5000)
    t = time.monotonic(); os.fsync(fd); waited = time.monotonic() - t
    print(waited)
    os.close(fd)`
	dir := t.TempDir()
	mount := slowDisk(t, 15)
	all := reportOn(t, dir, "/usr/bin/python3", "-c", load, mount)
	found := all.of("fsync-wait")
	if len(found) == 0 {
		t.Fatal("not found")
	}
	text := strings.Join(found[0].Evidence, "\n")
	if !strings.Contains(text, "called fsync and the like 6 times") || !strings.Contains(text, mount+"/data") {
		t.Errorf("the calls or the file are not named: %s", text)
	}
	for _, p := range all.Processes {
		if p.PID == found[0].PID && (p.Sync < found[0].Cost || p.Sync > 1.2*found[0].Cost) {
			t.Errorf("the process was in fsync for %.3f s and waited %.3f s in it", p.Sync, found[0].Cost)
		}
	}
	os.Remove(dir + "/t.bst")
	all = reportOn(t, dir, "/usr/bin/python3", "-c", strings.Replace(load, "os.fsync(fd)", "0", 1), mount)
	if found := all.of("fsync-wait"); len(found) != 0 {
		t.Errorf("found without a sync: %v", found)
	}
}

// The client tries after 0.2, 0.4, 0.8 s and so on, as asyncio programs do; the server comes after 2 s,
// when the client sleeps until about 3 s.
const backoffClient = `import asyncio, sys
async def main():
    pause = 0.2
    while True:
        try:
            await asyncio.open_unix_connection(sys.argv[1])
            return
        except OSError:
            await asyncio.sleep(pause)
            pause *= 2
asyncio.run(main())`

const lateServer = `import socket, sys, time
time.sleep(float(sys.argv[2]))
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
s.accept()`

// TestBackoff lets an asyncio client sleep on in epoll_wait when its server is there, and another one that
// finds its server at once.
func TestBackoff(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/client.py", backoffClient)
	write(t, dir+"/server.py", lateServer)
	const run = "/usr/bin/python3 server.py $0/socket $1 & sleep $2; exec /usr/bin/python3 client.py $0/socket"
	all := reportOn(t, dir, "sh", "-c", run, dir, "2", "0")
	found := all.of("backoff-sleep")
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	text := strings.Join(found[0].Evidence, "\n")
	for _, want := range []string{dir + "/socket", "began to listen", "asleep, in epoll_", "it tried again"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing: %s", want, text)
		}
	}
	if found[0].Cost < 0.5 || found[0].Cost > 3.2 {
		t.Errorf("it slept on for %.3f s", found[0].Cost)
	}
	os.Remove(dir + "/socket")
	os.Remove(dir + "/t.bst")
	if found := reportOn(t, dir, "sh", "-c", run, dir, "0", "1").of("backoff-sleep"); len(found) != 0 {
		t.Errorf("found %v, although the server was there first", found)
	}
}

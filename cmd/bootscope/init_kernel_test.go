//go:build kerneltest

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInit is the first process in a PID namespace: whatever is missing or fails, the real init runs, as
// that process, with the arguments and the environment that it would have had.
func TestInit(t *testing.T) {
	const ran = "init 1: single quiet COLOUR=blue\n"
	tests := []struct {
		name  string
		setUp string // in a mount namespace of its own
		argv0 string // what the kernel calls it; "" is its file
		want  string // what else is said; "" for nothing
	}{
		{name: "recording", setUp: "echo bootscope.hold=120s > line", want: "recording since "},
		{name: "at once", setUp: "echo quiet > line"},
		{name: "switched off", setUp: "echo bootscope=off > line", want: "nothing is being recorded"},
		{name: "another init", setUp: "echo bootscope.init=/run/other-init > line; mount -t tmpfs none /run; cp init /run/other-init; " +
			"mount --bind /bin/false /sbin/init"},
		{name: "an init that isn't there", setUp: "echo bootscope.init=/no/such/init > line"},
		{name: "no proc", setUp: "umount -l /proc"},
		{name: "read-only", setUp: "mount -o remount,bind,ro / && mount -o remount,ro /proc"},
		{name: "no program", argv0: "/gone/bootscope-init", want: "this boot is not recorded: starting the recorder: no such file"},
		{name: "recorder that ends", want: "nothing is being recorded",
			setUp: "echo bootscope.hold=120s > line; mount -t tmpfs none /etc/default; echo BOOTSCOPE_OPTIONS=--nonsense > /etc/default/bootscope"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			began := time.Now()
			out := runFirst(t, test.setUp, test.argv0)
			if strings.Count(out, ran) != 1 || !strings.Contains(out, test.want) {
				t.Errorf("it said %q, want %q and %q", out, ran, test.want)
			}
			if took := time.Since(began); took > 110*time.Second {
				t.Errorf("the real init was held back all the time: it was done after %v", took)
			}
		})
	}
}

// runFirst runs this test program as bootscope-init in namespaces of its own, and returns what it and the
// real init said.
func runFirst(t *testing.T, setUp, argv0 string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "bootscope-init")
	if err := os.Link(self, program); err != nil {
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The name of the program is taken away from status, or it would be the first process again.
	init := "#!/bin/bash\necho \"init $$: $* COLOUR=$COLOUR\"\nuntil (exec -a bootscope " + program + " status); do sleep 1; done\n"
	if err := os.WriteFile(filepath.Join(dir, "init"), []byte(init), 0o755); err != nil {
		t.Fatal(err)
	}
	if argv0 == "" {
		argv0 = program
	}
	// Recordings that are cut off stay in the namespace.
	script := "set -e; mount -t tmpfs none /var/lib; mount --bind init /sbin/init; echo > line; mount --bind line /proc/cmdline\n" +
		setUp + "\nexec -a " + argv0 + " " + program + " single quiet"
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--pid", "--fork", "--kill-child", "--mount", "--net", "--mount-proc", "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asBootscope+"=1", "COLOUR=blue")
	cmd.WaitDelay = time.Second // the recorder has the pipe too until it has its own output
	out, err := cmd.CombinedOutput()
	t.Logf("%s (%v)", out, err)
	return string(out)
}

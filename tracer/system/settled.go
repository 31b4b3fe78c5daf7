//go:build linux

package system

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// settledAfter is how long after the kernel's start a boot is taken to be still going on, where nobody
// can be asked; and where systemd can be, how long daemons go on with what they start with.
const settledAfter = 60 * time.Second

// Unsettled says why this machine is not yet at rest after its boot; "" if it is.
func Unsettled(ctx context.Context) string {
	// The list of jobs tells more than is-system-running, which answers "running" while a timer's unit starts.
	out, err := exec.CommandContext(ctx, "systemctl", "list-jobs", "--no-legend", "--plain").Output()
	if err == nil {
		if jobs := strings.Fields(string(out)); len(jobs) >= 4 && jobs[0] != "No" {
			return fmt.Sprintf("systemd still works on %s (systemctl list-jobs)", jobs[1])
		}
	}
	if up := time.Duration(BootTime()); up < settledAfter {
		return fmt.Sprintf("the kernel has started %.0f s ago", up.Seconds())
	}
	return ""
}

// Settle waits until this machine is at rest after its boot.
func Settle(ctx context.Context) error {
	// Without systemd this fails at once, and the time since the start is all that is known.
	_ = exec.CommandContext(ctx, "systemctl", "is-system-running", "--wait").Run()
	for Unsettled(ctx) != "" {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(settledAfter-time.Duration(BootTime()), time.Second)):
		}
	}
	return nil
}

//go:build linux

package system

import (
	"context"
	"fmt"
	"time"
)

// settledAfter is how long after the kernel's start a boot is taken to be still going on: where systemd can
// be asked, daemons go on for a while with what they start with; elsewhere nothing else is known.
const settledAfter = 60 * time.Second

// settlePoll is how often systemd is asked while waiting for it.
const settlePoll = time.Second

// Unsettled says why this machine is not yet at rest after its boot; "" if it is.
func Unsettled(ctx context.Context) string {
	if reason := unsettledSystemd(ctx); reason != "" {
		return reason
	}
	if up := time.Duration(BootTime()); up < settledAfter {
		return fmt.Sprintf("the kernel has started %.0f s ago", up.Seconds())
	}
	return ""
}

// unsettledSystemd says what systemd is at; "" for nothing, and where there is none that can be asked.
func unsettledSystemd(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := ConnectSystemd(ctx)
	if err != nil {
		return ""
	}
	defer s.Close()
	p, err := s.properties(ctx, managerPath, managerInterface)
	if err != nil {
		return ""
	}
	if p.number("FinishTimestampMonotonic") == 0 {
		return fmt.Sprintf("systemd has done %d of %d jobs (systemctl list-jobs)",
			p.number("NInstalledJobs")-min(p.number("NJobs"), p.number("NInstalledJobs")), p.number("NInstalledJobs"))
	}
	if n := p.number("NJobs"); n > 0 {
		return fmt.Sprintf("systemd starts or stops units: %d to do (systemctl list-jobs)", n)
	}
	return ""
}

// Settle waits until this machine is at rest after its boot.
func Settle(ctx context.Context) error {
	for Unsettled(ctx) != "" {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settlePoll):
		}
	}
	return nil
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/export/idle"
	"github.com/bootscope/bootscope/tracer/system"
)

// governorSettles is how long a governor gets to come to rest before it is looked at.
const governorSettles = 2 * time.Second

// compareGovernors records one window with each governor and shows them side by side. Whatever happens in
// between, a guardian restores what was set.
func compareGovernors(cmd *cobra.Command, o *idleOptions) (err error) {
	settings, err := system.GovernorSettings()
	if err != nil {
		return err
	}
	if missing, available := system.MissingGovernor(o.governors); missing != "" {
		return usagef("--compare-governors: there is no governor %q here; there are %s", missing, strings.Join(available, ", "))
	}
	g, err := startGuardian(settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.restore()) }()
	var windows []*idle.Idle
	for _, governor := range o.governors {
		if err := system.SetGovernor(governor); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "bootscope: governor %s\n", governor)
		time.Sleep(governorSettles)
		i, err := recordWindow(cmd, o)
		if err != nil {
			return err
		}
		windows = append(windows, i)
		if i.Trailer != nil && strings.HasPrefix(i.Trailer.Reason, "SIG") {
			break // show what there is
		}
	}
	if o.json {
		return idle.CompareJSON(cmd.OutOrStdout(), o.governors, windows)
	}
	return idle.CompareText(cmd.OutOrStdout(), o.governors, windows)
}

// A guardian is a process that restores the governors when this one ends, however it ends: it waits for the
// end of a pipe that this process holds open, and the kernel closes that in any case. It has a session of
// its own and ignores the signals that stop this one. Only SIGKILL for both leaves the governors as they
// are; a reboot restores them then.
type guardian struct {
	cmd  *exec.Cmd
	hold io.WriteCloser
}

const guardianName = "restore-governors"

func startGuardian(settings []system.Setting) (*guardian, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, guardianName)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the process that restores the governors: %w", err)
	}
	if err := json.NewEncoder(hold).Encode(settings); err != nil {
		return nil, fmt.Errorf("telling what governors to restore: %w", err)
	}
	// It must ignore signals before anything is changed.
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		return nil, fmt.Errorf("the process that restores the governors has ended: %w", err)
	}
	return &guardian{cmd, hold}, nil
}

// restore lets the guardian do its work and waits for that.
func (g *guardian) restore() error {
	g.hold.Close()
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("the governors may not be restored: %w", err)
	}
	return nil
}

// newRestoreGovernorsCommand is the guardian itself.
func newRestoreGovernorsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardianName,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
			var settings []system.Setting
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&settings); err != nil {
				return fmt.Errorf("reading what governors to restore: %w", err)
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), "ready"); err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, cmd.InOrStdin()) // its end or an error: nobody holds it any more
			return system.RestoreSettings(settings)
		},
	}
}

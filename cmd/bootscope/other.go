//go:build !linux

package main

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"
)

func newRecordCommand() *cobra.Command { return needsLinux("record") }
func newCheckCommand() *cobra.Command  { return needsLinux("check") }

func recordIdle(*cobra.Command, *idleOptions) error { return errNeedsLinux("idle") }

// newRestoreGovernorsCommand has nothing to restore here.
func newRestoreGovernorsCommand() *cobra.Command { return needsLinux("restore-governors") }

// needsLinux stands for a subcommand that works on the board only.
func needsLinux(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "On Linux only",
		DisableFlagParsing: true,
		Hidden:             name == "restore-governors",
		RunE:               func(*cobra.Command, []string) error { return errNeedsLinux(name) },
	}
}

func errNeedsLinux(name string) error {
	return errors.New(name + " needs Linux, this is " + runtime.GOOS + ": record on the board and copy the file here")
}

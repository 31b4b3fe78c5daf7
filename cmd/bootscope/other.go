//go:build !linux

package main

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"
)

func newRecordCommand() *cobra.Command { return needsLinux("record") }
func newCheckCommand() *cobra.Command  { return needsLinux("check") }

// needsLinux stands for a subcommand that works on the board only.
func needsLinux(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "On Linux only",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New(name + " needs Linux, this is " + runtime.GOOS +
				": record on the board and copy the file here")
		},
	}
}

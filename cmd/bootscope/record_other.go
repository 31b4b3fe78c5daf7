//go:build !linux

package main

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"
)

func newRecordCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "record",
		Short:              "Record (on Linux only)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("recording needs Linux, this is " + runtime.GOOS +
				": record on the board and copy the file here")
		},
	}
}

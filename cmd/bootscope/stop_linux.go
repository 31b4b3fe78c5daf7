package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/tracer/bootunit"
)

func newStopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "End the recording of the boot and save it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := bootunit.Ask(bootunit.AskStop, stopPatience)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s, %.1f MB, %d events lost\n", s.File, float64(s.Bytes)/1e6, s.Lost)
			return nil
		},
	}
}

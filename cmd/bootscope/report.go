package main

import (
	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/export/report"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

func newReportCommand() *cobra.Command {
	var asJSON bool
	var top int
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Say where the time went, and what to fix first",
		Long: `Say where the time went, and what to fix first: what was recorded, what that
cost and what was lost; findings, the costliest first; the processes by CPU time
and by waiting; the Python modules by the time of their import. --json prints
everything, in a documented form that only grows.`,
		Example: `  bootscope report t.bst
  bootscope report t.bst --top 20
  bootscope report t.bst --json | jq '.processes[] | .comm, .cpu_s'`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 0 {
				return usagef("--top %d: give a number of rows, or 0 for all", top)
			}
			var r *report.Report
			_, err := readTrace(cmd, args[0], false, func(source tracefile.Source) (err error) {
				r, err = report.Build(source)
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), r)
			}
			return report.Text(cmd.OutOrStdout(), r, top)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	cmd.Flags().IntVar(&top, "top", report.DefaultTop, "`rows` of each table, 0 for all")
	return cmd
}

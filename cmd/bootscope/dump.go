package main

import (
	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

func newDumpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "dump FILE",
		Short: "Print every event of a trace as text",
		Long: `Print every event of a trace as text, one a line, in order of time:

  SECONDS [CPU] PID/TID EVENT FIELD=VALUE...

Times are seconds from boot. "1234" is short for a process and its first thread,
"?/1240" a thread whose process is not known. The header comes first and the
trailer last, as JSON.`,
		Example: `  bootscope dump t.bst | grep ' open '
  ssh board cat boot.bst | bootscope dump -`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			source, err := readTrace(cmd, args[0], isTerminal(out), func(source tracefile.Source) error {
				return tracefile.WriteText(out, source)
			})
			if err == nil {
				warnIncomplete(cmd.ErrOrStderr(), args[0], source)
			}
			return err
		},
	}
}

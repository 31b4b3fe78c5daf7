package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/tracer/record"
)

func newRecordCommand() *cobra.Command {
	options := record.Options{
		Tool: "bootscope " + version,
		Notice: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "bootscope: "+format+"\n", args...)
		},
	}
	cmd := &cobra.Command{
		Use:   "record [flags] [-- COMMAND [ARG...]]",
		Short: "Record now, or run a command and record while it runs",
		Long: `Record what the whole machine does until Ctrl-C, for a duration, or while a command
runs. Everything on the machine is recorded, not the command alone: what it waits for is
often somebody else.

The command's exit status is passed on, and signals are passed to it. A file appears
under its name when it is complete; until then it is called NAME.partial-XXXXXXXX, and can
be read like the final one if the recorder was killed. Data is written out every 5 s.`,
		Example: `  bootscope record -- python3 -c 'import asyncio'
  bootscope record -o idle.bst --duration 30s
  bootscope record --no-args -o - | ssh laptop 'cat > board.bst'`,
		RunE: func(_ *cobra.Command, args []string) error {
			options.Command = args
			status, err := record.Record(options)
			if err != nil && status != statusFailed { // such as 127 for a command that doesn't exist
				options.Notice("%s", oneLine(err))
				return exitStatus(status)
			}
			if err == nil && status != 0 {
				return exitStatus(status)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command's name is the command's
	f.StringVarP(&options.Output, "output", "o", "trace.bst", "`FILE` to write; - is standard output")
	f.BoolVar(&options.Force, "force", false, "overwrite the output file if it exists")
	f.DurationVarP(&options.Duration, "duration", "d", 0, "stop after this long, such as 30s or 2m")
	f.BoolVar(&options.NoArgs, "no-args", false, "leave the arguments of programs out of the trace: they can hold secrets")
	f.BoolVar(&options.NoBTF, "no-btf", false, "record as on a kernel without BTF (less detail; for tests)")
	f.StringSliceVar(&options.Without, "without", nil, "`PROBES` to leave off, such as sample,fault")
	f.IntVar(&options.SampleHz, "sample-hz", record.DefaultSampleHz, "CPU samples per second and CPU")
	f.IntVar(&options.BufferBytes, "buffer", record.DefaultBufferBytes, "`BYTES` of the ring buffer for all events but context switches")
	return cmd
}

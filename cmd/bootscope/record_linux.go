package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/tracer/record"
)

func newRecordCommand() *cobra.Command {
	options := record.Options{
		Tool:  recordingTool(),
		Cache: startCache,
		Notice: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "bootscope: "+format+"\n", args...)
		},
	}
	var boot bootFlag
	cmd := &cobra.Command{
		Use:   "record [flags] [-- COMMAND [ARG...]]",
		Short: "Record now, or run a command and record while it runs",
		Long: `Record what the whole machine does until Ctrl-C, for a duration, or while a
command runs. Everything on the machine is recorded, not the command alone: what
it waits for is often somebody else.

The command's exit status is passed on, and signals are passed to it. The file
has its name when it is complete; until then it is NAME.partial-XXXXXXXX, which
can be read if the recorder was killed. Data is written out every 5 s.`,
		Example: `  bootscope record -- python3 -c 'import asyncio'
  bootscope record -o idle.bst --duration 30s
  bootscope record --no-args -o - | ssh laptop 'cat > board.bst'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRecordOptions(options); err != nil {
				return err
			}
			if err := boot.parse(&options); err != nil {
				return err
			}
			if boot.on {
				return boot.record(cmd, args, options)
			}
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
	f.BoolVar(&options.NoArgs, "no-args", false, "leave out the arguments of programs: they can hold secrets")
	f.BoolVar(&options.NoBTF, "no-btf", false, "record as on a kernel without BTF (less detail; for tests)")
	f.StringVar(&options.BTF, "btf", "", btfUsage)
	f.StringSliceVar(&options.Without, "without", nil, "`PROBES` to leave off: "+strings.Join(record.ProbeNames(), ", "))
	f.StringToStringVar(&options.Attach, "attach", nil, "attach in one `WAY` only, such as open=kretprobe; a wrong one lists the right ones")
	f.IntVar(&options.SampleHz, "sample-hz", record.DefaultSampleHz, "CPU samples per second and CPU")
	f.IntVar(&options.BufferBytes, "buffer", record.DefaultBufferBytes, "`BYTES` for all events but context switches, between kernel and recorder")
	boot.add(f)
	return cmd
}

// recordingTool names this program in what it records.
func recordingTool() string { return "bootscope " + toolVersion() }

// startCache is where the next start finds what this one has found out about the kernel.
var startCache = []string{record.CacheDir, record.InstallDir}

const btfUsage = "`FILE` with the kernel's types, where it has none of its own: raw BTF, or the kernel's vmlinux"

// checkRecordOptions finds the mistakes that the flags' types don't.
func checkRecordOptions(options record.Options) error {
	known := record.ProbeNames()
	for _, name := range options.Without {
		if !slices.Contains(known, name) {
			return usagef("--without: there is no probe %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	for name, via := range options.Attach {
		ways := record.WaysOf(name)
		if !slices.ContainsFunc(ways, func(w string) bool { return strings.HasPrefix(w, via) }) {
			return usagef("--attach: there is no way %q for probe %q; there are %s", via, name, strings.Join(ways, ", "))
		}
	}
	if options.SampleHz < 1 || options.SampleHz > 10000 {
		return usagef("--sample-hz: %d is not between 1 and 10000", options.SampleHz)
	}
	if options.BufferBytes < 1 || options.BufferBytes > 1<<30 {
		return usagef("--buffer: %d is not between 1 and 1073741824 bytes", options.BufferBytes)
	}
	if options.Duration < 0 {
		return usagef("--duration: %s is negative", options.Duration)
	}
	return nil
}

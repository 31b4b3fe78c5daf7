package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/export/idle"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// idleOptions are the flags of idle.
type idleOptions struct {
	duration  time.Duration
	interval  time.Duration
	settle    bool
	output    string
	force     bool
	json      bool
	top       int
	by        string
	governors []string
}

func newIdleCommand() *cobra.Command {
	var o idleOptions
	cmd := &cobra.Command{
		Use:   "idle [flags] [FILE]",
		Short: "Say what keeps an idle machine busy",
		Long: `Record for a while what a machine does that should do nothing, and say who uses
the CPU, who wakes and why, and what the frequency governor does. Shares are of
all CPUs' time together. Ctrl-C ends the recording and shows what there is. With
a FILE that idle -o has kept, look at that instead.`,
		Example: `  bootscope idle
  bootscope idle --duration 2m --interval 5s
  bootscope idle -o idle.bst --json | jq '.tasks[] | .comm, .woken_by'
  bootscope idle --compare-governors performance,schedutil`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			if len(args) == 0 {
				return recordIdle(cmd, &o)
			}
			i, err := readIdle(cmd, args[0])
			if err != nil {
				return err
			}
			return o.show(cmd.OutOrStdout(), i)
		},
	}
	f := cmd.Flags()
	f.DurationVarP(&o.duration, "duration", "d", 30*time.Second, "`TIME` to record")
	f.DurationVar(&o.interval, "interval", 0, "show a table every `TIME`, such as 5s")
	f.BoolVar(&o.settle, "settle", false, "wait first until the boot is over")
	f.StringVarP(&o.output, "output", "o", "", "keep the trace in `FILE`")
	f.BoolVar(&o.force, "force", false, "overwrite the output file if it exists")
	f.BoolVar(&o.json, "json", false, "print everything as JSON")
	f.IntVar(&o.top, "top", idle.DefaultTop, "`rows` of each table, 0 for all")
	f.StringVar(&o.by, "by", "task", "table by `WHAT`: task or unit")
	f.StringSliceVar(&o.governors, "compare-governors", nil, "record once with each of these `NAMES`,\nthen restore what was set")
	return cmd
}

// check finds the mistakes that the flags' types don't.
func (o *idleOptions) check(args []string) error {
	switch {
	case o.by != "task" && o.by != "unit":
		return usagef("--by %q: give task or unit", o.by)
	case o.top < 0:
		return usagef("--top %d: give a number of rows, or 0 for all", o.top)
	case o.duration <= 0:
		return usagef("--duration %s: give a time such as 30s", o.duration)
	case o.interval != 0 && o.interval < time.Second:
		return usagef("--interval %s: give at least 1s", o.interval)
	case o.interval != 0 && len(o.governors) > 0:
		return usagef("--interval and --compare-governors: give one of them")
	case o.output != "" && len(o.governors) > 0:
		return usagef("--output and --compare-governors: one trace can't hold several recordings")
	case len(args) > 0 && (o.output != "" || o.interval != 0 || o.settle || len(o.governors) > 0):
		return usagef("%s is a recording already: only --json, --top and --by go with it", args[0])
	}
	for k, g := range o.governors {
		if g == "" || strings.ContainsAny(g, "/ \n") {
			return usagef("--compare-governors: governor %d is %q", k+1, g)
		}
	}
	return nil
}

// show prints a recording in the form that is wanted.
func (o *idleOptions) show(w io.Writer, i *idle.Idle) error {
	if o.json {
		return idle.JSON(w, i)
	}
	return idle.Text(w, i, idle.Options{Top: o.top, ByUnit: o.by == "unit"})
}

// readIdle reads a trace that idle has made.
func readIdle(cmd *cobra.Command, name string) (i *idle.Idle, err error) {
	source, err := readTrace(cmd, name, false, func(source tracefile.Source) (err error) {
		i, err = idle.Build(source)
		return err
	})
	if err != nil {
		return nil, err
	}
	warnIncomplete(cmd.ErrOrStderr(), name, source)
	if !i.Can.Wakers {
		fmt.Fprintf(cmd.ErrOrStderr(), "bootscope: %s was not recorded by idle: what woke whom is not in it\n", name)
	}
	return i, nil
}

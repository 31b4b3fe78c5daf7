package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/export/report"
	"github.com/bootscope/bootscope/tracer/milestone"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

func newReportCommand() *cobra.Command {
	var asJSON bool
	var top int
	var asked reportAsks
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Say where the time went, and what to fix first",
		Long: `Say where the time went, and what to fix first: what was recorded, what that
cost and what was lost; findings, the costliest first; the processes by CPU time
and by waiting; the Python modules by the time of their import. Of a boot also
its phases, the milestones, the units by how long they took to start, and the
critical chain to the last milestone, or to the one that is given here: what
had to wait for what, and what went on meanwhile. --json prints everything, in
a documented form that only grows.

--budget compares the boot's phases (firmware, loader, kernel, initrd,
userspace) and the moments of milestones with what they may take. The exit
status is 1 if one took more, or if nobody knows.

A SPEC is one of
` + milestone.Help + `
but log: only where it was given when recording: the file is not in the trace.`,
		Example: `  bootscope report t.bst
  bootscope report t.bst --top 20
  bootscope report boot.bst --milestone 'up=journal:app:listening on'
  bootscope report boot.bst --budget kernel=1s,userspace=9.5s,up=11s
  bootscope report t.bst --json | jq '.processes[] | .comm, .cpu_s'`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 0 {
				return usagef("--top %d: give a number of rows, or 0 for all", top)
			}
			if err := asked.parse(); err != nil {
				return err
			}
			var r *report.Report
			_, err := readTrace(cmd, args[0], false, func(source tracefile.Source) (err error) {
				r, err = report.Build(source, asked.milestones...)
				return err
			})
			if err != nil {
				return err
			}
			r.Spending = r.Spend(asked.budgets)
			show := func() error { return report.Text(cmd.OutOrStdout(), r, top) }
			if asJSON {
				show = func() error { return report.JSON(cmd.OutOrStdout(), r) }
			}
			return errors.Join(show(), overBudget(r.Spending))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	cmd.Flags().IntVar(&top, "top", report.DefaultTop, "`rows` of each table, 0 for all")
	cmd.Flags().StringArrayVar(&asked.specs, "milestone", nil, "`NAME=SPEC` of a moment to find; may be repeated")
	cmd.Flags().StringSliceVar(&asked.limits, "budget", nil, "`LIST` of NAME=DURATION that parts may take")
	return cmd
}

// reportAsks is what a report is asked for beside what is in the trace.
type reportAsks struct {
	specs, limits []string
	milestones    []*milestone.Milestone
	budgets       []report.Budget
}

func (a *reportAsks) parse() error {
	for _, text := range a.specs {
		m, err := milestone.Parse(text)
		if err != nil {
			return usageError{err}
		}
		a.milestones = append(a.milestones, m)
	}
	for _, text := range a.limits {
		b, err := report.ParseBudget(text)
		if err != nil {
			return usageError{err}
		}
		a.budgets = append(a.budgets, b)
	}
	return nil
}

// overBudget returns what ends the command if a budget was not kept.
func overBudget(list []report.Spending) error {
	var over []string
	for _, s := range list {
		if s.Over() {
			over = append(over, s.Name)
		}
	}
	if len(over) == 0 {
		return nil
	}
	return fmt.Errorf("over budget, or not known to be within it: %s", strings.Join(over, ", "))
}

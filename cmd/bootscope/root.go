package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is stamped by make build.
var version string

// toolVersion is the version to show: the stamp, or what go install knows of the module.
func toolVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// newRootCommand puts the subcommands together. began becomes true when a subcommand begins its work:
// what went wrong until then was the command line. No template of cobra's is set, because whoever sets one
// makes the linker keep every exported method of every package: 2 MB.
func newRootCommand(began *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "bootscope",
		Short: "Say where the time of a boot, or of a command, went",
		Long: `bootscope records what a Linux machine does, from its first user-space
instruction on, and says where the time went: by process, by systemd unit, and
by the Python file that was being imported.`,
		Example: `  bootscope record -o t.bst -- python3 -c 'import asyncio'
  bootscope report t.bst
  bootscope export t.bst --format chrome`,
		Version:       toolVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
		Args:                       subcommand,
		RunE:                       func(*cobra.Command, []string) error { return usagef("no subcommand given") },
	}
	root.AddCommand(newRecordCommand(), newCheckCommand(), newReportCommand(), newImportsCommand(), newExportCommand(), newViewCommand(), newDumpCommand())
	root.AddCommand(bootCommands()...)
	root.AddCommand(newIdleCommand(), newRestoreGovernorsCommand())
	for _, c := range root.Commands() {
		work := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			*began = true
			return work(cmd, args)
		}
	}
	return root
}

// subcommand is the Args of the root, which has none: what stands there should have been a subcommand.
func subcommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if similar := root.SuggestionsFor(args[0]); len(similar) > 0 {
		hint = ": did you mean " + strings.Join(similar, " or ") + "?"
	}
	return fmt.Errorf("there is no subcommand %q%s", args[0], hint)
}

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/tracer/bootunit"
)

func newUninstallCommand() *cobra.Command {
	var system bootunit.System
	var keep, force bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the unit, its program and its recordings",
		Long: `Remove all that install made: the unit, its options, the program in
/usr/lib/bootscope and, without --keep-recordings, the recordings. Files that
bootscope didn't make stay. A recording that runs is ended first, unsaved with the
others unless they are kept.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if system.IsInit() && !force {
				return errors.New("this system was booted with init=/usr/bin/bootscope-init, and may not boot without that: " +
					"take it off the kernel's command line and reboot first; --force uninstalls all the same")
			}
			if system.Live() {
				if _, err := bootunit.Ask(bootunit.AskStop, stopPatience); err != nil && err != bootunit.ErrNotRecording {
					return err
				}
			}
			removed, err := system.Uninstall(keep)
			for _, name := range removed {
				fmt.Fprintln(cmd.OutOrStdout(), "removed", name)
			}
			if err == nil && len(removed) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing was installed")
			}
			return err
		},
	}
	cmd.Flags().StringVar(&system.Root, "root", "/", "`DIR` of the root file system to remove it from")
	cmd.Flags().BoolVar(&keep, "keep-recordings", false, "leave the recordings where they are")
	cmd.Flags().BoolVar(&force, "force", false, "uninstall even if the running system was booted with init=/usr/bin/bootscope-init")
	return cmd
}

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/tracer/bootunit"
	"github.com/bootscope/bootscope/tracer/record"
)

// bootCommands are the subcommands that need systemd.
func bootCommands() []*cobra.Command {
	return []*cobra.Command{newInstallCommand(), newUninstallCommand(), newStatusCommand(), newStopCommand()}
}

func newInstallCommand() *cobra.Command {
	var system bootunit.System
	var install bootunit.Install
	var boot bootFlags
	var options record.Options
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Record the next boot: install a systemd unit",
		Long: `Copy this program to /usr/lib/bootscope, and write and enable a systemd unit that
records the next boot from before sysinit.target on. It disarms itself as soon as
it can, so a boot that hangs comes back without it; --every-boot keeps it. The
kernel's command line switches it off for one boot: bootscope=off.

Recordings go to /var/lib/bootscope; latest.bst there is the newest. The last five
are kept, and at most 64 MB. Installing again replaces the options and arms it.

What the recorder wants to know of the kernel that runs is found out now and kept
beside the program: that makes the start in the next boot cheaper.

With --init there is also /usr/bin/bootscope-init, for init= on the kernel's command
line: the recording then begins before systemd does.

` + bootHelp,
		Example: `  sudo bootscope install && sudo reboot
  sudo bootscope install --every-boot --milestone 'ready=journal:app.service:listening on'
  sudo bootscope install --init                   and boot with init=/usr/bin/bootscope-init
  bootscope install --root /mnt/image --binary bootscope-linux-arm64`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := boot.parse(&options); err != nil { // a mistake is better told now than at the boot
				return err
			}
			own := install.Binary == ""
			if own {
				self, err := os.Executable()
				if err != nil {
					return fmt.Errorf("cannot find this program's file: %w", err)
				}
				install.Binary = self
			}
			install.Dir, install.Hold = boot.options.Dir, boot.options.Hold
			install.Buffers = boot.options.Memory + options.BufferBytes
			install.Options = handedOn(cmd.Flags(), "root", "binary", "dir", "every-boot", "init")
			if own && system.Live() {
				// The next boot may be of the same kernel. If it can't be found out now, the boot does so by itself.
				options.Tool = recordingTool()
				if err := record.FillCache(options, record.InstallDir); err != nil && options.BTF != "" {
					return err
				}
			}
			if err := system.Install(install); err != nil {
				return err
			}
			which := "the next boot"
			if install.EveryBoot {
				which = "every boot"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s will be recorded in %s\n", which, install.Dir)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&system.Root, "root", "/", "`DIR` of the root file system to install in")
	f.StringVar(&install.Binary, "binary", "", "`FILE` to install instead of this program, such as one for the board's CPU")
	f.BoolVar(&install.EveryBoot, "every-boot", false, "record every boot, not only the next")
	f.BoolVar(&install.Init, "init", false, "also make /usr/bin/bootscope-init, for init= on the kernel's command line")
	boot.add(f)
	f.DurationVarP(&options.Duration, "duration", "d", record.DefaultBootMax, "stop after this long in any case")
	f.BoolVar(&options.NoArgs, "no-args", false, "leave out the arguments of programs: they can hold secrets")
	f.StringVar(&options.BTF, "btf", "", btfUsage)
	f.StringSliceVar(&options.Without, "without", nil, "`PROBES` to leave off")
	f.IntVar(&options.SampleHz, "sample-hz", record.DefaultSampleHz, "CPU samples per second and CPU")
	f.IntVar(&options.BufferBytes, "buffer", record.DefaultBufferBytes, "`BYTES` for all events but context switches, between kernel and recorder")
	return cmd
}

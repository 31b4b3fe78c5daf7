package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bootscope/bootscope/tracer/bootunit"
	"github.com/bootscope/bootscope/tracer/milestone"
	"github.com/bootscope/bootscope/tracer/record"
)

// bootFlags are the flags of a boot's recording: record --boot has them, and install hands them on.
type bootFlags struct {
	options    record.BootOptions
	milestones []string
	until      string
}

func (b *bootFlags) add(f *pflag.FlagSet) {
	f.StringVar(&b.options.Dir, "dir", bootunit.DefaultDir, "`DIR` to keep recordings of boots in")
	f.StringArrayVar(&b.milestones, "milestone", nil, "`NAME=SPEC` of a moment to mark; may be given several times")
	f.StringVar(&b.until, "until", "", "stop at this `MILESTONE`: the name of one, or a SPEC")
	f.DurationVar(&b.options.Quiet, "quiet", record.DefaultQuiet,
		"without --until, stop when for this long no Python file was opened and the machine was under 20 % busy")
	f.DurationVar(&b.options.Hold, "hold", record.DefaultBootHold, "let the boot go on after this long even if not all is attached yet")
	f.IntVar(&b.options.Memory, "memory", record.DefaultBootMemory, "`BYTES` that may wait in memory until DIR is writable")
	f.DurationVar(&b.options.Sync, "sync", 0, "bring the recording onto the disk this often, for power cuts; 0 leaves that to the kernel")
	f.BoolVar(&b.options.NoJournal, "no-journal", false, "leave the journal out of the recording: logs can hold secrets")
}

// parse reads the milestones into the options.
func (b *bootFlags) parse(options *record.Options) error {
	for _, text := range b.milestones {
		m, err := milestone.Parse(text)
		if err != nil {
			return usageError{err}
		}
		options.Milestones = append(options.Milestones, m)
	}
	options.Until = b.until
	named := func(m *milestone.Milestone) bool { return m.Name == b.until }
	if b.until == "" || slices.ContainsFunc(options.Milestones, named) {
		return nil
	}
	m, err := milestone.Parse("until=" + b.until)
	if err != nil {
		return usagef("--until %q: no --milestone has this name, and it is no SPEC: %w", b.until, err)
	}
	m.Name = b.until
	options.Milestones = append(options.Milestones, m)
	return nil
}

// bootFlag is --boot of record, with its flags.
type bootFlag struct {
	bootFlags
	on bool
}

func (b *bootFlag) add(f *pflag.FlagSet) {
	f.BoolVar(&b.on, "boot", false, "record a boot, as the unit that install makes does")
	f.StringVar(&b.options.Once, "once", "", "`TOKEN` of an installation for one boot")
	_ = f.MarkHidden("once") // install's own
	f.BoolVar(&b.options.Early, "early", false, "started before systemd")
	_ = f.MarkHidden("early") // bootscope-init's own
	b.bootFlags.add(f)
}

// record records a boot.
func (b *bootFlag) record(cmd *cobra.Command, args []string, options record.Options) error {
	if len(args) > 0 {
		return usagef("--boot records what systemd starts: it runs no command")
	}
	if !cmd.Flags().Changed("duration") {
		options.Duration = record.DefaultBootMax
	}
	return record.RecordBoot(options, b.options)
}

const bootHelp = `The recording stops at --until. Without that it stops when for 15 s no Python
file was opened, the machine was under 20 % busy, and systemd has finished the
boot; in any case after 5 minutes (--duration).

A SPEC is one of
` + milestone.Help

// handedOn writes flags that were given as the words that give them again.
func handedOn(f *pflag.FlagSet, own ...string) []string {
	var words []string
	f.Visit(func(flag *pflag.Flag) {
		if slices.Contains(own, flag.Name) {
			return
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				words = append(words, fmt.Sprintf("--%s=%s", flag.Name, v))
			}
			return
		}
		words = append(words, fmt.Sprintf("--%s=%s", flag.Name, flag.Value))
	})
	return words
}

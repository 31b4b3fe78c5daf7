package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/export"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// largeOutput is the size from which viewers that run in a browser get slow.
const largeOutput = 100e6

// exportFlags are what the command line chooses.
type exportFlags struct {
	format    string
	out       string
	force     bool
	from, to  string
	selection export.Selection
	options   export.Options
}

func newExportCommand() *cobra.Command {
	var o exportFlags
	cmd := &cobra.Command{
		Use:   "export FILE --format FORMAT [-o OUT]",
		Short: "Write a trace in the format of another tool",
		Long: "Write a trace, or a part of it, in the format of another tool:\n\n" + formatList() + `

A time is in seconds from boot, as in reports, or with a + from the recording's
start. If a process or a unit is chosen, the CPUs are idle but for it.`,
		Example: `  bootscope export t.bst --format perfetto          # makes t.pftrace
  bootscope export t.bst --format chrome -o - | gzip > t.json.gz
  bootscope export t.bst --format chrome --from +2.5 --to +4 --unit web.service`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := o.validate()
			if err != nil {
				return err
			}
			if o.out == "" {
				o.out = defaultOutput(args[0], format)
			}
			return o.export(cmd, args[0], format)
		},
	}
	o.register(cmd)
	return cmd
}

func (o *exportFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.format, "format", "f", "", "`FORMAT` to write, as listed above")
	f.StringVarP(&o.out, "output", "o", "", "`OUT` to write, - is standard output\n(default: FILE with the format's ending)")
	f.BoolVar(&o.force, "force", false, "overwrite OUT")
	f.StringVar(&o.from, "from", "", "leave out what was before this `TIME`")
	f.StringVar(&o.to, "to", "", "leave out what was after this `TIME`")
	f.StringVar(&o.selection.Process, "process", "", "only processes of this `NAME` or PID")
	f.StringVar(&o.selection.Unit, "unit", "", "only processes of this systemd `UNIT`")
	f.BoolVar(&o.options.Compat, "compat", false, "chrome: states of threads as slices, for viewers\nother than Perfetto of 2026")
	f.BoolVar(&o.options.Flows, "flows", false, "chrome: arrows from who wakes to who is woken")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(export.Names(), cobra.ShellCompDirectiveNoFileComp))
}

func (o *exportFlags) validate() (*export.Format, error) {
	format, ok := export.Find(o.format)
	if !ok {
		return nil, usagef("--format %q: the formats are %s", o.format, strings.Join(export.Names(), ", "))
	}
	if !format.Options && o.options != (export.Options{}) {
		return nil, usagef("--compat and --flows go with --format chrome")
	}
	for _, f := range []struct{ name, text string }{{"from", o.from}, {"to", o.to}} {
		if _, err := momentOf(f.text, 0); err != nil {
			return nil, usagef("--%s %q: give seconds from boot, or from the recording's start with a +", f.name, f.text)
		}
	}
	return format, nil
}

// momentOf reads a time on the command line, in nanoseconds from boot.
func momentOf(text string, start uint64) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	relative := strings.HasPrefix(text, "+")
	s, err := strconv.ParseFloat(strings.TrimPrefix(text, "+"), 64)
	if err != nil || s < 0 || s > 1e9 || math.IsNaN(s) || strings.HasPrefix(text, "++") {
		return 0, fmt.Errorf("%q is no time", text)
	}
	ns := uint64(math.Round(s * 1e9))
	if relative {
		ns += start
	}
	return ns, nil
}

func (o *exportFlags) export(cmd *cobra.Command, name string, format *export.Format) error {
	fills := o.out == "-" && isTerminal(cmd.OutOrStdout())
	source, err := readTrace(cmd, name, fills, func(source tracefile.Source) error {
		part, err := o.part(source)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := o.warnLarge(cmd.ErrOrStderr(), part, format); err != nil {
			return err
		}
		_, err = writeOutput(o.out, o.force, func(w io.Writer) error { return format.Write(w, part, o.options) })
		return err
	})
	if err != nil {
		return err
	}
	warnIncomplete(cmd.ErrOrStderr(), name, source)
	return nil
}

// part is what of a trace is to be exported.
func (o *exportFlags) part(source tracefile.Source) (tracefile.Source, error) {
	start := source.Header().Start
	o.selection.From, _ = momentOf(o.from, start)
	o.selection.To, _ = momentOf(o.to, start)
	return export.Select(source, o.selection)
}

// warnLarge warns of an output that viewers would be slow with, before it is written.
func (o *exportFlags) warnLarge(w io.Writer, source tracefile.Source, format *export.Format) error {
	counts, err := export.Count(source)
	if err != nil {
		return err
	}
	size := format.Estimate(counts, o.options)
	if size < largeOutput {
		return nil
	}
	remedy := "export a part of it with --from and --to, --process or --unit"
	if compact, _ := export.Find("perfetto"); compact != format {
		remedy += fmt.Sprintf(", or take --format perfetto (about %.0f MB)", float64(compact.Estimate(counts, export.Options{}))/1e6)
	}
	out := o.out
	if out == "-" {
		out = "the output"
	}
	fmt.Fprintf(w, "bootscope: %s will have about %.0f MB: %s; %s\n", out, float64(size)/1e6, format.Large, remedy)
	return nil
}

// defaultOutput is the input's name with the format's ending: t.bst becomes t.chrome.json.
func defaultOutput(name string, format *export.Format) string {
	if name == "-" {
		return "-"
	}
	return strings.TrimSuffix(name, ".bst") + format.Ending
}

func formatList() string {
	var b strings.Builder
	for _, f := range export.Formats {
		fmt.Fprintf(&b, "  %-12s %s\n", f.Name, f.Description)
	}
	return strings.TrimRight(b.String(), "\n")
}

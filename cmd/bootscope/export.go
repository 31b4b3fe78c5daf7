package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/export"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// largeOutput is the size from which viewers that run in a browser get slow.
const largeOutput = 100e6

func newExportCommand() *cobra.Command {
	var formatName, out string
	var force bool
	cmd := &cobra.Command{
		Use:   "export FILE --format FORMAT [-o OUT]",
		Short: "Write a trace in the format of another tool",
		Long:  "Write a trace in the format of another tool:\n\n" + formatList(),
		Example: `  bootscope export t.bst --format chrome            # makes t.chrome.json
  bootscope export t.bst --format chrome -o - | gzip > t.json.gz`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			format, ok := export.Find(formatName)
			if !ok {
				return usagef("--format %q: the formats are %s", formatName, strings.Join(export.Names(), ", "))
			}
			if out == "" {
				out = defaultOutput(args[0], format)
			}
			return exportTrace(cmd, args[0], format, out, force)
		},
	}
	cmd.Flags().StringVarP(&formatName, "format", "f", "", "`FORMAT` to write: "+strings.Join(export.Names(), ", "))
	cmd.Flags().StringVarP(&out, "output", "o", "", "`OUT` to write, - is standard output\n(default: FILE with the format's ending)")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite OUT")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(export.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func exportTrace(cmd *cobra.Command, name string, format *export.Format, out string, force bool) error {
	var size int64
	fills := out == "-" && isTerminal(cmd.OutOrStdout())
	source, err := readTrace(cmd, name, fills, func(source tracefile.Source) (err error) {
		size, err = writeOutput(out, force, func(w io.Writer) error { return format.Write(w, source, export.Options{}) })
		return err
	})
	if err != nil {
		return err
	}
	warnIncomplete(cmd.ErrOrStderr(), name, source)
	if size >= largeOutput {
		fmt.Fprintf(cmd.ErrOrStderr(), "bootscope: %s has %.0f MB: %s\n", out, float64(size)/1e6, format.Large)
	}
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

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/export/imports"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// importsFlags are what the user wants to know of imports.
type importsFlags struct {
	filter  imports.Filter
	options imports.Options
	sort    string
	least   time.Duration
	why     string
	root    string
	format  string
	check   string
	json    bool
}

func newImportsCommand() *cobra.Command {
	var o importsFlags
	cmd := &cobra.Command{
		Use:   "imports FILE",
		Short: "Say what Python programs imported, and what each import cost",
		Long: `Say what Python programs imported: all interpreters of the recording, and the
tree of imports of the one that imported longest, or that is chosen. A module is
part of the one whose code asked for it first. Python is not instrumented: the
tree is inferred from the files that were opened and from the depth of the
stack; how sure that is, is printed (confidence). docs/imports.md tells more.`,
		Example: `  bootscope imports t.bst
  bootscope imports t.bst --unit web.service --min 5ms --top 0
  bootscope imports t.bst --why numpy --root /srv/image
  bootscope imports t.bst --pid 311 --format importtime > web.log
  bootscope imports t.bst --check app.log  # what python -X importtime wrote`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			var im *imports.Imports
			_, err := readTrace(cmd, args[0], false, func(source tracefile.Source) (err error) {
				im, err = imports.Build(source)
				return err
			})
			if err != nil {
				return err
			}
			if o.json && o.filter == (imports.Filter{}) {
				return imports.JSON(cmd.OutOrStdout(), im) // an empty list is an answer
			}
			if err := im.Select(o.filter); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return o.show(cmd.OutOrStdout(), im)
		},
	}
	o.register(cmd)
	return cmd
}

func (o *importsFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.filter.Process, "process", "", "only processes of this `NAME`, or with such a script")
	f.Uint32Var(&o.filter.PID, "pid", 0, "only the process with this `PID`")
	f.StringVar(&o.filter.Unit, "unit", "", "only processes of this systemd `UNIT`")
	f.StringVar(&o.sort, "sort", string(imports.ByCumulative), "`ORDER`: self or cumulative")
	f.BoolVar(&o.options.Flat, "flat", false, "modules as a list, not as a tree")
	f.DurationVar(&o.least, "min", 0, "leave out modules of less `TIME` (default 1 % of all)")
	f.IntVar(&o.options.Top, "top", imports.DefaultTop, "`rows` of each table or tree, 0 for all")
	f.StringVar(&o.why, "why", "", "say who asked for this `MODULE`, and what that cost")
	f.StringVar(&o.root, "root", "", "with --why: root `DIR` of the system, to find others")
	f.StringVar(&o.format, "format", "text", "`FORM` of output: text, json, importtime")
	f.StringVar(&o.check, "check", "", "compare with a `LOG` of -X importtime of the same run")
	f.BoolVar(&o.json, "json", false, "print everything as JSON")
}

// validate checks what the flags say and takes it over.
func (o *importsFlags) validate() error {
	o.options.Sort, o.options.Min = imports.Sort(o.sort), uint64(max(o.least, 0))
	o.json = o.json || o.format == "json"
	switch {
	case o.sort != string(imports.BySelf) && o.sort != string(imports.ByCumulative):
		return usagef("--sort %q: it is self or cumulative", o.sort)
	case o.least < 0:
		return usagef("--min %s: give a time of 0 or more", o.least)
	case o.options.Top < 0:
		return usagef("--top %d: give a number of rows, or 0 for all", o.options.Top)
	case o.format != "text" && o.format != "json" && o.format != "importtime":
		return usagef("--format %q: the formats are text, json, importtime", o.format)
	case o.root != "" && o.why == "":
		return usagef("--root goes with --why")
	}
	return nil
}

func (o *importsFlags) show(w io.Writer, im *imports.Imports) error {
	switch {
	case o.json:
		return imports.JSON(w, im)
	case o.check != "":
		return checkImports(w, im, o.check)
	case o.why != "":
		return imports.Why(w, im, o.why, o.root)
	case o.format == "importtime":
		if n := len(im.Interpreters); n > 1 {
			return usagef("--format importtime shows one interpreter, and there are %d: choose with --pid, --process or --unit", n)
		}
		return imports.ImportTime(w, im.Interpreters[0])
	}
	return imports.Text(w, im, o.options)
}

func checkImports(w io.Writer, im *imports.Imports, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	log, err := python.ParseImportTime(f)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if err := imports.Check(w, im, log); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

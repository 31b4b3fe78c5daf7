package main

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/export"
	"github.com/bootscope/bootscope/export/report"
	"github.com/bootscope/bootscope/export/view"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const (
	viewer = "https://ui.perfetto.dev"
	// viewAddress is on this machine, and the only port from which that page may load a trace.
	viewAddress = "127.0.0.1:9001"
)

func newViewCommand() *cobra.Command {
	var open, local bool
	cmd := &cobra.Command{
		Use:   "view FILE",
		Short: "Show a trace in Perfetto's viewer in a browser",
		Long: `Print a link that shows a trace in Perfetto's viewer, and serve the trace for
it: on ` + viewAddress + ` alone, once, and for that page only. The viewer runs in
the browser, so the trace does not leave the machine. The command ends when the
page has the trace; before that, Ctrl-C ends it.`,
		Example: `  bootscope view boot.bst --open
  bootscope view boot.bst --local      # no browser and no net
  ssh -L 9001:` + viewAddress + ` board bootscope view boot.bst`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if local {
				return viewLocally(cmd, args[0])
			}
			source, err := readTrace(cmd, args[0], false, func(source tracefile.Source) error {
				return serveTrace(cmd, args[0], source, open)
			})
			if err == nil {
				warnIncomplete(cmd.ErrOrStderr(), args[0], source)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "open the link in the default browser")
	cmd.Flags().BoolVar(&local, "local", false, "print the report as text instead: nothing needs the net")
	cmd.MarkFlagsMutuallyExclusive("open", "local")
	return cmd
}

func viewLocally(cmd *cobra.Command, name string) error {
	var r *report.Report
	_, err := readTrace(cmd, name, false, func(source tracefile.Source) (err error) {
		r, err = report.Build(source)
		return err
	})
	if err != nil {
		return err
	}
	return report.Text(cmd.OutOrStdout(), r, report.DefaultTop)
}

func serveTrace(cmd *cobra.Command, name string, source tracefile.Source, open bool) error {
	format, _ := export.Find("perfetto")
	listener, err := net.Listen("tcp4", viewAddress)
	if err != nil {
		return fmt.Errorf("the viewer loads traces from %s only, and that can't be had (does another view, or Perfetto's "+
			"trace_processor, use it?): %w", viewAddress, err)
	}
	shown := strings.TrimSuffix(filepath.Base(name), ".bst")
	if name == "-" {
		shown = "trace"
	}
	file := view.NewFile(shown+format.Ending, viewer, func(w io.Writer) error { return format.Write(w, source, export.Options{}) })
	link := viewer + "/#!/?url=http://" + viewAddress + file.Path()
	fmt.Fprintln(cmd.OutOrStdout(), link)
	fmt.Fprintf(cmd.ErrOrStderr(), "bootscope: open the link in a browser on this machine; the trace is served once (Ctrl-C ends it)\n")
	if open {
		if err := openBrowser(link); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "bootscope: the browser can't be started, so open the link yourself: %v\n", err)
		}
	}
	if err := file.Serve(listener); err != nil {
		return fmt.Errorf("serving %s: %w", name, err)
	}
	return nil
}

// openBrowser starts the default browser, and doesn't wait for it.
func openBrowser(link string) error {
	command := []string{"xdg-open", link}
	switch runtime.GOOS {
	case "darwin":
		command[0] = "open"
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", link}
	}
	cmd := exec.Command(command[0], command[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // only so that it leaves no zombie
	return nil
}

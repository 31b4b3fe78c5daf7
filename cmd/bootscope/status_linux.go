package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bootscope/bootscope/tracer/bootunit"
)

// How long a recording may take to answer, and to save.
const (
	statusPatience = 10 * time.Second
	stopPatience   = 2 * time.Minute
)

// bootStatus is what status --json prints.
type bootStatus struct {
	Schema    string           `json:"schema"`
	Recording *bootunit.Status `json:"recording"` // null if none runs
	Installed bool             `json:"installed"`
	Armed     bool             `json:"armed"`  // for the next boot
	Latest    *latestRecording `json:"latest"` // null if there is none
}

type latestRecording struct {
	File  string    `json:"file"`
	Bytes int64     `json:"bytes"`
	Saved time.Time `json:"saved"`
}

func newStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say whether a boot is being recorded, and what it waits for",
		Long: `Say whether the boot is being recorded, since when, how much, what it cost and
lost, and what will end it; whether the next boot will be; and where the newest
recording is. The exit status is 0 in each case.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			system := bootunit.System{Root: "/"}
			s := bootStatus{Schema: "bootscope.status/1", Installed: system.Installed(), Armed: system.Armed()}
			var err error
			if s.Recording, err = bootunit.Ask(bootunit.AskStatus, statusPatience); err != nil && !errors.Is(err, bootunit.ErrNotRecording) {
				return err
			}
			store := bootunit.Store{Dir: system.RecordingsDir()}
			if path, info := store.Latest(); info != nil {
				s.Latest = &latestRecording{path, info.Size(), info.ModTime()}
			}
			if asJSON {
				out := json.NewEncoder(cmd.OutOrStdout())
				out.SetIndent("", "  ")
				return out.Encode(s)
			}
			printStatus(cmd.OutOrStdout(), &s)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

func printStatus(w io.Writer, s *bootStatus) {
	if r := s.Recording; r != nil {
		fmt.Fprintf(w, "recording since %.3f s after the kernel started, for %.1f s\n", r.Since, r.For)
		if r.File != "" {
			fmt.Fprintf(w, "written:   %.1f MB to %s\n", float64(r.Bytes)/1e6, r.File)
		} else {
			fmt.Fprintf(w, "in memory: %.1f MB, not written yet: %s\n", float64(r.Bytes)/1e6, r.NotWritten)
		}
		fmt.Fprintf(w, "cost:      %.2f s of CPU time, %.1f MB of memory\n", r.CPU, float64(r.MaxRSS)/1e6)
		fmt.Fprintf(w, "lost:      %d events\n", r.Lost)
		if len(r.Off) > 0 {
			fmt.Fprintf(w, "off:       %s\n", strings.Join(r.Off, ", "))
		}
		fmt.Fprintf(w, "waits for: %s\n", r.WaitsFor)
	} else {
		fmt.Fprintln(w, "nothing is being recorded")
	}
	switch {
	case !s.Installed:
		fmt.Fprintln(w, "next boot: will not be recorded: not installed")
	case s.Armed:
		fmt.Fprintln(w, "next boot: will be recorded")
	default:
		fmt.Fprintln(w, "next boot: will not be recorded; bootscope install arms it again")
	}
	if l := s.Latest; l != nil {
		fmt.Fprintf(w, "latest:    %s, %.1f MB, of %s\n", l.File, float64(l.Bytes)/1e6, l.Saved.Format(time.DateTime))
	}
}

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// without lists all probes but some, for bootscope record --without.
func without(keep ...string) string {
	return strings.Join(slices.DeleteFunc(record.ProbeNames(), func(name string) bool { return slices.Contains(keep, name) }), ",")
}

// recordArgs is the command line that records with some probes (none given: with all) into a file.
func (s *setup) recordArgs(file string, probes ...string) []string {
	argv := []string{s.bootscope, "record", "--force", "-o", file}
	if len(probes) > 0 {
		argv = append(argv, "--without", without(probes...))
	}
	return argv
}

// record records a command and returns what the trace's end says.
func (s *setup) record(file string, probes []string, command ...string) (*tracefile.Trailer, error) {
	argv := append(append(s.recordArgs(file, probes...), "--"), command...)
	if _, _, _, err := load(argv...); err != nil {
		return nil, err
	}
	trailer, err := readTrailer(file)
	if err != nil {
		return nil, err
	}
	tellLosses(file, trailer)
	return trailer, nil
}

func readTrailer(path string) (*tracefile.Trailer, error) {
	f, err := tracefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Trailer() == nil {
		return nil, fmt.Errorf("%s has no end", path)
	}
	return f.Trailer(), nil
}

// tellLosses says what a recording lost: its figures are those of less work.
func tellLosses(path string, trailer *tracefile.Trailer) {
	var lost []string
	for _, l := range trailer.Lost {
		lost = append(lost, fmt.Sprintf("%d %s (%s)", l.Count, l.Probe, l.Reason))
	}
	if len(lost) > 0 {
		fmt.Fprintf(output, "\nLost in a recording (%s): %s.\n", filepath.Base(path), strings.Join(lost, ", "))
	}
}

// A programCost is the run time of BPF programs by the kernel's statistics.
type programCost struct{ runs, ns float64 }

func costOf(trailer *tracefile.Trailer, name string) (c programCost) {
	for _, p := range trailer.Programs {
		if name == "" || p.Name == name {
			c.runs += float64(p.Runs)
			c.ns += float64(p.RunTime)
		}
	}
	return c
}

// schedRecords counts a trace's switches and wake-ups, and the bytes of all of its file.
func schedRecords(path string) (switches, wakings, size float64, err error) {
	f, err := tracefile.Open(path)
	if err != nil {
		return 0, 0, 0, err
	}
	defer f.Close()
	for e, err := range f.Events() {
		if err != nil {
			return 0, 0, 0, err
		}
		switch e.(type) {
		case *event.Switch:
			switches++
		case *event.Waking:
			wakings++
		}
	}
	return switches, wakings, float64(f.Size()), nil
}

func countEvents(path string) (n float64, err error) {
	f, err := tracefile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for _, err := range f.Events() {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

const statsSysctl = "/proc/sys/kernel/bpf_stats_enabled"

// switchStats returns a function that switches the kernel's BPF statistics, and one that leaves them as
// they were.
func switchStats() (set func(on bool) error, restore func(), err error) {
	before, err := os.ReadFile(statsSysctl)
	if err != nil {
		return nil, nil, err
	}
	set = func(on bool) error {
		value := "0"
		if on {
			value = "1"
		}
		return os.WriteFile(statsSysctl, []byte(value), 0)
	}
	return set, func() { _ = os.WriteFile(statsSysctl, before, 0) }, nil
}

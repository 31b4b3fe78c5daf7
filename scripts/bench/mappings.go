//go:build linux

package main

import (
	"os"
	"strconv"
)

// benchMappings measures what it costs a program that it maps files while mappings are recorded. It is the kernel that
// writes these records (perf's), in the program's own time: neither BPF's statistics nor the recorder's CPU time has that.
func benchMappings(s *setup) error {
	file, err := os.Executable()
	if err != nil {
		return err
	}
	n := s.scaled(100_000, 2000)
	for _, l := range []callLoad{
		{"mapping a file to execute it, and unmapping it", n, loadArgs("map", strconv.Itoa(n), file, "rx")},
		{"mapping a file to read it, and unmapping it", n, loadArgs("map", strconv.Itoa(n), file, "r")},
		{"mapping memory without a file, and unmapping it", n, loadArgs("map", strconv.Itoa(n), "", "r")},
	} {
		const perf = "perf record -a -e dummy"
		err := s.benchCall(l, perf, []*tracer{
			{name: "nothing"},
			{name: "bootscope, processes", output: s.file("map.bst"), command: s.recordArgs(s.file("map.bst"), "process")},
			{name: "bootscope, processes and mappings", output: s.file("map.bst"), command: s.recordArgs(s.file("map.bst"), "process", "mapping")},
			{name: perf, output: s.file("map.data"), command: []string{"perf", "record", "-q", "-B", "-a", "-e", "dummy", "-o", s.file("map.data")}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// pressedName is opened while everything is busy. A missing file has no path that would be sent anew each
// time until it comes through: each open is one event.
const pressedName = "/no/such/file/under/pressure"

// A pressureCase is a recording of more events than can be written.
type pressureCase struct {
	name     string
	recorder *tracer // nil for none
	stalled  bool    // its disk, for stall
	stall    time.Duration

	rate                     sample       // opens per second of the machine
	each                     spentSamples // of an open
	recorded, lost, untold   sample       // events
	resident, written, takes sample       // MB, MB, s
}

// benchPressure opens a missing file on all CPUs as fast as they can, while the recorder's disk works or
// doesn't.
func benchPressure(s *setup) error {
	disk, unmount, err := s.mountDisk()
	if err != nil {
		fmt.Fprintf(output, "\nNo figures under pressure: %v\n", err)
		return nil
	}
	defer unmount()
	file := disk + "/pressure.bst"
	stall := time.Duration(5 * min(1, max(0.1, s.scale)) * float64(time.Second))
	recorder := func() *tracer {
		return &tracer{name: "bootscope", output: file, command: s.recordArgs(file)}
	}
	cases := []*pressureCase{
		{name: "nothing"},
		{name: "bootscope", recorder: recorder()},
		{name: fmt.Sprintf("bootscope, its disk stalled for %.1f s", stall.Seconds()), recorder: recorder(), stalled: true, stall: stall},
	}
	opens, rounds := s.scaled(5_000_000, 100_000), s.atMost(3)
	for range rounds {
		for _, c := range cases {
			if err := c.run(disk, opens); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	s.printPressure(cases, opens, rounds)
	return nil
}

// mountDisk makes a file system of its own, which can be stalled.
func (s *setup) mountDisk() (dir string, unmount func(), err error) {
	image, dir := s.file("disk.image"), s.file("disk")
	script := fmt.Sprintf("truncate -s 2G %s && mkfs.ext4 -q %s && mkdir -p %s && mount -o loop %s %s", image, image, dir, image, dir)
	if _, _, _, err := load("sh", "-c", script); err != nil {
		return "", nil, err
	}
	return dir, func() { _ = exec.Command("umount", dir).Run() }, nil
}

func (c *pressureCase) run(disk string, opens int) error {
	var r *running
	if c.recorder != nil {
		var err error
		if r, err = c.recorder.start(); err != nil {
			return err
		}
		if r == nil {
			return errors.New(c.recorder.missing)
		}
		if err := hasBegun(c.recorder.output); err != nil {
			return errors.Join(err, r.kill())
		}
	}
	thawed := c.stallDisk(disk)
	err := c.press(opens)
	if err := errors.Join(err, <-thawed); err != nil {
		return err
	}
	if r == nil {
		return nil
	}
	if _, err := r.stop(); err != nil {
		return err
	}
	return c.count(opens)
}

// hasBegun waits until a recorder has written its header: from then on it misses nothing.
func hasBegun(output string) error {
	for range 1000 {
		names, _ := filepath.Glob(output + ".partial-*")
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.Size() > 0 {
				return nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s was not begun within 10 s", output)
}

// stallDisk freezes the file system once the load is under way, and lets it go on after a while.
func (c *pressureCase) stallDisk(disk string) (thawed chan error) {
	thawed = make(chan error, 1)
	if !c.stalled {
		thawed <- nil
		return thawed
	}
	go func() {
		time.Sleep(c.stall / 10)
		freeze := exec.Command("fsfreeze", "--freeze", disk).Run()
		time.Sleep(c.stall)
		thawed <- errors.Join(freeze, exec.Command("fsfreeze", "--unfreeze", disk).Run())
	}()
	return thawed
}

// press opens the file on each CPU.
func (c *pressureCase) press(opens int) error {
	argv := loadArgs("open", strconv.Itoa(opens), pressedName)
	script := strings.Repeat("'"+strings.Join(argv, "' '")+"' & ", runtime.NumCPU()) + "wait"
	wall, _, told, err := load("sh", "-c", script)
	if err != nil {
		return err
	}
	c.each.read(told)
	c.takes = append(c.takes, wall.Seconds())
	c.rate = append(c.rate, float64(opens*runtime.NumCPU())/wall.Seconds())
	return nil
}

// count compares what was made with what the trace has and what it says to have lost.
func (c *pressureCase) count(opens int) error {
	f, err := tracefile.Open(c.recorder.output)
	if err != nil {
		return err
	}
	defer f.Close()
	recorded, lost := 0.0, 0.0
	for e, err := range f.Events() {
		if err != nil {
			return err
		}
		if open, ok := e.(*event.Open); ok && string(open.TailBytes()) == pressedName {
			recorded++
		}
	}
	trailer := f.Trailer()
	if trailer == nil {
		return errors.New("the trace has no end")
	}
	for _, l := range trailer.Lost {
		if l.Probe == event.ProbeOpen.String() {
			lost += float64(l.Count)
		}
	}
	c.recorded, c.lost = append(c.recorded, recorded), append(c.lost, lost)
	c.untold = append(c.untold, float64(opens*runtime.NumCPU())-recorded-lost)
	c.resident = append(c.resident, float64(trailer.Self.MaxRSS)/1e6)
	c.written = append(c.written, float64(f.Size())/1e6)
	return nil
}

func (s *setup) printPressure(cases []*pressureCase, opens, rounds int) {
	result := table{title: fmt.Sprintf("Back-pressure: %d opens of a missing file on each of %d CPUs at once, %d rounds", opens, runtime.NumCPU(), rounds),
		columns: []string{"recorder", "opens per second", "wall for each, ns", "CPU time for each, ns", "recorded", "counted as lost", "made − recorded − lost", "recorder's largest resident set, MB", "file, MB"}}
	for _, c := range cases {
		result.add(c.name, c.rate.text("%.0f"), c.each.wall.text("%.0f"), c.each.cpu.text("%.0f"), c.recorded.text("%.0f"), c.lost.text("%.0f"), c.untold.text("%.0f"),
			c.resident.text("%.1f"), c.written.text("%.1f"))
	}
	result.print()
	works, stalled := cases[1], cases[2]
	s.aim("Back-pressure: opens that are neither recorded nor counted as lost, disk stalled", "0; less than 0 are other processes'", stalled.untold.text("%.0f"))
	s.aim("Back-pressure: CPU time of an open while the disk is stalled, to what it takes otherwise", "not more", fmt.Sprintf("%.2f", stalled.each.cpu.median()/works.each.cpu.median()))
}

//go:build linux

package system

import (
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// Interrupts names interrupts by their numbers.
type Interrupts map[uint16]string

// InterruptNames reads the names of the device interrupts from /proc/interrupts.
func InterruptNames() Interrupts { return parseInterrupts(readFile("/proc/interrupts")) }

// parseInterrupts takes the number and the devices from lines such as
// "  24:   0   1  PCI-MSI-0000:00:02.0   0-edge   virtio1-req.0".
func parseInterrupts(text string) Interrupts {
	names := Interrupts{}
	header, rest, _ := strings.Cut(text, "\n")
	cpus := len(strings.Fields(header))
	for line := range strings.Lines(rest) {
		number, fields, ok := strings.Cut(strings.TrimSpace(line), ":")
		n, err := strconv.ParseUint(number, 10, 16)
		if f := strings.Fields(fields); ok && err == nil && len(f) > cpus {
			names[uint16(n)] = f[len(f)-1]
		}
	}
	return names
}

// softirqs are the vectors of include/linux/interrupt.h, in order.
var softirqs = []string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// Of returns the name of what works: a device, a vector, a kind of timer.
func (names Interrupts) Of(by event.Waker, number uint16) string {
	switch {
	case by == event.WakerIrq && names[number] != "":
		return names[number]
	case by == event.WakerSoftirq && int(number) < len(softirqs):
		return softirqs[number]
	case by == event.WakerTimer:
		return "high-resolution timers"
	case by == event.WakerTimerWheel:
		return "timer wheel"
	}
	return by.String() + " " + strconv.Itoa(int(number))
}

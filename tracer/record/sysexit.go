//go:build linux

package record

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// What sys_exit can serve: the WANT_ bits of bpf/syscalls.h.
const (
	wantOpen   = 1
	wantSync   = 2
	wantSocket = 4
	wantArgs   = 8
)

// A sysExit is the one program at the end of every system call. Probes that have no better way share
// it, for the hook itself is what costs; each has a bit in a variable of the program's.
type sysExit struct {
	program *ebpf.Program
	link    link.Link
	wants   *ebpf.Variable
	bits    uint32
}

// attachToSysExit lets an object's program serve one probe more. The first one accounts for it.
func (l *loader) attachToSysExit(a *attached, kind objectKind, bit uint32) error {
	s := l.sysExits[kind]
	if s == nil {
		var err error
		if s, err = l.attachSysExit(kind); err != nil {
			return err
		}
		l.sysExits[kind] = s
		a.program = s.program
	}
	a.links = append(a.links, closerFunc(func() error { return l.unwantSysExit(kind, bit) }))
	return s.set(s.bits | bit)
}

func (l *loader) attachSysExit(kind objectKind) (*sysExit, error) {
	program, err := l.program(kind, "sys_exit")
	if err != nil {
		return nil, err
	}
	s := &sysExit{program: program, wants: l.objects[kind].maps.Variables["sys_exit_wants"]}
	if kind == coreObject {
		s.link, err = link.AttachTracing(link.TracingOptions{Program: program})
	} else {
		s.link, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sys_exit", Program: program})
	}
	if err != nil {
		program.Close()
		return nil, err
	}
	return s, nil
}

// unwantSysExit takes a probe's bit back. The program goes with the last.
func (l *loader) unwantSysExit(kind objectKind, bit uint32) error {
	s := l.sysExits[kind]
	if s.bits&^bit == 0 {
		l.sysExits[kind] = nil
		return s.link.Close()
	}
	return s.set(s.bits &^ bit)
}

func (s *sysExit) set(bits uint32) error {
	if err := s.wants.Set(bits); err != nil {
		return fmt.Errorf("telling sys_exit what is wanted: %w", err)
	}
	s.bits = bits
	return nil
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

//go:build linux

package record

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/system"
)

// A taskIterator gives all threads of the machine by a BPF iterator, for a tenth of the time that /proc takes: three
// files for each thread are opened, written as text, and parsed.
type taskIterator struct {
	program *ebpf.Program
	link    *link.Iter
}

// iteratorProgram is no probe's: it is called when the recorder reads.
const iteratorProgram = "read_tasks"

// newTaskIterator fails on kernels without types of their own; they have /proc.
func newTaskIterator(l *loader) (*taskIterator, error) {
	program, err := l.program(coreObject, iteratorProgram)
	if err != nil {
		return nil, err
	}
	iter, err := link.AttachIter(link.IterOptions{Program: program})
	if err != nil {
		program.Close()
		return nil, err
	}
	return &taskIterator{program, iter}, nil
}

func (t *taskIterator) close() {
	t.link.Close()
	t.program.Close()
}

// read returns all threads in the order of their numbers.
func (t *taskIterator) read() ([]*event.Task, error) {
	r, err := t.link.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading the tasks: %w", err)
	}
	decoder, err := event.NewDecoder(event.Specs)
	if err != nil {
		return nil, err
	}
	var tasks []*event.Task
	for len(raw) > 0 {
		e, n, err := decoder.Next(raw)
		if err != nil {
			return nil, fmt.Errorf("reading the tasks: %w", err)
		}
		task, ok := e.(*event.Task)
		if !ok {
			return nil, errors.New("reading the tasks: an event of another kind came")
		}
		tasks, raw = append(tasks, task), raw[n:]
	}
	return tasks, nil
}

// tasks returns all threads of the machine as they are now. What the iterator doesn't give, /proc does: all where there
// is none, and processes that a kernel hides from BPF, as those of some virtual machines do with their agent.
func (r *recorder) tasks() ([]*event.Task, error) {
	var tasks []*event.Task
	if r.iterator != nil {
		tasks, _ = r.iterator.read()
	}
	known := map[uint32]bool{}
	for _, t := range tasks {
		known[t.PID] = true
	}
	others, err := system.ReadTasks(r.cgroups, known)
	return append(tasks, others...), err
}

// writeTasks writes all threads, and of those at the start what their programs are called and have mapped.
func (r *recorder) writeTasks(phase event.TaskPhase) error {
	tasks, err := r.tasks()
	if err != nil {
		return err
	}
	names := map[uint32][]byte{} // of processes; those of the kernel have none
	for _, t := range tasks {
		if _, known := names[t.PID]; phase == event.TaskAtStart && !known && t.KernelThread == 0 {
			names[t.PID] = system.ProgramOf(int(t.PID), !r.options.NoArgs)
			if err := r.writeMappings(t.PID); err != nil {
				return err
			}
		}
		t.Phase = uint8(phase)
		t.SetTail(names[t.PID])
		if err := r.writer.Event(t); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) writeMappings(pid uint32) error {
	if r.mappings == nil {
		return nil
	}
	return system.ReadMappings(pid, func(e *event.Mapping) error { return r.writer.Event(e) })
}

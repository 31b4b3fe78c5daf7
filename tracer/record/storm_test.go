//go:build linux && kerneltest

package record_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/record"
)

const (
	stormWorkers   = 4
	stormProcesses = 5000
)

// stormChild is a process of the storm, as its parent knows it.
type stormChild struct {
	PID, Parent, Status int // Status is as wait reports it
}

// stormWorker starts short processes, one after the other. Every tenth fails.
var stormWorker = newLoad("storm-worker", func(args []string) (children []stormChild) {
	for i := range must1(strconv.Atoi(args[0])) {
		program := "/bin/true"
		if i%10 == 0 {
			program = "/bin/false"
		}
		pid := must1(syscall.ForkExec(program, []string{program, strconv.Itoa(i)}, &syscall.ProcAttr{}))
		var status syscall.WaitStatus
		must1(syscall.Wait4(pid, &status, 0, nil))
		children = append(children, stormChild{pid, syscall.Getpid(), int(status)})
	}
	return children
})

var storm = newLoad("storm", func([]string) (children []stormChild) {
	var workers []*exec.Cmd
	var outputs []*json.Decoder
	for range stormWorkers {
		w := stormWorker.command(strconv.Itoa(stormProcesses / stormWorkers))
		outputs = append(outputs, json.NewDecoder(must1(w.StdoutPipe())))
		must(w.Start())
		workers = append(workers, w)
	}
	for i, w := range workers {
		var some []stormChild
		must(outputs[i].Decode(&some))
		must(w.Wait())
		children = append(children, some...)
		children = append(children, stormChild{w.Process.Pid, syscall.Getpid(), 0})
	}
	return children
})

// Tools that poll miss processes of a millisecond, and tools that sort by CPU print a child before its
// parent. Here 5,000 processes come and go, on all CPUs at once.
func TestExecStorm(t *testing.T) {
	tr, children := storm.record(t, record.Options{})
	tr.checkNothingLost(t)
	forks, execs, args, exits := byChild(tr), byPID[*event.Exec](tr), byPID[*event.Args](tr), byPID[*event.Exit](tr)
	order := map[event.Event]int{}
	for i, e := range tr.events {
		order[e] = i
	}
	bad := 0
	for _, c := range children {
		worker := c.Parent == int(tr.Header().CommandPID) // it has threads, which exit as well
		err := firstError(
			exactlyOne(forks[c.PID], "forks"),
			exactlyOne(execs[c.PID], "execs"),
			exactlyOne(args[c.PID], "argument lists"),
		)
		if err == nil && !worker {
			err = exactlyOne(exits[c.PID], "exits")
		}
		if err == nil {
			fork, exit := forks[c.PID][0], exits[c.PID][len(exits[c.PID])-1]
			err = firstError(
				expect("parent", int(fork.PID), c.Parent),
				expect("wait status", int(exit.Status), c.Status),
				inOrder(order, fork, execs[c.PID][0], args[c.PID][0], exit),
			)
			if parent := forks[c.Parent]; err == nil && len(parent) > 0 {
				err = inOrder(order, parent[0], fork)
			}
		}
		if err != nil {
			if bad++; bad <= 10 {
				t.Errorf("process %d, child of %d: %v", c.PID, c.Parent, err)
			}
		}
	}
	t.Logf("%d of %d processes have one fork, exec, argument list and exit each, in order, with the right parent and status; %d CPUs",
		len(children)-bad, len(children), len(tr.Header().Online))
}

// byChild groups forks of processes by the child.
func byChild(tr *trace) map[int][]*event.Fork {
	forks := map[int][]*event.Fork{}
	for _, f := range of[*event.Fork](tr, 0) {
		if f.ChildPID == f.ChildTID {
			forks[int(f.ChildPID)] = append(forks[int(f.ChildPID)], f)
		}
	}
	return forks
}

func exactlyOne[E any](found []E, what string) error {
	if len(found) != 1 {
		return fmt.Errorf("%d %s, want 1", len(found), what)
	}
	return nil
}

func expect[V comparable](what string, got, want V) error {
	if got != want {
		return fmt.Errorf("%s %v, want %v", what, got, want)
	}
	return nil
}

// inOrder checks that events come one after the other in the trace, and in time.
func inOrder(order map[event.Event]int, events ...event.Event) error {
	for i, e := range events[1:] {
		before := events[i]
		if order[e] <= order[before] || e.Head().Time < before.Head().Time {
			return fmt.Errorf("%T (place %d, %d ns) comes before %T (place %d, %d ns)",
				e, order[e], e.Head().Time, before, order[before], before.Head().Time)
		}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

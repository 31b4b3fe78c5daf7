//go:build linux

package system

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// userHz is the unit of times in /proc/PID/stat: 100 on every architecture that Linux has now.
const userHz = 100

// tailLimit is how many bytes of a program's name and arguments are kept, as in the BPF programs.
const tailLimit = 4096

// ReadTasks returns every thread of the machine, as /proc shows it now, without those that end meanwhile and those of
// processes that are known already.
func ReadTasks(cgroups *Cgroups, known map[uint32]bool) (tasks []*event.Task, err error) {
	pids, err := numericNames("/proc")
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		if known[uint32(pid)] {
			continue
		}
		dir := procDir(pid)
		tids, err := numericNames(dir + "/task")
		if err != nil {
			continue // it ended
		}
		cgroup := cgroups.idOf(dir)
		for _, tid := range tids {
			if task, err := readTask(dir+"/task/"+strconv.Itoa(tid), pid, tid); err == nil {
				task.Cgroup = cgroup
				tasks = append(tasks, task)
			}
		}
	}
	return tasks, nil
}

func procDir(pid int) string { return "/proc/" + strconv.Itoa(pid) }

func numericNames(dir string) ([]int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	var numbers []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers, err
}

// ProgramOf returns the tail of the task events of a process: the executable, then the arguments if they are wanted.
func ProgramOf(pid int, args bool) []byte { return programIn(procDir(pid), args) }

func programIn(dir string, args bool) []byte {
	exe, _ := os.Readlink(dir + "/exe")
	tail := append([]byte(exe), 0)
	if args {
		cmdline, _ := readWhole(dir + "/cmdline")
		tail = append(tail, cmdline...)
	}
	if len(tail) > tailLimit {
		tail = tail[:tailLimit]
	}
	return tail
}

func readTask(dir string, pid, tid int) (*event.Task, error) {
	now := BootTime() // the task may be gone a moment later
	stat, err := readWhole(dir + "/stat")
	if err != nil {
		return nil, err
	}
	task, err := parseStat(stat)
	if err != nil {
		return nil, fmt.Errorf("%s/stat: %w", dir, err)
	}
	task.Time, task.PID, task.TID = now, uint32(pid), uint32(tid)
	// To the nanosecond, where the kernel keeps it (CONFIG_SCHED_INFO).
	if text, _, ok := strings.Cut(readFile(dir+"/schedstat"), " "); ok {
		if ran, err := strconv.ParseUint(text, 10, 64); err == nil {
			task.CPUTime = ran
		}
	}
	readStorage(task, dir+"/io")
	return task, nil
}

// readStorage reads what the block layer counted of a thread. Kernels without that (CONFIG_TASK_IO_ACCOUNTING)
// have no such file.
func readStorage(task *event.Task, file string) {
	for line := range strings.Lines(readFile(file)) {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "read_bytes":
			task.ReadBytes, task.HasStorage = number(value), 1
		case "write_bytes":
			task.WrittenBytes = number(value)
		}
	}
}

// parseStat reads /proc/PID/stat. The name in it can hold anything, so fields count from its last ')'.
func parseStat(stat []byte) (*event.Task, error) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return nil, errors.New("no name in parentheses")
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 || len(fields[0]) != 1 {
		return nil, fmt.Errorf("%d fields after the name, 20 expected", len(fields))
	}
	number := func(field int) uint64 { // numbered as in proc(5), where the state is 3
		n, _ := strconv.ParseUint(fields[field-3], 10, 64)
		return n
	}
	const tick = 1e9 / userHz
	task := event.New(event.KindTask).(*event.Task)
	task.Comm = event.CommBytes(string(stat[open+1 : end]))
	task.State = fields[0][0]
	task.Parent = uint32(number(4))
	task.MinorFaults, task.MajorFaults = number(10), number(12)
	task.CPUTime = (number(14) + number(15)) * tick
	task.Start = number(22) * tick
	const pfKthread = 0x00200000
	if number(9)&pfKthread != 0 {
		task.KernelThread = 1
	}
	return task, nil
}

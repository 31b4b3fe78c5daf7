//go:build linux && kerneltest

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// idleLoad works in one of several ways when it is told to, and then tells what /proc says of it. Its first
// line of output says that it waits for the word.
const idleLoad = `
import json, os, socket, sys, time

def counts():
    with open("/proc/self/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    with open("/proc/self/status") as f:
        status = dict(line.split(":", 1) for line in f)
    return {"ticks": int(fields[11]) + int(fields[12]), "voluntary": int(status["voluntary_ctxt_switches"])}

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def hog(end):
    while time.monotonic() < end:
        pass

def redraw(end):
    due = time.monotonic()
    while due < end:
        spin(0.002)
        due += 1 / 60
        time.sleep(max(due - time.monotonic(), 0))

def poll(end):
    while time.monotonic() < end:
        time.sleep(0.005)

def chat(end):
    a, b = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        a.close()
        while b.recv(1):
            b.send(b"x")
        os._exit(0)
    b.close()
    while time.monotonic() < end:
        a.send(b"x")
        a.recv(1)
        time.sleep(0.01)
    a.close()
    os.waitpid(pid, 0)

before = counts()
print("ready", flush=True)
sys.stdin.readline()
globals()[sys.argv[1]](time.monotonic() + 4)
after = counts()
print(json.dumps({"ticks": after["ticks"] - before["ticks"], "voluntary": after["voluntary"] - before["voluntary"]}), flush=True)
sys.stdin.readline()
`

// A loadProcess is a running idleLoad.
type loadProcess struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

func startLoad(t *testing.T, name string) *loadProcess {
	t.Helper()
	l := &loadProcess{name: name, cmd: exec.Command("python3", "-c", idleLoad, name)}
	l.cmd.Stderr = os.Stderr
	stdin, err1 := l.cmd.StdinPipe()
	stdout, err2 := l.cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	l.stdin, l.stdout = stdin, bufio.NewReader(stdout)
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.stdin.Close(); l.cmd.Wait() })
	l.line(t) // it is ready
	return l
}

func (l *loadProcess) line(t *testing.T) string {
	t.Helper()
	line, err := l.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("load %s: %v", l.name, err)
	}
	return line
}

// idleJSON is what the tests read of idle --json.
type idleJSON struct {
	Window   float64 `json:"window_s"`
	CPUs     int     `json:"cpus"`
	Lost     uint64  `json:"lost"`
	Busy     float64 `json:"busy_percent"`
	Recorder struct {
		CPU     float64 `json:"cpu_percent"`
		Wakeups float64 `json:"wakeups_per_s"`
	} `json:"recorder"`
	Tasks []struct {
		PID       int     `json:"pid"`
		TID       int     `json:"tid"`
		Comm      string  `json:"comm"`
		CPU       float64 `json:"cpu_s"`
		Wakeups   float64 `json:"wakeups_per_s"`
		Voluntary float64 `json:"voluntary_switches_per_s"`
		WokenBy   []struct {
			By      string  `json:"by"`
			PerS    float64 `json:"per_s"`
			Syscall string  `json:"syscall"`
			Period  float64 `json:"period_s"`
			Regular bool    `json:"regular"`
		} `json:"woken_by"`
	} `json:"tasks"`
	Findings []struct {
		ID  string `json:"id"`
		PID int    `json:"pid"`
	} `json:"findings"`
}

// startIdle records until it is interrupted, and returns when everything is attached.
func startIdle(t *testing.T, dir string) (stop func() idleJSON) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "idle", "-d", "10m", "-o", "idle.bst", "--json")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asBootscope+"=1")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		names, _ := filepath.Glob(filepath.Join(dir, "idle.bst.partial-*"))
		if len(names) == 1 {
			if info, err := os.Stat(names[0]); err == nil && info.Size() > 100 {
				break
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return func() (result idleJSON) {
		t.Helper()
		cmd.Process.Signal(unix.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("idle: %v: %s", err, stderr.String())
		}
		if err := json.Unmarshal([]byte(stdout.String()), &result); err != nil {
			t.Fatalf("idle --json: %v: %.300s", err, stdout.String())
		}
		return result
	}
}

// uncharged is the time, in ticks, that the kernel may leave out of what it charges to programs, while their
// switches show them as running: interrupts, soft interrupts, and what the hypervisor took.
func uncharged(t *testing.T) (sum int) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(text))[6:9] {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// ranFor is for how long each thread of this machine has run by the kernel's own account.
func ranFor(t *testing.T) map[int]float64 {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[int]float64{}
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		tid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		ns, err := strconv.ParseFloat(strings.Split(string(text)+" ", " ")[0], 64)
		if err == nil {
			ran[tid] = ns / 1e9
		}
	}
	return ran
}

// unseen is what threads have too much because their CPU went to another without a switch. The kernels of some virtual
// machines hide the agent in them: no BPF program is run while a thread of it is, so that no tracer sees it leave.
func (r *idleJSON) unseen(before, after map[int]float64) (sum float64) {
	for _, task := range r.Tasks {
		ran, left := after[task.TID]
		if more := task.CPU - (ran - before[task.TID]); left && more > 0.001 {
			sum += more
		}
	}
	return sum
}

// TestIdleAgreesWithProc records loads of several kinds and compares CPU time and wake-ups with what /proc
// says of each.
func TestIdleAgreesWithProc(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	var loads []*loadProcess
	for _, name := range []string{"hog", "redraw", "poll", "chat"} {
		loads = append(loads, startLoad(t, name))
	}
	lost, before := uncharged(t), ranFor(t)
	dir := t.TempDir()
	stop := startIdle(t, dir)
	for _, l := range loads {
		if _, err := io.WriteString(l.stdin, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	type told struct{ Ticks, Voluntary int }
	witnesses := make([]told, len(loads))
	for k, l := range loads {
		if err := json.Unmarshal([]byte(l.line(t)), &witnesses[k]); err != nil {
			t.Fatal(err)
		}
	}
	result := stop()
	slack := float64(uncharged(t)-lost)/100 + result.unseen(before, ranFor(t))
	// What others read from disk may be more than the buffer holds, but not what happens to tasks.
	if r := bootscope(t, dir, nil, "idle", "idle.bst"); result.Lost > 0 && regexp.MustCompile(`\d (sched|irq|process) \(`).MatchString(r.stdout) {
		t.Errorf("%d events were lost: %.600s", result.Lost, r.stdout)
	}
	var sum, sumTold float64
	for k, l := range loads {
		cpu, wakeups, voluntary := result.of(t, l)
		want := float64(witnesses[k].Ticks) / 100
		sum, sumTold = sum+cpu, sumTold+want
		t.Logf("%-6s CPU %.4f s (/proc: %.2f s); %d wake-ups, %d voluntary switches (/proc: %d)", l.name, cpu, want,
			wakeups, voluntary, witnesses[k].Voluntary)
		// A tick; and /proc cuts user and system time to ticks one by one.
		if allowed := 0.020 + slack; math.Abs(cpu-want) > allowed {
			t.Errorf("%s: CPU time %.4f s, /proc says %.2f s: off by more than %.3f s", l.name, cpu, want, allowed)
		}
		// One switch before the window began, when it waited for the word, and one after it had told.
		for what, n := range map[string]int{"wake-ups": wakeups, "voluntary switches": voluntary} {
			if off := math.Abs(float64(n - witnesses[k].Voluntary)); off > 0.01*float64(witnesses[k].Voluntary)+2 {
				t.Errorf("%s: %d %s, /proc says %d", l.name, n, what, witnesses[k].Voluntary)
			}
		}
	}
	if off := math.Abs(sum - sumTold); off > 0.01*sumTold+0.020+slack {
		t.Errorf("all loads: CPU time %.4f s, /proc says %.2f s", sum, sumTold)
	}
	t.Logf("all: CPU %.4f s (/proc: %.2f s); interrupts, stolen by the hypervisor, without a switch: %.2f s", sum, sumTold, slack)
	result.check(t, loads)
}

// of finds a load's first thread.
func (r *idleJSON) of(t *testing.T, l *loadProcess) (cpu float64, wakeups, voluntary int) {
	t.Helper()
	for _, task := range r.Tasks {
		if task.TID == l.cmd.Process.Pid {
			return task.CPU, int(math.Round(task.Wakeups * r.Window)), int(math.Round(task.Voluntary * r.Window))
		}
	}
	t.Fatalf("load %s is not among the tasks", l.name)
	return
}

// check compares what woke the loads with what they do.
func (r *idleJSON) check(t *testing.T, loads []*loadProcess) {
	t.Helper()
	for _, l := range loads {
		want := map[string]string{"redraw": "timer clock_nanosleep", "poll": "timer clock_nanosleep", "chat": "recvfrom"}[l.name]
		if want == "" {
			continue
		}
		got := ""
		for _, task := range r.Tasks {
			for _, s := range task.WokenBy {
				if task.TID == l.cmd.Process.Pid && s.PerS*r.Window >= 20 {
					got += s.By + " " + s.Syscall + "; "
				}
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s is woken by %q, should be %q", l.name, got, want)
		}
	}
	found := map[string]bool{}
	for _, f := range r.Findings {
		found[fmt.Sprint(f.ID, " ", f.PID)] = true
	}
	// On one CPU with hog and redraw it may get its turn at the rate of redraw only, which is taken for a display's.
	poll := loads[2].cmd.Process.Pid
	if !found[fmt.Sprint("polling-loop ", poll)] && !found[fmt.Sprint("periodic-wakeup ", poll)] {
		t.Errorf("there is no finding of polling or of periodic wake-ups of %d", poll)
	}
}

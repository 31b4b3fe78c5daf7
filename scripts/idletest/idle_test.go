//go:build vmtest

package idletest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// idle is what the tests read of idle --json.
type idle struct {
	Window   float64 `json:"window_s"`
	CPUs     float64 `json:"cpus"`
	Recorder struct {
		CPU       float64 `json:"cpu_percent"`
		IdleExits float64 `json:"idle_exits_per_s"`
	} `json:"recorder"`
	CPUFreq []struct {
		Policy            string             `json:"policy"`
		Transitions       uint64             `json:"transitions"`
		KernelTransitions *uint64            `json:"kernel_transitions"`
		Time              map[string]float64 `json:"time_s"`
	} `json:"cpufreq"`
}

func parse(t *testing.T, text string) (i idle) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &i); err != nil {
		t.Fatalf("%v: %.500s", err, text)
	}
	return i
}

// TestFrequencies boots the guest and checks what it left.
func TestFrequencies(t *testing.T) {
	files := boot(t)
	t.Run("every change is counted", func(t *testing.T) { checkExact(t, files) })
	t.Run("governors are restored", func(t *testing.T) { checkRestored(t, files) })
	t.Run("an idle machine stays idle", func(t *testing.T) { checkQuiet(t, files) })
	t.Run("one CPU and no sensor", func(t *testing.T) { checkBare(t, files) })
	for line := range strings.Lines(files["dmesg"]) {
		if splat.MatchString(line) {
			t.Errorf("the kernel says: %s", line)
		}
	}
}

// splat matches what a kernel says when something went wrong in it. Stalls are left out: a guest on a busy
// machine has them whatever runs in it.
var splat = regexp.MustCompile(`BUG:|WARNING:|INFO: suspicious|Oops|scheduling while atomic`)

func numbers(t *testing.T, text string) (list []uint64) {
	t.Helper()
	for _, field := range strings.Fields(text) {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// checkExact compares the changes in the trace with the kernel's count, and the time with the window.
func checkExact(t *testing.T, files map[string]string) {
	if files["exact.status"] != "0\n" {
		t.Fatalf("status %s: %s", files["exact.status"], files["exact.stderr"])
	}
	before, after := numbers(t, files["exact.before"]), numbers(t, files["exact.after"])
	result := parse(t, files["exact.json"])
	if len(result.CPUFreq) != 2 || len(before) != 2 || len(after) != 2 {
		t.Fatalf("%d policies, %v before, %v after", len(result.CPUFreq), before, after)
	}
	for k, p := range result.CPUFreq {
		want := after[k] - before[k]
		t.Logf("%s: %d changes, the kernel counts %d", p.Policy, p.Transitions, want)
		if p.Transitions != want || want < 10 {
			t.Errorf("%s: %d changes, the kernel counts %d (at least 10 are expected)", p.Policy, p.Transitions, want)
		}
		if p.KernelTransitions == nil || *p.KernelTransitions != want {
			t.Errorf("%s: the trace has another count of the kernel's than %d: %v", p.Policy, want, p.KernelTransitions)
		}
		sum := 0.0
		for _, s := range p.Time {
			sum += s
		}
		if len(p.Time) < 2 || sum < result.Window-0.001 || sum > result.Window+0.001 {
			t.Errorf("%s: times %v make up %f s of %f s", p.Policy, p.Time, sum, result.Window)
		}
	}
}

// checkRestored compares the settings after a comparison with those before it.
func checkRestored(t *testing.T, files map[string]string) {
	if !strings.Contains(files["settings"], "rate_limit_us:12345") {
		t.Fatalf("the guest could not change a setting: %s", files["settings"])
	}
	// Status: SIGINT and SIGHUP end a window, and what there is is shown.
	for name, status := range map[string]string{"compare": "0", "INT": "0", "HUP": "0", "TERM": "143", "KILL": "137"} {
		if got := strings.TrimSpace(files[name+".status"]); got != status {
			t.Errorf("%s: status %s, should be %s: %s", name, got, status, files[name+".stderr"])
		}
		if got := files["settings."+name]; got != files["settings"] {
			t.Errorf("after %s there is\n%s\nbefore there was\n%s", name, got, files["settings"])
		}
		if name != "compare" && files["governor."+name] != "performance\nperformance\n" {
			t.Errorf("%s came when the governors were %q", name, files["governor."+name])
		}
	}
	for _, want := range []string{"performance    schedutil", "policy0 changes", "policy1 mean frequency         2000 MHz"} {
		if !strings.Contains(files["compare.txt"], want) {
			t.Errorf("the comparison lacks %q:\n%s", want, files["compare.txt"])
		}
	}
	if !strings.Contains(files["INT.txt"], "policy0 changes") {
		t.Errorf("SIGINT shows nothing: %s", files["INT.txt"])
	}
	if files["missing.status"] != "2\n" || !strings.Contains(files["missing.stderr"], `no governor "fast" here`) {
		t.Errorf("a governor that doesn't exist: %s %s", files["missing.status"], files["missing.stderr"])
	}
}

// checkQuiet: the recorder must not wake an idle CPU more than once in two seconds.
func checkQuiet(t *testing.T, files map[string]string) {
	result := parse(t, files["idle.json"])
	without, with := numbers(t, files["interrupts.without"]), numbers(t, files["interrupts.with"])
	t.Logf("the recorder ended a CPU's idle time %.2f times/s; in 30 s, the CPUs had %d timer interrupts without it and %d with it",
		result.Recorder.IdleExits, without[0], with[0])
	if result.Recorder.IdleExits > 0.5 {
		t.Errorf("the recorder ends a CPU's idle time %.2f times/s", result.Recorder.IdleExits)
	}
	// While the recorder works, which takes an emulated CPU long, ticks go on (250 per second); other work
	// comes and goes.
	ticks := 250 * result.Recorder.CPU / 100 * result.Window * result.CPUs
	if allowed := float64(without[0]) + 0.5*30 + ticks; float64(with[0]) > allowed {
		t.Errorf("%d timer interrupts in 30 s with the recorder, %d without: over %.0f", with[0], without[0], allowed)
	}
	if !strings.Contains(files["idle.txt"], fmt.Sprintf("%.2f times/s", result.Recorder.IdleExits)) {
		t.Errorf("the text doesn't say %.2f times/s:\n%s", result.Recorder.IdleExits, files["idle.txt"])
	}
}

// checkBare: what the machine doesn't have takes one line each, and --interval lines come while recording.
func checkBare(t *testing.T, files map[string]string) {
	for _, want := range []string{"One CPU: its share is the share of all.\n", "its CPUs are offline", "No temperature: "} {
		if strings.Count(files["one.txt"], want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, files["one.txt"])
		}
	}
	if n := strings.Count(files["one.txt"], "the recorder"); n < 2 {
		t.Errorf("%d tables with --interval:\n%s%s", n, files["one.txt"], files["one.stderr"])
	}
}

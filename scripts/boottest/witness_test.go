//go:build vmtest

package boottest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An execution is one that the audit log has.
type execution struct {
	pid  uint32
	wall int64 // nanoseconds since 1970; the log has milliseconds
	exe  string
}

var auditExec = regexp.MustCompile(`^type=SYSCALL msg=audit\((\d+)\.(\d{3}):\d+\): .* success=yes .* pid=(\d+) .* exe="([^"]*)" .*key="exec"`)

// auditedExecs reads the executions in an audit log.
func auditedExecs(log string) []execution {
	var found []execution
	for line := range strings.Lines(log) {
		m := auditExec.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		sec, _ := strconv.ParseInt(m[1], 10, 64)
		ms, _ := strconv.ParseInt(m[2], 10, 64)
		pid, _ := strconv.ParseUint(m[3], 10, 32)
		found = append(found, execution{uint32(pid), sec*1e9 + ms*1e6, m[4]})
	}
	return found
}

// systemdTime reads a duration as systemd prints it: "1min 17.746s", "820ms".
func systemdTime(text string) (time.Duration, error) {
	var sum time.Duration
	for _, part := range strings.Fields(text) {
		d, err := time.ParseDuration(strings.Replace(part, "min", "m", 1))
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration: %w", text, err)
		}
		sum += d
	}
	return sum, nil
}

var startup = regexp.MustCompile(`Startup finished in (.*) \(kernel\) \+ (.*) \(userspace\) = `)

// analyzeTime reads what systemd-analyze time prints.
func analyzeTime(t *testing.T, text string) (kernel, userspace time.Duration) {
	t.Helper()
	m := startup.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("systemd-analyze time says %q", text)
	}
	var err error
	if kernel, err = systemdTime(m[1]); err != nil {
		t.Fatal(err)
	}
	if userspace, err = systemdTime(m[2]); err != nil {
		t.Fatal(err)
	}
	return kernel, userspace
}

// analyzeBlame reads what systemd-analyze blame prints: how long each unit was activating.
func analyzeBlame(t *testing.T, text string) map[string]time.Duration {
	t.Helper()
	took := map[string]time.Duration{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		d, err := systemdTime(line[:at])
		if err != nil {
			t.Fatal(err)
		}
		took[line[at+1:]] = d
	}
	return took
}

// truth reads what a planted service logged of itself.
func (b *boot) truth(t *testing.T, name string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(b.text(t, "var/lib/truth/"+name+".json")), v); err != nil {
		t.Fatalf("what %s logged: %v", name, err)
	}
}

// busyTime is the CPU time of all but the idle tasks in a kept /proc/stat.
func busyTime(t *testing.T, stat string) time.Duration {
	t.Helper()
	fields := strings.Fields(strings.SplitN(stat, "\n", 2)[0])
	if len(fields) < 9 || fields[0] != "cpu" {
		t.Fatalf("/proc/stat begins with %q", fields)
	}
	var ticks int64
	for i, f := range fields[1:9] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if i != 3 && i != 4 { // idle, iowait
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// readAll puts the files of a kept directory together.
func (b *boot) readAll(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(b.dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	var all strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

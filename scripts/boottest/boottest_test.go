//go:build vmtest

package boottest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorded installs with milestones of every kind. Attaching is slow in emulation: the boot may wait.
var recorded = []string{"--hold=100s",
	`--milestone=ready=journal:heavy-api.service:^application \d+ is ready$`,
	"--milestone=logged=log:/var/log/heavy-api.log:READY:%Y-%m-%d %H:%M:%S,%f",
	"--milestone=opened=open:/etc/late-server.conf",
	"--milestone=run=exec:/usr/local/bin/back-off",
	"--milestone=served=unit:late-server.service",
}

func TestBoot(t *testing.T) {
	b := &boot{name: "boot", install: recorded}
	b.run(t)
	names := b.recordings(t)
	if len(names) != 1 {
		t.Fatalf("recordings: %v, want one; the log says:\n%s", names, b.logOf(t, "bootscope"))
	}
	tr := readTrace(t, names[0])
	t.Run("whole", func(t *testing.T) { checkWhole(t, tr) })
	t.Run("once", func(t *testing.T) { checkOnce(t, b, tr, names[0]) })
	t.Run("early", func(t *testing.T) { checkEarly(t, tr) })
	t.Run("execs", func(t *testing.T) { checkExecs(t, b, tr) })
	t.Run("analyze", func(t *testing.T) { checkAnalyze(t, b, tr) })
	t.Run("units", func(t *testing.T) { checkUnitNames(t, b, tr) })
	t.Run("net-wait", func(t *testing.T) { checkNetWait(t, tr) })
	t.Run("back-off", func(t *testing.T) { checkBackOff(t, b, tr) })
	t.Run("findings", func(t *testing.T) { checkFindings(t, b, names[0]) })
	t.Run("imports", func(t *testing.T) { checkImports(t, b, tr) })
	t.Run("milestones", func(t *testing.T) { checkMilestones(t, b, tr) })
	t.Run("logs", func(t *testing.T) { checkLogs(t, tr) })
	printCost(t, b, tr)
}

// logOf is what a program wrote into the guest's journal.
func (b *boot) logOf(t *testing.T, identifier string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(b.text(t, "out/journal")) {
		if strings.Contains(line, "] "+identifier+"[") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func checkWhole(t *testing.T, tr *trace) {
	if tr.trailer == nil || len(tr.problems) > 0 {
		t.Fatalf("trailer %v, problems %v", tr.trailer, tr.problems)
	}
	if len(tr.trailer.Lost) > 0 {
		t.Errorf("lost: %+v", tr.trailer.Lost)
	}
	if !strings.Contains(tr.trailer.Reason, "no Python file") {
		t.Errorf("it ended because %q", tr.trailer.Reason)
	}
	for _, p := range tr.header.Probes {
		if p.Status != "on" && p.Name != "irq" {
			t.Errorf("probe %s is %s: %s", p.Name, p.Status, p.Reason)
		}
	}
}

// checkOnce tests that the next boot is an ordinary one, and that the recording has its names.
func checkOnce(t *testing.T, b *boot, tr *trace, name string) {
	if _, err := os.Lstat(filepath.Join(b.dir, "etc/systemd/system/sysinit.target.wants/bootscope.service")); err == nil {
		t.Error("it is still armed")
	}
	if latest, err := os.Readlink(filepath.Join(b.dir, "var/lib/bootscope/latest.bst")); err != nil || latest != filepath.Base(name) {
		t.Errorf("latest.bst leads to %q (%v), want %s", latest, err, filepath.Base(name))
	}
	if boot := strings.ReplaceAll(tr.header.BootID, "-", "")[:8]; !strings.HasSuffix(name, "-"+boot+".bst") {
		t.Errorf("%s doesn't have boot %s in its name", name, boot)
	}
	if status := b.text(t, "out/status"); !strings.Contains(status, "waits for: ") || !strings.Contains(status, "lost:      0 events") {
		t.Errorf("status said while it recorded:\n%s", status)
	}
	if status := b.text(t, "out/status-after"); !strings.Contains(status, "nothing is being recorded") || !strings.Contains(status, "latest:") {
		t.Errorf("status said afterwards:\n%s", status)
	}
}

func checkEarly(t *testing.T, tr *trace) {
	sysinit := tr.units["sysinit.target"]
	if sysinit == nil || tr.header.Start >= sysinit.Active {
		t.Fatalf("all was attached at %d ns, sysinit.target reached: %+v", tr.header.Start, sysinit)
	}
	t.Logf("attached at %.3f s, %.3f s before sysinit.target was reached", float64(tr.header.Start)/1e9,
		float64(sysinit.Active-tr.header.Start)/1e9)
}

// checkExecs compares with the kernel's audit log: 98 % of what it has while the recording ran.
func checkExecs(t *testing.T, b *boot, tr *trace) {
	last := tr.clocks[len(tr.clocks)-1]
	toBoot := int64(last.Time) - int64(last.Realtime) // nobody sets the clock here
	seen, missing := 0, []execution{}
	for _, e := range auditedExecs(b.readAll(t, "var/log/audit/audit.log*")) {
		at := e.wall + toBoot
		if at < int64(tr.header.Start)+2e6 || at > int64(tr.trailer.End)-2e6 {
			continue
		}
		// The log has when the call began; a program that comes from the disk late can take seconds.
		near := func(when uint64) bool { return int64(when) > at-5e6 && int64(when) < at+20e9 }
		if slices.ContainsFunc(tr.execs[e.pid], near) {
			seen++
		} else {
			missing = append(missing, e)
		}
	}
	t.Logf("%d of %d executions in the audit log are recorded", seen, seen+len(missing))
	if seen < 25 || seen*100 < (seen+len(missing))*98 {
		t.Errorf("missing: %v", missing)
	}
}

// checkAnalyze compares times with those that systemd-analyze printed.
func checkAnalyze(t *testing.T, b *boot, tr *trace) {
	const agreement = 10 * time.Millisecond
	differ := func(a, b time.Duration) bool { return max(a, b)-min(a, b) > agreement }
	kernel, userspace := analyzeTime(t, b.text(t, "out/analyze-time"))
	m := tr.manager
	if m == nil {
		t.Fatal("systemd told nothing of the boot")
	}
	if differ(time.Duration(m.Userspace), kernel) || differ(time.Duration(m.Finished-m.Userspace), userspace) {
		t.Errorf("userspace from %v for %v; systemd-analyze says %v and %v", time.Duration(m.Userspace),
			time.Duration(m.Finished-m.Userspace), kernel, userspace)
	}
	blame := analyzeBlame(t, b.text(t, "out/analyze-blame"))
	compared := 0
	for name, took := range blame {
		u := tr.units[name]
		if u == nil {
			if !strings.HasSuffix(name, ".device") { // those are told only if a unit waits for them
				t.Errorf("%s is missing: it was activating for %v", name, took)
			}
			continue
		}
		until := u.Active
		if until < u.Activating { // it ended without ever becoming active: a program that ran once
			until = u.Inactive
		}
		if got := time.Duration(until - u.Activating); differ(got, took) && u.properties["ActiveState"] != "failed" {
			t.Errorf("%s was activating for %v, systemd-analyze says %v", name, got, took)
		}
		compared++
	}
	t.Logf("%d units agree with systemd-analyze blame to %v", compared, agreement)
	if compared < 15 {
		t.Errorf("only %d units were compared", compared)
	}
}

// planted are the services that log their process.
var planted = []string{"heavy-api", "fork-app", "back-off", "late-server"}

func checkUnitNames(t *testing.T, b *boot, tr *trace) {
	for _, name := range planted {
		var logged struct{ PID uint32 }
		b.truth(t, name, &logged)
		if got, want := tr.cgroups[tr.cgroupOf[logged.PID]], "/system.slice/"+name+".service"; got != want {
			t.Errorf("process %d is in cgroup %q, want %q", logged.PID, got, want)
		}
		u := tr.units[name+".service"]
		if u == nil || u.properties["FragmentPath"] != "/etc/systemd/system/"+name+".service" ||
			!strings.Contains(u.properties["EnabledBy"], "multi-user.target.wants/"+name) {
			t.Errorf("%s.service: %+v", name, u)
		}
	}
	if len(tr.live) < 10 {
		t.Errorf("only %d activations were caught live", len(tr.live))
	}
}

// checkNetWait: systemd ended the unit after 20 s, and what wants the network waited for that.
func checkNetWait(t *testing.T, tr *trace) {
	u, app := tr.units["net-wait.service"], tr.units["net-app.service"]
	if u == nil || app == nil {
		t.Fatal("units are missing")
	}
	if waited := float64(u.Inactive-u.Activating) / 1e9; u.properties["Result"] != "timeout" || waited < 18 || waited > 22 {
		t.Errorf("it waited %.1f s and ended with %q, want 20 s and timeout", waited, u.properties["Result"])
	}
	if app.Active < u.Inactive || !strings.Contains(app.properties["After"], "network-online.target") {
		t.Errorf("net-app was active at %d, net-wait ended at %d; it is after %q", app.Active, u.Inactive, app.properties["After"])
	}
}

func checkMilestones(t *testing.T, b *boot, tr *trace) {
	var ready struct {
		Ready float64 `json:"ready_s"`
	}
	var server struct {
		Listening float64 `json:"listening_s"`
	}
	b.truth(t, "heavy-api-ready", &ready)
	b.truth(t, "late-server", &server)
	at := func(name string) float64 { return float64(tr.milestones[name]) / 1e9 }
	// What logs its truth does so a moment before or after; emulation stretches moments.
	const moment = 0.5
	for _, c := range []struct {
		name     string
		from, to float64
	}{
		{"ready", ready.Ready - moment, ready.Ready + moment},
		{"logged", ready.Ready - moment, ready.Ready + moment},
		{"opened", server.Listening, server.Listening + moment},
		{"served", server.Listening, server.Listening + 10*moment}, // systemd-notify is a program of its own
		{"run", float64(tr.header.Start) / 1e9, float64(tr.trailer.End) / 1e9},
	} {
		if got := at(c.name); got < c.from || got > c.to {
			t.Errorf("milestone %s at %.3f s, want %.3f s to %.3f s", c.name, got, c.from, c.to)
		}
	}
}

func checkLogs(t *testing.T, tr *trace) {
	if len(tr.kernelLog) < 100 || !strings.HasPrefix(tr.kernelLog[0], "Linux version ") {
		t.Errorf("%d lines of the kernel's log, the first %q", len(tr.kernelLog), slices.Concat(tr.kernelLog, []string{""})[0])
	}
	if !slices.Contains(tr.journal["heavy-api.service"], "application 1 is ready") {
		t.Errorf("the journal of heavy-api.service: %q", tr.journal["heavy-api.service"])
	}
}

// printCost tells what the recorder cost this boot.
func printCost(t *testing.T, b *boot, tr *trace) {
	if tr.trailer == nil {
		return
	}
	self, busy := tr.trailer.Self, busyTime(t, b.text(t, "out/stat"))
	started := tr.units["bootscope.service"]
	if started == nil {
		t.Fatal("the recorder's own unit is missing")
	}
	t.Logf("recorder: %.2f s of CPU time, its programs %.2f s; the boot: %.2f s; from activating to attached %.2f s",
		float64(self.CPU)/1e9, float64(self.BPF)/1e9, busy.Seconds(), float64(tr.header.Start-started.Activating)/1e9)
	t.Logf("memory %.1f MB, %d events in %.1f MB, recorded for %.1f s", float64(self.MaxRSS)/1e6, tr.events,
		float64(self.BytesWritten)/1e6, float64(tr.trailer.End-tr.header.Start)/1e9)
}

//go:build vmtest

package boottest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

const stepperUnit = `[Service]
ExecStart=/usr/local/bin/stepper

[Install]
WantedBy=multi-user.target
`

// stepperProgram is as a board without a battery: 1970 first, then now, then a correction by 14 s. It logs a line
// after each, and what the line's time from boot was.
const stepperProgram = `#!/usr/bin/python3
import datetime, json, time

truth = {}
now = time.time()
for name, wall in [("dawn", 1000), ("today", now + 3), ("later", now + 20)]:
    time.clock_settime(time.CLOCK_REALTIME, wall)
    time.sleep(3)
    stamp = datetime.datetime.now()
    truth[name] = time.clock_gettime(time.CLOCK_BOOTTIME)
    with open("/var/log/stepper.log", "a") as log:
        log.write(f"{stamp:%Y-%m-%d %H:%M:%S.%f} {name}\n")
with open("/var/lib/truth/stepper.json", "w") as file:
    json.dump(truth, file)
`

// TestClockStep sets the clock while the boot is recorded: nothing in the timeline moves, each step is an
// event, and times of the wall clock convert on either side.
func TestClockStep(t *testing.T) {
	t.Parallel()
	b := &boot{name: "clock-step", kernel: lean, prepare: plantStepper, install: []string{"--hold=100s"}}
	for _, name := range []string{"dawn", "today", "later"} {
		b.install = append(b.install, "--milestone="+name+"=log:/var/log/stepper.log:"+name+":%Y-%m-%d %H:%M:%S.%f")
	}
	b.run(t)
	names := b.recordings(t)
	if len(names) != 1 {
		t.Fatalf("recordings: %v, want one", names)
	}
	tr := readTrace(t, names[0])
	if tr.trailer == nil || len(tr.problems) > 0 {
		t.Errorf("trailer %v, problems %v", tr.trailer, tr.problems)
	}
	var truth map[string]float64
	b.truth(t, "stepper", &truth)
	for name, want := range truth {
		if got := float64(tr.milestones[name]) / 1e9; got < want-0.1 || got > want+0.1 {
			t.Errorf("milestone %s at %.3f s, it was %.3f s", name, got, want)
		}
	}
	steps := slices.DeleteFunc(tr.clocks, func(c event.Clock) bool { return c.Reason != uint32(event.ClockStepped) })
	if len(steps) != len(truth) {
		t.Errorf("%d steps of the clock are recorded, %d were made", len(steps), len(truth))
	}
}

func plantStepper(root string) error {
	return errors.Join(
		os.WriteFile(filepath.Join(root, "usr/local/bin/stepper"), []byte(stepperProgram), 0o755),
		os.WriteFile(filepath.Join(root, "etc/systemd/system/stepper.service"), []byte(stepperUnit), 0o644),
		run("systemctl", "--root="+root, "--quiet", "enable", "stepper.service"))
}

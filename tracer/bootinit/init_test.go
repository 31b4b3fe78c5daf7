//go:build linux

package bootinit

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestParseCommandLine(t *testing.T) {
	tests := []struct {
		text string
		want commandLine
	}{
		{"root=/dev/vda ro quiet\n", commandLine{}},
		{"bootscope=off", commandLine{off: true}},
		{"bootscope=on", commandLine{}},
		{"bootscope.init=/lib/systemd/systemd bootscope.hold=1500ms", commandLine{init: "/lib/systemd/systemd", hold: 1500 * time.Millisecond}},
		{"bootscope.hold=1h", commandLine{hold: maxHold}},
		{"bootscope.hold=-1s bootscope.hold=soon", commandLine{}},
		{"quiet -- bootscope=off", commandLine{}}, // that is init's
	}
	for _, test := range tests {
		if got := parseCommandLine(test.text); got != test.want {
			t.Errorf("%q: got %+v, want %+v", test.text, got, test.want)
		}
	}
}

// TestWithin hangs and panics where the recorder would be started.
func TestWithin(t *testing.T) {
	hung := make(chan bool)
	defer close(hung)
	for name, f := range map[string]func() int{
		"hangs":  func() int { <-hung; return 1 },
		"panics": func() int { panic("out of luck") },
	} {
		began := time.Now()
		if got := within(50*time.Millisecond, f); got != 0 || time.Since(began) > 5*time.Second {
			t.Errorf("what %s gave %d after %v", name, got, time.Since(began))
		}
	}
	if got := within(time.Minute, func() int { return 7 }); got != 7 {
		t.Errorf("got %d", got)
	}
}

func TestCandidates(t *testing.T) {
	if got := candidates("/lib/systemd/systemd"); got[0] != "/lib/systemd/systemd" {
		t.Errorf("the one that was named is not the first of %v", got)
	}
	for _, name := range candidates("not/absolute") {
		if !filepath.IsAbs(name) {
			t.Errorf("%s is no init", name)
		}
	}
}

// TestSame tells this program, through a link, from another: it must not execute itself for ever.
func TestSame(t *testing.T) {
	dir := t.TempDir()
	program, link, other := filepath.Join(dir, Name), filepath.Join(dir, "init"), filepath.Join(dir, "other")
	for _, name := range []string{program, other} {
		if err := os.WriteFile(name, []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(Name, link); err != nil {
		t.Fatal(err)
	}
	if !same(link, program) || same(other, program) || same(filepath.Join(dir, "gone"), program) {
		t.Error("a link to the program is the program, and nothing else is")
	}
}

func TestRunElsewhere(t *testing.T) {
	if err := Run([]string{Name}); err == nil {
		t.Error("it ran, and this isn't the first process")
	}
}

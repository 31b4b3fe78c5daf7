package findings

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// What the findings about Python share.

// ofLibrary is a path in Python's own library, not in what was installed beside it.
var ofLibrary = regexp.MustCompile(`/(python|pypy)\d[\d.]*(\.zip)?/`)

// isApplication tells whether a module is the application's, or a package that was installed for it.
func isApplication(m *python.Module) bool {
	p := m.Open.File.Path
	return !ofLibrary.MatchString(p) || strings.Contains(p, "/site-packages/") || strings.Contains(p, "/dist-packages/")
}

// programName says who an interpreter is.
func programName(in *python.Interpreter) string {
	name := in.Program
	if name == "" {
		name = in.Process.Comm()
	}
	if !strings.HasPrefix(name, "-c ") {
		name = path.Base(name)
	}
	if r := []rune(name); len(r) > 40 {
		name = string(r[:37]) + "..."
	}
	return fmt.Sprintf("%s (pid %d)", name, in.Process.PID)
}

func unitName(p *timeline.Process) string {
	if p.Unit == nil {
		return ""
	}
	return p.Unit.Name
}

// split says where a time went.
func split(t *timeline.Times) string {
	return fmt.Sprintf("%s on a CPU, %s waiting for one, %s for I/O", seconds(t[timeline.Running]),
		seconds(t[timeline.Runnable]), seconds(t[timeline.IOWait]))
}

// work is a time without the waits for a CPU, which others are to blame for.
func work(t *timeline.Times) uint64 { return t.Sum() - t[timeline.Runnable] }

func importsOf(in *python.Interpreter) (sum timeline.Times) {
	for _, m := range in.Roots {
		sum.Add(&m.Total)
	}
	return sum
}

// caveat is what is true of every promise about imports.
const caveat = "at most: a module that imports it later finds it loaded, opens nothing, and would then import it itself"

//go:build kerneltest

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/export/report"
	"github.com/bootscope/bootscope/tracer/findings"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// findingsOf records a command and returns what was found in it of one kind.
func findingsOf(t *testing.T, id string, command ...string) []findings.Finding {
	t.Helper()
	out := filepath.Join(t.TempDir(), "findings.bst")
	status, err := record.Record(record.Options{
		Output: out, Force: true, Command: command, SampleHz: record.DefaultSampleHz, BufferBytes: record.DefaultBufferBytes,
		Notice: func(format string, args ...any) { t.Logf(format, args...) },
	})
	if err != nil || status != 0 {
		t.Fatalf("status %d: %v", status, err)
	}
	f, err := tracefile.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := report.Build(f)
	if err != nil {
		t.Fatal(err)
	}
	var found []findings.Finding
	for _, x := range r.Findings {
		if x.ID == id {
			found = append(found, x)
			t.Logf("at most %d ms: %s\n  %s\n  %s", x.Cost/1e6, x.Title, strings.Join(x.Evidence, "\n  "), x.Remedy)
		}
	}
	return found
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func compileAll(t *testing.T, dir string, args ...string) {
	t.Helper()
	t.Setenv("PYTHONDONTWRITEBYTECODE", "")
	if out, err := exec.Command(debianPython, append([]string{"-m", "compileall", "-q", dir}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// busy is a module whose import takes some time.
const busy = "import time\nend = time.process_time() + 0.03\nwhile time.process_time() < end: pass\n"

// multiprocessingApp is an application that starts three children: app METHOD PRELOAD.
var multiprocessingApp = map[string]string{
	"heavyapp/__init__.py": "",
	"heavyapp/models.py":   busy,
	"heavyapp/views.py":    busy + "from heavyapp import models\n",
	"heavyapp/work.py":     "from heavyapp import views\ndef run(n): return n\n",
	"heavyapp/cli.py": `import multiprocessing, sys
from heavyapp import work
def main():
    multiprocessing.set_start_method(sys.argv[1])
    if sys.argv[2] != '-':
        multiprocessing.set_forkserver_preload(sys.argv[2].split(','))
    children = [multiprocessing.Process(target=work.run, args=(n,)) for n in range(3)]
    for c in children: c.start()
    for c in children: c.join()
`,
	"heavyapp/__main__.py": "from heavyapp.cli import main\nif __name__ == '__main__': main()\n",
	"bin/app":              "#!" + debianPython + "\nimport sys\nfrom heavyapp.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n",
}

func TestReimports(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, multiprocessingApp)
	compileAll(t, dir)
	script, module := []string{dir + "/bin/app"}, []string{debianPython, "-m", "heavyapp"}
	for _, c := range []struct {
		name    string
		command []string
		method  string
		preload string
		want    string // in the evidence; "" for a family that is well
		remedy  string
	}{
		{"fork server, console script", script, "forkserver", "-", "nothing of them", "set_forkserver_preload"},
		{"fork server, -m", module, "forkserver", "-", "nothing of them", "ensure_running"},
		{"fork server that preloads __main__ only", script, "forkserver", "__main__", "nothing of them", "126631"},
		{"fork server that preloads the application", script, "forkserver", "heavyapp.work", "", ""},
		{"fork server that preloads the application, -m", module, "forkserver", "heavyapp.work", "", ""},
		{"spawn", script, "spawn", "-", "modules of the same packages, the last of them heavyapp.", "forkserver"},
		{"fork", script, "fork", "-", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PYTHONPATH", dir)
			t.Setenv("PYTHONDONTWRITEBYTECODE", "")
			found := findingsOf(t, "forkserver-reimport", append(c.command, c.method, c.preload)...)
			if c.want == "" {
				if len(found) > 0 {
					t.Errorf("%d findings for a family that is well", len(found))
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("%d findings, want 1", len(found))
			}
			f := found[0]
			text := strings.Join(f.Evidence, "\n")
			if !strings.Contains(text, c.want) || !strings.Contains(f.Remedy, c.remedy) {
				t.Errorf("evidence lacks %q or remedy lacks %q", c.want, c.remedy)
			}
			if !strings.Contains(text, "3 children") || !strings.Contains(text, "heavyapp/__pycache__/models") {
				t.Error("the children or the files are not named")
			}
			// Each child works for 60 ms in its imports, and all but one of them could be saved.
			if f.Cost < 110e6 {
				t.Errorf("cost %d ms", f.Cost/1e6)
			}
		})
	}
}

func TestRecompiles(t *testing.T) {
	lines := make([]string, 12000)
	for i := range lines {
		lines[i] = fmt.Sprintf("def function_%d(a, b):\n    return [a * %d + b for x in range(b) if x > a]", i, i)
	}
	source := strings.Join(lines, "\n") + "\n"
	app := func(t *testing.T) string {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"big.py": source, "small.py": "import big\n"})
		return dir
	}
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string)
		want    string // in the evidence; "" for no finding
	}{
		{"compiled before", func(t *testing.T, dir string) { compileAll(t, dir) }, ""},
		{"missing, written", func(*testing.T, string) {}, "no bytecode was there; it was written"},
		{"stale, written", func(t *testing.T, dir string) {
			compileAll(t, dir)
			touch(t, dir+"/big.py")
		}, "did not fit the time or size of the source (an image tool that resets file times does that); it was written"},
		{"missing, PYTHONDONTWRITEBYTECODE", func(t *testing.T, _ string) { t.Setenv("PYTHONDONTWRITEBYTECODE", "1") },
			"none was written (PYTHONDONTWRITEBYTECODE"},
		{"stale, PYTHONDONTWRITEBYTECODE", func(t *testing.T, dir string) {
			compileAll(t, dir)
			touch(t, dir+"/big.py")
			t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		}, "did not fit the source, or says that its hash must be checked"},
		{"stale, on a read-only root", func(t *testing.T, dir string) {
			compileAll(t, dir)
			touch(t, dir+"/big.py")
			readOnly(t, dir)
		}, "on a read-only file system it can't be written"},
		{"unchecked-hash, with another time", func(t *testing.T, dir string) {
			compileAll(t, dir, "--invalidation-mode", "unchecked-hash")
			touch(t, dir+"/big.py")
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PYTHONDONTWRITEBYTECODE", "")
			dir := app(t)
			c.prepare(t, dir)
			found := findingsOf(t, "recompiled-modules", "/usr/bin/env", "-C", dir, debianPython, "-c", "import small")
			if c.want == "" {
				if len(found) > 0 {
					t.Errorf("%d findings where nothing was compiled", len(found))
				}
				return
			}
			for _, f := range found {
				if text := strings.Join(f.Evidence, "\n"); strings.Contains(text, c.want) && strings.Contains(text, "/big.py") {
					return
				}
			}
			t.Errorf("%d findings, none says %q", len(found), c.want)
		})
	}
}

// touch gives a file the time that reproducible images have.
func touch(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.Command("touch", "-d", "1980-01-01", name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// readOnly makes a directory read-only, as a mount: root may write anywhere else.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"--bind", dir, dir}, {"-o", "remount,ro,bind", dir}} {
		if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
			t.Fatalf("mount %v: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() { exec.Command("umount", dir).Run() })
}

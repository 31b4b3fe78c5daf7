//go:build kerneltest

package main

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const stories = "../../tracer/python/testdata"

// debianPython must be there; the others are tried where they are.
const debianPython = "/usr/bin/python3"

// pythons are the interpreters of this machine, by a short name.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"debian": debianPython}
	if _, err := os.Stat(debianPython); err != nil {
		t.Fatal(err)
	}
	others, _ := filepath.Glob(os.ExpandEnv("$HOME/.pyenv/versions/3.*/bin/python3"))
	for _, p := range others {
		name := filepath.Base(filepath.Dir(filepath.Dir(p)))
		if !strings.HasPrefix(name, "3.6") && !strings.HasPrefix(name, "3.7") {
			all[name] = p
		}
	}
	return all
}

// TestStories records every story of tracer/python/testdata with every interpreter and compares the tree
// with what the same run says of itself. With -update it rewrites the traces there.
func TestStories(t *testing.T) {
	files, err := filepath.Glob(stories + "/*.story")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for version, exe := range pythons(t) {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".story")
			t.Run(version+"/"+name, func(t *testing.T) {
				dir := t.TempDir()
				command, known := unpack(t, file, dir)
				var r *pythonRun
				var a *python.Agreement
				var wrong []string
				// Where in memory a program lands is new at every start, and a story has few opens to calibrate by:
				// one recording in hundreds is off. How often is what TestImportAccuracy measures.
				for range storyAttempts {
					r = recordPython(t, dir, exe, append([]string{"-E", "-S", "-s"}, command...), name)
					a = python.Compare(r.in, r.log)
					if wrong = unexpected(a, known); len(wrong) == 0 {
						break
					}
					t.Log(strings.Join(wrong, "\n"))
				}
				if a.Matched == 0 {
					t.Error("no import is in both the trace and the log")
				}
				if len(wrong) > 0 {
					t.Errorf("in each of %d recordings, such as: %s", storyAttempts, strings.Join(wrong, "; "))
				}
				for _, p := range a.Times {
					t.Logf("%s: %.1f ms, self %.1f ms; log %.1f ms, self %.1f ms", p.Module, ms(p.Cumulative), ms(p.Self),
						ms(p.LogCumulative), ms(p.LogSelf))
				}
				if golden.Updating() && exe == debianPython {
					r.save(t, dir, name)
				}
			})
		}
	}
}

const storyAttempts = 3

// unexpected lists the modules whose importer differs from the log's, but for those that are known to.
func unexpected(a *python.Agreement, known map[string]bool) (wrong []string) {
	for _, d := range a.Differ {
		if !known["*"] && !known[d.Module] {
			wrong = append(wrong, fmt.Sprintf("%s: asked for by %q in the log, by %q here", d.Module, d.InLog, d.InRecording))
		}
	}
	return wrong
}

func ms(ns uint64) float64 { return float64(ns) / 1e6 }

// unpack writes the files of a story and returns its command, and the modules that are known to differ.
func unpack(t *testing.T, file, dir string) (command []string, differs map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split("\n"+string(text), "\n-- ")[1:] {
		name, content, ok := strings.Cut(part, " --\n")
		if !ok {
			name, content = strings.TrimSuffix(part, " --"), ""
		}
		if name == "command" {
			command = strings.Split(strings.TrimSpace(content), "\n")
			continue
		}
		if name == "differs" {
			differs = map[string]bool{}
			for _, m := range strings.Fields(content) {
				differs[m] = true
			}
			continue
		}
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	zips, _ := filepath.Glob(filepath.Join(dir, "*.zip"))
	for _, folder := range zips {
		os.Rename(folder, folder+".d")
		pack := exec.Command(debianPython, "-c", "import shutil, sys; shutil.make_archive(sys.argv[1][:-4], 'zip', sys.argv[1] + '.d')", folder)
		if out, err := pack.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return command, differs
}

// pythonRun is a recording of one Python program, and what it said of itself.
type pythonRun struct {
	file *tracefile.File
	in   *python.Interpreter
	all  []*python.Interpreter
	log  []*python.LogEntry
	text []byte
}

// recordPython runs a program once to warm up, and then records it.
func recordPython(t *testing.T, dir, exe string, args []string, name string) *pythonRun {
	t.Helper()
	out, logFile := filepath.Join(dir, name+".bst"), filepath.Join(dir, name+".importtime")
	script := fmt.Sprintf("cd '%s' && exec \"$@\" >/dev/null 2>'%s' </dev/null", dir, logFile)
	command := append([]string{"/bin/sh", "-c", script, "sh", exe, "-X", "importtime"}, args...)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "")
	warm := exec.Command(command[0], command[1:]...)
	if err := warm.Run(); err != nil {
		text, _ := os.ReadFile(logFile)
		t.Skipf("%s can't run this: %v: %s", exe, err, lastLine(text))
	}
	status, err := record.Record(record.Options{
		Output: out, Force: true, Command: command, SampleHz: record.DefaultSampleHz, BufferBytes: record.DefaultBufferBytes,
		Notice: func(format string, args ...any) { t.Logf(format, args...) },
	})
	if err != nil || status != 0 {
		t.Fatalf("status %d: %v", status, err)
	}
	r := &pythonRun{}
	if r.file, err = tracefile.Open(out); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.file.Close() })
	collector := python.NewCollector()
	tl, err := timeline.Build(r.file, collector)
	if err != nil {
		t.Fatal(err)
	}
	r.all = collector.Interpreters()
	for _, in := range r.all {
		if in.Process.PID == tl.Header.CommandPID && r.in == nil {
			r.in = in
		}
	}
	if r.in == nil {
		t.Fatal("no interpreter was found")
	}
	if r.text, err = os.ReadFile(logFile); err != nil {
		t.Fatal(err)
	}
	if r.log, err = python.ParseImportTime(bytes.NewReader(r.text)); err != nil {
		t.Fatal(err)
	}
	return r
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// save writes the recording as a story's trace: the program only, in a folder of a fixed name.
func (r *pythonRun) save(t *testing.T, dir, name string) {
	t.Helper()
	var b bytes.Buffer
	if err := tracefile.WriteText(&b, &onlyProcess{r.file, r.in.Process.PID}); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(b.String(), dir, "/srv/story")
	text = "# testdata/" + name + ".story, recorded by make kerneltest.\n" + text
	for suffix, content := range map[string]string{".trace": text, ".importtime": string(r.text)} {
		if err := os.WriteFile(filepath.Join(stories, name+suffix), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// onlyProcess is what a trace says of one process and those that descend from it. To its CPUs, all others
// are the idle task.
type onlyProcess struct {
	tracefile.Source
	pid uint32
}

func (o *onlyProcess) Header() *tracefile.Header {
	h := o.Source.Header()
	probes := append([]tracefile.ProbeStatus(nil), h.Probes...)
	for i := range probes {
		probes[i].Reason = ""
	}
	return &tracefile.Header{
		Arch: h.Arch, CPUs: h.CPUs, Online: h.Online, PageSize: h.PageSize, TickHz: h.TickHz, Start: h.Start,
		CommandPID: o.pid, SampleHz: h.SampleHz, Probes: probes, Specs: h.Specs,
	}
}

func (o *onlyProcess) Trailer() *tracefile.Trailer {
	return &tracefile.Trailer{End: o.Source.Trailer().End, Reason: "the command ended"}
}

func (o *onlyProcess) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		k := &keeper{pids: map[uint32]bool{o.pid: true}, tids: map[uint32]bool{o.pid: true}, paths: map[uint64]*event.Path{}}
		for e, err := range o.Source.Events() {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range k.keep(e) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// keeper knows which processes and threads are to be kept, and the paths that were not needed yet.
type keeper struct {
	pids, tids map[uint32]bool
	paths      map[uint64]*event.Path
}

// keep returns what is kept of an event: nothing, or the event after the paths that it needs.
func (k *keeper) keep(e event.Event) []event.Event {
	h := e.Head()
	switch e := e.(type) {
	case *event.Path:
		kept := *e // an event is valid until the next one only
		kept.SetTail(bytes.Clone(e.TailBytes()))
		k.paths[e.File] = &kept
		return nil
	case *event.Switch:
		h.TID, e.Next = k.orIdle(h.TID), k.orIdle(e.Next)
		if h.TID == e.Next {
			return nil
		}
		if h.TID == 0 {
			e.State, e.Syscall = 0, event.NoSyscall
		}
		return []event.Event{e}
	case *event.Waking:
		if !k.tids[e.Target] {
			return nil
		}
		h.TID = k.orIdle(h.TID)
		return []event.Event{e}
	case *event.Fork:
		if k.pids[h.PID] {
			k.pids[e.ChildPID], k.tids[e.ChildTID] = true, true
		}
	}
	if !k.pids[h.PID] {
		return nil
	}
	return append(k.pathsOf(e), e)
}

func (k *keeper) orIdle(tid uint32) uint32 {
	if k.tids[tid] {
		return tid
	}
	return 0
}

// pathsOf are the paths that an event is the first to name, moved to just before it.
func (k *keeper) pathsOf(e event.Event) (list []event.Event) {
	h := e.Head()
	for _, id := range idsOf(e) {
		if p := k.paths[id]; p != nil {
			p.Time, p.TID, p.PID, p.CPU = h.Time, h.TID, h.PID, h.CPU
			delete(k.paths, id)
			list = append(list, p)
		}
	}
	return list
}

// idsOf returns the files that an event names.
func idsOf(e event.Event) []uint64 {
	switch e := e.(type) {
	case *event.Open:
		return []uint64{e.File, e.Base}
	case *event.Exec:
		return []uint64{e.Exe}
	}
	return nil
}

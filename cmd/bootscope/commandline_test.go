package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/export"
	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// offset of a damaged place: it moves with every new field of an event, since the header lists them.
var offset = regexp.MustCompile(`(offset|skipped|chunk:|of its) \d+`)

// TestOutput compares what each command line prints with a golden file named after it.
func TestOutput(t *testing.T) {
	dir := traces(t)
	for _, line := range []string{
		"--help",
		"report --help",
		"imports --help",
		"export --help",
		"view --help",
		"dump --help",
		"report story.bst",
		"report --top 1 story.bst",
		"report --top 0 story.bst",
		"report --json story.bst",
		"report cut.bst",
		"report boot.bst",
		"report --milestone printing=unit,print.service --budget kernel=2s,printing=40s boot.bst",
		"imports python.bst",
		"imports --json python.bst",
		"imports --flat --sort self python.bst",
		"imports --format importtime --process second.py python.bst",
		"dump story.bst",
		"dump cut.bst",
	} {
		t.Run(line, func(t *testing.T) {
			r := bootscope(t, dir, nil, strings.Fields(line)...)
			if r.status != 0 {
				t.Errorf("status %d: %s", r.status, r.stderr)
			}
			golden.Check(t, goldenName(line), offset.ReplaceAllString(r.stdout, "$1 N"))
			for _, text := range strings.Split(r.stdout, "\n") {
				if strings.HasSuffix(line, "--help") && len(text) > 80 {
					t.Errorf("over 80 columns: %s", text)
				}
			}
		})
	}
}

// TestErrors gives every command line that must fail, with its status and what it must say.
func TestErrors(t *testing.T) {
	dir := traces(t)
	formats := strings.Join(export.Names(), ", ")
	for _, tt := range []struct {
		line   string
		status int
		stderr string
	}{
		{"", 2, "bootscope: no subcommand given\nSee bootscope --help.\n"},
		{"reprot", 2, `bootscope: there is no subcommand "reprot": did you mean report?` + "\nSee bootscope --help.\n"},
		{"--frobnicate", 2, "bootscope: unknown flag: --frobnicate\nSee bootscope --help.\n"},
		{"report", 2, "bootscope: no trace given: name a file, or - for standard input\nSee bootscope report --help.\n"},
		{"report a b", 2, `bootscope: one trace at a time: "b" is one too many` + "\nSee bootscope report --help.\n"},
		{"report --top x story.bst", 2, `bootscope: invalid argument "x" for "--top"`},
		{"report --top -1 story.bst", 2, "bootscope: --top -1: give a number of rows, or 0 for all\nSee bootscope report --help.\n"},
		{"report --milestone up boot.bst", 2, `bootscope: milestone "up": write NAME=SPEC, such as`},
		{"report --milestone up=log:/x:y:%H boot.bst", 1, "bootscope: milestone up: the lines of /x are not in the trace"},
		{"report --milestone up=journal:x:y story.bst", 1, "bootscope: milestone up: there is no journal in the trace"},
		{"report --budget kernel boot.bst", 2, `bootscope: budget "kernel": write NAME=DURATION, such as kernel=1.5s`},
		{"report --budget kernel=1s,up=1 boot.bst", 2, `bootscope: budget "up=1": "1" is no duration`},
		{"imports --format importtime python.bst", 2, "bootscope: --format importtime shows one interpreter, and there are 2: choose with"},
		{"imports story.bst", 1, "bootscope: story.bst: no Python interpreter imported anything in this recording"},
		{"imports --sort name python.bst", 2, `bootscope: --sort "name": it is self or cumulative`},
		{"imports --min -1s python.bst", 2, "bootscope: --min -1s: give a time of 0 or more"},
		{"imports --root / python.bst", 2, "bootscope: --root goes with --why"},
		{"imports --format xml python.bst", 2, `bootscope: --format "xml": the formats are text, json, importtime`},
		{"imports --process nobody python.bst", 1, "bootscope: python.bst: no such interpreter; there are "},
		{"imports --why nothing python.bst", 1, "bootscope: no interpreter imported nothing: it may be built in or frozen"},
		{"imports --check missing.log python.bst", 1, "bootscope: open missing.log: no such file or directory"},
		{"export story.bst", 2, `bootscope: --format "": the formats are ` + formats + "\nSee bootscope export --help.\n"},
		{"export story.bst --format elf", 2, `bootscope: --format "elf": the formats are ` + formats + "\nSee bootscope export --help.\n"},
		{"export story.bst --format perf --flows", 2, "bootscope: --compat and --flows go with --format chrome\nSee bootscope export --help.\n"},
		{"export story.bst --format perf --from 1m", 2, `bootscope: --from "1m": give seconds from boot`},
		{"export story.bst --format perf --to -1", 2, `bootscope: --to "-1": give seconds from boot`},
		{"export story.bst --format perf --process nobody", 1, `bootscope: story.bst: there is no process "nobody": report --top 0 lists`},
		{"export story.bst --format perf --from 11", 1, "bootscope: story.bst: there is nothing from 11.000000 s to 10.020000 s: the recording goes"},
		{"dump --json story.bst", 2, "bootscope: unknown flag: --json\nSee bootscope dump --help.\n"},

		{"report missing.bst", 1, "bootscope: open missing.bst: no such file or directory\n"},
		{"report .", 1, "bootscope: . is a directory, not a trace\n"},
		{"report empty.bst", 1, "bootscope: empty.bst is empty\n"},
		{"dump foreign.bst", 1, "bootscope: foreign.bst is not a bootscope trace: it begins with \"\\x7fELF"},
		{"export --format chrome foreign.bst", 1, "bootscope: foreign.bst is not a bootscope trace"},
		{"report stub.bst", 1, "bootscope: stub.bst is damaged: its header, which should be at offset 24"},
		{"report future.bst", 1, "bootscope: future.bst was written by a newer bootscope (format 99"},
		{"export --format chrome -o taken.json story.bst", 1, "bootscope: taken.json exists: give another name, or --force to overwrite it\n"},
		{"export --format chrome -o no/such/dir.json story.bst", 1, "bootscope: cannot create no/such/dir.json: "},
	} {
		t.Run(tt.line, func(t *testing.T) {
			r := bootscope(t, dir, nil, strings.Fields(tt.line)...)
			if r.status != tt.status {
				t.Errorf("status %d, want %d", r.status, tt.status)
			}
			if !strings.HasPrefix(r.stderr, tt.stderr) {
				t.Errorf("stderr %q, want %q", r.stderr, tt.stderr)
			}
			if r.stdout != "" {
				t.Errorf("stdout has %q", r.stdout)
			}
		})
	}
}

// TestOverBudget: the report is printed all the same, and the status is for a build server.
func TestOverBudget(t *testing.T) {
	dir := traces(t)
	within := bootscope(t, dir, nil, strings.Fields("report boot.bst --budget kernel=1.5s --budget userspace=33s,ready=30s")...)
	if within.status != 0 || within.stderr != "" || !strings.Contains(within.stdout, "  1.500 s   1.500 s         -  kernel\n") {
		t.Errorf("within: %+v", within)
	}
	for _, flags := range []string{"", "--json "} {
		r := bootscope(t, dir, nil, strings.Fields("report boot.bst "+flags+"--budget kernel=1.4s,userspace=33s,nothing=1h")...)
		if want := "bootscope: over budget, or not known to be within it: kernel, nothing\n"; r.status != 1 || r.stderr != want || r.stdout == "" {
			t.Errorf("status %d, stderr %q, %d bytes of report", r.status, r.stderr, len(r.stdout))
		}
	}
}

// traces makes a directory with a good trace and with bad ones.
func traces(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	whole := binaryOf(t, "../../testdata/story.txt")
	files := map[string][]byte{
		"story.bst":   whole,
		"python.bst":  binaryOf(t, "../../tracer/python/testdata/exec.trace"),
		"boot.bst":    binaryOf(t, "../../export/report/testdata/boot.trace"),
		"cut.bst":     whole[:len(whole)-10], // within the trailer
		"stub.bst":    whole[:40],            // within the header
		"empty.bst":   nil,
		"foreign.bst": []byte("\x7fELF\x02\x01\x01\x00 and more"),
		"future.bst":  future(whole),
		"taken.json":  []byte("precious"),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// future is a trace as version 99 would write it. The place of the version and of the checksum of the
// first 20 bytes never changes.
func future(trace []byte) []byte {
	b := bytes.Clone(trace)
	binary.LittleEndian.PutUint16(b[8:], 99)
	binary.LittleEndian.PutUint32(b[20:], crc32.Checksum(b[:20], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func story(t *testing.T) *tracefile.Text {
	t.Helper()
	return parse(t, "../../testdata/story.txt")
}

// parse reads a trace in text form.
func parse(t *testing.T, file string) *tracefile.Text {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	source, err := tracefile.ParseText(file, f)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// binaryOf is a trace in text form as a file of the real format.
func binaryOf(t *testing.T, file string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tracefile.WriteBinary(&b, parse(t, file)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

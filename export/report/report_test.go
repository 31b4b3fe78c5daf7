package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// reportOf builds the report of testdata/NAME.trace.
func reportOf(t *testing.T, name string) *Report {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := tracefile.ParseText(name, f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Build(src)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func stories(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces in testdata: %v", err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".trace"))
	}
	return names
}

// Each trace tells a story (its first lines say which); the golden files are named after the command
// that shows the same of a recording.
func TestStories(t *testing.T) {
	for _, name := range stories(t) {
		t.Run(name, func(t *testing.T) {
			r := reportOf(t, name)
			var short, long, doc bytes.Buffer
			for _, err := range []error{Text(&short, r, DefaultTop), Text(&long, r, 0), JSON(&doc, r)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			golden.Check(t, "report."+name+".txt", short.Bytes())
			golden.Check(t, "report."+name+".top.0.txt", long.Bytes())
			golden.Check(t, "report."+name+".json", doc.Bytes())
			checkScreen(t, short.String())
			checkPrintable(t, long.String())
			checkJSON(t, r, doc.Bytes())
		})
	}
}

func checkScreen(t *testing.T, s string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) > 30 {
		t.Errorf("%d lines don't fit on a screen", len(lines))
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > columns {
			t.Errorf("longer than %d columns: %s", columns, line)
		}
	}
	checkPrintable(t, s)
}

func checkPrintable(t *testing.T, s string) {
	t.Helper()
	for i, r := range s {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError || r == '\u202e') {
			t.Errorf("character %U at byte %d", r, i)
		}
	}
}

// fields are those that the schema promises, by where they are.
var fields = map[string]string{
	"":             "schema trace milestones phases processes units files cpufreq findings",
	"trace":        "duration_s kernel arch cpus boot_id complete lost probes self",
	"trace.lost":   "total by_probe",
	"trace.probes": "name status via reason",
	"trace.self":   "cpu_s start_cpu_s bpf_s max_rss_bytes attach_s bytes_written",
	"processes":    "pid ppid comm exe argv unit start_s end_s exit_code cpu_s runnable_s io_wait_s blocked_s sleep_s minor_faults major_faults opens failed_opens read_bytes reread_bytes",
	"units":        "name start_s active_s end_s cpu_s runnable_s io_wait_s read_bytes reread_bytes processes",
	"files":        "path dev inode opens read_bytes reread_bytes",
	"cpufreq":      "policy cpus transitions time_s",
	"findings":     "id title cost_s unit pid evidence remedy",
}

func checkJSON(t *testing.T, r *Report, doc []byte) {
	t.Helper()
	if !utf8.Valid(doc) {
		t.Error("the JSON is not valid UTF-8")
	}
	var all map[string]any
	if err := json.Unmarshal(doc, &all); err != nil {
		t.Fatal(err)
	}
	checkFields(t, "", all)
	for _, p := range all["processes"].([]any) {
		if p.(map[string]any)["argv"] == nil {
			t.Error("an array is null")
		}
	}
	if n := len(all["processes"].([]any)); n != len(r.Processes) {
		t.Errorf("%d of %d processes", n, len(r.Processes))
	}
}

func checkFields(t *testing.T, where string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			checkFields(t, where, item)
		}
	case map[string]any:
		for _, name := range strings.Fields(fields[where]) {
			if _, ok := v[name]; !ok {
				t.Errorf("%s has no %s", where, name)
			}
		}
		for name, item := range v {
			checkFields(t, strings.TrimPrefix(where+"."+name, "."), item)
		}
	}
}

func TestDamagedIsSaidFirst(t *testing.T) {
	r := reportOf(t, "io-wait")
	r.Problems = []tracefile.Problem{{Offset: 4096, Length: 100, Cause: "bad\x1bchecksum"}, {Offset: 9000, Length: 50}}
	var text bytes.Buffer
	if err := Text(&text, r, DefaultTop); err != nil {
		t.Fatal(err)
	}
	want := `DAMAGED: 2 places (150 B) could not be read, the first at offset 4096: bad\x1bchecksum.`
	if got := strings.ReplaceAll(text.String(), "\n  ", " "); !strings.HasPrefix(got, want) {
		t.Errorf("begins with\n%s", got)
	}
}

func TestEscape(t *testing.T) {
	for _, c := range []struct{ in, text, json string }{
		{"plain", "plain", "plain"},
		{`a\x2db.service`, `a\x2db.service`, `a\x2db.service`},
		{"a\nb\tc\x1b\x00", `a\nb\tc\x1b\x00`, "a\nb\tc\x1b\x00"},
		{"\xff\xc3(", `\xff\xc3(`, `\xff\xc3(`},
		{"\xff\n", `\xff\n`, "\\xff\n"},
		{"é漢", "é漢", "é漢"},
		{"\u202e", `\u{202e}`, "\u202e"},
	} {
		if got := printable(c.in); got != c.text {
			t.Errorf("printable(%q) = %q", c.in, got)
		}
		if got := validUTF8(c.in); got != c.json {
			t.Errorf("validUTF8(%q) = %q", c.in, got)
		}
	}
}

func TestSeconds(t *testing.T) {
	for ns, want := range map[secs]string{0: "0", 1: "0.000000001", 1500000000: "1.5", 10e9: "10", 1<<64 - 1: "18446744073.709551615"} {
		if got, err := ns.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%d ns: %s, %v", uint64(ns), got, err)
		}
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		status       int32
		code, signal int
	}{{0, 0, 0}, {256, 1, 0}, {0xff00, 255, 0}, {9, 137, 9}, {0x8b, 139, 11}} {
		code, signal := exitOf(c.status)
		if *code != c.code || (signal == nil) != (c.signal == 0) || signal != nil && *signal != c.signal {
			t.Errorf("status %#x: code %d, signal %v", c.status, *code, signal)
		}
	}
}

func TestWrap(t *testing.T) {
	got := wrap("  one two three four", 12, 4)
	want := []string{"  one two", "    three", "    four"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", got)
	}
	if got := cutLeft(strings.Repeat("a", 30)+"/end", 20); got != "..."+strings.Repeat("a", 13)+"/end" {
		t.Errorf("cutLeft: %q", got)
	}
}

// What a recording can't tell must be null, not zero.
func TestUnknownIsNull(t *testing.T) {
	r := reportOf(t, "no-btf")
	for _, p := range r.Processes {
		j := r.processOf(p)
		if j.IOWait != nil || j.ExitCode != nil || j.MinorFaults != nil {
			t.Errorf("pid %d: I/O wait %v, exit code %v, faults %v", p.PID, j.IOWait, j.ExitCode, j.MinorFaults)
		}
	}
	r.Can = timeline.Abilities{}
	j := r.processOf(r.Processes[0])
	if j.CPU != nil || j.Runnable != nil || j.Sleep != nil || j.Opens != nil || j.FaultEvents != nil {
		t.Errorf("without probes: %+v", j)
	}
}

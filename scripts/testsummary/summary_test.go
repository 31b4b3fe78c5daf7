package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRun runs real tests in modules made for it, so that the real output of go test is what is read.
func TestRun(t *testing.T) {
	tests := []struct {
		name, body string
		logs       bool
		again      bool
		want       string // lines, with times replaced by N
		counts     string
		err        string
		repeated   string // what the total prints once more
	}{
		{
			name: "pass, skip and subtests",
			body: `func TestA(t *testing.T) { t.Log("hidden"); t.Run("sub", func(t *testing.T) {}) }
				func TestB(t *testing.T) { t.Skip("needs a moon: ", "full") }`,
			want:   "skip x TestB: needs a moon: full\nok   x: 2 passed, 0 failed, 1 skipped (N s)\ntotal: COUNTS",
			counts: "2 passed, 0 failed, 1 skipped\n",
		},
		{
			name: "logs", logs: true,
			body:   `func TestA(t *testing.T) { t.Log("3 switches of 4") }`,
			want:   "pass x TestA (N s)\n    x_test.go:3: 3 switches of 4\nok   x: 1 passed, 0 failed, 0 skipped (N s)\ntotal: COUNTS",
			counts: "1 passed, 0 failed, 0 skipped\n",
		},
		{
			name:     "failure",
			body:     `func TestA(t *testing.T) { t.Error("this is why") }`,
			want:     "FAIL x TestA (N s)\n    x_test.go:3: this is why\nFAIL x: 0 passed, 1 failed, 0 skipped\nFAIL\n",
			counts:   "0 passed, 1 failed, 0 skipped\n",
			err:      "1 failed",
			repeated: "FAIL x TestA\n    x_test.go:3: this is why\n",
		},
		{
			name: "a failure that is not met again", again: true,
			body: `func TestA(t *testing.T) { t.Run("sub", failsOnce) }
				func TestB(t *testing.T) {}
				func failsOnce(t *testing.T) { if os.Mkdir("seen", 0o700) == nil { t.Error("this is why") } }`,
			want: "FAIL x TestA/sub (N s)\n    x_test.go:5: this is why\nFAIL x TestA (N s)\nFAIL x: 1 passed, 2 failed, 0 skipped\nFAIL\nFAIL\tx\tN\n" +
				"running again what failed: TestA\nok   x: 2 passed, 0 failed, 0 skipped (N s)\ntotal: COUNTS",
			counts:   "3 passed, 0 failed, 0 skipped\n",
			repeated: "passed when run again, failed at first: x TestA/sub\n    x_test.go:5: this is why\n",
		},
		{
			name: "a failure that is met again", again: true,
			body:     `func TestA(t *testing.T) { t.Error("this is why") }`,
			want:     "running again what failed: TestA\nFAIL x TestA (N s)\n    x_test.go:3: this is why\nFAIL x: 0 passed, 1 failed, 0 skipped\nFAIL\n",
			counts:   "0 passed, 1 failed, 0 skipped\n",
			err:      "1 failed",
			repeated: "FAIL x TestA\n    x_test.go:3: this is why\n",
		},
		{
			name: "a test that ended all others is not run again", again: true,
			body:     `func TestA(t *testing.T) { if os.Mkdir("seen", 0o700) == nil { os.Exit(3) } }`,
			want:     "FAIL x: 0 passed, 1 failed, 0 skipped\nFAIL\tx\tN\ntotal: COUNTS",
			counts:   "0 passed, 1 failed, 0 skipped\n",
			err:      "1 failed",
			repeated: "FAIL x",
		},
		{
			name: "many failures", again: true,
			body: `func fail(t *testing.T) { if os.Mkdir(t.Name(), 0o700) == nil { t.Error("this is why") } }
				func TestA(t *testing.T) { fail(t) }; func TestB(t *testing.T) { fail(t) }; func TestC(t *testing.T) { fail(t) }; func TestD(t *testing.T) { fail(t) }`,
			want:     "FAIL x: 0 passed, 4 failed, 0 skipped\nFAIL\nFAIL\tx\tN\ntotal: COUNTS",
			counts:   "0 passed, 4 failed, 0 skipped\n",
			err:      "4 failed",
			repeated: "FAIL x TestD\n",
		},
		{
			name:     "exit in mid-test",
			body:     `func TestA(t *testing.T) { println("last words"); os.Exit(3) }`,
			want:     "FAIL x: 0 passed, 1 failed, 0 skipped",
			counts:   "0 passed, 1 failed, 0 skipped\n",
			err:      "1 failed",
			repeated: "last words\n",
		},
		{
			name:   "no build",
			body:   `func TestA(t *testing.T) { undefined() }`,
			want:   "undefined: undefined\n",
			counts: "0 passed, 1 failed, 0 skipped\n",
			err:    "1 failed",
		},
		{
			name:   "no test",
			body:   ``,
			want:   "",
			counts: "0 passed, 0 failed, 0 skipped\n",
			err:    "no test passed",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), "module x\n")
			write(t, filepath.Join(dir, "x_test.go"), "package x\nimport (\"os\"; \"testing\"); var _ = os.Exit; var _ *testing.T\n"+tt.body+"\n")
			t.Chdir(dir)
			file := filepath.Join(dir, "results")
			var b strings.Builder
			err := runTests(&b, []string{"./..."}, options{file: file, logs: tt.logs, again: tt.again})
			text := regexp.MustCompile(`\d+\.\d+( s\)|s\n)`).ReplaceAllString(b.String(), "N$1")
			text = strings.ReplaceAll(text, "\tNs\n", "\tN\n")
			tt.want = strings.ReplaceAll(tt.want, "COUNTS", tt.counts)
			if !strings.Contains(text, tt.want) || (tt.err == "" && text != tt.want) {
				t.Errorf("printed:\n%s\nwant:\n%s", text, tt.want)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			b.Reset()
			printTotal(&b, file)
			if got := regexp.MustCompile(`(?s).*\n(.*\n)`).ReplaceAllString(b.String(), "$1"); got != tt.counts {
				t.Errorf("the results file gives %q, want %q", got, tt.counts)
			}
			if strings.Contains(b.String(), "FAIL x") != strings.HasSuffix(tt.err, " failed") || !strings.Contains(b.String(), tt.repeated) {
				t.Errorf("printed at the end:\n%s\nwant every failed test and %q", b.String(), tt.repeated)
			}
		})
	}
}

func TestTotal(t *testing.T) {
	tests := []struct{ name, file, want, err string }{
		{"sum", `passed a T1 "",skipped a T2 "",passed b T1 ""`, "2 passed, 0 failed, 1 skipped\n", ""},
		{"again", `passed a T "",passed a T ""`, "1 passed, 0 failed, 0 skipped\n", ""},
		{"made up for", `skipped a T "",passed a T "",skipped a T ""`, "1 passed, 0 failed, 0 skipped\n", ""},
		{"a failure anywhere", `passed a T "",failed a T "3\n4\n",passed a T ""`, "FAIL a T\n3\n4\n0 passed, 1 failed, 0 skipped\n", "1 failed"},
		{"long output", `failed a T "` + strings.Repeat("1\\n", shownOutput) + `"`, "FAIL a T\n" + strings.Repeat("1\n", shownOutput/2-1) + "0 passed, 1 failed, 0 skipped\n", "1 failed"},
		{"nothing ran", "", "0 passed, 0 failed, 0 skipped\n", "no test passed"},
		{"foreign file", "hello", "", `results:1: "hello" is no result`},
		{"output not quoted", `passed a T "",passed a T x`, "", "results:2: the output is not quoted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "results")
			write(t, file, strings.NewReplacer(" ", "\t", ",", "\n").Replace(tt.file))
			var b strings.Builder
			err := printTotal(&b, file)
			if b.String() != tt.want {
				t.Errorf("printed %q, want %q", b.String(), tt.want)
			}
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

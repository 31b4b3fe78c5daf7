package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// asBootscope makes this test program be bootscope, so that tests see real exit statuses, signals and
// streams without building it first.
const asBootscope = "BOOTSCOPE_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asBootscope) != "" {
		main()
	}
	os.Exit(m.Run())
}

type result struct {
	stdout, stderr string
	status         int
}

// bootscope runs a command line in a directory.
func bootscope(t *testing.T, dir string, stdin []byte, args ...string) result {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(exe, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asBootscope+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// golden compares output with testdata/NAME.golden; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test -update makes it)", err)
	}
	if got != string(want) {
		t.Errorf("differs from %s:\n%s", file, got)
	}
}

// goldenName is a command line as a file's name: "report --top 5 story.bst" is report_top_5_story.
func goldenName(line string) string {
	return strings.NewReplacer(" --", "_", "--", "", " ", "_", ".bst", "").Replace(line)
}

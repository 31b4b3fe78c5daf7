package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

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

// goldenName is a command line as a file's name: "report --top 5 story.bst" is report_top_5_story.golden.
func goldenName(line string) string {
	return strings.NewReplacer(" --", "_", "--", "", " ", "_", ".bst", "").Replace(line) + ".golden"
}

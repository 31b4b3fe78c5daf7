//go:build vmtest

package vmtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A suite is a private apt directory for one suite and architecture: the machine's own state, and
// its own architecture, don't come into it.
type suite struct{ dir string }

// aptConfig is apt.conf of a private directory. The mirror may be a snapshot, whose release files
// have expired; they are signed all the same.
const aptConfig = `Dir::Etc::sourcelist "%[1]s/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::State "%[1]s";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
APT::Architecture "%[2]s";
APT::Architectures { "%[2]s"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Acquire::Retries "3";
`

// openSuite makes dir unless it is there, with a fresh list of the suite's packages.
func openSuite(dir, name, arch string) (*suite, error) {
	s := &suite{dir}
	if _, err := os.Stat(filepath.Join(dir, "updated")); err == nil {
		return s, nil
	}
	mirror, err := machineMirror()
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"apt.conf":     fmt.Sprintf(aptConfig, dir, arch),
		"sources.list": fmt.Sprintf("deb [signed-by=%s] %s %s main\n", debianKeys, mirror, name),
		"status":       "",
	}
	for _, sub := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if _, err := s.run("", "apt-get", "-q", "update"); err != nil {
		return nil, err
	}
	return s, os.WriteFile(filepath.Join(dir, "updated"), nil, 0o644)
}

const debianKeys = "/usr/share/keyrings/debian-archive-keyring.gpg"

// machineMirror is where this machine gets Debian from: any of its suites' mirrors has them all.
func machineMirror() (string, error) {
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("ask apt for its mirrors: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if label, uri, _ := strings.Cut(strings.TrimSpace(line), " "); label == "Debian" {
			return uri, nil
		}
	}
	return "", errors.New("this machine's apt knows no Debian mirror: run apt-get update on a Debian system")
}

func (s *suite) run(dir string, command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "APT_CONFIG="+filepath.Join(s.dir, "apt.conf"), "LC_ALL=C")
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), err
}

// programs downloads packages with all that they depend on, and gives the package files.
func (s *suite) programs(packages ...string) ([]string, error) {
	install := []string{"apt-get", "-q", "-y", "install", "--download-only"}
	if _, err := s.run("", append(install, packages...)...); err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(s.dir, "cache/archives/*.deb"))
}

// kernel downloads what image consists of: newer ones have the modules in a package of their own. What
// else it depends on serves installing it.
func (s *suite) kernel(image string) ([]string, error) {
	depends, err := s.run("", "apt-cache", "depends", "--recurse", "--important", image)
	if err != nil {
		return nil, err
	}
	download := []string{"apt-get", "-q", "download"}
	for line := range strings.Lines(depends) {
		name := strings.TrimRight(line, "\n")
		for _, part := range []string{"linux-image-", "linux-modules-", "linux-binary-"} {
			if strings.HasPrefix(name, part) && name != image {
				download = append(download, name)
			}
		}
	}
	dir := filepath.Join(s.dir, "kernel")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := s.run(dir, download...); err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "*.deb"))
}

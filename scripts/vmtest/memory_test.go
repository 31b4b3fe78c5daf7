//go:build vmtest

package vmtest

import (
	"archive/tar"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/export/report"
	"github.com/bootscope/bootscope/tracer/findings"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

const (
	memoryHigh = 48 << 20 // of both services: see guest/memory
	pageSize   = 4096
)

// serviceFiles are what the services read, in bytes. What is needed must fit into half of the limit: that is
// how much the kernel keeps, at the least, from what is read once.
var serviceFiles = map[string]int{"collector": 70 << 20, "needed": 18 << 20, "once": 36 << 20}

// fileSystems are the modules for the two file systems, in the order in which they need each other. Compression
// to read with is built in.
var fileSystems = []string{
	"crc32c_generic", "libcrc32c", "mbcache", "jbd2", "crc16", "ext4",
	"xor", "raid6_pq", "zstd_compress", "blake2b_generic", "xxhash_generic", "btrfs",
}

// TestMemoryHigh records services under memory.high, on a file system that compresses and on one that does not.
func TestMemoryHigh(t *testing.T) {
	g := guests[slices.IndexFunc(guests, func(g guest) bool { return g.name() == "amd64-6.1" })]
	files, err := fileSystemModules(g)
	if err != nil {
		t.Fatal(err)
	}
	if files["usr/bin/bootscope"], err = programs[g.arch](); err != nil {
		t.Fatal(err)
	}
	if files["selftest"], err = guestFiles.ReadFile("guest/memory"); err != nil {
		t.Fatal(err)
	}
	ext4, btrfs := serviceDisks(t)
	r := start(t, g, files, ext4, btrfs)
	for _, fs := range []string{"ext4", "btrfs"} {
		t.Run(fs, func(t *testing.T) { checkServices(t, r, fs) })
	}
	checkCompressed(t, r)
	checkKernelLog(t, string(r.results["dmesg"]))
}

// fileSystemModules takes the modules out of the package of the very kernel that the guest boots: the newest
// one of the suite may be another by now.
func fileSystemModules(g guest) (map[string][]byte, error) {
	dir, err := filepath.Abs(filepath.Join(cache, g.name()))
	if err != nil {
		return nil, err
	}
	img, err := prepareImage(dir, g)
	if err != nil {
		return nil, err
	}
	s, err := openSuite(filepath.Join(dir, "apt"), g.suite, g.arch)
	if err != nil {
		return nil, err
	}
	pkg := "linux-image-" + img.release
	if _, err := s.run(s.dir, "apt-get", "-q", "download", pkg); err != nil {
		return nil, fmt.Errorf("%w (if it is too old to be had, remove %s)", err, dir)
	}
	found, err := filepath.Glob(filepath.Join(s.dir, pkg+"_*.deb"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("packages of %s: %q, %v", pkg, found, err)
	}
	files := map[string][]byte{}
	err = eachFile(found[0], func(h *tar.Header, r io.Reader) error {
		name, _ := moduleName(h.Name)
		order := slices.Index(fileSystems, name)
		if order < 0 {
			return nil
		}
		// After those that every guest loads.
		files[fmt.Sprintf("modules/%02d-%s.ko", len(modules)+order, name)], err = io.ReadAll(r)
		return err
	})
	return files, err
}

// serviceDisks makes images of an ext4 with the services' files, and of an empty btrfs.
func serviceDisks(t *testing.T) (ext4, btrfs string) {
	dir := t.TempDir()
	content := filepath.Join(dir, "content")
	if err := os.Mkdir(content, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range serviceFiles {
		if err := os.WriteFile(filepath.Join(content, name), halfRandom(size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ext4, btrfs = filepath.Join(dir, "ext4"), filepath.Join(dir, "btrfs")
	if err := os.WriteFile(btrfs, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(btrfs, 512<<20); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"mke2fs", "-q", "-t", "ext4", "-d", content, ext4, "192M"},
		{"mkfs.btrfs", "-q", btrfs},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
		}
	}
	return ext4, btrfs
}

// halfRandom gives text that can be compressed to half of its size, always the same.
func halfRandom(size int) []byte {
	random := make([]byte, size/2)
	rand.NewChaCha8([32]byte{}).Read(random)
	return hex.AppendEncode(nil, random)
}

// A service is what guest/reader.py knows of itself.
type service struct {
	PID      uint32 `json:"pid"`
	Refaults uint64 `json:"refaults"`
}

func checkServices(t *testing.T, r *run, fs string) {
	if status := strings.TrimSpace(string(r.results[fs+".status"])); status != "0" {
		t.Fatalf("bootscope record ended with status %s:\n%s", status, r.results[fs+".stderr"])
	}
	data := r.results[fs+".bst"]
	f, err := tracefile.NewReader(bytes.NewReader(data), int64(len(data)), fs+".bst")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := report.Build(f)
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, rep.Timeline, r.guest)
	checkCollector(t, r, fs, rep)
	checkHealthy(t, r, fs, rep)
}

// checkCollector: its limit is found to be too low, by as much as the kernel says.
func checkCollector(t *testing.T, r *run, fs string, rep *report.Report) {
	told, g := serviceOf(t, r, fs, "collector", rep)
	again, refaults := rereadIn(g), told.Refaults*pageSize
	t.Logf("collector: %d bytes read again, the guest counted %d (%+.2f %%)", again, refaults,
		100*(float64(again)/float64(refaults)-1))
	if float64(again) < 0.95*float64(refaults) || float64(again) > 1.05*float64(refaults) {
		t.Errorf("%d bytes were read again, expected %d within 5 %%", again, refaults)
	}
	if least := uint64(serviceFiles["collector"]); refaults < least {
		t.Errorf("%d bytes came back in three rounds, expected at least %d: the load is too small", refaults, least)
	}
	found := limitFindings(rep)
	if len(found) != 1 || found[0].Unit != "collector.service" || found[0].PID != told.PID {
		t.Fatalf("findings about limits: %+v; expected one about collector.service, process %d", found, told.PID)
	}
	if file := "/" + fs + "/collector"; !strings.Contains(strings.Join(found[0].Evidence, "\n"), file) {
		t.Errorf("the finding does not name %s", file)
	}
	t.Logf("%.1f s of %.1f s: %s\n%s", float64(found[0].Cost)/1e9, float64(rep.Timeline.Duration())/1e9,
		strings.Join(found[0].Evidence, "\n"), found[0].Remedy)
}

// checkHealthy: it was near its limit. That no finding is about it has been seen.
func checkHealthy(t *testing.T, r *run, fs string, rep *report.Report) {
	told, g := serviceOf(t, r, fs, "healthy", rep)
	growth := g.Growth()
	t.Logf("healthy: met its limit %d times, %d bytes freed, %d read again, the guest counted %d",
		growth.HighEvents, g.Freed, rereadIn(g), told.Refaults*pageSize)
	if growth.HighEvents == 0 || g.Freed == 0 {
		t.Error("the healthy service did not meet its limit")
	}
}

// serviceOf gives what a service said of itself and what is known of the limit that held it.
func serviceOf(t *testing.T, r *run, fs, name string, rep *report.Report) (s service, g *timeline.MemoryGroup) {
	t.Helper()
	if err := json.Unmarshal(r.results[fs+"."+name+".json"], &s); err != nil {
		t.Fatalf("what %s printed: %v", name, err)
	}
	p := processOf(rep.Timeline, s.PID)
	if p == nil || p.Memory == nil || p.Memory.Path != "/system.slice/"+name+".service" {
		t.Fatalf("%s is process %d: %+v; expected one held by its cgroup", name, s.PID, p)
	}
	if limit, high, _ := p.Memory.Limit(); limit != memoryHigh || !high {
		t.Errorf("%s has a limit of %d bytes (high: %v), expected memory.high of %d", name, limit, high, memoryHigh)
	}
	return s, p.Memory
}

func rereadIn(g *timeline.MemoryGroup) (bytes uint64) {
	for _, p := range g.Processes {
		bytes += p.Reads.Again
	}
	return bytes
}

func limitFindings(rep *report.Report) (found []findings.Finding) {
	for _, f := range rep.Findings {
		if f.ID == "memory-limit-below-working-set" {
			found = append(found, f)
		}
	}
	return found
}

// checkCompressed: the files on btrfs take less room than they are long.
func checkCompressed(t *testing.T, r *run) {
	stored, err := strconv.Atoi(strings.TrimSpace(string(r.results["btrfs.stored"])))
	if err != nil {
		t.Fatalf("what is stored on btrfs: %v", err)
	}
	length := 0
	for _, size := range serviceFiles {
		length += size
	}
	t.Logf("btrfs stores %d bytes of files in %d bytes", length, stored)
	if stored > length*3/4 {
		t.Errorf("%d bytes of files take %d bytes on btrfs: they are not compressed", length, stored)
	}
}

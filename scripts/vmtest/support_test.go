//go:build vmtest

package vmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bootscope/bootscope/internal/golden"
	"github.com/bootscope/bootscope/tracer/record"
	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A matrix is what became of every probe on every kernel.
type matrix struct {
	mu     sync.Mutex
	ways   map[wayOf]bool                      // that were tried
	checks map[string][]*tracefile.ProbeStatus // what check said, by kernelName
}

// A wayOf is a way of a probe, by its place among them: two may have the same name.
type wayOf struct {
	probe string
	index int
}

// tried notes the ways of a recording.
func (m *matrix) tried(h *tracefile.Header, mode mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range h.Probes {
		if p.Status == tracefile.StatusOff {
			continue
		}
		ways := record.WaysOf(p.Name)
		i := slices.Index(ways, p.Via)
		// Of two with the same name the second is for kernels without BTF.
		if j := slices.Index(ways[i+1:], p.Via); j >= 0 && mode.noBTF {
			i += 1 + j
		}
		if m.ways == nil {
			m.ways = map[wayOf]bool{}
		}
		m.ways[wayOf{p.Name, i}] = true
	}
}

// checkIdle looks for what only a recording of an idle machine has.
func checkIdle(t *testing.T, r *run, all *matrix) {
	if !r.guest.idles() {
		return
	}
	if status := strings.TrimSpace(string(r.results["idle.status"])); status != "0" {
		t.Fatalf("bootscope idle ended with status %s:\n%s", status, r.results["idle.stderr"])
	}
	data := r.results["idle.bst"]
	f, err := tracefile.NewReader(bytes.NewReader(data), int64(len(data)), "idle.bst")
	if err != nil {
		t.Fatal(err)
	}
	tl, err := timeline.Build(f)
	if err != nil {
		t.Fatal(err)
	}
	all.tried(f.Header(), mode{})
	if via := attached(f.Header())[idleProbe]; via != r.guest.via(mode{})[idleProbe] || len(tl.Interrupts) == 0 {
		t.Errorf("interrupts of an idle machine: attached in way %q, %d kinds were seen", via, len(tl.Interrupts))
	}
}

// checkCheck: check must say of every probe what a recording does with it.
func checkCheck(t *testing.T, r *run, m mode, all *matrix) {
	var said struct {
		Probes []*tracefile.ProbeStatus
	}
	if err := json.Unmarshal(r.results[m.name+".check"], &said); err != nil {
		t.Fatalf("bootscope check: %v:\n%s", err, r.results[m.name+".check"])
	}
	via := map[string]string{}
	for _, p := range said.Probes {
		via[p.Name] = p.Via
	}
	if diff := cmp.Diff(r.guest.via(m), via); diff != "" {
		t.Errorf("bootscope check (-expected +said):\n%s", diff)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.checks == nil {
		all.checks = map[string][]*tracefile.ProbeStatus{}
	}
	all.checks[kernelName(r.guest, m)] = said.Probes
}

const withoutBTF = " --no-btf"

// kernelName is what the support table calls a kernel: "6.1 rt amd64", "7.x arm64 --no-btf".
func kernelName(g guest, m mode) string {
	name := g.kernel
	if !strings.Contains(name, ".") {
		name += ".x"
	}
	if g.variant != "" {
		name += " " + g.variant
	}
	name += " " + g.arch
	if m.noBTF {
		name += withoutBTF
	}
	return name
}

// check compares the whole with what is promised: each way was tried, and the documentation says what is true.
func (m *matrix) check(t *testing.T) {
	for _, g := range guests {
		for _, mode := range modes(g) {
			if mode.attach == nil && m.checks[kernelName(g, mode)] == nil {
				t.Logf("the whole is not looked at: %s was not tried", kernelName(g, mode))
				return
			}
		}
	}
	for _, probe := range record.ProbeNames() {
		for i, way := range record.WaysOf(probe) {
			if !m.ways[wayOf{probe, i}] {
				t.Errorf("probe %s is attached in way %s (%d) in no guest: force it in a mode", probe, way, i)
			}
		}
	}
	checkPage(t, m.page())
}

const (
	kernelsPage = "../../docs/kernels.md"
	pageBegin   = "<!-- From here on made by make vmtest-kernels -->\n"
)

// checkPage compares the page's end with what was found, or rewrites it.
func checkPage(t *testing.T, found string) {
	page, err := os.ReadFile(kernelsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, told, ok := strings.Cut(string(page), pageBegin)
	if !ok {
		t.Fatalf("%s has no line %q", kernelsPage, pageBegin)
	}
	if golden.Updating() && !t.Failed() {
		err = os.WriteFile(kernelsPage, []byte(head+pageBegin+found), 0o644)
	} else if diff := cmp.Diff(told, found); diff != "" {
		err = fmt.Errorf("%s tells something else than what was found (go test -update rewrites it; -told +found):\n%s", kernelsPage, diff)
	}
	if err != nil {
		t.Error(err)
	}
}

// page writes the tables of the documentation. Nothing in it changes with a kernel's point releases.
func (m *matrix) page() string {
	var b strings.Builder
	probes := record.ProbeNames()
	fmt.Fprintf(&b, "\n## How each probe is attached\n\n| kernel | suite | Python | %s |\n|---|---|---|%s\n",
		strings.Join(probes, " | "), strings.Repeat("---|", len(probes)))
	reasons := &reasonTable{where: map[[3]string][]string{}}
	for _, g := range guests {
		for _, mode := range modes(g) {
			name := kernelName(g, mode)
			if mode.attach != nil {
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s |", name, g.suite, g.python)
			for _, p := range m.checks[name] {
				cell, _, _ := strings.Cut(p.Via, "/")
				if p.Status == tracefile.StatusOff {
					cell = "off"
				}
				fmt.Fprintf(&b, " %s |", cell)
				reasons.add(p, name)
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, "\n## What is off, or attached in another way than the best, and why\n\n%s", reasons)
	b.WriteString("\n## The ways of each probe\n\n| probe | ways, best first |\n|---|---|\n")
	for _, probe := range probes {
		fmt.Fprintf(&b, "| %s | %s |\n", probe, strings.Join(slices.Compact(record.WaysOf(probe)), ", "))
	}
	return b.String()
}

// A reasonTable has a row for each probe, way and reason, and the kernels for which it holds.
type reasonTable struct {
	rows  [][3]string
	where map[[3]string][]string
}

func (r *reasonTable) add(p *tracefile.ProbeStatus, kernel string) {
	if p.Reason == "" {
		return
	}
	way := p.Via
	if p.Status == tracefile.StatusOff {
		way = "off"
	}
	row := [3]string{p.Name, way, p.Reason}
	if r.where[row] == nil {
		r.rows = append(r.rows, row)
	}
	r.where[row] = append(r.where[row], kernel)
}

func (r *reasonTable) String() string {
	var b strings.Builder
	b.WriteString("| probe | way | kernels | why |\n|---|---|---|---|\n")
	slices.SortStableFunc(r.rows, func(x, y [3]string) int { return strings.Compare(x[0], y[0]) })
	for _, row := range r.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row[0], row[1], kernelList(r.where[row]), strings.ReplaceAll(row[2], "|", "\\|"))
	}
	return b.String()
}

// kernelList joins names of kernels. What holds without BTF holds for all of them: then only that is said.
func kernelList(names []string) string {
	if slices.ContainsFunc(names, func(name string) bool { return !strings.HasSuffix(name, withoutBTF) }) {
		return strings.Join(names, ", ")
	}
	var all int
	for _, g := range guests {
		for _, m := range modes(g) {
			if m.noBTF {
				all++
			}
		}
	}
	if len(names) == all {
		return "all" + withoutBTF
	}
	return strings.Join(names, ", ")
}

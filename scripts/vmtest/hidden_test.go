//go:build vmtest

package vmtest

import (
	"maps"
	"slices"
	"testing"
)

// TestHiddenBTF records on a kernel that has BTF, with the file that it is in hidden and no word of it on the command
// line: it has to go as on a kernel without.
func TestHiddenBTF(t *testing.T) {
	g := guests[slices.IndexFunc(guests, func(g guest) bool { return g.name() == "amd64-6.1" })]
	g.noBTF = true
	program, err := programs[g.arch]()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"usr/bin/bootscope": program, "modes": modesFile(g)}
	for name, script := range map[string]string{"selftest": "guest/hide-btf", "recorded": "guest/selftest"} {
		if files[name], err = guestFiles.ReadFile(script); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, g, files)
	var all matrix
	best := allModes[0]
	checkMode(t, r, best, &all)
	expected := g.via(best)
	delete(expected, idleProbe)
	maps.DeleteFunc(expected, func(_, via string) bool { return via == "" })
	checkProbes(t, r, best.name, expected, "no usable BTF (CONFIG_DEBUG_INFO_BTF")
	checkKernelLog(t, string(r.results["dmesg"]))
}

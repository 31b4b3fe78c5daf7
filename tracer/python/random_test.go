package python

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandom rebuilds trees from events without sense: whatever they say, every import is in exactly one place,
// and times add up.
func TestRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		interpreters := collect(t, randomTrace(r))
		for _, in := range interpreters {
			checkSums(t, in)
			reached := 0
			for _, root := range in.Roots {
				reached += sizeOf(root)
			}
			if reached != len(in.Modules) {
				t.Errorf("seed %d: %d of %d imports are in the tree", seed, reached, len(in.Modules))
			}
		}
		if t.Failed() {
			return
		}
	}
}

func sizeOf(m *Module) int {
	n := 1
	for _, c := range m.Children {
		n += sizeOf(c)
	}
	return n
}

// randomTrace has one process with two threads, which open a few modules again and again at a few depths.
func randomTrace(r *rand.Rand) string {
	names := []string{"a/__init__", "a/b/__init__", "a/b/c", "a/d", "e", "encodings/__init__", "encodings/utf_8", "importlib/_abc"}
	depths := []int{0, 0x1c0, 0x4a0, 0x660, 0x940, 0xb00, 0xcc0, 0x1160, 0x1320, 0x1980, 9 << 20}
	var b strings.Builder
	fmt.Fprintln(&b, `10.000 [0] 100 exec old_tid=100 name="/usr/bin/python3"`)
	fmt.Fprintln(&b, `10.000 [0] 100 args argv=["python3", "-m", "e"]`)
	fmt.Fprintln(&b, `10.001 [0] 100 fork child_tid=101 child_pid=100`)
	now := 10_002_000
	for range 20 + r.IntN(150) {
		now += r.IntN(30_000)
		tid := 100 + r.IntN(2)
		sp := 0x7ffe10000000 - depths[r.IntN(len(depths))]
		at := fmt.Sprintf("%d.%06d [%d] ", now/1e6, now%1e6, tid-100)
		switch r.IntN(8) {
		case 0, 1, 2:
			fmt.Fprintf(&b, "%s100/%d open result=%d user_sp=%#x name=\"/srv/lib/python3.11/%s.cpython-311.pyc\"\n", at, tid,
				r.IntN(5)-1, sp, strings.Replace(names[r.IntN(len(names))], "/", "/__pycache__/", 1))
		case 3:
			fmt.Fprintf(&b, "%s100/%d open result=3 user_sp=%#x name=\"/srv/lib/python3.11/%s.py\"\n", at, tid, sp, names[r.IntN(len(names))])
		case 4:
			fmt.Fprintf(&b, "%s100/%d open result=3 user_sp=%#x name=\"/srv/lib/python3.11/lib-dynload/x.cpython-311.so\"\n", at, tid, sp)
		case 5:
			fmt.Fprintf(&b, "%s100/%d sample user_sp=%#x\n", at, tid, sp)
		case 6:
			fmt.Fprintf(&b, "%s%d switch next=0 state=%s\n", at, tid, []string{"sleeping", "io_wait", "preempted"}[r.IntN(3)])
		case 7:
			fmt.Fprintf(&b, "%s0 switch next=%d\n", at, tid)
		}
	}
	return b.String() + fmt.Sprintf("trailer {\"end_ns\":%d}\n", (now+1000)*1000)
}

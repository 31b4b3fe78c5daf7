//go:build linux

package record

import (
	"strings"
	"testing"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
)

const second = uint64(time.Second)

func pathEvent(file uint64, path string) event.Event {
	e := event.New(event.KindPath).(*event.Path)
	e.File = file
	e.SetPath(path)
	return e
}

func openEvent(at, file uint64, result int32, name string) event.Event {
	e := event.New(event.KindOpen).(*event.Open)
	e.Time, e.File, e.Result = at, file, result
	e.SetTail([]byte(name))
	return e
}

// TestQuiet samples two CPUs once a second. busy is the share of their time that they ran.
func TestQuiet(t *testing.T) {
	tests := []struct {
		name   string
		busy   func(s uint64) uint64 // percent in the second that begins at s
		python func(q *quiet, s uint64)
		want   uint64 // second in which it is quiet for the first time; 0: not within 60 s
	}{
		{"idle from the start", func(uint64) uint64 { return 0 }, nil, 15},
		{"busy for 20 s", func(s uint64) uint64 { return map[bool]uint64{true: 90, false: 5}[s < 20] }, nil, 33},
		{"always a quarter busy", func(uint64) uint64 { return 25 }, nil, 0},
		{"short bursts that make a tenth", func(s uint64) uint64 { return map[bool]uint64{true: 100, false: 0}[s%10 == 0] }, nil, 15},
		{"a compiled file every 10 s until 30 s", func(uint64) uint64 { return 0 }, func(q *quiet, s uint64) {
			if s%10 == 0 && s <= 30 {
				q.event(openEvent(s*second, 7, 3, ""))
			}
		}, 45},
		{"a source by its name, without paths", func(uint64) uint64 { return 0 }, func(q *quiet, s uint64) {
			if s == 5 {
				q.event(openEvent(s*second, 0, 3, "lib/m.py"))
			}
		}, 20},
		{"opens that fail, and other files", func(uint64) uint64 { return 0 }, func(q *quiet, s uint64) {
			q.event(openEvent(s*second, 7, -2, ""))
			q.event(openEvent(s*second, 8, 3, ""))
		}, 15},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := newQuiet(15*time.Second, 0)
			q.event(pathEvent(7, "/usr/lib/python3/__pycache__/m.cpython-311.pyc"))
			q.event(pathEvent(8, "/etc/python.conf"))
			sample, first := cpuSample{}, uint64(0)
			for s := uint64(0); s <= 60 && first == 0; s++ {
				sample.time = s * second
				if q.sample(sample); q.reached(s * second) {
					first = s
				}
				if tt.python != nil {
					tt.python(q, s)
				}
				sample.busy, sample.total = sample.busy+2*tt.busy(s), sample.total+200
			}
			if first != tt.want {
				t.Errorf("quiet at %d s, want %d s; %s", first, tt.want, q.describe(60*second))
			}
		})
	}
}

func TestParseTicks(t *testing.T) {
	s, err := parseTicks("cpu  100 1 20 1000 50 3 4 5 60 7\ncpu0 1 1\n", 42)
	if want := (cpuSample{42, 133, 1183}); err != nil || s != want {
		t.Errorf("got %+v, %v, want %+v", s, err, want)
	}
	for _, bad := range []string{"", "cpu0 1 2 3 4 5 6", "cpu 1 2 x 4 5"} {
		if _, err := parseTicks(bad, 0); err == nil || !strings.Contains(err.Error(), "/proc/stat") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

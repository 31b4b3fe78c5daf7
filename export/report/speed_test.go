package report

import (
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/timeline"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// A program runs for a second, half of it at 500 MHz and half at 2 GHz, and then for another at 1 GHz on a
// CPU whose frequency had changed twice while nobody ran there.
const slowThenFast = `header {"cpus":2,"start_ns":10000000000,"probes":[{"name":"sched","status":"on"},{"name":"process","status":"on"},{"name":"cpufreq","status":"on"}],"cpufreq":[{"name":"policy0","cpus":[0],"governor":"schedutil","current_khz":500000},{"name":"policy1","cpus":[1],"governor":"schedutil","current_khz":1500000}]}
10.000 100 task state=S start=1s parent=1 comm="busy"
10.100 [0] 0 switch next=100 state=preempted
10.600 [0] 100 cpufreq frequency=2000000kHz target_cpu=0
11.100 [0] 100 switch next=0 state=sleeping
11.200 [0] 0 cpufreq frequency=750000kHz target_cpu=1
11.300 [0] 0 cpufreq frequency=1000000kHz target_cpu=1
11.400 [0] 0 waking target=100
11.400 [1] 0 switch next=100 state=preempted
12.400 [1] 100 switch next=0 state=sleeping
trailer {"end_ns":13000000000,"reason":"test"}
`

func TestCPUTimeIsWeighedByFrequency(t *testing.T) {
	source, err := tracefile.ParseText("slow-then-fast", strings.NewReader(slowThenFast))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Build(source)
	if err != nil {
		t.Fatal(err)
	}
	var busy *timeline.Process
	for _, p := range r.Processes {
		if p.PID == 100 {
			busy = p
		}
	}
	want := []timeline.FreqTime{{KHz: 500_000, Time: 500e6}, {KHz: 1_000_000, Time: 1e9}, {KHz: 2_000_000, Time: 500e6}}
	got := r.speeds.of(busy)
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("time %d: got %v, want %v", i, got[i], want[i])
		}
	}
	if ns, known := r.speeds.atTop(busy); !known || ns != 125e6+500e6+500e6 {
		t.Errorf("at the top frequency: got %d ns (known: %v), want 1.125 s", ns, known)
	}
	var text strings.Builder
	if err := Text(&text, r, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "top speed") || !strings.Contains(text.String(), "1.125 s") {
		t.Errorf("the table of processes doesn't weigh:\n%s", text.String())
	}
}

//go:build linux

package system

import (
	"testing"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

func TestParseCPUChange(t *testing.T) {
	for message, want := range map[string]*tracefile.CPUChange{
		"offline@/devices/system/cpu/cpu1\x00ACTION=offline\x00":                 {CPU: 1},
		"online@/devices/system/cpu/cpu17\x00ACTION=online\x00SUBSYSTEM=cpu\x00": {CPU: 17, Online: true},
		"online@/devices/system/cpu/cpu3":                                        {CPU: 3, Online: true},
		"online@/devices/system/memory/memory3\x00":                              nil,
		"online@/devices/system/cpu/cpufreq\x00":                                 nil,
		"online@/devices/system/cpu/cpu3/cpu1\x00":                               nil,
		"online@/devices/system/cpu/cpu70000\x00":                                nil,
		"change@/devices/system/cpu/cpu3\x00":                                    nil,
		"onlinecpu3":                                                             nil,
		"":                                                                       nil,
	} {
		got, ok := parseCPUChange([]byte(message))
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q: %+v, %v; expected %+v", message, got, ok, want)
		}
	}
}

// TestWatchCPUs: the kernel accepts the socket with its filter, and closing ends the watch.
func TestWatchCPUs(t *testing.T) {
	w, err := WatchCPUs()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() {
		w.Run(func() {})
		close(ended)
	}()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

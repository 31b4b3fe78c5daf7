package export

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/timeline"
)

const bootStory = "report/testdata/boot.trace"

// bootLines writes what is on the tracks about the boot, a mark a line.
func bootLines(tl *timeline.Timeline) (lines []string) {
	for _, t := range bootTracks(tl) {
		for _, m := range t.spans {
			lines = append(lines, fmt.Sprintf("%s: %.3f..%.3f %s", t.name, float64(m.start)/1e9, float64(m.end)/1e9, m.name))
		}
		for _, m := range t.instants {
			lines = append(lines, fmt.Sprintf("%s: %.3f %s", t.name, float64(m.start)/1e9, m.name))
		}
	}
	return lines
}

func TestBootTracks(t *testing.T) {
	tl, err := timeline.Build(parseFile(t, bootStory))
	if err != nil {
		t.Fatal(err)
	}
	want := `Boot: 0.000..1.500 kernel
Boot: 1.500..34.500 userspace
Wall clock: 10.000 stepped by +14.000 s
Kernel log: 0.000 Linux version 6.1.0-18-amd64
Kernel log: 1.500 Run /sbin/init as init process
Initcalls: 0.100..0.400 pci_init+0x0/0x20
Initcalls: 0.500..1.300 ata_init+0x0/0x20 [libata]
Initcalls: 1.380..1.400 probe of 0000:00:03.0
Unit starts: 2.100..2.100 basic.target
Unit starts: 2.200..2.200 print.socket
Unit starts: 3.000..23.001 net-wait.service
Unit starts: 23.050..23.050 network-online.target
Unit starts: 23.100..23.101 api.service
Unit starts: 30.000..30.000 print.service
Unit starts: 30.100..30.100 multi-user.target
Unit starts 2: 3.100..5.000 db.service`
	if got := strings.Join(bootLines(tl), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Times that are unset or were computed below zero are on no track.
	if tl, err = timeline.Build(parseFile(t, "report/testdata/boot-cut.trace")); err != nil {
		t.Fatal(err)
	}
	want = `Boot: 0.000..1.500 kernel
Boot: 1.500..8.000 userspace
Wall clock: 6.000 stepped by +1700000000.000 s
Unit starts: 3.000..5.000 app.service`
	if got := strings.Join(bootLines(tl), "\n"); got != want {
		t.Errorf("of the boot that was cut off: got\n%s\nwant\n%s", got, want)
	}
	if tl, err = timeline.Build(story(t)); err != nil || len(bootTracks(tl)) != 0 {
		t.Errorf("a recording of no boot has %d tracks about one (%v)", len(bootTracks(tl)), err)
	}
}

// TestChromeBoot checks that viewers can read it, and that all of it is there.
func TestChromeBoot(t *testing.T) {
	out := chrome(t, parseFile(t, bootStory))
	if err := checkChrome(out); err != nil {
		t.Fatal(err)
	}
	var events []chromeEvent
	if err := json.Unmarshal(out, &events); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range events {
		if e.PID.String() == fmt.Sprint(bootGroupID) {
			count[e.Phase]++
		}
	}
	if count["B"] != 13 || count["E"] != 13 || count["i"] != 3 {
		t.Errorf("the boot's tracks have %v", count)
	}
}

// TestPerfettoBoot reads the tracks back with the format's own decoder.
func TestPerfettoBoot(t *testing.T) {
	tr := reread(t, parseFile(t, bootStory))
	spans := map[string]int{}
	for _, e := range tr.Events {
		if e.Category == "boot" {
			spans[tr.Tracks[e.Track].Name]++
		}
	}
	want := map[string]int{"Boot": 2, "Wall clock": 1, "Kernel log": 2, "Initcalls": 3, "Unit starts": 7, "Unit starts 2": 1}
	if fmt.Sprint(spans) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", spans, want)
	}
}

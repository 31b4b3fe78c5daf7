package milestone_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bootscope/bootscope/tracer/milestone"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want milestone.Milestone // what of it is compared
		line string
		err  string
	}{
		{text: "up=unit:app", want: milestone.Milestone{Kind: milestone.Unit, Unit: "app.service"}},
		{text: "up=unit:multi-user.target", want: milestone.Milestone{Kind: milestone.Unit, Unit: "multi-user.target"}},
		{text: "r=journal:a.service:on :80", want: milestone.Milestone{Kind: milestone.Journal, Unit: "a.service"}, line: "on :80"},
		{text: "r=log:/var/log/a:rea.y:%Y-%m-%d %H:%M:%S", line: "rea.y",
			want: milestone.Milestone{Kind: milestone.Log, Path: "/var/log/a", Layout: "2006-01-02 15:04:05"}},
		{text: "r=log|/a:b|x:y|Jan _2 15:04:05", line: "x:y",
			want: milestone.Milestone{Kind: milestone.Log, Path: "/a:b", Layout: "Jan _2 15:04:05"}},
		{text: "o=open:/etc/x=y", want: milestone.Milestone{Kind: milestone.Open, Path: "/etc/x=y"}},
		{text: "e=exec:/bin/true", want: milestone.Milestone{Kind: milestone.Exec, Path: "/bin/true"}},
		{text: "unit:x", err: "NAME=SPEC"},
		{text: "=unit:x", err: "NAME=SPEC"},
		{text: "a=x", err: "no kind"},
		{text: "a=file:/x", err: `no kind "file"`},
		{text: "a=journal:x", err: "1 of the 2 parts"},
		{text: "a=open:", err: "empty"},
		{text: "a=open:etc", err: "absolute"},
		{text: "a=journal:x:(", err: "missing closing"},
		{text: "a=log:/x:y:%Q", err: "not known"},
		{text: "a=log:/x:y:%", err: "not known"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			m, err := milestone.Parse(tt.text)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			line := ""
			if m.Line != nil {
				line = m.Line.String()
			}
			if m.Kind != tt.want.Kind || m.Unit != tt.want.Unit || m.Path != tt.want.Path || m.Layout != tt.want.Layout || line != tt.line {
				t.Errorf("got %+v with line %q, want %+v with line %q", *m, line, tt.want, tt.line)
			}
		})
	}
}

func TestStamp(t *testing.T) {
	near := time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)
	tests := []struct{ layout, line, want string }{
		{"%Y-%m-%d %H:%M:%S", "2024-05-06 07:08:09,123 INFO ready", "2024-05-06T07:08:09.123Z"},
		{"%Y-%m-%d %H:%M:%S,%f", "[x] 2024-05-06 07:08:09,123456 ready", "2024-05-06T07:08:09.123456Z"},
		{"Jan _2 15:04:05", "<30>May  6 07:08:09 host app: ready", "2024-05-06T07:08:09Z"},
		{"2006-01-02T15:04:05Z07:00", "2024-05-06T07:08:09.5+02:00 ready", "2024-05-06T05:08:09.5Z"},
	}
	for _, tt := range tests {
		m, err := milestone.Parse("x=log|/x|.|" + tt.layout)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Stamp(tt.line, time.UTC, near)
		if err != nil || got.UTC().Format(time.RFC3339Nano) != tt.want {
			t.Errorf("%q in %q: got %v, %v, want %s", tt.layout, tt.line, got, err, tt.want)
		}
	}
	m, _ := milestone.Parse("x=log:/x:.:%H:%M")
	if _, err := m.Stamp("no time here", time.UTC, near); err == nil {
		t.Error("a line without a time has one")
	}
}

// TestWallClock steps from 1970 to now and later back by 14 s.
func TestWallClock(t *testing.T) {
	const s, now = int64(1e9), int64(1.7e18)
	var c milestone.WallClock
	c.Read(uint64(2*s), uint64(2*s))            // the clock began at 1970
	c.Read(uint64(10*s), uint64(now+10*s))      // set
	c.Read(uint64(20*s), uint64(now+20*s-14*s)) // set back by 14 s
	tests := []struct {
		name         string
		wall, before int64
		want         int64 // -1: none
	}{
		{"before the first reading", 1 * s, 30 * s, 1 * s},
		{"just before the first step", 9900 * s / 1000, 30 * s, 9900 * s / 1000},
		{"just after the first step", now + 10*s + 1, 11 * s, 10*s + 1},
		{"just before the second step", now + 20*s - 1e6, 20 * s, 20*s - 1e6},
		{"just after the second step", now + 6*s + 1, 21 * s, 20*s + 1},
		{"twice: seen after the step", now + 15*s, 40 * s, 29 * s},
		{"twice: seen before the step", now + 15*s, 16 * s, 15 * s},
		{"in no piece", now / 2, 30 * s, -1},
		{"in the future", now + 100*s, 30 * s, -1},
	}
	for _, tt := range tests {
		got, ok := c.ToBoot(tt.wall, uint64(tt.before))
		if ok != (tt.want >= 0) || ok && int64(got) != tt.want {
			t.Errorf("%s: got %d, %v, want %d", tt.name, got, ok, tt.want)
		}
	}
}

//go:build linux

package system

import (
	"fmt"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/bootscope/bootscope/tracer/event"
)

func TestFromMonotonic(t *testing.T) {
	for _, c := range []struct{ us, suspended, want uint64 }{
		{0, 5, 0}, {^uint64(0), 5, 0}, {^uint64(0) - 100, 0, 0}, {1500, 0, 1_500_000}, {1500, 7, 1_500_007},
	} {
		if got := fromMonotonic(c.us, c.suspended); got != c.want {
			t.Errorf("%d us, suspended for %d ns: %d, want %d", c.us, c.suspended, got, c.want)
		}
	}
}

func TestParseKernelLine(t *testing.T) {
	tests := []struct {
		record, text             string
		time, priority, sequence uint64
	}{
		{"6,339,5140900,-;NET: Registered protocol family 10\n", "NET: Registered protocol family 10", 5140900000, 6, 339},
		{"30,340,5690716,-,caller=T1;udevd[80]: starting\n SUBSYSTEM=x\n", "udevd[80]: starting", 5690716000, 30, 340},
		{`4,1,0,-;a\x09b\x5cx20 \xzz` + "\n", "a\tb\\x20 \\xzz", 0, 4, 1},
		{"5,7,9,-;", "", 9000, 5, 7},
	}
	for _, tt := range tests {
		e := parseKernelLine([]byte(tt.record), 0)
		if e == nil || string(e.TailBytes()) != tt.text || e.Time != tt.time || uint64(e.Priority) != tt.priority || uint64(e.Sequence) != tt.sequence {
			t.Errorf("%q: got %+v with %q", tt.record, e, e.TailBytes())
		}
	}
	for _, bad := range []string{"", ";", "6,1;x", "a,b,c;x", "6,1,2"} {
		if e := parseKernelLine([]byte(bad), 0); e != nil {
			t.Errorf("%q is a line: %+v", bad, e)
		}
	}
}

func TestParseJournalLine(t *testing.T) {
	tests := []struct {
		name, line string
		tail       string
		time       uint64
		priority   uint32
	}{
		{"a service's", `{"MESSAGE":"ready","PRIORITY":"4","SYSLOG_IDENTIFIER":"app","_PID":"42","_SYSTEMD_UNIT":"app.service","__MONOTONIC_TIMESTAMP":"2000000","__REALTIME_TIMESTAMP":"1700000000000000"}`,
			"app.service\x00app\x00ready\x00", 2e9, 4},
		{"systemd's about a unit, with the sender's stamp", `{"MESSAGE":"Started x","UNIT":"x.service","_SYSTEMD_UNIT":"init.scope","_COMM":"systemd","_PID":"42","__MONOTONIC_TIMESTAMP":"2000000","_SOURCE_MONOTONIC_TIMESTAMP":"1999000","__REALTIME_TIMESTAMP":"1700000000000000"}`,
			"x.service\x00systemd\x00Started x\x00", 1999e6, 6},
		{"bytes that are no text", `{"MESSAGE":[255,104,105,0],"_PID":"42","__MONOTONIC_TIMESTAMP":"1","__REALTIME_TIMESTAMP":"1700000000000000"}`,
			"\x00\x00\xffhi \x00", 1000, 6},
		{"a field that is there twice", `{"MESSAGE":"m","_PID":"42","SYSLOG_IDENTIFIER":["a","b"],"__MONOTONIC_TIMESTAMP":"1","__REALTIME_TIMESTAMP":"1700000000000000"}`,
			"\x00a\x00m\x00", 1000, 6},
	}
	for _, tt := range tests {
		e := parseJournalLine([]byte(tt.line), 0)
		if e == nil {
			t.Errorf("%s: nothing", tt.name)
			continue
		}
		if string(e.TailBytes()) != tt.tail || e.Time != tt.time || e.Priority != tt.priority || e.PID != 42 || e.Realtime != 17e17 {
			t.Errorf("%s: got %+v with %q", tt.name, e, e.TailBytes())
		}
	}
	for _, none := range []string{"", "null", "{}", `{"MESSAGE":"k","_TRANSPORT":"kernel"}`} {
		if e := parseJournalLine([]byte(none), 0); e != nil {
			t.Errorf("%q is a message: %+v", none, e)
		}
	}
}

func TestJournalLimit(t *testing.T) {
	line := `{"MESSAGE":"0123456789","__MONOTONIC_TIMESTAMP":"1"}` + "\n"
	r, found := JournalReader{Limit: 30}, 0
	err := r.readLines(strings.NewReader(strings.Repeat(line, 5)), func(*event.Journal) error { found++; return nil })
	if err != ErrJournalCut || found != 2 { // of 13 bytes each
		t.Errorf("%d messages, %v; want 2 and %v", found, err, ErrJournalCut)
	}
}

func TestUnitName(t *testing.T) {
	for path, want := range map[dbus.ObjectPath]string{
		"/org/freedesktop/systemd1/unit/net_2dwait_2eservice": "net-wait.service",
		"/org/freedesktop/systemd1/unit/a_5cx2d_40b_2emount":  `a\x2d@b.mount`,
		"/org/freedesktop/systemd1/job/17":                    "",
	} {
		if got := unitName(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// signal is a change of a unit's properties as systemd tells it.
func signal(of string, changed map[string]any) *dbus.Signal {
	variants := map[string]dbus.Variant{}
	for name, v := range changed {
		variants[name] = dbus.MakeVariant(v)
	}
	return &dbus.Signal{Name: "org.freedesktop.DBus.Properties.PropertiesChanged",
		Path: "/org/freedesktop/systemd1/unit/a_2eservice", Body: []any{of, variants, []string{}}}
}

func TestActivation(t *testing.T) {
	at := func(out, active, in uint64) map[string]any {
		return map[string]any{"InactiveExitTimestampMonotonic": out, "ActiveEnterTimestampMonotonic": active,
			"InactiveEnterTimestampMonotonic": in, "ActiveState": "x"}
	}
	tests := []struct {
		name   string
		signal *dbus.Signal
		want   string // activating, active, inactive
	}{
		{"becomes active", signal(unitInterface, at(1000, 2000, 0)), "1000000 2000000 0"},
		{"still activating", signal(unitInterface, at(1000, 0, 0)), ""},
		{"failed without becoming active", signal(unitInterface, at(1000, 0, 3000)), "1000000 0 3000000"},
		{"activating again after a failure", signal(unitInterface, at(4000, 0, 3000)), ""},
		{"another interface", signal(systemdName+".Service", at(1000, 2000, 0)), ""},
		{"another signal", &dbus.Signal{Name: managerInterface + ".UnitNew", Body: []any{"a.service", dbus.ObjectPath("/")}}, ""},
	}
	for _, tt := range tests {
		got := ""
		if e := activation(tt.signal, 0); e != nil {
			got = fmt.Sprint(e.Activating, e.Active, e.Inactive)
			if e.CaughtLive != 1 || !strings.HasPrefix(string(e.TailBytes()), "Id=a.service\x00ActiveState=x\x00") {
				t.Errorf("%s: %+v with %q", tt.name, e, e.TailBytes())
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPropertiesTail(t *testing.T) {
	p := properties{
		"Id": dbus.MakeVariant("a.service"), "After": dbus.MakeVariant([]string{"b", "c"}), "Empty": dbus.MakeVariant(""),
		"NRestarts": dbus.MakeVariant(uint32(3)), "ConditionResult": dbus.MakeVariant(true),
		"ExecMainStartTimestampMonotonic": dbus.MakeVariant(uint64(1500)), "ExecMainExitTimestampMonotonic": dbus.MakeVariant(^uint64(0)),
		"ExecStart": dbus.MakeVariant([][]string{{"x"}}),
	}
	names := []string{"Id", "After", "Empty", "Absent", "NRestarts", "ConditionResult", "ExecMainStartTimestamp", "ExecMainExitTimestamp", "ExecStart"}
	want := "Id=a.service\x00After=b c\x00NRestarts=3\x00ConditionResult=true\x00ExecMainStartTimestamp=1500007\x00"
	if got := string(p.tail(names, 7)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

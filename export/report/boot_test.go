package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bootscope/bootscope/tracer/milestone"
	"github.com/bootscope/bootscope/tracer/tracefile"
)

// seek builds the report of a trace with milestones that are given afterwards.
func seek(t *testing.T, trace string, specs ...string) (*Report, error) {
	t.Helper()
	src, err := tracefile.ParseText(t.Name(), strings.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	var list []*milestone.Milestone
	for _, s := range specs {
		m, err := milestone.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return Build(src, list...)
}

func bootTrace(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/boot.trace")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMilestonesAfterwards(t *testing.T) {
	trace := bootTrace(t)
	for _, c := range []struct{ spec, want, goal string }{
		{"m=unit:db", "5.000 m", "m"},
		{"m=unit:net-wait.service", "not reached", "ready"}, // it failed
		{"m=unit:nowhere.service", "not reached", "ready"},
		{"m=unit:multi-user.target", "30.100 m", "m"},
		{"m=journal:api.service:on :[0-9]+$", "29.500 m", "m"},
		{"m=journal:db.service:listening", "not reached", "ready"},
		{"m=exec:/usr/bin/python3", "23.102 m", "m"},
		{"m=exec:/usr/bin/perl", "not reached", "ready"},
		{"m=open:/usr/lib/python3/dist-packages/fastapi/__pycache__/__init__.cpython-311.pyc", "26.000 m", "m"},
		{"m=open:/nothing", "not reached", "ready"},
		{"ready=unit:print.service", "30.000 ready", "ready"}, // instead of the recorded one
	} {
		r, err := seek(t, trace, c.spec)
		if err != nil {
			t.Fatal(err)
		}
		got := "not reached"
		for _, m := range r.Milestones {
			if m.Chosen {
				got = fmt.Sprintf("%.3f %s", float64(m.Time)/1e9, m.Name)
			}
		}
		if _, goal := r.Goal(); got != c.want || goal != c.goal || len(r.Missed) == 1 != (got == "not reached") {
			t.Errorf("%s: got %s, chain to %s, %d missed; want %s, %s", c.spec, got, goal, len(r.Missed), c.want, c.goal)
		}
	}
	for spec, want := range map[string]string{
		"m=log:/var/log/app:ready:%H:%M:%S": "the lines of /var/log/app are not in the trace",
		"m=journal:app.service:ready":       "there is no journal in the trace",
	} {
		if _, err := seek(t, "header {}\n", spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// A step of the wall clock in mid-recording: everything stays where it is without it.
func TestStepMovesNothing(t *testing.T) {
	trace := bootTrace(t)
	var docs [3]string
	for i, at := range []string{"1700000024s", "1700000010s", "1500000000s"} {
		r, err := seek(t, strings.ReplaceAll(trace, "realtime=1700000024s", "realtime="+at))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.ClockSteps()); n != 1 {
			t.Errorf("%d steps", n)
		}
		doc := documentOf(r)
		doc.Steps = nil
		b, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		docs[i] = string(b)
	}
	if docs[0] != docs[1] || docs[0] != docs[2] {
		t.Errorf("a step moves something:\n%s\n%s\n%s", docs[0], docs[1], docs[2])
	}
}

func TestBudget(t *testing.T) {
	r, err := seek(t, bootTrace(t))
	if err != nil {
		t.Fatal(err)
	}
	var budgets []Budget
	for _, text := range []string{"kernel=1s", "userspace=33s", "firmware=10m", "ready=29.4s", "initrd=1s", "nothing=1s"} {
		b, err := ParseBudget(text)
		if err != nil {
			t.Fatal(err)
		}
		budgets = append(budgets, b)
	}
	r.Spending = r.Spend(budgets)
	var text, doc bytes.Buffer
	if err := Text(&text, r, 0); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&doc, r); err != nil {
		t.Fatal(err)
	}
	want := `     took    budget   over by  phase or milestone
  1.500 s   1.000 s   0.500 s  kernel
 33.000 s  33.000 s         -  userspace
  3.000 s 600.000 s         -  firmware
 29.500 s  29.400 s   0.100 s  ready
        -   1.000 s not known  initrd
        -   1.000 s not known  nothing
`
	if !strings.Contains(text.String(), want) {
		t.Errorf("got\n%s", text.String())
	}
	var parsed struct {
		Budget []struct {
			Name string
			Over bool
		}
	}
	if err := json.Unmarshal(doc.Bytes(), &parsed); err != nil {
		t.Fatal(err)
	}
	over := ""
	for _, s := range parsed.Budget {
		if s.Over {
			over += s.Name + " "
		}
	}
	if over != "kernel ready initrd nothing " {
		t.Errorf("over budget in the JSON: %s", over)
	}
	for _, text := range []string{"", "kernel", "=1s", "kernel=", "kernel=1", "kernel=-1s", "kernel=x"} {
		if _, err := ParseBudget(text); err == nil {
			t.Errorf("%q is no budget", text)
		}
	}
}

// A userspace that has not finished keeps to no budget.
func TestBudgetOfWhatIsNotKnown(t *testing.T) {
	r := reportOf(t, "boot-cut")
	for _, s := range r.Spend([]Budget{{"userspace", 1e12}, {"loader", 1e12}}) {
		if s.Known || !s.Over() {
			t.Errorf("%+v", s)
		}
	}
}

func TestSignedSeconds(t *testing.T) {
	for in, want := range map[signedSecs]string{0: "0", 1500000000: "1.5", -4200000000: "-4.2", -1: "-0.000000001"} {
		if got, err := in.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%d: %s, %v", int64(in), got, err)
		}
	}
}

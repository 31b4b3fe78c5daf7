package perfettotest

import (
	"errors"
	"fmt"
)

// reader takes packets in.
type reader struct {
	trace  *Trace
	tables [4]map[int64]string // interned strings, as far as the reader was told to keep them
	begun  bool                // the sequence's state is valid
}

var tableNames = [4]string{"event_categories", "event_names", "debug_annotation_names", "debug_annotation_string_values"}

const (
	categories = iota
	eventNames
	keys
	values
)

// What sequence_flags can have.
const (
	cleared = 1
	needed  = 2
)

func (r *reader) packet(name string, n *node) error {
	if name != "packet" {
		return fmt.Errorf("a trace has packets only, not %q", name)
	}
	if err := r.state(n); err != nil {
		return err
	}
	at := n.time("timestamp")
	for kind, list := range n.nodes {
		content := list[0]
		switch kind {
		case "interned_data":
			continue
		case "ftrace_events":
			return r.bundle(content)
		case "process_tree":
			r.tree(at, content)
		case "clock_snapshot":
			r.clocks(content)
		case "track_event":
			return r.event(at, content)
		case "track_descriptor":
			return r.track(at, content)
		case "system_info":
			r.trace.Kernel = content.child("utsname").text("release")
		}
	}
	return nil
}

// state keeps the interned strings.
func (r *reader) state(n *node) error {
	flags := n.int("sequence_flags")
	if flags&cleared != 0 {
		r.tables, r.begun = [4]map[int64]string{}, true
	}
	if flags&needed != 0 && !r.begun {
		return errors.New("the packet needs a state that was not begun")
	}
	data := n.child("interned_data")
	if data == nil {
		return nil
	}
	for i, name := range tableNames {
		for _, entry := range data.nodes[name] {
			if r.tables[i] == nil {
				r.tables[i] = map[int64]string{}
			}
			id := entry.int("iid")
			if _, again := r.tables[i][id]; again || id == 0 {
				return fmt.Errorf("%s: entry %d is 0 or there twice", name, id)
			}
			r.tables[i][id] = entry.text("name")
		}
	}
	return nil
}

func (r *reader) interned(table int, id int64) (string, error) {
	s, ok := r.tables[table][id]
	if !ok {
		return "", fmt.Errorf("there is no %s entry %d", tableNames[table], id)
	}
	return s, nil
}

func (r *reader) bundle(n *node) error {
	if !n.has("cpu") {
		return errors.New("a bundle without a CPU")
	}
	cpu := int(n.int("cpu"))
	if n.has("lost_events") {
		r.trace.LostOn = append(r.trace.LostOn, cpu)
	}
	if columns := n.child("compact_sched"); columns != nil {
		if err := r.columns(cpu, columns); err != nil {
			return err
		}
	}
	for _, e := range n.nodes["event"] {
		if err := r.ftrace(cpu, e); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) columns(cpu int, n *node) error {
	names := n.texts("intern_table")
	times, states := n.ints("switch_timestamp"), n.ints("switch_prev_state")
	next, names1, prio := n.ints("switch_next_pid"), n.ints("switch_next_comm_index"), n.ints("switch_next_prio")
	if len(states) != len(times) || len(next) != len(times) || len(names1) != len(times) || len(prio) != len(times) {
		return errors.New("the columns of switches differ in length")
	}
	at := uint64(0)
	for i := range times {
		at += uint64(times[i])
		r.trace.Switches = append(r.trace.Switches,
			Switch{Time: at, CPU: cpu, Next: next[i], State: states[i], Name: names[names1[i]], compact: true})
	}
	times, target, cpus := n.ints("waking_timestamp"), n.ints("waking_pid"), n.ints("waking_target_cpu")
	names2, flags := n.ints("waking_comm_index"), n.ints("waking_common_flags")
	if len(flags) == 0 {
		flags = make([]int64, len(times))
	}
	prio = n.ints("waking_prio")
	if len(target) != len(times) || len(cpus) != len(times) || len(names2) != len(times) || len(flags) != len(times) || len(prio) != len(times) {
		return errors.New("the columns of wakings differ in length")
	}
	at = 0
	for i := range times {
		at += uint64(times[i])
		r.trace.Wakings = append(r.trace.Wakings,
			Waking{Time: at, CPU: cpu, Target: target[i], TargetCPU: cpus[i], Name: names[names2[i]], Flags: flags[i], compact: true})
	}
	return nil
}

func (r *reader) ftrace(cpu int, n *node) error {
	t, at, current := r.trace, n.time("timestamp"), n.int("pid")
	for kind, list := range n.nodes {
		e := list[0]
		switch kind {
		case "sched_switch":
			t.Switches = append(t.Switches, Switch{Time: at, CPU: cpu, Prev: e.int("prev_pid"), Next: e.int("next_pid"),
				State: e.int("prev_state"), Name: e.text("next_comm")})
		case "sched_waking":
			t.Wakings = append(t.Wakings, Waking{Time: at, CPU: cpu, Waker: current, Target: e.int("pid"),
				TargetCPU: e.int("target_cpu"), Name: e.text("comm")})
		case "task_newtask":
			t.NewTasks = append(t.NewTasks, NewTask{Time: at, CPU: cpu, Parent: current, Child: e.int("pid"),
				Name: e.text("comm"), Thread: e.int("clone_flags")&0x10000 != 0})
		case "task_rename":
			t.Renames = append(t.Renames, Rename{at, e.int("pid"), e.text("oldcomm"), e.text("newcomm")})
		case "sched_process_free":
			t.Frees = append(t.Frees, Free{at, e.int("pid")})
		case "sched_blocked_reason":
			t.Blocked = append(t.Blocked, Blocked{at, e.int("pid"), e.int("io_wait") != 0})
		case "cpu_frequency":
			t.Frequencies = append(t.Frequencies, Frequency{at, int(e.int("cpu_id")), e.int("state")})
		}
	}
	if len(n.nodes) != 1 {
		return errors.New("an event of no or several kinds")
	}
	return nil
}

func (r *reader) tree(at uint64, n *node) {
	for _, p := range n.nodes["processes"] {
		r.trace.Processes = append(r.trace.Processes, Process{Time: at, PID: p.int("pid"), PPID: p.int("ppid"),
			Cmdline: p.texts("cmdline"), Kernel: p.truth("is_kthread")})
	}
	for _, th := range n.nodes["threads"] {
		r.trace.Threads = append(r.trace.Threads, Thread{at, th.int("tid"), th.int("tgid"), th.text("name")})
	}
}

func (r *reader) clocks(n *node) {
	reading := map[int64]uint64{}
	for _, c := range n.nodes["clocks"] {
		reading[c.int("clock_id")] = c.time("timestamp")
	}
	r.trace.Clocks = append(r.trace.Clocks, reading)
}

func (r *reader) track(at uint64, n *node) error {
	t := &Track{UUID: n.time("uuid"), Parent: n.time("parent_uuid"), Name: n.text("name"), Time: at, Rank: n.int("sibling_order_rank")}
	if p := n.child("process"); p != nil {
		t.PID = p.int("pid")
	}
	if th := n.child("thread"); th != nil {
		t.PID, t.TID = th.int("pid"), th.int("tid")
	}
	if r.trace.Tracks[t.UUID] != nil {
		return fmt.Errorf("track %d is described twice", t.UUID)
	}
	r.trace.Tracks[t.UUID] = t
	return nil
}

func (r *reader) event(at uint64, n *node) (err error) {
	e := Event{Time: at, Type: n.int("type"), Track: n.time("track_uuid")}
	if r.trace.Tracks[e.Track] == nil {
		return fmt.Errorf("an event on track %d, which was not described", e.Track)
	}
	if e.Type != End {
		if e.Name, err = r.interned(eventNames, n.int("name_iid")); err != nil {
			return err
		}
		if e.Category, err = r.interned(categories, n.int("category_iids")); err != nil {
			return err
		}
		if e.Args, err = r.args(n); err != nil {
			return err
		}
	}
	r.trace.Events = append(r.trace.Events, e)
	return nil
}

func (r *reader) args(n *node) (map[string]any, error) {
	args := map[string]any{}
	for _, a := range n.nodes["debug_annotations"] {
		key, err := r.interned(keys, a.int("name_iid"))
		if err != nil {
			return nil, err
		}
		if _, again := args[key]; again {
			return nil, fmt.Errorf("two arguments %q", key)
		}
		switch {
		case a.has("string_value_iid"):
			args[key], err = r.interned(values, a.int("string_value_iid"))
		case a.has("int_value"):
			args[key] = a.int("int_value")
		case a.has("pointer_value"):
			args[key] = a.time("pointer_value")
		case a.has("bool_value"):
			args[key] = a.truth("bool_value")
		default:
			var list []string
			for _, v := range a.nodes["array_values"] {
				s, err := r.interned(values, v.int("string_value_iid"))
				if err != nil {
					return nil, err
				}
				list = append(list, s)
			}
			args[key] = list
		}
		if err != nil {
			return nil, err
		}
	}
	return args, nil
}

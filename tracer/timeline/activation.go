package timeline

import (
	"sort"
	"strconv"
	"strings"

	"github.com/bootscope/bootscope/tracer/event"
)

// Activation is what systemd says of a unit: when it was first started in this boot, as far as that is
// known, and how it was when it was asked. A time is 0 for what has not happened or is not known.
type Activation struct {
	Activating uint64 // it began to start
	Active     uint64 // it was up; for a Type=simple service that is when it was forked
	Inactive   uint64 // it had ended, or had failed to start
	// Again: these are times of a later start, which has overwritten those of the first.
	Again      bool
	Live       bool // the recorder saw it happen
	Asked      bool // the properties are there
	MainPID    uint32
	Properties map[string]string // as systemd names them
}

// Property returns a property as text, "" for one that is not set.
func (a *Activation) Property(name string) string { return a.Properties[name] }

// List returns a property that is a list.
func (a *Activation) List(name string) []string { return strings.Fields(a.Properties[name]) }

// Restarts is how often systemd has restarted it by itself.
func (a *Activation) Restarts() (n uint64, known bool) {
	n, err := strconv.ParseUint(a.Properties["NRestarts"], 10, 64)
	return n, err == nil && a.Asked
}

// Done is when those could go on that wait for it: it was up, or it had ended without ever being so, as a
// program that runs once does and one that fails. 0 if that has not come.
func (a *Activation) Done() uint64 {
	if a.Active != 0 {
		return a.Active
	}
	return a.Inactive
}

// begun is the earliest time of it that is known.
func (a *Activation) begun() uint64 {
	if a.Activating != 0 {
		return a.Activating
	}
	return a.Done()
}

// onUnit takes in what systemd says of a unit: several times of many. The times of the first start count.
func (b *builder) onUnit(e *event.Unit) {
	p := propertiesOf(e.TailBytes())
	name := p["Id"]
	if name == "" {
		return
	}
	says := startOf(e, b.toldAt(e))
	says.Live, says.Asked, says.MainPID, says.Properties = e.CaughtLive != 0, e.CaughtLive == 0, e.MainPID, p
	known := b.units[name]
	if known == nil {
		b.units[name] = says
		return
	}
	if says.Asked || !known.Asked {
		known.Properties = p
	}
	known.Asked = known.Asked || says.Asked
	if says.MainPID != 0 {
		known.MainPID = says.MainPID
	}
	known.first(says)
}

// startOf reads the times of one start from an event. Each is the latest of its kind, so they may belong
// to different starts.
func startOf(e *event.Unit, told uint64) *Activation {
	a := &Activation{Activating: saneTime(e.Activating, told), Active: saneTime(e.Active, told), Inactive: saneTime(e.Inactive, told)}
	switch {
	case a.Active != 0 && a.Active < a.Activating: // it was up, and starts again
		a.Activating = 0
		if a.Inactive < a.Active {
			a.Inactive = 0
		}
	case a.Inactive < max(a.Activating, a.Active): // it had ended before this start
		a.Again = a.Inactive != 0
		a.Inactive = 0
	}
	return a
}

// first takes over another's times if they are of an earlier start, or tell more of this one.
func (a *Activation) first(b *Activation) {
	switch {
	case b.begun() == 0:
	case a.begun() == 0 || b.begun() < a.begun():
		a.Activating, a.Active, a.Inactive, a.Again, a.Live = b.Activating, b.Active, b.Inactive, b.Again, b.Live
	case b.begun() == a.begun():
		if a.Active == 0 {
			a.Active = b.Active
		}
		if a.Inactive == 0 {
			a.Inactive = b.Inactive
		}
		a.Again, a.Live = a.Again && b.Again, a.Live || b.Live
	}
}

// joinUnits gives units what systemd says of them. Those of which no process was seen, such as targets and
// devices, are units too.
func (b *builder) joinUnits() {
	for _, u := range b.tl.Units {
		u.Systemd = b.units[u.Name]
		delete(b.units, u.Name)
	}
	for name, a := range b.units {
		b.tl.Units = append(b.tl.Units, &Unit{Name: name, Systemd: a})
	}
	sort.Slice(b.tl.Units, func(i, j int) bool { return b.tl.Units[i].Name < b.tl.Units[j].Name })
}

// FindUnit returns the unit of this name, or nil.
func (t *Timeline) FindUnit(name string) *Unit {
	i := sort.Search(len(t.Units), func(i int) bool { return t.Units[i].Name >= name })
	if i < len(t.Units) && t.Units[i].Name == name {
		return t.Units[i]
	}
	return nil
}

// Threads are those of all its processes.
func (u *Unit) Threads() (list []*Thread) {
	for _, p := range u.Processes {
		list = append(list, p.Threads...)
	}
	return list
}

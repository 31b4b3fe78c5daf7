//go:build linux

package system

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/bootscope/bootscope/tracer/event"
)

// unitProperties are what is kept of a unit: its name and state, why it is there and what enabled it,
// what it waits for, and how its processes began and ended. Times are nanoseconds from boot.
var unitProperties = []string{
	"Id", "Description", "LoadState", "ActiveState", "SubState", "Result", "UnitFileState", "FragmentPath", "SourcePath",
	"DropInPaths", "Requires", "Requisite", "Wants", "BindsTo", "RequiredBy", "WantedBy", "BoundBy", "After", "TriggeredBy",
	"Triggers", "ConditionResult", "ConditionTimestamp", "Type", "ControlGroup", "ExecMainPID", "ExecMainStartTimestamp",
	"ExecMainExitTimestamp", "ExecMainCode", "ExecMainStatus", "NRestarts", "TimeoutStartUSec", "StatusText",
}

// A listedUnit is one of ListUnits' answer.
type listedUnit struct {
	Name, Description, Load, Active, Sub, Following string
	Path                                            dbus.ObjectPath
	JobID                                           uint32
	JobType                                         string
	JobPath                                         dbus.ObjectPath
}

// Units calls found for every unit that did something in this boot, or is about to.
func (s *Systemd) Units(ctx context.Context, found func(*event.Unit) error) error {
	var listed []listedUnit
	if err := s.object(managerPath).CallWithContext(ctx, managerInterface+".ListUnits", 0).Store(&listed); err != nil {
		return fmt.Errorf("asking systemd for its units: %w", err)
	}
	suspended, links := Suspended(), enablingLinks()
	wanted := map[string]bool{} // devices that somebody waits for
	// Devices last: there are many, and most are nobody's business.
	slices.SortStableFunc(listed, func(a, b listedUnit) int { return strings.Compare(deviceLast(a.Name), deviceLast(b.Name)) })
	for _, u := range listed {
		if strings.HasSuffix(u.Name, ".device") && !wanted[u.Name] || !mayHaveRun(u) {
			continue
		}
		p, err := s.properties(ctx, u.Path, "")
		if ctx.Err() != nil {
			return fmt.Errorf("asking systemd about %s: %w", u.Name, ctx.Err())
		}
		if err != nil {
			continue // it is gone
		}
		e := unitEvent(p, suspended)
		if e.Activating == 0 && e.Active == 0 && e.Inactive == 0 && u.JobID == 0 {
			continue
		}
		for _, name := range strings.Fields(propertyText(p["After"].Value())) {
			wanted[name] = true
		}
		tail := e.TailBytes()
		if by := links[u.Name]; by != nil {
			tail = append(tail, nulTerminated("EnabledBy="+strings.Join(by, " "))...)
		}
		if u.JobID != 0 {
			tail = append(tail, nulTerminated("Job="+u.JobType)...)
		}
		e.SetTail(tail)
		if err := found(e); err != nil {
			return err
		}
	}
	return nil
}

func deviceLast(name string) string {
	if strings.HasSuffix(name, ".device") {
		return "1"
	}
	return "0"
}

// mayHaveRun leaves out what was never touched. A service that is inactive may have done its work.
func mayHaveRun(u listedUnit) bool {
	return u.Load != "not-found" && (u.Active != "inactive" || u.JobID != 0 || strings.HasSuffix(u.Name, ".service"))
}

// unitEvent makes an event of a unit's properties.
func unitEvent(p properties, suspended uint64) *event.Unit {
	e := event.New(event.KindUnit).(*event.Unit)
	e.Time = BootTime()
	at := func(name string) uint64 { return fromMonotonic(p.number(name+"TimestampMonotonic"), suspended) }
	e.Activating, e.Active = at("InactiveExit"), at("ActiveEnter")
	e.Deactivating, e.Inactive = at("ActiveExit"), at("InactiveEnter")
	e.MainPID = uint32(p.number("MainPID"))
	e.SetTail(p.tail(unitProperties, suspended))
	return e
}

// enablingLinks finds, by unit, the links that make a target want or require it.
func enablingLinks() map[string][]string {
	links := map[string][]string{}
	for _, dir := range []string{"/etc/systemd/system", "/run/systemd/system", "/run/systemd/generator", "/usr/lib/systemd/system"} {
		for _, kind := range []string{"wants", "requires"} {
			found, _ := filepath.Glob(dir + "/*." + kind + "/*")
			for _, link := range found {
				links[filepath.Base(link)] = append(links[filepath.Base(link)], link)
			}
		}
	}
	return links
}

// unitName is the unit that a D-Bus path stands for.
func unitName(path dbus.ObjectPath) string {
	escaped, ok := strings.CutPrefix(string(path), unitPathPrefix)
	if !ok {
		return ""
	}
	var name []byte
	for i := 0; i < len(escaped); i++ {
		if escaped[i] == '_' && i+2 < len(escaped) {
			if c, err := hex.DecodeString(escaped[i+1 : i+3]); err == nil {
				name = append(name, c...)
				i += 2
				continue
			}
		}
		name = append(name, escaped[i])
	}
	return string(name)
}

// WatchUnits calls changed with a unit's first activation: when it has become active, or has failed, for
// the first time since the watch began. A later restart overwrites its times in systemd itself. It
// returns when ctx or the connection ends.
func (s *Systemd) WatchUnits(ctx context.Context, changed func(*event.Unit)) error {
	signals := make(chan *dbus.Signal, 256)
	s.conn.Signal(signals)
	defer s.conn.RemoveSignal(signals)
	if s.bus {
		if err := s.conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(systemdName),
			dbus.WithMatchInterface("org.freedesktop.DBus.Properties"), dbus.WithMatchMember("PropertiesChanged"),
			dbus.WithMatchArg(0, unitInterface)); err != nil {
			return fmt.Errorf("asking the bus for systemd's signals: %w", err)
		}
	}
	if err := s.object(managerPath).CallWithContext(ctx, managerInterface+".Subscribe", 0).Err; err != nil {
		return fmt.Errorf("asking systemd for its signals: %w", err)
	}
	seen, suspended := map[string]bool{}, Suspended()
	for {
		select {
		case <-ctx.Done():
			return nil
		case signal, ok := <-signals:
			if !ok {
				return fmt.Errorf("systemd closed the connection: %w", os.ErrClosed)
			}
			if e := activation(signal, suspended); e != nil && !seen[string(signal.Path)] {
				seen[string(signal.Path)] = true
				changed(e)
			}
		}
	}
}

// activation reads a signal that tells of a unit's activation, successful or not; nil for others.
func activation(signal *dbus.Signal, suspended uint64) *event.Unit {
	if signal.Name != "org.freedesktop.DBus.Properties.PropertiesChanged" || len(signal.Body) < 2 {
		return nil
	}
	of, _ := signal.Body[0].(string)
	changed, _ := signal.Body[1].(map[string]dbus.Variant)
	name := unitName(signal.Path)
	if of != unitInterface || name == "" {
		return nil
	}
	p := properties(changed)
	e := unitEvent(p, suspended)
	ran := e.Activating != 0 && e.Inactive > e.Activating // a program that ran once and ended
	if e.Active == 0 && !ran {
		return nil
	}
	e.CaughtLive = 1
	e.SetTail(append(nulTerminated("Id="+name), e.TailBytes()...))
	return e
}

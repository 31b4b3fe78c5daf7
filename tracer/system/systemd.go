//go:build linux

package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/bootscope/bootscope/tracer/event"
)

// Systemd asks systemd, over D-Bus. It goes to systemd's own socket first, which is there before the bus
// is, and which a board without a D-Bus daemon has as well.
type Systemd struct {
	conn *dbus.Conn
	bus  bool // through the message bus, where signals have to be asked for
}

const (
	systemdName      = "org.freedesktop.systemd1"
	managerPath      = dbus.ObjectPath("/org/freedesktop/systemd1")
	unitPathPrefix   = string(managerPath) + "/unit/"
	managerInterface = systemdName + ".Manager"
	unitInterface    = systemdName + ".Unit"
	getAll           = "org.freedesktop.DBus.Properties.GetAll"
	getOne           = "org.freedesktop.DBus.Properties.Get"
	privateSocket    = "unix:path=/run/systemd/private"
)

// ErrNoSystemd says that this machine's first process is another.
var ErrNoSystemd = errors.New("systemd is not running here")

// ConnectSystemd connects.
func ConnectSystemd(ctx context.Context) (*Systemd, error) {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return nil, ErrNoSystemd
	}
	conn, err := dbus.Dial(privateSocket, dbus.WithContext(ctx))
	if err == nil {
		if err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Getuid()))}); err == nil {
			err = untilItListens(ctx, conn)
		}
		if err == nil {
			return &Systemd{conn: conn}, nil
		}
		conn.Close()
	}
	conn, busErr := dbus.ConnectSystemBus(dbus.WithContext(ctx))
	if busErr != nil {
		return nil, fmt.Errorf("systemd cannot be asked: its own socket: %w; the bus: %w", err, busErr)
	}
	return &Systemd{conn: conn, bus: true}, nil
}

// untilItListens sends pings until one is answered. A first message that reaches systemd together with
// the end of the authentication waits in its buffer until more comes (seen often with
// systemd 252).
func untilItListens(ctx context.Context, conn *dbus.Conn) error {
	for patience := 20 * time.Millisecond; ; patience *= 2 {
		ping := conn.Object(systemdName, managerPath).Go("org.freedesktop.DBus.Peer.Ping", 0, make(chan *dbus.Call, 1))
		select {
		case <-ping.Done:
			return ping.Err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(patience):
		}
	}
}

// Close ends the connection.
func (s *Systemd) Close() error { return s.conn.Close() }

func (s *Systemd) object(path dbus.ObjectPath) dbus.BusObject {
	return s.conn.Object(systemdName, path)
}

// Booted tells whether systemd has done all that it had to do at boot.
func (s *Systemd) Booted(ctx context.Context) (bool, error) {
	var v dbus.Variant
	call := s.object(managerPath).CallWithContext(ctx, getOne, 0, managerInterface, "FinishTimestampMonotonic")
	if err := call.Store(&v); err != nil {
		return false, fmt.Errorf("asking systemd whether the boot is finished: %w", err)
	}
	return properties{"": v}.number("") != 0, nil
}

// managerProperties are what is kept of the manager as text.
var managerProperties = []string{"Version", "Features", "Virtualization", "Architecture", "SystemState", "Environment",
	"NFailedUnits", "NJobs", "NInstalledJobs", "Tainted", "DefaultTimeoutStartUSec"}

// Manager tells of the boot as a whole.
func (s *Systemd) Manager(ctx context.Context) (*event.Manager, error) {
	p, err := s.properties(ctx, managerPath, managerInterface)
	if err != nil {
		return nil, fmt.Errorf("asking systemd about the boot: %w", err)
	}
	suspended := Suspended()
	e := event.New(event.KindManager).(*event.Manager)
	e.Time = BootTime()
	// The first two count back from the kernel's start.
	firmware, loader := fromMonotonic(p.number("FirmwareTimestampMonotonic"), 0), fromMonotonic(p.number("LoaderTimestampMonotonic"), 0)
	e.Loader = loader
	if firmware > loader {
		e.Firmware = firmware - loader
	}
	e.Initrd = fromMonotonic(p.number("InitRDTimestampMonotonic"), suspended)
	e.Userspace = fromMonotonic(p.number("UserspaceTimestampMonotonic"), suspended)
	e.Finished = fromMonotonic(p.number("FinishTimestampMonotonic"), suspended)
	e.SetTail(p.tail(managerProperties, suspended))
	return e, nil
}

func (s *Systemd) properties(ctx context.Context, path dbus.ObjectPath, of string) (properties, error) {
	var p properties
	return p, s.object(path).CallWithContext(ctx, getAll, 0, of).Store(&p)
}

// properties are what an object answers, by name.
type properties map[string]dbus.Variant

func (p properties) number(name string) uint64 {
	switch v := p[name].Value().(type) {
	case uint64:
		return v
	case uint32:
		return uint64(v)
	case int32:
		return uint64(int64(v))
	}
	return 0
}

// tail writes properties as events have them: NAME=VALUE. What is empty is left out. A time, which
// systemd has in microseconds of its clock, becomes nanoseconds from boot, under its name without the
// clock's.
func (p properties) tail(names []string, suspended uint64) []byte {
	var list []string
	for _, name := range names {
		var value string
		if strings.HasSuffix(name, "Timestamp") {
			if t := fromMonotonic(p.number(name+"Monotonic"), suspended); t != 0 {
				value = strconv.FormatUint(t, 10)
			}
		} else {
			value = propertyText(p[name].Value())
		}
		if value != "" {
			list = append(list, name+"="+value)
		}
	}
	return nulTerminated(list...)
}

// propertyText writes a value as text; what has structure beyond a list isn't kept.
func propertyText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []string:
		return strings.Join(v, " ")
	case bool, int32, uint32, int64, uint64:
		return fmt.Sprint(v)
	}
	return ""
}

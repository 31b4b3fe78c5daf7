//go:build linux

package record

import (
	"context"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/system"
)

// unitWatch follows systemd beside the drain.
type unitWatch struct {
	ctx       context.Context
	activated chan *event.Unit
	systemd   *system.Systemd // for questions; nil until the first
	finished  bool
}

// reconnectAfter is how long to wait for systemd when it can't be asked, as while it re-executes itself.
const reconnectAfter = time.Second

func watchUnits(ctx context.Context) *unitWatch {
	u := &unitWatch{ctx: ctx, activated: make(chan *event.Unit, 1024)}
	go u.run()
	return u
}

func (u *unitWatch) run() {
	for u.ctx.Err() == nil {
		if s, err := system.ConnectSystemd(u.ctx); err == nil {
			_ = s.WatchUnits(u.ctx, func(e *event.Unit) {
				select {
				case u.activated <- e:
				default: // nobody reads: what systemd says at the end has to do
				}
			})
			s.Close()
		}
		select {
		case <-u.ctx.Done():
		case <-time.After(reconnectAfter):
		}
	}
}

// askWithin is how long systemd may take for an answer before its silence counts as one.
const askWithin = 2 * time.Second

// booted tells whether systemd has finished the boot. Where it can't be asked it counts as finished.
func (u *unitWatch) booted() bool {
	if u.finished {
		return true
	}
	ctx, cancel := context.WithTimeout(u.ctx, askWithin)
	defer cancel()
	s, err := system.ConnectSystemd(ctx)
	if err != nil {
		return true
	}
	defer s.Close()
	u.finished, err = s.Booted(ctx)
	return u.finished || err != nil
}

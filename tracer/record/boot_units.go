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
	asked     time.Time // when it was last asked whether the boot is finished
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

const (
	// askEvery is how often systemd is asked whether the boot is finished.
	askEvery = 5 * time.Second
	// askWithin is how long it may take for an answer before its silence counts as one.
	askWithin = 2 * time.Second
)

// booted tells whether systemd has finished the boot. Where it can't be asked it counts as finished.
func (u *unitWatch) booted() bool {
	if u.finished || time.Since(u.asked) < askEvery {
		return u.finished
	}
	u.asked = time.Now()
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

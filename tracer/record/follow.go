//go:build linux

package record

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/bootscope/bootscope/tracer/event"
	"github.com/bootscope/bootscope/tracer/milestone"
	"github.com/bootscope/bootscope/tracer/system"
)

// A follower sees what is recorded while it is recorded. All of its methods are called by the goroutine
// that drains.
type follower interface {
	// events sees whole events in wire form; they are valid during the call only.
	events(raw []byte)
	// stepped sees the clocks after a step of the wall clock.
	stepped(*event.Clock)
	// round is called at least once in a drain interval. It returns why to stop, or "".
	round() (string, error)
	// end adds to the file what only others know, when all programs were detached. It is told why the
	// recording ended.
	end(reason string) error
}

// milestoneWatch finds milestones, and asks for the end at one of them.
type milestoneWatch struct {
	recorder *recorder
	ctx      context.Context // ends with the recording
	cancel   context.CancelFunc
	sought   []*sought
	until    string // the name of the one to stop at, or ""
	decoder  *event.Decoder
	also     func(event.Event) // sees every event too; may be nil
	wall     milestone.WallClock
	logs     []*logTail
	units    *unitWatch // nil if nobody asks for units
	found    chan moment
}

// sought is a milestone with what is known of it so far.
type sought struct {
	*milestone.Milestone
	file uint64 // of an open: the file's id once it is known, 0 before
	done bool
}

// A moment is when a milestone was reached.
type moment struct {
	of   *sought
	time uint64
	pid  uint32
}

// newMilestoneWatch begins to look for milestones. until names one of them, or is a spec itself.
func newMilestoneWatch(r *recorder, milestones []*milestone.Milestone, until string) (*milestoneWatch, error) {
	decoder, err := event.NewDecoder(event.Specs)
	if err != nil {
		return nil, err
	}
	w := &milestoneWatch{recorder: r, until: until, decoder: decoder, found: make(chan moment, 16)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.stepped(system.ReadClocks(event.ClockAtStart))
	for _, m := range milestones {
		s := &sought{Milestone: m}
		w.sought = append(w.sought, s)
		switch m.Kind {
		case milestone.Log:
			w.logs = append(w.logs, &logTail{sought: s})
		case milestone.Journal:
			go w.followJournal(s)
		case milestone.Unit:
			w.followUnits()
		}
	}
	return w, nil
}

// close ends what looks for milestones beside the drain.
func (w *milestoneWatch) close() { w.cancel() }

func (w *milestoneWatch) stepped(c *event.Clock) { w.wall.Read(c.Time, c.Realtime) }

// events decodes the few kinds that something can be told from; most are others.
func (w *milestoneWatch) events(raw []byte) {
	for len(raw) >= event.HeaderSize {
		kind := event.Kind(binary.LittleEndian.Uint16(raw[16:]))
		spec, tail := event.SpecOf(kind), int(binary.LittleEndian.Uint32(raw[20:]))
		if spec == nil || tail < 0 || tail > len(raw)-spec.Size {
			return
		}
		size := spec.Size + tail
		if kind == event.KindPath || kind == event.KindOpen || kind == event.KindExec {
			if e, _, err := w.decoder.Next(raw[:size]); err == nil {
				w.event(e)
				if w.also != nil {
					w.also(e)
				}
			}
		}
		raw = raw[size:]
	}
}

func (w *milestoneWatch) event(e event.Event) {
	switch e := e.(type) {
	case *event.Path:
		for _, s := range w.sought {
			if !s.done && s.Path != "" && e.Path() == s.Path {
				s.file = e.File
			}
		}
	case *event.Open:
		for _, s := range w.sought {
			named := e.File != 0 && e.File == s.file || string(e.TailBytes()) == s.Path
			if s.Kind == milestone.Open && e.Result >= 0 && named {
				w.reached(moment{s, e.Time, e.PID})
			}
		}
	case *event.Exec:
		for _, s := range w.sought {
			named := e.Exe != 0 && e.Exe == s.file || string(e.TailBytes()) == s.Path
			if s.Kind == milestone.Exec && named {
				w.reached(moment{s, e.Time, e.PID})
			}
		}
	}
}

// followUnits follows systemd too.
func (w *milestoneWatch) followUnits() {
	if w.units == nil {
		w.units = watchUnits(w.ctx)
	}
}

// takeUnits writes the activations that systemd has told of.
func (w *milestoneWatch) takeUnits() error {
	for w.units != nil {
		select {
		case e := <-w.units.activated:
			w.unit(unitID(e), e)
			if err := w.recorder.writer.Event(e); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// unit sees a unit's first activation.
func (w *milestoneWatch) unit(name string, e *event.Unit) {
	for _, s := range w.sought {
		if s.Kind == milestone.Unit && s.Unit == name && e.Active != 0 {
			w.reached(moment{s, e.Active, e.MainPID})
		}
	}
}

// reached writes a milestone, the first time.
func (w *milestoneWatch) reached(m moment) {
	if m.of.done || m.time == 0 {
		return
	}
	m.of.done = true
	e := event.New(event.KindMilestone).(*event.Milestone)
	e.Time, e.PID = m.time, m.pid
	e.SetTail([]byte(m.of.Name + "\x00" + m.of.Spec + "\x00"))
	// An error stays with the writer, whose next call returns it.
	_ = w.recorder.writer.Event(e)
	if w.recorder.options.Notice != nil {
		w.recorder.options.Notice("milestone %s at %.3f s", m.of.Name, float64(m.time)/1e9)
	}
}

// round takes in what was found beside the drain.
func (w *milestoneWatch) round() (string, error) {
	if err := w.takeUnits(); err != nil {
		return "", err
	}
	for _, l := range w.logs {
		if at, ok := l.poll(&w.wall); ok {
			w.reached(moment{l.sought, at, 0})
		}
	}
	for {
		select {
		case m := <-w.found:
			w.reached(m)
			continue
		default:
		}
		break
	}
	for _, s := range w.sought {
		if s.done && s.Name == w.until {
			return "milestone " + s.Name + " was reached", nil
		}
	}
	return "", nil
}

func (w *milestoneWatch) end(string) error { return w.takeUnits() }

// followJournal waits for a line of a unit in the journal. As long as there is no journal it tries again.
func (w *milestoneWatch) followJournal(s *sought) {
	reader := system.JournalReader{Follow: true, Unit: s.Unit}
	for w.ctx.Err() == nil {
		err := reader.Read(w.ctx, func(e *event.Journal) error {
			if s.Line.MatchString(journalMessage(e)) {
				w.found <- moment{s, e.Time, e.PID}
				return errFound
			}
			return nil
		})
		if err == errFound {
			w.recorder.wake()
			return
		}
		select {
		case <-w.ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

var errFound = fmt.Errorf("found")

// journalMessage is the last of a journal event's strings.
func journalMessage(e *event.Journal) string {
	parts := splitTail(e.TailBytes())
	return parts[len(parts)-1]
}

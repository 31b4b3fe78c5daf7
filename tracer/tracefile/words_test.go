package tracefile

import (
	"math/rand/v2"
	"testing"

	"github.com/bootscope/bootscope/tracer/event"
)

// A wordMaker makes the words of one CPU as the BPF program does, from a load that looks like a board's:
// a few busy tasks, many that sleep, each mostly in the same system call, and times between events that
// spread over four orders of magnitude.
type wordMaker struct {
	rnd     *rand.Rand
	time    uint64
	last    uint64
	current uint32
	words   []uint64
	tasks   []simTask
	woken   []uint32
}

type simTask struct {
	tid     uint32
	syscall uint64
}

func newWordMaker(seed uint64) *wordMaker {
	m := &wordMaker{rnd: rand.New(rand.NewPCG(seed, 1)), time: 5e9 / timeUnit, tasks: make([]simTask, 200)}
	calls := []uint64{232, 202, 0, 7, 230, 271, 61, 35, 511}
	for i := range m.tasks {
		m.tasks[i] = simTask{uint32(10 + m.rnd.IntN(6000)), calls[m.rnd.IntN(len(calls))]}
	}
	return m
}

// pick prefers few of the tasks: the chance falls with the square of the place.
func (m *wordMaker) pick() simTask {
	f := m.rnd.Float64()
	return m.tasks[int(f*f*f*float64(len(m.tasks)))]
}

func (m *wordMaker) put(kind event.WordKind, tid uint32, state, syscall uint64) {
	if m.last == 0 {
		m.words = append(m.words, currentWord(m.current))
	}
	if m.time-m.last > timeMask {
		m.words = append(m.words, timeWord(m.time))
	}
	m.last = m.time
	m.words = append(m.words, uint64(kind)<<kindShift|uint64(tid)<<tidShift|state<<stateShift|
		syscall<<syscallShift|m.time&timeMask)
}

// step adds a switch, and the wakings before it.
func (m *wordMaker) step() {
	m.time += 60 + uint64(m.rnd.ExpFloat64()*m.rnd.ExpFloat64()*6000)
	for m.rnd.IntN(10) < 6 {
		t := m.pick()
		m.put(event.WordWaking, t.tid, 0, syscallMask)
		m.woken = append(m.woken, t.tid)
		m.time += 100 + uint64(m.rnd.IntN(400))
	}
	next := uint32(0)
	if len(m.woken) > 0 {
		next, m.woken = m.woken[0], m.woken[1:]
	}
	state, call := uint64(event.StateSleeping), uint64(syscallMask)
	switch {
	case m.current == 0:
		state = uint64(event.StatePreempted)
	case m.rnd.IntN(20) == 0:
		state, call = uint64(event.StateIoWait), 0
	case m.rnd.IntN(8) == 0:
		state = uint64(event.StatePreempted)
	default:
		for _, t := range m.tasks {
			if t.tid == m.current {
				call = t.syscall
			}
		}
	}
	m.put(event.WordSwitch, next, state, call)
	m.current = next
	if m.rnd.IntN(2000) == 0 { // a gap of over a second: a time word
		m.time += timeMask + uint64(m.rnd.IntN(1e6))
	}
}

// makeWords returns n words or a few more.
func makeWords(seed uint64, n int) []uint64 {
	m := newWordMaker(seed)
	for len(m.words) < n {
		m.step()
	}
	return m.words
}

// decodeWords is what the words say, one line an event.
func decodeWords(t testing.TB, cpu uint16, words []uint64) (lines []string) {
	t.Helper()
	d := event.SchedDecoder{CPU: cpu}
	w := newTextWriter(&Header{})
	for _, word := range words {
		if e := d.Next(word &^ event.LapBit); e != nil {
			lines = append(lines, string(w.line(e)))
		}
	}
	return lines
}

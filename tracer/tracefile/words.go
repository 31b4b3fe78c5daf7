package tracefile

import "github.com/bootscope/bootscope/tracer/event"

// The places of a word's parts, as bpf/sched.h has them. package event decodes words into events; here
// they are only taken apart and put together again.
const (
	kindShift    = 61
	tidShift     = 39
	tidMask      = 1<<22 - 1
	stateShift   = 36
	stateMask    = 1<<3 - 1
	syscallShift = 27
	syscallMask  = 1<<9 - 1
	timeMask     = 1<<27 - 1
	timeUnit     = 8 // nanoseconds

	noteShift   = 56
	noteMask    = 1<<5 - 1
	noteCurrent = 3 // the notes before it are losses, those after it are about the next word
	payloadMask = 1<<noteShift - 1
)

func timeWord(units uint64) uint64 { return uint64(event.WordTime)<<kindShift | units }

func currentWord(tid uint32) uint64 {
	return uint64(event.WordNote)<<kindShift | noteCurrent<<noteShift | uint64(tid)
}

// wordState is what a decoder of words has to know before the next word.
type wordState struct {
	time    uint64 // of the last word, in units of timeUnit
	current uint32 // tid that runs
	note    uint64 // about the next word, or 0
}

// next takes a word in and tells whether it makes an event.
func (s *wordState) next(word uint64) bool {
	switch event.KindOfWord(word) {
	case event.WordTime:
		s.time = word & (1<<kindShift - 1)
		return false
	case event.WordNote:
		switch note := word >> noteShift & noteMask; {
		case note < noteCurrent:
			return true
		case note == noteCurrent:
			s.current = uint32(word & payloadMask)
		default:
			s.note = word
		}
		return false
	case event.WordSwitch:
		s.current = tidOf(word)
	}
	s.note = 0
	s.time += (word - s.time) & timeMask
	return true
}

// words returns what brings a new decoder into this state.
func (s *wordState) words() []uint64 {
	w := []uint64{timeWord(s.time), currentWord(s.current), s.note}
	if s.note == 0 {
		w = w[:2]
	}
	return w
}

func tidOf(word uint64) uint32 { return uint32(word >> tidShift & tidMask) }

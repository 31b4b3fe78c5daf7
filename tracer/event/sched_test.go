package event

import (
	"reflect"
	"testing"
)

// Words as bpf/sched.h lays them out.
func word(kind WordKind, tid, state, syscall, units uint64) uint64 {
	return uint64(kind)<<61 | tid<<39 | state<<36 | syscall<<27 | units&(1<<27-1)
}

func switchWord(next, state, syscall, units uint64) uint64 {
	return word(WordSwitch, next, state, syscall, units)
}

func wakingWord(target, units uint64) uint64 { return word(WordWaking, target, 0, 511, units) }
func timeWord(units uint64) uint64           { return uint64(WordTime)<<61 | units }
func noteWord(kind, payload uint64) uint64   { return uint64(WordNote)<<61 | kind<<56 | payload }

// copyOf keeps an event that the decoder reuses.
func copyOf(e Event) any {
	switch e := e.(type) {
	case *Switch:
		return *e
	case *Waking:
		return *e
	case *Lost:
		return *e
	}
	return nil
}

func TestSchedDecoder(t *testing.T) {
	const lap = 1 << 27
	at := func(kind Kind, units uint64, tid uint32) Header {
		return Header{Time: 8 * units, TID: tid, Kind: uint16(kind), CPU: 3}
	}
	for _, test := range []struct {
		name  string
		words []uint64
		want  []any
	}{
		{"current, then switch and waking", []uint64{
			noteWord(noteCurrent, 7), timeWord(5*lap + 100), switchWord(9, 2, 35, 100), wakingWord(7, 250), switchWord(7, 0, 511, 300),
		}, []any{
			Switch{Header: at(KindSwitch, 5*lap+100, 7), Next: 9, State: 2, Syscall: 35},
			Waking{Header: at(KindWaking, 5*lap+250, 9), Target: 7},
			Switch{Header: at(KindSwitch, 5*lap+300, 9), Next: 7, Syscall: NoSyscall},
		}},
		{"the time's low bits wrap", []uint64{
			timeWord(2*lap - 1), wakingWord(1, 2*lap-1), wakingWord(2, 5), wakingWord(3, 4),
		}, []any{
			Waking{Header: at(KindWaking, 2*lap-1, 0), Target: 1},
			Waking{Header: at(KindWaking, 2*lap+5, 0), Target: 2},
			Waking{Header: at(KindWaking, 3*lap+4, 0), Target: 3},
		}},
		{"a long gap", []uint64{
			timeWord(10), switchWord(1, 2, 511, 10), timeWord(90*lap + 7), switchWord(0, 2, 511, 7),
		}, []any{
			Switch{Header: at(KindSwitch, 10, 0), Next: 1, State: 2, Syscall: NoSyscall},
			Switch{Header: at(KindSwitch, 90*lap+7, 1), Next: 0, State: 2, Syscall: NoSyscall},
		}},
		{"a big system call number and a 32-bit one", []uint64{
			timeWord(1), noteWord(noteSyscall, 600), switchWord(5, 2, 511, 1), noteWord(noteSyscall, noteCompat|3), switchWord(6, 2, 511, 2), switchWord(7, 2, 0, 3),
		}, []any{
			Switch{Header: at(KindSwitch, 1, 0), Next: 5, State: 2, Syscall: 600},
			Switch{Header: at(KindSwitch, 2, 5), Next: 6, State: 2, Syscall: 3, Compat: 1},
			Switch{Header: at(KindSwitch, 3, 6), Next: 7, State: 2},
		}},
		{"a loss, then who runs after it", []uint64{
			timeWord(50), switchWord(5, 0, 511, 50), noteWord(noteLost, 1000), noteWord(noteNested, 2),
			noteWord(noteCurrent, 8), timeWord(900), switchWord(9, 2, 511, 900),
		}, []any{
			Switch{Header: at(KindSwitch, 50, 0), Next: 5, Syscall: NoSyscall},
			Lost{Header: at(KindLost, 50, 5), Count: 1000, Probe: uint16(ProbeSched), Reason: uint16(LostFull)},
			Lost{Header: at(KindLost, 50, 5), Count: 2, Probe: uint16(ProbeSched), Reason: uint16(LostNested)},
			Switch{Header: at(KindSwitch, 900, 8), Next: 9, State: 2, Syscall: NoSyscall},
		}},
		{"the largest values", []uint64{
			timeWord(1<<61 - 1), switchWord(1<<22-1, 7, 510, lap-1), noteWord(noteLost, 1<<56-1), noteWord(31, 5),
		}, []any{
			Switch{Header: at(KindSwitch, 1<<61-1, 0), Next: 1<<22 - 1, State: 7, Syscall: 510},
			Lost{Header: at(KindLost, 1<<61-1, 1<<22-1), Count: 1<<56 - 1, Probe: uint16(ProbeSched), Reason: uint16(LostFull)},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := SchedDecoder{CPU: 3}
			var got []any
			for _, w := range test.words {
				if e := d.Next(w); e != nil {
					got = append(got, copyOf(e))
				}
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, test.want)
			}
		})
	}
}

func TestSchedDecoderDoesNotAllocate(t *testing.T) {
	d := SchedDecoder{}
	words := []uint64{timeWord(1), switchWord(1, 0, 5, 2), wakingWord(4, 9), noteWord(noteLost, 1)}
	if n := testing.AllocsPerRun(100, func() {
		for _, w := range words {
			d.Next(w)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package findings

import (
	"sort"

	"github.com/bootscope/bootscope/tracer/timeline"
)

// slots adds up, in slots of equal width, how long each thread ran and waited for a CPU. Its size depends
// on how many threads were busy in how many slots, not on the number of switches: when a recording gets
// long, the slots get wider.
type slots struct {
	start   uint64
	width   uint64
	threads [][]share // by Thread.Index; of each thread the slots in which it did something, in order
}

// share is what a thread did in a slot.
type share struct {
	slot int
	time [2]uint64
}

const (
	running = iota
	waiting
)

const (
	firstWidth = 100e6 // below what anyone notices, above the scheduler's own slices
	maxSlots   = 8192
)

func newSlots(start uint64) slots { return slots{start: start, width: firstWidth} }

// add spreads an interval over its slots. Those of one thread must come in order.
func (s *slots) add(th *timeline.Thread, from, to uint64, what int) {
	if from < s.start || to <= from {
		return
	}
	for (to-s.start)/s.width >= maxSlots {
		s.widen()
	}
	for th.Index >= len(s.threads) {
		s.threads = append(s.threads, nil)
	}
	list := s.threads[th.Index]
	for from < to {
		since := from - s.start
		slot := int(since / s.width)
		end := from + min(to-from, s.width-(since-uint64(slot)*s.width))
		if n := len(list); n == 0 || list[n-1].slot != slot {
			list = append(list, share{slot: slot})
		}
		list[len(list)-1].time[what] += end - from
		from = end
	}
	s.threads[th.Index] = list
}

// widen makes every two slots one.
func (s *slots) widen() {
	s.width *= 2
	for i, list := range s.threads {
		merged := list[:0]
		for _, sh := range list {
			sh.slot /= 2
			if n := len(merged); n > 0 && merged[n-1].slot == sh.slot {
				merged[n-1].time[running] += sh.time[running]
				merged[n-1].time[waiting] += sh.time[waiting]
				continue
			}
			merged = append(merged, sh)
		}
		s.threads[i] = merged
	}
}

// total sums up all threads but some, slot by slot.
func (s *slots) total(threads []*timeline.Thread, except func(*timeline.Thread) bool) []share {
	var total []share
	for i, list := range s.threads {
		if len(list) == 0 || except(threads[i]) {
			continue
		}
		for last := list[len(list)-1].slot; len(total) <= last; {
			total = append(total, share{slot: len(total)})
		}
		for _, sh := range list {
			total[sh.slot].time[running] += sh.time[running]
			total[sh.slot].time[waiting] += sh.time[waiting]
		}
	}
	return total
}

// between sums up what a thread did from one slot to before another.
func (s *slots) between(thread, from, to int) (time [2]uint64) {
	if thread >= len(s.threads) {
		return time
	}
	list := s.threads[thread]
	for i := sort.Search(len(list), func(i int) bool { return list[i].slot >= from }); i < len(list); i++ {
		if list[i].slot >= to {
			break
		}
		time[running] += list[i].time[running]
		time[waiting] += list[i].time[waiting]
	}
	return time
}

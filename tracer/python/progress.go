package python

import "github.com/bootscope/bootscope/tracer/timeline"

// point is a moment with the thread's times at it.
type point struct {
	time  uint64
	times timeline.Times
}

// progress is the time that a thread could use: what it does takes the same amount of it whether it is
// interrupted or not.
func progress(t *timeline.Times) uint64 { return t[timeline.Running] + t[timeline.Unknown] }

// between is the moment between two at which the thread had made some progress.
func between(a, b point, target uint64) point {
	x, y := progress(&a.times), progress(&b.times) // y may be less, see since
	if target <= x || y <= x {
		return a
	}
	share := min(float64(target-x)/float64(y-x), 1)
	mid := point{time: a.time}
	spent := since(&b.times, &a.times)
	for s := range mid.times {
		d := uint64(float64(spent[s]) * share)
		mid.times[s] = a.times[s] + d
		mid.time += d
	}
	return mid
}

// since is what a thread's times have grown by. A state can turn out later to have been another one: what was
// taken for it before is then less than nothing, and the others have too much.
func since(later, earlier *timeline.Times) (grown timeline.Times) {
	var over uint64
	for s := range grown {
		if later[s] >= earlier[s] {
			grown[s] = later[s] - earlier[s]
		} else {
			over += earlier[s] - later[s]
		}
	}
	for s := range grown {
		d := min(grown[s], over)
		grown[s] -= d
		over -= d
	}
	return grown
}

package milestone

// A WallClock converts times of the wall clock into times from boot, on either side of every step that
// was seen.
type WallClock struct{ pieces []piece }

// A piece begins where the wall clock was read: until the next piece both clocks run alike.
type piece struct{ boot, wall int64 }

// Read adds a reading of both clocks, in nanoseconds. Readings come in order of time from boot.
func (c *WallClock) Read(boot, wall uint64) {
	c.pieces = append(c.pieces, piece{int64(boot), int64(wall)})
}

// sameTime is by how much a time may be outside of a piece: the reading after a step comes a moment
// after the step.
const sameTime = 1e8

// ToBoot converts a wall-clock time that was noted not later than before, a time from boot. Where the
// clock was set back, a time can have been twice: the later one is taken.
func (c *WallClock) ToBoot(wall int64, before uint64) (boot uint64, ok bool) {
	for i := len(c.pieces) - 1; i >= 0; i-- {
		p := c.pieces[i]
		at := p.boot + wall - p.wall
		from, to := p.boot-sameTime, int64(before)+sameTime
		if i == 0 {
			from = 0 // what is before the first reading is known from there
		}
		if i+1 < len(c.pieces) {
			to = min(to, c.pieces[i+1].boot+sameTime)
		}
		if at >= from && at <= to {
			return uint64(max(at, 0)), true
		}
	}
	return 0, false
}

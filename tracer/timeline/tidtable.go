package timeline

// tidTable finds the latest thread of each id. Ids are dense and at most 22 bits on Linux, so pages of
// pointers serve them, at the cost of two loads; what is larger can only come from a damaged trace.
type tidTable struct {
	pages [1 << (tidBits - pageBits)]*[1 << pageBits]*Thread
	other map[uint32]*Thread
}

const (
	tidBits  = 22 // PID_MAX_LIMIT is 4,194,304
	pageBits = 10
)

func (t *tidTable) get(tid uint32) *Thread {
	if tid >= 1<<tidBits {
		return t.other[tid]
	}
	if page := t.pages[tid>>pageBits]; page != nil {
		return page[tid&(1<<pageBits-1)]
	}
	return nil
}

func (t *tidTable) set(tid uint32, th *Thread) {
	if tid >= 1<<tidBits {
		if t.other == nil {
			t.other = map[uint32]*Thread{}
		}
		t.other[tid] = th
		return
	}
	page := &t.pages[tid>>pageBits]
	if *page == nil {
		*page = new([1 << pageBits]*Thread)
	}
	(*page)[tid&(1<<pageBits-1)] = th
}

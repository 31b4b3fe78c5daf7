package perfdata

// Instruction records which instruction was executed when a sampling event fired. Period is the value of
// the event since it fired last, in nanoseconds for a clock.
func (r *Records) Instruction(w *When, event int, ip, period uint64, kernel bool) {
	misc := uint16(miscUser)
	if kernel {
		misc = miscKernel
	}
	r.beginSample(misc, w, event, ip, period)
	r.end()
}

// Tracepoint records that a tracepoint was met; raw is its data, in its format. Its address is 0: not known.
func (r *Records) Tracepoint(w *When, event int, raw []byte) {
	r.beginSample(miscKernel, w, event, 0, 1)
	// The size counts what fills it up, so that it ends at a multiple of 8 bytes with itself.
	size := (4+len(raw)+7)/8*8 - 4
	r.b = le.AppendUint32(r.b, uint32(size))
	r.b = append(r.b, raw...)
	for range size - len(raw) {
		r.b = append(r.b, 0)
	}
	r.end()
}

// beginSample begins a sample with what all samples have.
func (r *Records) beginSample(misc uint16, w *When, event int, ip, period uint64) {
	r.begin(typeSample, misc)
	b := le.AppendUint64(r.b, r.ids[event])
	b = le.AppendUint64(b, ip)
	b = le.AppendUint32(b, w.PID)
	b = le.AppendUint32(b, w.TID)
	b = le.AppendUint64(b, w.Time)
	b = le.AppendUint64(b, uint64(w.CPU))
	r.b = le.AppendUint64(b, period)
	if r.samples++; r.samples == 1 {
		r.first = w.Time
	}
	r.last = max(r.last, w.Time)
}

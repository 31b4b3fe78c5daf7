//go:build linux

package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/event"
)

// mappingReader gets a record of each executable mapping from a perf event that counts nothing, one
// per CPU. BPF has no place where it could see them all.
type mappingReader struct {
	cpus    []*perfRing
	poll    int           // epoll of the rings and of stop
	stop    int           // eventfd that ends watch
	watched bool          // watch closes poll and stop
	record  []byte        // reused
	mapping event.Mapping // reused
}

// A perfRing is the buffer of one perf event: a control page, then the data.
type perfRing struct {
	fd      int
	cpu     int
	memory  []byte
	control *unix.PerfEventMmapPage
	data    []byte
}

const (
	mappingRingBytes = 256 << 10 // per CPU: about 1,500 records
	perfBitBuildID   = 1 << 34   // 5.12; earlier kernels give device and inode instead
)

// newMappingReader makes one that is on no CPU yet.
func newMappingReader() (m *mappingReader, err error) {
	m = &mappingReader{}
	if m.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	if m.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		unix.Close(m.poll)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return m, m.watchFile(m.stop)
}

// watchFile makes watch wait for a file too. Only news count: where the kernel reports a hang-up once the
// CPU is gone, it reports it until the file is closed.
func (m *mappingReader) watchFile(fd int) error {
	news := &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}
	if err := unix.EpollCtl(m.poll, unix.EPOLL_CTL_ADD, fd, news); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// enter implements eachCPU.
func (m *mappingReader) enter(cpu int) error {
	ring, err := openMappingRing(cpu, unix.PerfBitMmap|unix.PerfBitMmap2|perfBitBuildID)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.E2BIG) {
		ring, err = openMappingRing(cpu, unix.PerfBitMmap|unix.PerfBitMmap2)
	}
	if err != nil {
		return err
	}
	m.cpus = append(m.cpus, ring)
	return m.watchFile(ring.fd)
}

// leave implements eachCPU. What wasn't drained is lost.
func (m *mappingReader) leave(cpu int) {
	m.cpus = slices.DeleteFunc(m.cpus, func(r *perfRing) bool {
		if r.cpu == cpu {
			r.close()
		}
		return r.cpu == cpu
	})
}

func openMappingRing(cpu int, bits uint64) (*perfRing, error) {
	attr := &unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Size:        unix.PERF_ATTR_SIZE_VER5,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU,
		Bits:        bits | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark,
		Wakeup:      mappingRingBytes / 4,
		Clockid:     unix.CLOCK_BOOTTIME,
	}
	fd, err := unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf_event_open on CPU %d: %w", cpu, err)
	}
	page := os.Getpagesize()
	memory, err := unix.Mmap(fd, 0, page+mappingRingBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("mapping the perf buffer of CPU %d: %w", cpu, err)
	}
	return &perfRing{
		fd: fd, cpu: cpu, memory: memory,
		control: (*unix.PerfEventMmapPage)(unsafe.Pointer(&memory[0])),
		data:    memory[page:],
	}, nil
}

// watch calls full whenever a quarter of a buffer was written, until the reader is closed: thousands of
// programs may start in the time between two drains.
func (m *mappingReader) watch(full func()) {
	m.watched = true
	go func() {
		defer m.closeWatch()
		var ready [16]unix.EpollEvent
		for {
			n, err := unix.EpollWait(m.poll, ready[:], -1)
			if err != nil && !errors.Is(err, unix.EINTR) {
				return
			}
			for _, e := range ready[:max(n, 0)] {
				if e.Fd == int32(m.stop) {
					return
				}
			}
			full()
		}
	}()
}

// closeWatch closes what watch waits for.
func (m *mappingReader) closeWatch() {
	unix.Close(m.stop)
	unix.Close(m.poll)
}

// Close implements io.Closer.
func (m *mappingReader) Close() error {
	for _, r := range m.cpus {
		r.close()
	}
	m.cpus = nil
	if !m.watched {
		m.closeWatch()
		return nil
	}
	_, _ = unix.Write(m.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	return nil
}

func (r *perfRing) close() {
	unix.Munmap(r.memory)
	unix.Close(r.fd)
}

// drain hands what the kernel has written since the last time to sink: mappings, and losses. The sink must not
// keep them: thousands may come in a second.
func (m *mappingReader) drain(sink func(event.Event) error) error {
	for _, r := range m.cpus {
		tail, head := r.control.Data_tail, atomic.LoadUint64(&r.control.Data_head)
		for tail < head {
			m.record = r.read(m.record, tail, 8)
			size := uint64(binary.LittleEndian.Uint16(m.record[6:]))
			if size < 8 || size > head-tail {
				return fmt.Errorf("perf buffer of CPU %d: a record of %d bytes at %d", r.cpu, size, tail)
			}
			m.record = r.read(m.record, tail, size)
			if e := m.decode(m.record, r.cpu); e != nil {
				if err := sink(e); err != nil {
					return err
				}
			}
			tail += size
		}
		atomic.StoreUint64(&r.control.Data_tail, tail)
	}
	return nil
}

// read copies bytes out of the ring, across its end if need be, in place of what is in b.
func (r *perfRing) read(b []byte, position, size uint64) []byte {
	at := position % uint64(len(r.data))
	first := r.data[at:min(at+size, uint64(len(r.data)))]
	return append(append(b[:0], first...), r.data[:size-uint64(len(first))]...)
}

const (
	mmap2Fixed    = 72 // struct perf_record_mmap2 before the name
	sampleIDBytes = 24 // TID, TIME, CPU
)

// decode returns a mapping or a loss, or nil for anything else.
func (m *mappingReader) decode(b []byte, cpu int) event.Event {
	le := binary.LittleEndian
	switch {
	case le.Uint32(b) == unix.PERF_RECORD_LOST && len(b) >= 24+sampleIDBytes:
		e := event.New(event.KindLost).(*event.Lost)
		e.Count, e.Probe, e.Reason = le.Uint64(b[16:]), uint16(event.ProbeMapping), uint16(event.LostFull)
		e.Time, e.CPU = le.Uint64(b[len(b)-16:]), uint16(cpu)
		return e
	case le.Uint32(b) != unix.PERF_RECORD_MMAP2 || len(b) < mmap2Fixed+sampleIDBytes:
		return nil
	}
	e := &m.mapping
	*e = event.Mapping{Header: event.Header{Kind: uint16(event.KindMapping)}}
	id := b[len(b)-sampleIDBytes:]
	e.PID, e.TID = le.Uint32(b[8:]), le.Uint32(b[12:])
	e.Time, e.CPU = le.Uint64(id[8:]), uint16(cpu)
	e.Start, e.Length, e.Offset = le.Uint64(b[16:]), le.Uint64(b[24:]), le.Uint64(b[32:])
	if le.Uint16(b[4:])&unix.PERF_RECORD_MISC_MMAP_BUILD_ID != 0 {
		e.BuildIDBytes = min(uint32(b[40]), uint32(len(e.BuildID)))
		copy(e.BuildID[:e.BuildIDBytes], b[44:])
	} else {
		e.Device = le.Uint32(b[40:])<<20 | le.Uint32(b[44:])
		e.Inode = le.Uint64(b[48:])
	}
	e.Protection, e.MapFlags = le.Uint32(b[64:]), le.Uint32(b[68:])
	name, _, _ := bytes.Cut(b[mmap2Fixed:len(b)-sampleIDBytes], []byte{0})
	e.SetTail(name)
	return e
}

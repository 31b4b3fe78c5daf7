package export

import (
	pb "github.com/bootscope/bootscope/export/perfettopb"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// The tracks. 0 is the root, of which all others are parts.
const (
	rootTrack perfettoTrack = iota
	recordingTrack
	lossTrack
	milestoneTrack
	findingTrack
	unitsTrack
	firstTrack // of those of which there are many
)

// The kinds of tracks of which there are many.
const (
	unitTracks = iota
	lifeTracks
	threadTracks
	processTracks
	trackKinds
)

// numbered returns a track of those of which there are many. Small numbers take few bytes.
func numbered(kind, n int) perfettoTrack { return firstTrack + perfettoTrack(n*trackKinds+kind) }

// trackDescription is what a viewer gets to know of a track.
type trackDescription struct {
	parent   perfettoTrack // that it is a part of
	name     string
	help     string
	rank     int // among the parts of its parent, if those are in explicit order
	children uint64
}

// describe says what a track is.
func (x *perfettoExport) describe(t perfettoTrack, d trackDescription) {
	m := &x.message
	m.Reset()
	m.Uint(pb.TrackUUID, uint64(t))
	if d.parent != rootTrack {
		m.Uint(pb.TrackParent, uint64(d.parent))
	}
	m.String(pb.TrackName, d.name)
	if d.help != "" {
		m.String(pb.TrackDescription, d.help)
	}
	m.Int(pb.TrackRank, int64(d.rank))
	if d.children != 0 {
		m.Uint(pb.TrackChildOrdering, d.children)
	}
	x.w.write(x.tl.Start, pb.PacketTrackDescriptor, m)
}

// track returns the track of a thread, which may be of another build of the same source. It is described
// when it is first needed: the reader then knows the thread, which it must tell from others that had or
// will have the same id.
func (x *perfettoExport) track(th *timeline.Thread, at uint64) perfettoTrack {
	t := numbered(threadTracks, th.Index)
	if x.begun[th.Index] {
		return t
	}
	x.begun[th.Index] = true
	m, d := &x.message, &x.part
	d.Reset()
	d.Int(pb.DescriptorPID, int64(int32(x.tl.Threads[th.Index].Process.PID)))
	d.Int(pb.DescriptorTID, int64(th.TID))
	m.Reset()
	m.Uint(pb.TrackUUID, uint64(t))
	m.Message(pb.TrackThread, d)
	x.w.write(at, pb.PacketTrackDescriptor, m)
	return t
}

// orderProcesses asks the viewer to show the processes of a unit together, those of the units that ran
// longest first, and the kernel's last. Viewers before 2026 have an order of their own.
func (x *perfettoExport) orderProcesses() {
	m := &x.message
	m.Reset()
	m.Uint(pb.TrackUUID, uint64(rootTrack))
	m.Uint(pb.TrackChildOrdering, pb.ChildrenExplicit)
	m.Uint(pb.TrackProcessOrdering, pb.ProcessesExplicit)
	x.w.write(x.tl.Start, pb.PacketTrackDescriptor, m)
	for rank, p := range processesInOrder(x.tl) {
		x.part.Reset()
		x.part.Int(pb.DescriptorPID, int64(int32(p.PID)))
		m.Reset()
		m.Uint(pb.TrackUUID, uint64(numbered(processTracks, rank)))
		m.Message(pb.TrackProcess, &x.part)
		m.Int(pb.TrackRank, int64(rank+1))
		// After the birth, which has the same time, or the reader would take it for that of another.
		x.w.write(x.within(p.Start+1), pb.PacketTrackDescriptor, m)
	}
}

// units shows the life of each process on a track of its unit. Kernel threads have none: they live all
// along.
func (x *perfettoExport) units() {
	x.orderProcesses()
	x.describe(unitsTrack, trackDescription{
		name: "Units", help: "The processes of each systemd unit, and when they lived.", rank: 5, children: pb.ChildrenExplicit,
	})
	var rest []*timeline.Process
	for _, p := range x.tl.Processes {
		if p.Unit == nil && !p.Kernel {
			rest = append(rest, p)
		}
	}
	units := unitsByTime(x.tl)
	for i, u := range units {
		x.unit(i, u.Name, u.Processes)
	}
	if len(rest) > 0 {
		x.unit(len(units), "in no unit", rest)
	}
}

func (x *perfettoExport) unit(rank int, name string, processes []*timeline.Process) {
	t := numbered(unitTracks, rank)
	x.describe(t, trackDescription{parent: unitsTrack, name: name, rank: rank, children: pb.ChildrenChronological})
	for _, p := range processes {
		if !p.Kernel {
			x.life(t, p)
		}
	}
}

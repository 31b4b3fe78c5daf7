package export

// bootGroupID is the process that stands for the boot in Chrome's trace events.
const bootGroupID = recordGroupID + 16

// boot shows what systemd and the kernel's log say. What was before the output's time begins is left out.
func (x *chromeExport) boot() {
	tracks := bootTracks(x.tl.Timeline)
	if len(tracks) == 0 {
		return
	}
	x.nameProcess(chromeTrack{bootGroupID, bootGroupID}, "Boot", sortRecording)
	for i, t := range tracks {
		track := chromeTrack{bootGroupID, bootGroupID + uint32(i)}
		x.nameThread(track, t.name, int64(i))
		for _, m := range t.spans {
			if m.end >= x.w.origin {
				x.w.span(track, max(m.start, x.w.origin), m.end, m.name, x.facts(m))
			}
		}
		for _, m := range t.instants {
			if m.start >= x.w.origin {
				x.w.instant(track, m.start, m.name, x.facts(m))
			}
		}
	}
}

func (x *chromeExport) facts(m bootMark) *args {
	a := x.w.args()
	for _, f := range m.facts {
		a.text(f[0], f[1])
	}
	return a
}

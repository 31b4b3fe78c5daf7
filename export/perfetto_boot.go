package export

// firstBootTrack is the first of the tracks about the boot: beyond those of all threads.
const firstBootTrack = perfettoTrack(1 << 32)

// boot shows what systemd and the kernel's log say.
func (x *perfettoExport) boot() {
	for i, t := range bootTracks(x.tl) {
		track := firstBootTrack + perfettoTrack(i)
		x.describe(track, trackDescription{name: t.name, help: t.help, rank: 10 + i})
		for _, m := range t.spans {
			x.w.begin(track, m.start, "boot", m.name, x.facts(m))
			x.w.end(track, m.end)
		}
		for _, m := range t.instants {
			x.w.instant(track, m.start, "boot", m.name, x.facts(m))
		}
	}
}

func (x *perfettoExport) facts(m bootMark) *annotations {
	a := x.w.args()
	for _, f := range m.facts {
		a.text(f[0], f[1])
	}
	return a
}

package idle

import (
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// Schema names the form of the JSON. It gets another number when a field is changed or dropped.
const Schema = "bootscope.idle/1"

// JSON writes everything, in the form that docs/json.md describes.
func JSON(w io.Writer, i *Idle) error { return encode(w, documentOf(i)) }

func encode(w io.Writer, document any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(document)
}

type document struct {
	Schema     string          `json:"schema"`
	Window     prose.Secs      `json:"window_s"`
	Start      prose.Secs      `json:"start_s"`
	Kernel     string          `json:"kernel"`
	Arch       string          `json:"arch"`
	CPUs       int             `json:"cpus"`
	Complete   bool            `json:"complete"`
	EndReason  *string         `json:"end_reason"`
	Lost       uint64          `json:"lost"`
	Busy       float64         `json:"busy_percent"`
	Wakeups    float64         `json:"wakeups_per_s"`
	Recorder   recorderJSON    `json:"recorder"`
	Tasks      []taskJSON      `json:"tasks"`
	Units      []unitJSON      `json:"units"`
	Interrupts []interruptJSON `json:"interrupts"`
	CPUFreq    []cpufreqJSON   `json:"cpufreq"`
	Sensors    []sensorJSON    `json:"sensors"`
	Findings   []findingJSON   `json:"findings"`
}

type recorderJSON struct {
	CPU      float64 `json:"cpu_percent"`
	Programs float64 `json:"programs_percent"`
	Wakeups  float64 `json:"wakeups_per_s"`
	Idle     float64 `json:"idle_exits_per_s"`
}

type taskJSON struct {
	PID    uint32  `json:"pid"`
	TID    uint32  `json:"tid"`
	Comm   *string `json:"comm"`
	Unit   *string `json:"unit"`
	Kernel bool    `json:"kernel_thread"`
	loadJSON
	Voluntary float64 `json:"voluntary_switches_per_s"`
}

type unitJSON struct {
	Name    *string `json:"name"`
	Threads int     `json:"threads"`
	loadJSON
}

// loadJSON is what a thread or a unit does.
type loadJSON struct {
	CPU         float64      `json:"cpu_percent"`
	CPUTime     prose.Secs   `json:"cpu_s"`
	Wakeups     float64      `json:"wakeups_per_s"`
	IdleExits   float64      `json:"idle_exits_per_s"`
	WokenBy     []sourceJSON `json:"woken_by"`
	MajorFaults *float64     `json:"major_faults_per_s"`
	Reread      *float64     `json:"reread_bytes_per_s"`
}

type sourceJSON struct {
	By      string      `json:"by"`
	PerS    float64     `json:"per_s"`
	Syscall *string     `json:"syscall"`
	Period  *prose.Secs `json:"period_s"`
	Regular bool        `json:"regular"`
}

type interruptJSON struct {
	By     string  `json:"by"`
	Number uint16  `json:"number"`
	Name   *string `json:"name"`
	PerS   float64 `json:"per_s"`
	CPU    float64 `json:"cpu_percent"`
}

type cpufreqJSON struct {
	Policy            string                `json:"policy"`
	CPUs              []int                 `json:"cpus"`
	Governor          *string               `json:"governor"`
	Transitions       *uint64               `json:"transitions"`
	KernelTransitions *uint64               `json:"kernel_transitions"`
	PerS              *float64              `json:"transitions_per_s"`
	Time              map[string]prose.Secs `json:"time_s"`
	GovernorCPU       *float64              `json:"governor_cpu_percent"`
}

type sensorJSON struct {
	Name  string   `json:"name"`
	Start *float64 `json:"start_celsius"`
	End   *float64 `json:"end_celsius"`
}

type findingJSON struct {
	ID       string     `json:"id"`
	Title    string     `json:"title"`
	Cost     prose.Secs `json:"cost_s"`
	CPU      float64    `json:"cpu_percent"`
	Unit     *string    `json:"unit"`
	PID      *uint32    `json:"pid"`
	Evidence []string   `json:"evidence"`
	Remedy   string     `json:"remedy"`
}

// round keeps a rate readable: six decimals are more than can be measured.
func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func documentOf(i *Idle) *document {
	d := &document{
		Schema: Schema, Window: prose.Secs(i.Duration()), Start: prose.Secs(i.Start),
		Kernel: prose.ValidUTF8(i.Header.Kernel), Arch: prose.ValidUTF8(i.Header.Arch), CPUs: i.cpus(),
		Complete: i.Complete(), Lost: i.Timeline.Lost(), Busy: round(i.percent(i.Busy)),
		Wakeups: round(i.perSecond(i.wakeupsOfAll())),
		Recorder: recorderJSON{round(i.percent(i.Recorder.CPU)), round(i.percent(i.Programs)), round(i.perSecond(i.Recorder.Wakeups)),
			round(i.perSecond(i.Recorder.IdleExits))},
		Tasks: []taskJSON{}, Units: []unitJSON{}, Interrupts: []interruptJSON{}, CPUFreq: []cpufreqJSON{},
		Sensors: i.sensorsOf(), Findings: []findingJSON{},
	}
	if i.Trailer != nil {
		d.EndReason = prose.Named(i.Trailer.Reason)
	}
	for _, t := range i.Tasks {
		d.Tasks = append(d.Tasks, i.taskOfJSON(t))
	}
	for _, u := range i.Units() {
		d.Units = append(d.Units, unitJSON{prose.Named(u.Unit), u.Threads, i.loadOf(u)})
	}
	for _, in := range i.interruptsByTime() {
		d.Interrupts = append(d.Interrupts, interruptJSON{in.By.String(), in.Number, prose.Named(in.Name),
			round(i.perSecond(in.Count)), round(i.percent(in.Time))})
	}
	for _, p := range i.Policies {
		d.CPUFreq = append(d.CPUFreq, i.cpufreqOf(p))
	}
	for _, f := range i.Findings {
		d.Findings = append(d.Findings, findingJSON{
			ID: f.ID, Title: prose.ValidUTF8(f.Title), Cost: prose.Secs(f.Cost), CPU: round(i.percent(f.Cost)),
			Unit: prose.Named(f.Unit), PID: prose.Known(f.PID, f.PID != 0), Evidence: prose.ValidAll(f.Evidence),
			Remedy: prose.ValidUTF8(f.Remedy),
		})
	}
	return d
}

func (i *Idle) taskOfJSON(t *Task) taskJSON {
	return taskJSON{
		PID: t.Thread.Process.PID, TID: t.Thread.TID, Comm: prose.Named(t.Thread.Comm), Unit: prose.Named(t.Unit),
		Kernel: t.Thread.Process.Kernel, loadJSON: i.loadOf(t), Voluntary: round(i.perSecond(t.Thread.Voluntary)),
	}
}

func (i *Idle) loadOf(t *Task) loadJSON {
	l := loadJSON{
		CPU: round(i.percent(t.CPU)), CPUTime: prose.Secs(t.CPU), Wakeups: round(i.perSecond(t.Wakeups)),
		IdleExits: round(i.perSecond(t.IdleExits)), WokenBy: []sourceJSON{},
		MajorFaults: prose.Known(round(i.perSecond(t.MajorFaults)), t.FaultsKnown),
		Reread:      prose.Known(round(i.perSecond(t.Reread)), i.Can.Reads),
	}
	for _, s := range t.WokenBy {
		l.WokenBy = append(l.WokenBy, sourceJSON{prose.ValidUTF8(s.By), round(i.perSecond(s.Count)), prose.Named(s.Call),
			prose.Known(prose.Secs(s.Period), s.Period > 0), s.Regular})
	}
	return l
}

func (i *Idle) cpufreqOf(p *timeline.FreqPolicy) cpufreqJSON {
	on := i.Can.CPUFreq
	c := cpufreqJSON{
		Policy: prose.ValidUTF8(p.Name), CPUs: p.CPUs, Governor: prose.Named(p.Governor),
		Transitions: prose.Known(p.Transitions, on), KernelTransitions: i.kernelTransitions(p.Name),
		PerS: prose.Known(round(i.perSecond(p.Transitions)), on), Time: map[string]prose.Secs{},
	}
	if c.CPUs == nil {
		c.CPUs = []int{}
	}
	for _, t := range p.Times {
		c.Time[strconv.FormatUint(uint64(t.KHz), 10)] = prose.Secs(t.Time)
	}
	if th := i.GovernorThread(p); th != nil {
		c.GovernorCPU = prose.Known(round(i.percent(i.cpuOf(th))), true)
	}
	return c
}

func (i *Idle) sensorsOf() []sensorJSON {
	list := []sensorJSON{}
	for _, s := range i.Header.Sensors {
		list = append(list, sensorJSON{Name: prose.ValidUTF8(s.Name), Start: prose.Known(float64(s.MilliCelsius)/1e3, true)})
	}
	if i.Trailer == nil {
		return list
	}
	for k, s := range i.Trailer.Sensors {
		end := prose.Known(float64(s.MilliCelsius)/1e3, true)
		if k < len(list) && i.Header.Sensors[k].Name == s.Name {
			list[k].End = end
		} else {
			list = append(list, sensorJSON{Name: prose.ValidUTF8(s.Name), End: end})
		}
	}
	return list
}

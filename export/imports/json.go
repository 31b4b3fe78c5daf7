package imports

import (
	"encoding/json"
	"io"

	"github.com/bootscope/bootscope/export/prose"
	"github.com/bootscope/bootscope/tracer/python"
	"github.com/bootscope/bootscope/tracer/timeline"
)

// Schema names the form of the JSON. It gets another number when a field is changed or dropped.
const Schema = "bootscope.imports/1"

type documentJSON struct {
	Schema       string            `json:"schema"`
	Interpreters []interpreterJSON `json:"interpreters"`
}

type interpreterJSON struct {
	PID         uint32          `json:"pid"`
	Process     string          `json:"process"`
	Program     *string         `json:"program"`
	Unit        *string         `json:"unit"`
	Exe         *string         `json:"exe"`
	Python      *string         `json:"python"`
	Forked      bool            `json:"forked"`
	Start       prose.Secs      `json:"start_s"`
	Total       prose.Secs      `json:"total_s"`
	ImportsEnd  prose.Secs      `json:"imports_end_s"`
	FirstWait   *prose.Secs     `json:"first_wait_s"`
	Search      searchJSON      `json:"search"`
	Calibration calibrationJSON `json:"calibration"`
	Modules     []moduleJSON    `json:"modules"`
}

type searchJSON struct {
	FailedOpens int        `json:"failed_opens"`
	Listings    int        `json:"directory_listings"`
	Time        prose.Secs `json:"estimated_s"`
}

type calibrationJSON struct {
	Confidence  string `json:"confidence"`
	Step        uint64 `json:"step_bytes"`
	Behalf      uint64 `json:"behalf_bytes"`
	Loader      uint64 `json:"loader_bytes"`
	Ceiling     uint64 `json:"ceiling_bytes"`
	Differences int    `json:"differences"`
	Agree       int    `json:"agree"`
}

type moduleJSON struct {
	Name        string     `json:"name"`
	File        string     `json:"file"`
	Parent      *string    `json:"parent"`
	ParentIndex *int       `json:"parent_index"`
	TID         uint32     `json:"tid"`
	Start       prose.Secs `json:"start_s"`
	End         prose.Secs `json:"end_s"`
	EndSeen     bool       `json:"end_seen"`
	Again       bool       `json:"again"`
	Main        bool       `json:"main"`
	Self        prose.Secs `json:"self_s"`
	Cumulative  prose.Secs `json:"cumulative_s"`
	splitJSON
	OfCumulative splitJSON `json:"of_cumulative"`
	Recompiled   bool      `json:"recompiled"`
}

// splitJSON is where a time went; the parts add up to it.
type splitJSON struct {
	CPU      *prose.Secs `json:"cpu_s"`
	Runnable *prose.Secs `json:"runnable_s"`
	IOWait   *prose.Secs `json:"io_wait_s"`
	Other    *prose.Secs `json:"other_s"`
}

// JSON writes everything, in the form that docs/json.md describes.
func JSON(w io.Writer, im *Imports) error {
	doc := documentJSON{Schema: Schema, Interpreters: []interpreterJSON{}}
	for _, in := range im.Interpreters {
		doc.Interpreters = append(doc.Interpreters, im.interpreterOf(in))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(doc)
}

func (im *Imports) interpreterOf(in *python.Interpreter) interpreterJSON {
	sum, cal := totalOf(in), in.Calibration
	j := interpreterJSON{
		PID: in.Process.PID, Process: prose.ValidUTF8(in.Process.Comm()), Program: prose.Named(in.Program),
		Exe: prose.Named(in.Exe), Python: prose.Named(in.Version), Forked: in.Forked,
		Start: prose.Secs(in.Start), Total: prose.Secs(sum.Sum()), ImportsEnd: prose.Secs(in.ImportsEnd),
		FirstWait: prose.Known(prose.Secs(in.FirstWait), in.FirstWait != 0),
		Search:    searchJSON{in.Search.FailedOpens, in.Search.Listings, prose.Secs(in.Search.Time)},
		Calibration: calibrationJSON{
			cal.Confidence().String(), cal.Step, cal.Behalf, cal.Loader, cal.Ceiling, cal.Differences, cal.Agree,
		},
		Modules: []moduleJSON{},
	}
	if in.Process.Unit != nil {
		j.Unit = prose.Named(in.Process.Unit.Name)
	}
	index := map[*python.Module]int{}
	for i, m := range in.Modules {
		index[m] = i
	}
	for _, m := range in.Modules {
		j.Modules = append(j.Modules, im.moduleOf(m, index))
	}
	return j
}

func (im *Imports) moduleOf(m *python.Module, index map[*python.Module]int) moduleJSON {
	j := moduleJSON{
		Name: prose.ValidUTF8(m.Name), File: prose.ValidUTF8(m.Open.File.Path), TID: m.Open.Thread.TID,
		Start: prose.Secs(m.Start), End: prose.Secs(m.End), EndSeen: m.EndSeen, Again: m.Again, Main: m.Main,
		Self: prose.Secs(m.Self.Sum()), Cumulative: prose.Secs(m.Total.Sum()),
		splitJSON: im.splitOf(&m.Self), OfCumulative: im.splitOf(&m.Total),
		Recompiled: m.Open.Cache.Compiled(),
	}
	if m.Parent != nil {
		i := index[m.Parent]
		j.Parent, j.ParentIndex = prose.Named(m.Parent.Name), &i
	}
	return j
}

func (im *Imports) splitOf(t *timeline.Times) splitJSON {
	return splitJSON{
		CPU:      prose.Known(prose.Secs(t[timeline.Running]), im.Can.Sched),
		Runnable: prose.Known(prose.Secs(t[timeline.Runnable]), im.Can.Sched),
		IOWait:   prose.Known(prose.Secs(t[timeline.IOWait]), im.Can.IOWait),
		Other:    prose.Known(prose.Secs(other(t)), im.Can.Sched),
	}
}

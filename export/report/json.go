package report

import (
	"encoding/json"
	"io"
)

// Schema names the form of the JSON. It gets another number when a field is changed or dropped.
const Schema = "bootscope.report/1"

// JSON writes everything, in the form that docs/json.md describes.
func JSON(w io.Writer, r *Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(documentOf(r))
}

type document struct {
	Schema     string          `json:"schema"`
	Trace      traceJSON       `json:"trace"`
	Milestones []milestoneJSON `json:"milestones"`
	Phases     []phaseJSON     `json:"phases"`
	Processes  []processJSON   `json:"processes"`
	Units      []unitJSON      `json:"units"`
	Files      []fileJSON      `json:"files"`
	Python     []pythonJSON    `json:"python"`
	CPUFreq    []cpufreqJSON   `json:"cpufreq"`
	Memory     []memoryJSON    `json:"memory"`
	Shortage   reclaimsJSON    `json:"shortage"`
	Findings   []findingJSON   `json:"findings"`
	Chain      chainJSON       `json:"chain"`
	Initcalls  []initcallJSON  `json:"initcalls"`
	Steps      []clockStepJSON `json:"clock_steps"`
	Budget     []spendingJSON  `json:"budget"`
}

type traceJSON struct {
	Duration   secs          `json:"duration_s"`
	Start      secs          `json:"start_s"`
	End        secs          `json:"end_s"`
	Kernel     string        `json:"kernel"`
	Arch       string        `json:"arch"`
	Machine    *string       `json:"machine"`
	CPUs       int           `json:"cpus"`
	Offline    []absenceJSON `json:"cpus_offline"`
	BootID     string        `json:"boot_id"`
	Tool       string        `json:"tool"`
	Complete   bool          `json:"complete"`
	EndReason  *string       `json:"end_reason"`
	Command    []string      `json:"command"`
	ExitStatus *int          `json:"command_exit_status"`
	Events     uint64        `json:"events"`
	Lost       lostJSON      `json:"lost"`
	Problems   []problemJSON `json:"problems"`
	Probes     []probeJSON   `json:"probes"`
	Self       selfJSON      `json:"self"`
}

type absenceJSON struct {
	CPU   int  `json:"cpu"`
	Start secs `json:"start_s"`
	End   secs `json:"end_s"`
}

type lostJSON struct {
	Total   uint64            `json:"total"`
	ByProbe map[string]uint64 `json:"by_probe"`
}

type problemJSON struct {
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Cause  string `json:"cause"`
}

type probeJSON struct {
	Name   string  `json:"name"`
	Status string  `json:"status"`
	Via    *string `json:"via"`
	Reason *string `json:"reason"`
}

type selfJSON struct {
	CPU          *secs   `json:"cpu_s"`
	StartCPU     *secs   `json:"start_cpu_s"`
	BPF          *secs   `json:"bpf_s"`
	MaxRSS       *uint64 `json:"max_rss_bytes"`
	Attach       *secs   `json:"attach_s"`
	BytesWritten *uint64 `json:"bytes_written"`
}

type statesJSON struct {
	Runnable *secs `json:"runnable_s"`
	IOWait   *secs `json:"io_wait_s"`
	Blocked  *secs `json:"blocked_s"`
	Sleep    *secs `json:"sleep_s"`
	Stopped  *secs `json:"stopped_s"`
	Unknown  secs  `json:"unknown_s"`
}

type processJSON struct {
	PID         uint32   `json:"pid"`
	Incarnation int      `json:"incarnation"`
	PPID        *uint32  `json:"ppid"`
	Comm        *string  `json:"comm"`
	Exe         *string  `json:"exe"`
	Argv        []string `json:"argv"`
	ArgvCut     bool     `json:"argv_cut"`
	Unit        *string  `json:"unit"`
	Cgroup      *string  `json:"cgroup"`
	Kernel      bool     `json:"kernel_thread"`
	Recorder    bool     `json:"recorder"`
	Command     bool     `json:"command"`
	Uncertain   bool     `json:"uncertain"`
	Existed     bool     `json:"existed"`
	Start       *secs    `json:"start_s"`
	End         *secs    `json:"end_s"`
	ExitCode    *int     `json:"exit_code"`
	Signal      *int     `json:"signal"`
	Threads     int      `json:"threads"`
	CPU         *secs    `json:"cpu_s"`
	CPUAtTop    *secs    `json:"cpu_at_top_frequency_s"`
	statesJSON
	MinorFaults *uint64 `json:"minor_faults"`
	MajorFaults *uint64 `json:"major_faults"`
	FaultEvents *uint64 `json:"fault_events"`
	Opens       *uint64 `json:"opens"`
	FailedOpens *uint64 `json:"failed_opens"`
	Samples     *uint64 `json:"samples"`
	FaultTime   *secs   `json:"fault_s"`
	readsJSON
	StorageRead    *uint64         `json:"storage_read_bytes"`
	StorageWritten *uint64         `json:"storage_written_bytes"`
	Frequencies    map[string]secs `json:"cpu_by_frequency_s"`
	syncsJSON
	reclaimsJSON
	Sleeps []sleepJSON `json:"sleeps"`
}

type sleepJSON struct {
	Syscall *uint16 `json:"syscall"`
	Compat  bool    `json:"compat"`
	In      string  `json:"in"`
	State   string  `json:"state"`
	Time    secs    `json:"time_s"`
	Count   uint64  `json:"count"`
}

type fileJSON struct {
	Path        string  `json:"path"`
	Dev         *string `json:"dev"`
	Inode       *uint64 `json:"inode"`
	Opens       uint64  `json:"opens"`
	BlockDevice bool    `json:"block_device"`
	readsJSON
	MajorFaults *uint64 `json:"major_faults"`
	FaultTime   *secs   `json:"fault_s"`
	syncsJSON
}

type pythonJSON struct {
	Module    string `json:"module"`
	File      string `json:"file"`
	Opens     int    `json:"opens"`
	Processes int    `json:"processes"`
	Time      secs   `json:"time_s"`
	CPU       *secs  `json:"cpu_s"`
	statesJSON
}

type cpufreqJSON struct {
	Policy      string          `json:"policy"`
	CPUs        []int           `json:"cpus"`
	Governor    *string         `json:"governor"`
	Transitions *uint64         `json:"transitions"`
	Time        map[string]secs `json:"time_s"`
}

type findingJSON struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Cost     secs     `json:"cost_s"`
	Unit     *string  `json:"unit"`
	PID      *uint32  `json:"pid"`
	Evidence []string `json:"evidence"`
	Remedy   string   `json:"remedy"`
}

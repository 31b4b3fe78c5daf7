//go:build linux

package record

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bootscope/bootscope/tracer/bootunit"
	"github.com/bootscope/bootscope/tracer/system"
)

// BootOptions say how a boot is recorded, besides Options.
type BootOptions struct {
	Dir       string        // where recordings are kept
	Once      string        // the token of an installation for one boot; "" records every boot
	Hold      time.Duration // systemd goes on after this long even if not all is attached yet
	Memory    int           // bytes that may wait until Dir is writable
	Quiet     time.Duration
	NoJournal bool
	Sync      time.Duration // bring the file onto the disk this often; 0 leaves that to the kernel
	Early     bool          // started before systemd, perhaps in an initramfs
}

// Defaults of the boot's options.
const (
	DefaultBootHold   = 5 * time.Second
	DefaultBootMemory = 32 << 20
	DefaultBootMax    = 5 * time.Minute
)

// RecordBoot records a boot, as the unit's process: it tells systemd when it is ready, keeps what it
// records in memory until the disk is there, and stops by itself. Whatever fails, systemd goes on with
// the boot at once.
func RecordBoot(options Options, boot BootOptions) error {
	defer notifyReady() // if nothing comes of it, nobody must wait
	// Half of the recorder's CPU time was the Go runtime's own: threads that look for work in vain, and a
	// collector that runs for every few megabytes.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	time.AfterFunc(boot.Hold, notifyReady)
	if err := checkPrivileges(); err != nil {
		return err
	}
	control, err := bootunit.Listen()
	if errors.Is(err, bootunit.ErrRecording) {
		return handOver(boot.Once)
	}
	if err != nil {
		options.Notice("bootscope status will not see this recording: %v", err)
	} else {
		defer control.Close()
	}
	if !boot.Early {
		openUp(options, boot)
	}
	r, err := attach(options)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.loader.kernel.badFile; err != nil {
		options.Notice("%v: recorded without", err)
	}
	if r.syncGap = boot.Sync; boot.Sync > 0 {
		r.flushGap = min(r.flushGap, boot.Sync) // what waits in the writer would be lost all the same
	}
	notifyReady()
	stepBack()
	b, err := newBootRecording(r, boot, control)
	if err != nil {
		return err
	}
	defer b.close()
	return b.record(options)
}

// openUp makes the unit's view of the disk writable, as far as the disk is, and disarms.
func openUp(options Options, boot BootOptions) {
	if err := bootunit.Unlock(boot.Dir); err != nil {
		options.Notice("%v", err)
	}
	if boot.Once != "" {
		go disarm(options.Notice) // before anything is attached, if the root is writable by then
	}
}

// record records and saves.
func (b *bootRecording) record(options Options) error {
	r := b.recorder
	reason, err := r.run(b.output, nil, b.stop)
	r.detach()
	path, saveErr := b.save()
	switch {
	case errors.Is(saveErr, bootunit.ErrSpent):
		options.Notice("%v: nothing was kept", saveErr)
		return nil
	case err != nil && saveErr == nil:
		return fmt.Errorf("recording ended early: %w; what there is is in %s", err, path)
	case err != nil || saveErr != nil:
		return fmt.Errorf("nothing was saved: %w", errors.Join(err, saveErr))
	}
	r.options.Output = path
	options.Notice("%s", r.summary(reason))
	return nil
}

// bootRecording is the follower of a boot: besides milestones it looks for the disk, for the end of the
// boot, and for those who ask.
type bootRecording struct {
	*milestoneWatch
	options BootOptions
	output  *bootOutput
	stop    *stopper
	control *bootunit.Control  // nil if it can't be had
	quiet   *quiet             // nil if it stops at a milestone
	kernel  *system.KernelLog  // nil if it can't be read
	asked   []bootunit.Request // stops that are answered when all is saved

	root         *systemRoot // nil if the recorder is in it
	cgroupsFound bool        // after an early start
	disarming    bool
	ending       bool
}

func newBootRecording(r *recorder, boot BootOptions, control *bootunit.Control) (*bootRecording, error) {
	watch, err := newMilestoneWatch(r, r.options.Milestones, r.options.Until)
	if err != nil {
		return nil, err
	}
	store := &bootunit.Store{Dir: boot.Dir, BootID: system.BootID(), Once: boot.Once}
	b := &bootRecording{milestoneWatch: watch, options: boot, control: control,
		output: &bootOutput{store: store, limit: boot.Memory, syncEvery: boot.Sync}}
	if r.options.Until == "" { // then it stops when the machine is quiet
		b.quiet = newQuiet(boot.Quiet, r.start)
		b.also = b.quiet.event
	}
	if b.kernel, err = system.OpenKernelLog(); err != nil {
		r.options.Notice("%v", err)
	}
	if b.control != nil {
		b.control.Serve(r.wake)
	}
	if boot.Early {
		if err := b.startEarly(); err != nil {
			return nil, err
		}
	}
	b.followUnits()
	b.stop = newStopper(r, r.options)
	r.follower = b
	return b, nil
}

func (b *bootRecording) close() {
	b.milestoneWatch.close()
	b.stop.close()
	if b.kernel != nil {
		b.kernel.Close()
	}
}

// round does once a second what the boot may just have made possible.
func (b *bootRecording) round() (string, error) {
	if err := b.readKernelLog(); err != nil {
		return "", err
	}
	reason, err := b.milestoneWatch.round()
	if err != nil || reason != "" {
		return reason, err
	}
	settled := b.settle(false)
	if err := b.findCgroups(); err != nil {
		return "", err
	}
	if settled {
		if err := b.output.open(b.recorder.options.Notice); err != nil {
			return "", err // it was recorded before, or the disk is full
		}
	}
	if b.output.full() {
		reason := fmt.Sprintf("%s was not writable until %.1f MB waited in memory (%v)", b.options.Dir, float64(b.options.Memory)/1e6, b.output.why)
		b.recorder.options.Notice("the recording ends here: %s", reason)
		return reason, nil
	}
	if b.answerAll(); len(b.asked) > 0 {
		return "bootscope stop", nil
	}
	if !settled {
		return "", nil // it can't be over
	}
	return b.over()
}

// disarmRetry is how often it is tried while the root is read-only.
const disarmRetry = time.Second / 5

// disarm makes the next boot an ordinary one, as soon as the root can be written. It doesn't wait for the
// drain, which in a busy boot comes late.
func disarm(notice func(string, ...any)) {
	for {
		err := bootunit.System{Root: "/"}.Disarm()
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EROFS) {
			notice("the next boot will be recorded too: %v", err)
			return
		}
		time.Sleep(disarmRetry)
	}
}

// over tells whether the boot is over: the machine is quiet, and systemd has nothing left to do. A quiet
// machine alone may wait for something, which is what is to be seen.
func (b *bootRecording) over() (string, error) {
	if b.quiet == nil {
		return "", nil
	}
	now := system.BootTime()
	ticks, err := readTicks(now)
	if err != nil {
		return "", err
	}
	if b.quiet.sample(ticks); !b.quiet.reached(now) || !b.units.booted() {
		return "", nil
	}
	return fmt.Sprintf("no Python file was opened and the machine was under %.0f %% busy for %.0f s",
		100*quietBusy, b.quiet.window.Seconds()), nil
}

// save brings the recording to its place, waiting for the disk if need be, and answers who asked for it.
func (b *bootRecording) save() (string, error) {
	b.settle(true) // also if recording failed
	b.disarmAtEnd()
	path, err := b.output.save(b.stop, b.answerAll, b.recorder.options.Notice)
	for _, r := range b.asked {
		s := b.status()
		s.File = path
		if err != nil {
			s.Error = "nothing was saved: " + err.Error()
		}
		r.Answer(s)
	}
	return path, err
}

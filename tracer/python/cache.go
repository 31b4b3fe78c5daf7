package python

import "github.com/bootscope/bootscope/tracer/timeline"

// Cache is what became of a module's bytecode.
type Cache struct {
	State      CacheState
	Errno      int32 // why it could not be opened, if Missing
	Written    bool  // it was written anew
	WriteErrno int32 // why it could not be written, 0 if that was not tried

	source *timeline.File
}

// CacheState says how far a module's bytecode was of use.
type CacheState uint8

// The states of a module's bytecode.
const (
	Fresh   CacheState = iota // it was used; or the module has none
	Missing                   // there is none, so the source was compiled
	// Stale: it was opened, and then the source. Either the source has another time or size than it was
	// compiled from, and was compiled again; or the bytecode says that a hash of the source must be checked.
	Stale
)

// Source is the source file that was read, nil if none was.
func (c Cache) Source() *timeline.File { return c.source }

// Compiled tells whether the source was compiled, as far as opens show: a Stale one may have been checked only.
func (c Cache) Compiled() bool { return c.State != Fresh }

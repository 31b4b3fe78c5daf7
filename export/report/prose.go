package report

import "github.com/bootscope/bootscope/export/prose"

// secs are nanoseconds that JSON shows as seconds.
type secs = prose.Secs

// known is null for what was not measured.
func known[T any](v T, measured bool) *T { return prose.Known(v, measured) }

// What is written in one way everywhere has short names here.
const columns = prose.Columns

var (
	width      = prose.Width
	cut        = prose.Cut
	named      = prose.Named
	cutLeft    = prose.CutLeft
	wrap       = prose.Wrap
	seconds    = prose.Seconds
	secondsOr  = prose.SecondsOr
	size       = prose.Size
	count      = prose.Count
	validUTF8  = prose.ValidUTF8
	validAll   = prose.ValidAll
	printable  = prose.Printable
	shellQuote = prose.ShellQuote
)

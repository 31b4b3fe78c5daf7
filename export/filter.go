package export

import "github.com/bootscope/bootscope/tracer/tracefile"

type part struct{ tracefile.Source }

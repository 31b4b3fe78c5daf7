package timeline

import "strings"

// Units that have a cgroup of their own, slices aside.
var unitSuffixes = []string{".service", ".scope", ".socket", ".mount", ".swap"}

// UnitOf returns the systemd unit that a cgroup's path names, "" for none. A unit below another one is
// managed by it (a user's manager, a container's), so its name begins with that one's:
// user@1000.service/app.service. A slice counts only if there is nothing else. Names stay as systemd
// writes them, with their \x2d.
func UnitOf(cgroup string) string {
	var units []string
	slice := ""
	for _, name := range strings.Split(cgroup, "/") {
		switch {
		case hasUnitSuffix(name):
			units = append(units, name)
		case len(name) > len(".slice") && strings.HasSuffix(name, ".slice"):
			slice = name
		}
	}
	if len(units) == 0 {
		return slice
	}
	return strings.Join(units, "/")
}

func hasUnitSuffix(name string) bool {
	for _, suffix := range unitSuffixes {
		if len(name) > len(suffix) && strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

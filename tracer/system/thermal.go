//go:build linux

package system

import (
	"path/filepath"
	"strconv"

	"github.com/bootscope/bootscope/tracer/tracefile"
)

// Sensors reads the temperatures of the thermal zones, or where a machine has none, of the first sensor of
// each chip that hwmon knows. Most virtual machines have neither.
func Sensors() []tracefile.Sensor { return sensors("/sys/class") }

func sensors(class string) []tracefile.Sensor {
	if found := readSensors(class+"/thermal/thermal_zone*", "type", "temp"); len(found) > 0 {
		return found
	}
	return readSensors(class+"/hwmon/hwmon*", "name", "temp1_input")
}

func readSensors(pattern, name, temperature string) (found []tracefile.Sensor) {
	dirs, _ := filepath.Glob(pattern)
	for _, dir := range dirs {
		// A zone that is switched off, or whose chip sleeps, gives an error.
		value, err := strconv.ParseInt(readLine(dir+"/"+temperature), 10, 64)
		if err == nil {
			found = append(found, tracefile.Sensor{Name: readLine(dir + "/" + name), MilliCelsius: value})
		}
	}
	return found
}

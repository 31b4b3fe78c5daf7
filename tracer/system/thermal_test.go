//go:build linux

package system

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// writeTree makes files with their folders.
func writeTree(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSensors(t *testing.T) {
	chip := map[string]string{"hwmon/hwmon0/name": "k10temp\n", "hwmon/hwmon0/temp1_input": "41250\n"}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"none", nil, "[]"},
		{"thermal zones go first", map[string]string{
			"thermal/thermal_zone0/type": "cpu-thermal\n", "thermal/thermal_zone0/temp": "52000\n",
			"thermal/thermal_zone1/type": "gpu-thermal\n", "thermal/thermal_zone1/temp": "-1500\n",
			"hwmon/hwmon0/name": "cpu_thermal\n", "hwmon/hwmon0/temp1_input": "52000\n",
		}, "[{cpu-thermal 52000} {gpu-thermal -1500}]"},
		{"a zone that gives no value, and a chip", map[string]string{
			"thermal/thermal_zone0/type": "off\n", "thermal/thermal_zone0/temp": "",
			"hwmon/hwmon0/name": chip["hwmon/hwmon0/name"], "hwmon/hwmon0/temp1_input": chip["hwmon/hwmon0/temp1_input"],
		}, "[{k10temp 41250}]"},
		{"a chip", chip, "[{k10temp 41250}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, dir, c.files)
			if got := fmt.Sprint(sensors(dir)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

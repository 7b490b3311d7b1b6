package nextboot

import (
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ZramConfigs are the main configuration files of zram-generator at boot. The first counts.
func ZramConfigs() []string {
	return []string{"etc/systemd/zram-generator.conf", "usr/local/lib/systemd/zram-generator.conf", "usr/lib/systemd/zram-generator.conf"}
}

const generators = "systemd/system-generators/zram-generator"

// zramDevice is a section of zram-generator's configuration, with its last file.
type zramDevice struct {
	keys map[string]string
	at   Place
}

// zramSwaps reads the devices that zram-generator makes: the main file, then the keys of drop-ins,
// which override it.
func zramSwaps(fsys fs.FS, units SwapUnits) ([]Swap, error) {
	installed, err := exists(fsys, "usr/lib/"+generators)
	if err != nil || !installed {
		return nil, err
	}
	if masked, err := exists(fsys, "etc/"+generators); err != nil || masked {
		return nil, err
	}
	files, err := zramFiles(fsys)
	if err != nil {
		return nil, err
	}
	devices := map[string]*zramDevice{}
	var order []string
	for _, file := range files {
		s, err := read(fsys, file)
		if err != nil {
			return nil, err
		}
		for _, name := range parseZram(s, devices) {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
	}
	memory, err := memoryMegabytes(fsys)
	if err != nil {
		return nil, err
	}
	var swaps []Swap
	for _, name := range order {
		if devices[name].isSwap(memory) && !units.Masked["dev-"+name+".swap"] {
			swaps = append(swaps, Swap{"/dev/" + name, ByZram, devices[name].at})
		}
	}
	return swaps, nil
}

func zramFiles(fsys fs.FS) ([]string, error) {
	var files []string
	for _, file := range ZramConfigs() {
		found, err := exists(fsys, file)
		if err != nil {
			return nil, err
		}
		if found {
			files = append(files, file)
			break
		}
	}
	dropIns, err := configured(fsys, "etc/systemd/zram-generator.conf.d", "usr/local/lib/systemd/zram-generator.conf.d", "usr/lib/systemd/zram-generator.conf.d")
	return append(files, dropIns...), err
}

var zramSection = regexp.MustCompile(`^\[(zram[0-9]{1,3})\]$`)

// parseZram adds the sections of a file to the devices, and returns their names in its order.
func parseZram(s source, devices map[string]*zramDevice) []string {
	var order []string
	name := ""
	for i, line := range s.lines {
		line = strings.TrimSpace(line)
		if comment(line) {
			continue
		}
		if strings.HasPrefix(line, "[") {
			name = ""
			if m := zramSection.FindStringSubmatch(line); m != nil {
				name = m[1]
				order = append(order, name)
				if devices[name] == nil {
					devices[name] = &zramDevice{keys: map[string]string{}}
				}
				devices[name].at = s.at(i)
			}
			continue
		}
		if key, value, is := strings.Cut(line, "="); is && name != "" {
			devices[name].keys[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return order
}

// isSwap reports whether the device becomes swap on a host with this memory.
func (d zramDevice) isSwap(megabytes int64) bool {
	for _, key := range []string{"zram-size", "zram-fraction", "max-zram-size"} {
		if size, err := strconv.ParseFloat(d.keys[key], 64); err == nil && size == 0 {
			return false
		}
	}
	for _, key := range []string{"host-memory-limit", "memory-limit"} {
		if limit, err := strconv.ParseInt(d.keys[key], 10, 63); err == nil && megabytes > limit {
			return false
		}
	}
	kind := d.keys["fs-type"]
	return d.keys["mount-point"] == "" && (kind == "" || kind == "swap")
}

// memoryMegabytes is MemTotal; 0 if it is unknown.
func memoryMegabytes(fsys fs.FS) (int64, error) {
	s, err := read(fsys, "proc/meminfo")
	for _, line := range s.lines {
		if words := strings.Fields(line); len(words) >= 2 && words[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(words[1], 10, 53)
			return kib / 1024, err
		}
	}
	return 0, err
}

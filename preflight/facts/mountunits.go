package facts

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// unitDirs are the directories of unit files on disk, the first one hides the others. Files in /run
// are lost at a reboot.
func unitDirs() []string {
	return []string{"etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system"}
}

// maxUnitFile is more than the size of any mount unit.
const maxUnitFile = 64 << 10

// readMountUnits reads the .mount units of a directory with their drop-ins, by name. A masked unit
// has no mount point.
func readMountUnits(r reader, dir string) (map[string]BootMount, []string, error) {
	names, err := r.names(dir)
	if err != nil {
		return nil, nil, err
	}
	enabled := map[string]bool{}
	for _, name := range names {
		switch path.Ext(name) {
		case ".wants", ".requires", ".upholds":
			linked, err := r.names(dir + "/" + name)
			if err != nil {
				return nil, nil, err
			}
			for _, unit := range linked {
				enabled[unit] = enabled[unit] || name == "local-fs.target.requires"
			}
		}
	}
	units, odd := map[string]BootMount{}, []string(nil)
	for _, name := range names {
		if path.Ext(name) != ".mount" {
			continue
		}
		m, err := readMountUnit(r, dir, name)
		if err != nil {
			return nil, nil, err
		}
		stem := strings.TrimSuffix(name, ".mount")
		needed, started := enabled[name]
		_, automount := enabled[stem+".automount"]
		m.Later, m.Optional = !started && !automount, started && !needed || automount
		if m.Mount != "" && escapePath(m.Mount) != stem {
			odd = append(odd, fmt.Sprintf("/%s/%s: systemd does not load it, because the name does not match Where=%s", dir, name, m.Mount))
			continue
		}
		units[name] = m
	}
	return units, odd, nil
}

// readMountUnit reads a unit and its drop-ins in /etc.
func readMountUnit(r reader, dir, name string) (BootMount, error) {
	m := BootMount{Unit: true}
	files := []string{dir + "/" + name}
	dropIns, err := r.names("etc/systemd/system/" + name + ".d")
	if err != nil {
		return m, err
	}
	for _, f := range dropIns {
		if path.Ext(f) == ".conf" {
			files = append(files, "etc/systemd/system/"+name+".d/"+f)
		}
	}
	for _, file := range files {
		text, err := r.optionalRaw(file)
		if err != nil {
			return m, err
		}
		m.addUnit("/"+file, text[:min(len(text), maxUnitFile)])
	}
	return m, nil
}

// addUnit reads the section [Mount] of a unit file; the last assignment counts.
func (m *BootMount) addUnit(file, text string) {
	section := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		key, value, ok := strings.Cut(line, "=")
		if section != "[Mount]" || !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "Where":
			m.Mount, m.File, m.Line = path.Clean("/"+value), file, i+1
		case "What":
			m.Spec = unquoteTag(value)
		case "Type":
			m.Type = value
		case "Options":
			m.Options = mountOptions(value)
		}
	}
}

// escapePath is systemd's name for a path, as systemd-escape --path prints it.
func escapePath(p string) string {
	p = strings.Trim(path.Clean(p), "/")
	if p == "" {
		return "-"
	}
	var b strings.Builder
	for i := range len(p) {
		switch c := p[i]; {
		case c == '/':
			b.WriteByte('-')
		case c == '.' && i == 0, !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.", rune(c)):
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// mountsOfUnits are the mount units that count at the next boot: without masked ones.
func mountsOfUnits(units map[string]BootMount) []BootMount {
	var all []BootMount
	for _, m := range units {
		if m.Mount != "" {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b BootMount) int { return strings.Compare(a.Mount, b.Mount) })
	return all
}

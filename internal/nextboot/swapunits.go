package nextboot

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// SwapUnits are systemd's units for swap.
type SwapUnits struct {
	Wanted []Swap          // units in files that a target starts at boot
	Vendor []string        // those of them whose file is outside /etc, so that they can be masked
	Masked map[string]bool // units that do not start: "swap.target", "dev-zram0.swap"
}

// ReadSwapUnits reads .swap units and the links that start them. A unit is masked by an empty
// file, or a link to /dev/null, in /etc.
func ReadSwapUnits(fsys fs.FS) (SwapUnits, error) {
	units := SwapUnits{Masked: map[string]bool{}}
	files, wanted := map[string]string{}, map[string]bool{}
	for _, dir := range []string{etcUnits, localUnits, usrUnits} {
		found, err := names(fsys, dir)
		if err != nil {
			return units, err
		}
		for _, name := range found {
			switch {
			case strings.HasSuffix(name, ".swap"):
				if files[name] == "" {
					files[name] = dir + "/" + name
				}
			case strings.HasSuffix(name, ".wants"), strings.HasSuffix(name, ".requires"), strings.HasSuffix(name, ".upholds"): // systemd 253
				links, err := names(fsys, dir+"/"+name)
				if err != nil {
					return units, err
				}
				for _, link := range links {
					wanted[link] = true
				}
			}
		}
	}
	if err := units.mask(fsys, files); err != nil {
		return units, err
	}
	var order []string
	for name := range files {
		order = append(order, name)
	}
	slices.Sort(order)
	for _, name := range order {
		if !wanted[name] || units.Masked[name] {
			continue
		}
		s, err := read(fsys, files[name])
		if err != nil {
			return units, err
		}
		units.Wanted = append(units.Wanted, unitSwap(s, ByUnit))
		if path.Dir(files[name]) != etcUnits {
			units.Vendor = append(units.Vendor, name)
		}
	}
	return units, nil
}

// mask finds empty unit files in /etc, also of swap.target and of the units that set up zram.
func (u SwapUnits) mask(fsys fs.FS, files map[string]string) error {
	found, err := names(fsys, etcUnits)
	if err != nil {
		return err
	}
	for _, name := range found {
		setup, isSetup := strings.CutPrefix(name, "systemd-zram-setup@")
		if name != "swap.target" && !isSetup && path.Dir(files[name]) != etcUnits {
			continue
		}
		s, err := read(fsys, etcUnits+"/"+name)
		if err != nil {
			return err
		}
		if strings.TrimSpace(strings.Join(s.lines, "")) != "" {
			continue
		}
		if isSetup {
			name = "dev-" + strings.TrimSuffix(setup, ".service") + ".swap"
		}
		u.Masked[name] = true
	}
	return nil
}

// unitSwap is the swap area of a unit. Without a line What= it has the unit's name.
func unitSwap(s source, by string) Swap {
	for i, line := range s.lines {
		if what, is := setting(line, "What"); is {
			return Swap{what, by, s.at(i)}
		}
	}
	return Swap{path.Base(s.path), by, Place{File: "/" + s.path}}
}

// setting is the value of a key in a line KEY = VALUE.
func setting(line, name string) (value string, is bool) {
	key, value, found := strings.Cut(line, "=")
	return strings.TrimSpace(value), found && !comment(line) && strings.TrimSpace(key) == name
}

// generatedSwaps finds the units that generators have made in this boot, and will make again. The
// units of fstab, zram-generator and the kernel command line are left out: their sources tell more
// than their units, which may be older.
func generatedSwaps(fsys fs.FS, units SwapUnits) ([]Swap, error) {
	var swaps []Swap
	for _, dir := range []string{"run/systemd/generator.early", "run/systemd/generator", "run/systemd/generator.late"} {
		found, err := names(fsys, dir)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if !strings.HasSuffix(name, ".swap") || strings.HasPrefix(name, "dev-zram") || units.Masked[name] {
				continue
			}
			s, err := read(fsys, dir+"/"+name)
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(s.lines, func(line string) bool { _, is := setting(line, "SourcePath"); return is }) {
				swaps = append(swaps, unitSwap(s, ByGenerator))
			}
		}
	}
	return swaps, nil
}

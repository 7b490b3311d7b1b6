package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/internal/step"
)

const (
	swapUndo  = host.UndoDir + "/swap.json"
	fstab     = "/etc/fstab"
	fstabMark = "# airgap: no swap under Kubernetes: "
	zramConf  = "/etc/systemd/zram-generator.conf"
	zramText  = "# Written by airgap: no swap under Kubernetes. This file counts instead of the vendor's.\n"
)

// SwapStep turns swap off, now and at every boot, on a site that asks for it:
// active areas, entries of fstab, zram's generator, and units of systemd.
func SwapStep(m host.Machine) step.Step {
	s := swap{m}
	return step.Step{
		Name: "swap", Title: "Turn swap off",
		Done: func(ctx context.Context) (bool, error) {
			changes, err := s.plan(ctx)
			return len(changes) == 0, err
		},
		Plan: s.plan, Run: s.off, Undo: s.undo,
	}
}

type swap struct{ m host.Machine }

// swapRecord is the state before the change.
type swapRecord struct {
	Areas []swapArea `json:"areas"`
	Zram  host.Kept  `json:"zram"`
	Units bootUnits  `json:"units"` // that we disabled, or masked
}

type swapArea struct {
	Path     string `json:"path"`              // the kernel's name
	Lasting  string `json:"lasting,omitempty"` // of a disk: by its UUID, since the kernel numbers disks again at each boot
	Priority int    `json:"priority"`          // below zero the kernel has chosen it
}

// is reports whether another area is the same, also under a new kernel name.
func (a swapArea) is(other swapArea) bool {
	if a.Lasting != "" && other.Lasting != "" {
		return a.Lasting == other.Lasting
	}
	return a.Path == other.Path
}

func (a swapArea) zram() bool { return strings.HasPrefix(a.Path, "/dev/zram") }

// areas are the active ones, those of the highest priority first.
func (s swap) areas() ([]swapArea, error) {
	text, err := os.ReadFile(s.m.Path("/proc/swaps"))
	if err != nil {
		return nil, host.IgnoreMissing(err) // a kernel without swap
	}
	var areas []swapArea
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if i == 0 || len(words) == 0 {
			continue
		}
		priority, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			return nil, fmt.Errorf("read /proc/swaps: %q", line)
		}
		file := host.UnescapeMount(words[0])
		areas = append(areas, swapArea{file, s.byUUID(file), priority})
	}
	slices.SortStableFunc(areas, func(a, b swapArea) int { return b.Priority - a.Priority })
	return areas, nil
}

// byUUID is a disk's name that outlasts a boot; "" for a file, or where udev knows none.
func (s swap) byUUID(device string) string {
	if !strings.HasPrefix(device, "/dev/") {
		return ""
	}
	names, err := filepath.Glob(s.m.Path("/dev/disk/by-uuid/*"))
	if err != nil {
		return ""
	}
	for _, name := range names {
		if to, err := filepath.EvalSymlinks(name); err == nil && to == s.m.Path(device) {
			return "/dev/disk/by-uuid/" + filepath.Base(name)
		}
	}
	return ""
}

// fstab is the file in lines, and which of them are swap.
func (s swap) fstab() (lines []string, isSwap func(string) bool, err error) {
	text, err := os.ReadFile(s.m.Path(fstab))
	return strings.Split(string(text), "\n"), nextboot.IsFstabSwap, host.IgnoreMissing(err)
}

// zramWanted reports whether zram's generator would make swap at boot.
func (s swap) zramWanted() (bool, error) {
	have, err := os.ReadFile(s.m.Path(zramConf))
	if err == nil {
		return string(have) != zramText, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for _, file := range nextboot.ZramConfigs() {
		if _, err := os.Stat(s.m.Path("/" + file)); !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

// bootUnits are units of swap that start at boot: enabled units, units that
// systemd generates from partition types, and units of packages that a link in
// /usr starts, which cannot be disabled.
type bootUnits struct {
	Enabled   []string `json:"enabled,omitempty"`
	Generated []string `json:"generated,omitempty"`
	Vendor    []string `json:"vendor,omitempty"`
}

func (b bootUnits) none() bool { return len(b.Enabled)+len(b.Generated)+len(b.Vendor) == 0 }

// masked are the units to mask.
func (b bootUnits) masked() []string { return slices.Concat(b.Generated, b.Vendor) }

// with has the units of both, each once.
func (b bootUnits) with(more bootUnits) bootUnits {
	join := func(a, b []string) []string { return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b)))) }
	return bootUnits{join(b.Enabled, more.Enabled), join(b.Generated, more.Generated), join(b.Vendor, more.Vendor)}
}

// units asks systemd. While fstab and zram's generator ask for swap, units
// generated from them are among the others.
func (s swap) units(ctx context.Context) (bootUnits, error) {
	var units bootUnits
	// With --type=swap it fails where there is none.
	out, err := s.m.Host.Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"list-unit-files", "--plain", "--no-legend", "--no-pager"}})
	if err != nil {
		return units, fmt.Errorf("list systemd's units of swap: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		switch words := strings.Fields(line); {
		case len(words) < 2 || !strings.HasSuffix(words[0], ".swap"):
		case words[1] == "enabled":
			units.Enabled = append(units.Enabled, words[0])
		case words[1] == "generated":
			units.Generated = append(units.Generated, words[0])
		}
	}
	files, err := nextboot.ReadSwapUnits(s.m.Host.FS())
	for _, name := range files.Vendor {
		if !slices.Contains(units.Enabled, name) {
			units.Vendor = append(units.Vendor, name)
		}
	}
	return units, err
}

func (s swap) plan(ctx context.Context) ([]string, error) {
	areas, err := s.areas()
	if err != nil {
		return nil, err
	}
	lines, isSwap, err := s.fstab()
	if err != nil {
		return nil, err
	}
	var changes []string
	for _, line := range lines {
		if isSwap(line) {
			changes = append(changes, "comment out in "+fstab+": "+line)
		}
	}
	zram, err := s.zramWanted()
	if err != nil {
		return nil, err
	}
	if zram {
		changes = append(changes, "write "+zramConf)
	}
	for _, a := range areas {
		changes = append(changes, "swapoff "+a.Path)
	}
	units, err := s.units(ctx)
	if len(changes) == 0 {
		changes = append(changes, prefixed("mask ", units.Generated)...)
	}
	changes = append(changes, prefixed("mask ", units.Vendor)...)
	return append(changes, prefixed("disable ", units.Enabled)...), err
}

// off records the areas before it changes their configuration.
func (s swap) off(ctx context.Context) error {
	record, err := host.ReadJSON[swapRecord](s.m.Path(swapUndo))
	if err != nil {
		return err
	}
	areas, err := s.areas()
	if err != nil {
		return err
	}
	for _, a := range areas {
		if !slices.ContainsFunc(record.Areas, a.is) {
			record.Areas = append(record.Areas, a)
		}
	}
	if !s.m.Recorded(swapUndo) {
		if record.Zram, err = s.m.Keep(zramConf); err != nil {
			return err
		}
	}
	if err := host.WriteJSON(s.m.Path(swapUndo), record); err != nil {
		return err
	}
	if err := errors.Join(s.commentOut(), s.overrideZram(), s.m.Run(ctx, "systemctl", "daemon-reload")); err != nil {
		return fmt.Errorf("keep swap off at boot: %w", err)
	}
	for _, a := range areas {
		if err := s.m.Run(ctx, "swapoff", a.Path); err != nil {
			return &host.Failure{What: "turn swap off", Err: err, Next: "free some memory: the swapped pages must fit into it"}
		}
	}
	return s.quiet(ctx, record)
}

func (s swap) commentOut() error {
	return s.editFstab(func(line string, isSwap bool) string {
		if isSwap {
			return fstabMark + line
		}
		return line
	})
}

// editFstab leaves the file alone when no line changes.
func (s swap) editFstab(edit func(line string, isSwap bool) string) error {
	lines, isSwap, err := s.fstab()
	if err != nil {
		return err
	}
	changed := false
	for i, line := range lines {
		lines[i] = edit(line, isSwap(line))
		changed = changed || lines[i] != line
	}
	if !changed {
		return nil
	}
	info, err := os.Stat(s.m.Path(fstab))
	if err != nil {
		return err
	}
	return host.WriteFile(s.m.Path(fstab), []byte(strings.Join(lines, "\n")), info.Mode().Perm())
}

func (s swap) overrideZram() error {
	wanted, err := s.zramWanted()
	if err != nil || !wanted {
		return err
	}
	return host.WriteFile(s.m.Path(zramConf), []byte(zramText), 0o644)
}

// quiet keeps the other units from starting at boot. A unit with an administrator's
// file can be disabled and not masked; a generated unit can be masked and not
// disabled.
func (s swap) quiet(ctx context.Context, record swapRecord) error {
	units, err := s.units(ctx)
	if err != nil || units.none() {
		return err
	}
	record.Units = record.Units.with(units)
	if err := host.WriteJSON(s.m.Path(swapUndo), record); err != nil {
		return err
	}
	return s.systemctl(ctx, "disable", units.Enabled, "mask", units.masked())
}

// systemctl runs one verb on the enabled units, another on the generated ones.
func (s swap) systemctl(ctx context.Context, first string, enabled []string, second string, generated []string) error {
	for _, c := range []struct {
		verb  string
		units []string
	}{{first, enabled}, {second, generated}} {
		if len(c.units) == 0 {
			continue
		}
		if err := s.m.Run(ctx, "systemctl", append([]string{c.verb}, c.units...)...); err != nil {
			return fmt.Errorf("%s systemd's units of swap: %w", c.verb, err)
		}
	}
	return nil
}

func prefixed(prefix string, words []string) []string {
	var all []string
	for _, w := range words {
		all = append(all, prefix+w)
	}
	return all
}

func (s swap) undo(ctx context.Context) error {
	if !s.m.Recorded(swapUndo) {
		return nil
	}
	record, err := host.ReadJSON[swapRecord](s.m.Path(swapUndo))
	if err != nil {
		return err
	}
	if err := errors.Join(s.uncomment(), s.m.RestoreKept(zramConf, record.Zram)); err != nil {
		return err
	}
	if err := s.systemctl(ctx, "enable", record.Units.Enabled, "unmask", record.Units.masked()); err != nil {
		return err
	}
	if err := s.m.Run(ctx, "systemctl", "daemon-reload"); err != nil {
		return fmt.Errorf("put systemd's units of swap back: %w", err)
	}
	if err := s.on(ctx, record.Areas); err != nil {
		return err
	}
	return host.Remove(s.m.Path(swapUndo))
}

func (s swap) uncomment() error {
	return s.editFstab(func(line string, _ bool) string { return strings.TrimPrefix(line, fstabMark) })
}

// on activates the inactive areas, except areas that others have removed since.
// The zram unit creates its device.
func (s swap) on(ctx context.Context, areas []swapArea) error {
	active, err := s.areas()
	if err != nil {
		return err
	}
	for _, a := range areas {
		if slices.ContainsFunc(active, a.is) {
			continue
		}
		if !a.zram() {
			a.Path = cmp.Or(a.Lasting, a.Path)
		}
		argv := []string{"swapon", a.Path}
		if a.Priority >= 0 {
			argv = []string{"swapon", "--priority", strconv.Itoa(a.Priority), a.Path}
		}
		if a.zram() {
			argv = []string{"systemctl", "start", "dev-" + path.Base(a.Path) + ".swap"}
		} else if _, err := os.Stat(s.m.Path(a.Path)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := s.m.Run(ctx, argv[0], argv[1:]...); err != nil {
			return fmt.Errorf("turn swap on again: %w", err)
		}
	}
	return nil
}

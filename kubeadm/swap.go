package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	swapUndo  = undoDir + "/swap.json"
	fstab     = "/etc/fstab"
	fstabMark = "# airgap: no swap under Kubernetes: "
	zramConf  = "/etc/systemd/zram-generator.conf"
	zramText  = "# Written by airgap: no swap under Kubernetes. This file counts instead of the vendor's.\n"
)

// SwapStep turns swap off, now and at every boot, on a site that asks for it:
// active areas, entries of fstab, zram's generator, and units of systemd.
func SwapStep(m Machine) step.Step {
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

type swap struct{ m Machine }

// swapRecord is what was there.
type swapRecord struct {
	Areas  []swapArea `json:"areas"`
	Zram   kept       `json:"zram"`
	Masked []string   `json:"masked"` // units that we masked
}

type swapArea struct {
	Path     string `json:"path"`
	Priority int    `json:"priority"` // below zero the kernel has chosen it
}

func (a swapArea) zram() bool { return strings.HasPrefix(a.Path, "/dev/zram") }

// areas are the active ones, those of the highest priority first.
func (s swap) areas() ([]swapArea, error) {
	text, err := os.ReadFile(s.m.path("/proc/swaps"))
	if err != nil {
		return nil, ignoreMissing(err) // a kernel without swap
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
		areas = append(areas, swapArea{unescapeMount(words[0]), priority})
	}
	slices.SortStableFunc(areas, func(a, b swapArea) int { return b.Priority - a.Priority })
	return areas, nil
}

// fstab is the file in lines, and which of them are swap.
func (s swap) fstab() (lines []string, isSwap func(string) bool, err error) {
	text, err := os.ReadFile(s.m.path(fstab))
	isSwap = func(line string) bool {
		words := strings.Fields(line)
		return len(words) >= 3 && words[2] == "swap" && !strings.HasPrefix(words[0], "#")
	}
	return strings.Split(string(text), "\n"), isSwap, ignoreMissing(err)
}

// zramWanted reports whether zram's generator would make swap at boot.
func (s swap) zramWanted() (bool, error) {
	have, err := os.ReadFile(s.m.path(zramConf))
	if err == nil {
		return string(have) != zramText, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	_, err = os.Stat(s.m.path("/usr/lib/systemd/zram-generator.conf"))
	return err == nil, ignoreMissing(err)
}

// units are those of swap that may start at boot. Those that were generated go
// with what they were made from, but for those of a partition's type.
func (s swap) units(ctx context.Context, generated bool) ([]string, error) {
	out, err := s.m.Host.Run(ctx, host.Cmd{Name: "systemctl", Args: []string{"list-unit-files", "--type=swap", "--plain", "--no-legend", "--no-pager"}})
	if err != nil {
		return nil, fmt.Errorf("list systemd's units of swap: %w", err)
	}
	var units []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) >= 2 && words[1] != "masked" && (generated || words[1] != "generated") {
			units = append(units, words[0])
		}
	}
	return units, nil
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
	units, err := s.units(ctx, len(changes) == 0)
	for _, unit := range units {
		changes = append(changes, "mask "+unit)
	}
	return changes, err
}

// off writes down the areas before it changes what they come from.
func (s swap) off(ctx context.Context) error {
	record, err := readJSON[swapRecord](s.m.path(swapUndo))
	if err != nil {
		return err
	}
	areas, err := s.areas()
	if err != nil {
		return err
	}
	for _, a := range areas {
		if !slices.ContainsFunc(record.Areas, func(known swapArea) bool { return known.Path == a.Path }) {
			record.Areas = append(record.Areas, a)
		}
	}
	if !s.m.recorded(swapUndo) {
		if record.Zram, err = s.m.keep(zramConf); err != nil {
			return err
		}
	}
	if err := writeJSON(s.m.path(swapUndo), record); err != nil {
		return err
	}
	if err := errors.Join(s.commentOut(), s.overrideZram(), s.m.run(ctx, "systemctl", "daemon-reload")); err != nil {
		return fmt.Errorf("keep swap off at boot: %w", err)
	}
	for _, a := range areas {
		if err := s.m.run(ctx, "swapoff", a.Path); err != nil {
			return &Failure{What: "turn swap off", Err: err, Next: "free some memory: what is swapped out has to fit into it"}
		}
	}
	return s.mask(ctx, record)
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
	info, err := os.Stat(s.m.path(fstab))
	if err != nil {
		return err
	}
	return host.WriteFile(s.m.path(fstab), []byte(strings.Join(lines, "\n")), info.Mode().Perm())
}

func (s swap) overrideZram() error {
	wanted, err := s.zramWanted()
	if err != nil || !wanted {
		return err
	}
	return host.WriteFile(s.m.path(zramConf), []byte(zramText), 0o644)
}

// mask keeps units that nothing above has made from starting at boot.
func (s swap) mask(ctx context.Context, record swapRecord) error {
	units, err := s.units(ctx, true)
	if err != nil || len(units) == 0 {
		return err
	}
	for _, unit := range units {
		if !slices.Contains(record.Masked, unit) {
			record.Masked = append(record.Masked, unit)
		}
	}
	if err := writeJSON(s.m.path(swapUndo), record); err != nil {
		return err
	}
	if err := s.m.run(ctx, "systemctl", append([]string{"mask"}, units...)...); err != nil {
		return fmt.Errorf("keep swap off at boot: %w", err)
	}
	return nil
}

func (s swap) undo(ctx context.Context) error {
	if !s.m.recorded(swapUndo) {
		return nil
	}
	record, err := readJSON[swapRecord](s.m.path(swapUndo))
	if err != nil {
		return err
	}
	if err := errors.Join(s.uncomment(), s.m.putBack(zramConf, record.Zram)); err != nil {
		return err
	}
	if len(record.Masked) > 0 {
		if err := s.m.run(ctx, "systemctl", append([]string{"unmask"}, record.Masked...)...); err != nil {
			return fmt.Errorf("put systemd's units of swap back: %w", err)
		}
	}
	if err := s.m.run(ctx, "systemctl", "daemon-reload"); err != nil {
		return fmt.Errorf("put systemd's units of swap back: %w", err)
	}
	if err := s.on(ctx, record.Areas); err != nil {
		return err
	}
	return host.Remove(s.m.path(swapUndo))
}

func (s swap) uncomment() error {
	return s.editFstab(func(line string, _ bool) string { return strings.TrimPrefix(line, fstabMark) })
}

// on activates the areas that are not active, but for those that others have
// taken away since. zram's device is made by its unit.
func (s swap) on(ctx context.Context, areas []swapArea) error {
	active, err := s.areas()
	if err != nil {
		return err
	}
	for _, a := range areas {
		if slices.ContainsFunc(active, func(now swapArea) bool { return now.Path == a.Path }) {
			continue
		}
		argv := []string{"swapon", a.Path}
		if a.Priority >= 0 {
			argv = []string{"swapon", "--priority", strconv.Itoa(a.Priority), a.Path}
		}
		if a.zram() {
			argv = []string{"systemctl", "start", "dev-" + path.Base(a.Path) + ".swap"}
		} else if _, err := os.Stat(s.m.path(a.Path)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := s.m.run(ctx, argv[0], argv[1:]...); err != nil {
			return fmt.Errorf("turn swap on again: %w", err)
		}
	}
	return nil
}

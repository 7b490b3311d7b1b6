package preflight

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/internal/ui"
)

// SwapArea is an active swap device or file.
type SwapArea struct {
	Path string `yaml:"path" json:"path"`
	Size int64  `yaml:"size" json:"size"`
}

func readSwap(_ context.Context, r reader, f *Facts) error {
	text, err := r.optional("proc/swaps") // absent in a kernel without swap
	if err != nil {
		return err
	}
	f.Swap, err = parseSwaps(text)
	return err
}

// parseSwaps reads /proc/swaps: a heading line, then path, type, size in KiB, …
func parseSwaps(text string) ([]SwapArea, error) {
	var areas []SwapArea
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if i == 0 || len(words) == 0 {
			continue
		}
		if len(words) < 3 {
			return nil, fmt.Errorf("parse /proc/swaps: %q", line)
		}
		kib, err := strconv.ParseInt(words[2], 10, 53)
		if err != nil {
			return nil, fmt.Errorf("parse /proc/swaps: %w", err)
		}
		areas = append(areas, SwapArea{words[0], kib * 1024})
	}
	return areas, nil
}

var swap = Check{
	ID: "swap", Title: "Swap is off", Source: "kubeadm Swap; kubelet failSwapOn; fstab(5), systemd.swap(5), zram-generator.conf(5)",
	Breaks: "The kubelet does not start while swap is on.",
	Needs:  []string{"swap", "bootSwap"}, Run: judgeSwap,
}

func judgeSwap(f *Facts, w *Want) Result {
	var active []string
	for _, a := range f.Swap {
		active = append(active, fmt.Sprintf("%s (%s)", a.Path, ui.Size(a.Size)))
	}
	now := strings.Join(active, ", ")
	cmdline, from := f.nextCmdline()
	sure, maybe := nextboot.SwapsAt(f.Boot.Swap, f.Systemd, cmdline, from)
	if w.SwapOff {
		sure, maybe = slices.DeleteFunc(sure, stepDisables), slices.DeleteFunc(maybe, stepDisables)
	}
	switch next := swapNames(slices.Concat(sure, maybe)); {
	case len(sure) > 0:
		return Result{Fail, cmp.Or(now, "off now") + "; the next boot turns on " + next, "no active swap, now and after the next boot", swapFix(f, w, slices.Concat(sure, maybe))}
	case now != "" && !w.SwapOff:
		return Result{Fail, now, "no active swap", swapFix(f, w, maybe)}
	case len(maybe) > 0:
		return Result{Warn, cmp.Or(now, "off now") + "; the next boot may turn on " + next, "no active swap, now and after the next boot", swapFix(f, w, maybe)}
	case w.SwapOff && (now != "" || len(f.Boot.Swap) > 0):
		return pass("%s; install turns it off", cmp.Or(now, swapNames(f.Boot.Swap)))
	case len(f.Boot.Odd) > 0:
		return pass("none; left out because it has no type: %s", f.Boot.Odd[0])
	}
	return pass("none")
}

// stepDisables reports whether install keeps the swap from coming back.
func stepDisables(s nextboot.Swap) bool {
	return slices.Contains([]string{nextboot.ByFstab, nextboot.ByUnit, nextboot.ByZram, nextboot.ByGenerator}, s.By)
}

func swapNames(swaps []nextboot.Swap) string {
	var names []string
	for _, s := range swaps {
		names = append(names, fmt.Sprintf("%s (%s)", s.What, s.Place))
	}
	return strings.Join(names, ", ")
}

func swapFix(f *Facts, w *Want, next []nextboot.Swap) string {
	var fix []string
	if !w.SwapOff {
		fix = append(fix, "set hostSettings.swap: disable in airgap.yaml and create the bundle again, so that install turns swap off; or run swapoff -a and remove the swap lines from /etc/fstab")
		if slices.ContainsFunc(f.Swap, func(a SwapArea) bool { return strings.HasPrefix(a.Path, "/dev/zram") }) || usesZram(next) {
			fix = append(fix, "remove zram-generator-defaults")
		}
	}
	for _, s := range next {
		switch s.By {
		case nextboot.ByUnit, nextboot.ByGenerator:
			fix = append(fix, "run systemctl mask "+path.Base(s.File))
		case nextboot.ByAgent:
			fix = append(fix, "set ResourceDisk.EnableSwap=n in "+s.File)
		case nextboot.ByScript, nextboot.ByCloudInit:
			fix = append(fix, "remove the line from "+s.File+", which install does not change")
		case nextboot.ByParameter:
			fix = append(fix, bootFix(nextboot.ByParameter))
		}
	}
	return strings.Join(slices.Compact(fix), "; ")
}

func usesZram(swaps []nextboot.Swap) bool {
	return slices.ContainsFunc(swaps, func(s nextboot.Swap) bool { return s.By == nextboot.ByZram })
}

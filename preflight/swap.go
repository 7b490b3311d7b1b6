package preflight

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/facts"
)

var swap = Check{
	ID: "swap", Title: "Swap is off", Source: "kubeadm Swap; kubelet failSwapOn; fstab(5), systemd.swap(5), zram-generator.conf(5)",
	Breaks: "The kubelet does not start while swap is on.",
	Needs:  []string{"swap", "bootSwap", "nextKernel"}, Run: judgeSwap,
}

func judgeSwap(f *facts.Facts, w *Want) Result {
	var active []string
	for _, a := range f.Swap {
		active = append(active, fmt.Sprintf("%s (%s)", a.Path, ui.Size(a.Size)))
	}
	now := strings.Join(active, ", ")
	cmdline, from := f.NextCmdline()
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

func swapFix(f *facts.Facts, w *Want, next []nextboot.Swap) string {
	var fix []string
	if w.Watched {
		fix = append(fix, "remove the line; if swap is on now, run swapoff -a")
	}
	if !w.SwapOff && !w.Watched {
		fix = append(fix, "set hostSettings.swap: disable in airgap.yaml and create the bundle again, so that install turns swap off; or run swapoff -a and remove the swap lines from /etc/fstab")
	}
	if !w.SwapOff {
		if slices.ContainsFunc(f.Swap, func(a facts.SwapArea) bool { return strings.HasPrefix(a.Path, "/dev/zram") }) || usesZram(next) {
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

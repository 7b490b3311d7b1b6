package preflight

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	ID: "swap", Title: "Swap is off", Source: "kubeadm Swap; kubelet failSwapOn",
	Breaks: "The kubelet does not start while swap is on.",
	Needs:  []string{"swap"}, Run: judgeSwap,
}

func judgeSwap(f *Facts, w *Want) Result {
	if len(f.Swap) == 0 {
		return pass("none")
	}
	var areas []string
	for _, a := range f.Swap {
		areas = append(areas, fmt.Sprintf("%s (%s)", a.Path, ui.Size(a.Size)))
	}
	if w.SwapOff {
		return pass("%s; install turns it off", strings.Join(areas, ", "))
	}
	fix := "set hostSettings.swap: disable in airgap.yaml and create the bundle again, so that install turns swap off; or run swapoff -a and remove the swap lines from /etc/fstab"
	if slices.ContainsFunc(f.Swap, func(a SwapArea) bool { return strings.HasPrefix(a.Path, "/dev/zram") }) {
		fix += "; remove zram-generator-defaults"
	}
	return Result{Fail, strings.Join(areas, ", "), "no active swap", fix}
}

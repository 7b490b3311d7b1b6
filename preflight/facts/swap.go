package facts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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

package main

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"airgap.dev/airgap/bundle"
)

// parseSize reads the size of parts: 4095MiB, 4Gi or plain bytes.
func parseSize(text string) (int64, error) {
	short := text
	for _, unit := range [...]string{"iB", "B"} { // MiB as Mi, MB as M
		if n := len(short) - len(unit); n > 0 && short[n:] == unit {
			short = short[:n]
			if unit == "iB" {
				short += "i"
			}
			break
		}
	}
	q, err := resource.ParseQuantity(short)
	if err != nil {
		return 0, usage("--part-size %q: want a size such as 4095MiB or 700MiB", text)
	}
	if n := q.Value(); n >= bundle.MinPartSize && n%bundle.ChunkSize == 0 {
		return n, nil
	}
	return 0, usage("--part-size %q: want a multiple of 1MiB, at least 64MiB", text)
}

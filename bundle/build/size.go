package build

import (
	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// parsePartSize reads the size of parts, which are whole chunks.
func parsePartSize(text string) (int64, error) {
	n, err := ui.ParseSize(text)
	if err != nil {
		return 0, advice.Usagef("--part-size %s", err)
	}
	if n < bundle.MinPartSize || n%bundle.ChunkSize != 0 {
		return 0, advice.Usagef("--part-size %q: want a multiple of 1MiB, at least 64MiB", text)
	}
	return n, nil
}

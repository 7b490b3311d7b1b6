package medium

import (
	"context"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// xfsInfo asks xfs_info for the features of a mounted XFS. Every user may ask, in contrast to the superblock.
func xfsInfo(ctx context.Context, h host.Host, mount string) ([]Feature, error) {
	out, err := h.Run(ctx, host.Cmd{Name: "xfs_info", Args: []string{mount}, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return nil, err
	}
	words := strings.FieldsFunc(string(out), func(r rune) bool { return strings.ContainsRune(" ,\t\n", r) })
	var found []Feature
	for _, b := range append(xfsIncompat(), xfsReadOnly()...) {
		if slices.Contains(words, b.Name+"=1") {
			found = append(found, b.Feature)
		}
	}
	return found, nil
}

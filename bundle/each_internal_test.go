package bundle

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/ui"
)

// TestEachCountsResults: a cancelled or failed item does not count as done.
func TestEachCountsResults(t *testing.T) {
	items := []string{"a", "b", "c"}
	for name, tc := range map[string]struct {
		cancelled bool
		do        func(string) error
		want      string
	}{
		"cancelled": {true, func(string) error { return nil }, "resolve images: stopped after 0 of 3, "},
		"one failed": {false, func(item string) error {
			if item == "b" {
				return errors.New("no")
			}
			return nil
		}, "resolve images: stopped after 2 of 3, "},
		"all done": {false, func(string) error { return nil }, "resolve images: done, 3 in "},
	} {
		var shown bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		if tc.cancelled {
			cancel()
		}
		_, _ = each(ctx, "resolve images", items, ui.New(&shown, ui.Plain), func(_ context.Context, item string) (string, error) { return item, tc.do(item) })
		cancel()
		if !strings.Contains(shown.String(), tc.want) {
			t.Errorf("%s: no %q in\n%s", name, tc.want, &shown)
		}
	}
}

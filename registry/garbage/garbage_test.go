package garbage

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/ui"
)

// TestText has the words of the command.
func TestText(t *testing.T) {
	for _, r := range []Result{{Blobs: 1, Uploads: 2, Bytes: 3_000_000}, {Blobs: 2, Uploads: 1, Bytes: 1, Removed: true}} {
		want := "would remove 1 blob that no image needs, and 2 unfinished uploads: " + ui.Size(3_000_000) + "\n"
		if r.Removed {
			want = "removed 2 blobs that no image needs, and 1 unfinished upload: " + ui.Size(1) + "\n"
		}
		var text strings.Builder
		if err := r.Write(&text); err != nil || text.String() != want {
			t.Errorf("%q, want %q, %v", text.String(), want, err)
		}
	}
}

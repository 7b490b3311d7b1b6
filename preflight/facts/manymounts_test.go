package facts

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/replay"
)

// counting counts the commands that look at a mount.
type counting struct {
	host.Host
	lock *sync.Mutex
	ran  map[string]int
}

func (c counting) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	c.lock.Lock()
	c.ran[cmd.Name]++
	c.lock.Unlock()
	return c.Host.Run(ctx, cmd)
}

func (c counting) FS() fs.FS { return c.Host.FS() }

// TestManyMounts: 1,000 volumes, exports and bind mounts of a server cost no more commands than none, and
// change no fact.
func TestManyMounts(t *testing.T) {
	gathered := func(more string) (*Facts, map[string]int) {
		recording := string(readRecording(t, "rocky9"))
		h, err := replay.Host([]byte(recording + "\n-- fs/proc/self/mountinfo --\n" + mountsOf(t, recording) + more))
		require.NoError(t, err)
		c := counting{h, &sync.Mutex{}, map[string]int{}}
		f, err := Gather(t.Context(), c)
		require.NoError(t, err)
		return f, c.ran
	}
	var many strings.Builder
	for i := range 1000 {
		kind, source := []string{"xfs", "nfs4", "ext4", "overlay"}[i%4], "/dev/mapper/data"
		if kind == "nfs4" {
			source = "nas:/export"
		}
		fmt.Fprintf(&many, "%d 21 7:%d / /srv/v%d rw,relatime - %s %s%d rw\n", 1000+i, i, i, kind, source, i)
	}
	few, before := gathered("")
	all, after := gathered(many.String())
	require.Equal(t, before, after)
	sameFacts(t, all, few)
}

// mountsOf returns the mounts of a recording.
func mountsOf(t *testing.T, recording string) string {
	t.Helper()
	_, rest, found := strings.Cut(recording, "-- fs/proc/self/mountinfo --\n")
	require.True(t, found)
	mounts, _, _ := strings.Cut(rest, "\n-- ")
	return mounts + "\n"
}

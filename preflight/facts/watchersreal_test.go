package facts

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/agents"
)

// withoutUnits is this machine without an answer of systemd, which a container does not have. There, root may
// also not look into process 1, which may belong to another user.
type withoutUnits struct{ host.Local }

func (h withoutUnits) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Name == "systemctl" {
		return nil, nil
	}
	for i := range cmd.Args {
		cmd.Args[i] = strings.ReplaceAll(cmd.Args[i], "/proc/1/environ", "/proc/self/environ")
	}
	return h.Local.Run(ctx, cmd)
}

// TestWatchersOfThisMachine: the search finds a real fanotify group, and whether its program can decide about
// opened files. The groups have no marks, and so no effect.
func TestWatchersOfThisMachine(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can create such a group")
	}
	comm, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	name := strings.TrimSpace(string(comm))
	own := func() (found []agents.Watcher) {
		h := withoutUnits{}
		var f Facts
		require.NoError(t, readAgents(t.Context(), reader{host: h, fs: h.FS()}, &f))
		return slices.DeleteFunc(f.Agents.Watchers, func(w agents.Watcher) bool { return w.Program != name })
	}
	require.Empty(t, own())
	for class, blocks := range map[uint]bool{unix.FAN_CLASS_CONTENT: true, unix.FAN_CLASS_PRE_CONTENT: true, unix.FAN_CLASS_NOTIF: false} {
		group, err := unix.FanotifyInit(class|unix.FAN_CLOEXEC, unix.O_RDONLY)
		require.NoError(t, err)
		found := own()
		require.NoError(t, unix.Close(group))
		require.Equal(t, []agents.Watcher{{Program: name, Blocks: blocks}}, found)
	}
}

package facts

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/replay"
)

// TestGatherNextBoot: the facts are those of Gather. No command reads all packages.
func TestGatherNextBoot(t *testing.T) {
	h := &commands{Host: loadHost(t, "rocky9-swap-returns")}
	all, err := Gather(t.Context(), h)
	require.NoError(t, err)
	h.ran = nil
	f, err := GatherNextBoot(t.Context(), h)
	require.NoError(t, err)
	require.Empty(t, f.Unknown)
	require.NotEmpty(t, f.Boot.Swap)
	require.Equal(t, all.Boot, f.Boot)
	require.Equal(t, all.BootMounts, f.BootMounts)
	require.Equal(t, all.Sysctls, f.Sysctls)
	require.Equal(t, all.Filesystems, f.Filesystems)
	require.Equal(t, all.Cgroup, f.Cgroup)
	require.Equal(t, all.Modules, f.Modules)
	require.Len(t, nextBootProbes(), 29, "each name is the name of a probe")
	require.Len(t, f.Surveyed, 29)
	for _, command := range h.ran {
		if strings.HasPrefix(command, "rpm ") {
			require.True(t, strings.HasSuffix(command, " "+PolicyPackage), command)
		}
	}
	now := WithoutNextBoot(f)
	require.Empty(t, now.Boot.Swap)
	require.True(t, LoadedAtBoot(now, "overlay"))
	require.Empty(t, now.BootMounts.Mounts)
	require.Len(t, now.Sysctls, len(f.Sysctls))
	require.NotEmpty(t, f.Boot.Swap, "the facts stay")
}

// commands records the commands.
type commands struct {
	host.Host
	lock sync.Mutex
	ran  []string
}

func (h *commands) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	h.lock.Lock()
	h.ran = append(h.ran, cmd.Name+" "+strings.Join(cmd.Args, " "))
	h.lock.Unlock()
	return h.Host.Run(ctx, cmd)
}

// TestHostMounts: a service with an empty file system over /home has the mounts of process 1.
func TestHostMounts(t *testing.T) {
	const own, first = "21 1 253:0 / / rw - xfs /dev/mapper/rl-root rw\n30 21 0:40 / /var/lib/kubelet ro - tmpfs tmpfs ro\n", "21 1 253:0 / / rw - xfs /dev/mapper/rl-root rw\n"
	for name, test := range map[string]struct{ sections, mount string }{
		"process 1 is visible": {"-- fs/proc/self/mountinfo --\n" + own + "-- fs/proc/1/mountinfo --\n" + first, "/"},
		"it is hidden":         {"-- fs/proc/self/mountinfo --\n" + own, "/var/lib/kubelet"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := replay.Host(append(readRecording(t, "rocky9"), test.sections...))
			require.NoError(t, err)
			f, err := GatherNextBoot(t.Context(), h)
			require.NoError(t, err)
			require.Equal(t, test.mount, f.Filesystem(KubeletPath).Mount)
		})
	}
}

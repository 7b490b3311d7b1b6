package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
)

// ExitedContainers returns the last log lines of control-plane containers that were created after since and
// have exited, each after the container's name; "" if there is none. kubeadm reports only its
// timeout and restores the old static pods, and the kubelet soon deletes the logs of the new ones.
func ExitedContainers(ctx context.Context, m host.Machine, since time.Time) string {
	endpoint := engineOn(m).endpoint()
	out, err := m.Host.Run(ctx, host.Cmd{Name: "crictl", Args: []string{"--runtime-endpoint", endpoint, "ps", "--all", "--state", "Exited", "--label", "io.kubernetes.pod.namespace=kube-system", "--output", "json"}})
	if err != nil {
		return "" // the caller reports the failure itself
	}
	var text []string
	for _, c := range newestOfEach(out, since) {
		const both = `exec crictl --runtime-endpoint "$1" logs --tail 3 "$2" 2>&1`
		if said, err := m.Host.Run(ctx, host.Cmd{Name: "sh", Args: []string{"-c", both, "sh", endpoint, c.ID}}); err == nil {
			text = append(text, c.Metadata.Name+" has exited; its last log lines:\n"+strings.TrimSpace(string(said)))
		}
	}
	return strings.Join(text, "\n")
}

// container is an entry of crictl's list (runtime.v1.Container as JSON).
type container struct {
	ID        string                `json:"id"`
	Metadata  struct{ Name string } `json:"metadata"`
	CreatedAt string                `json:"createdAt"` // nanoseconds since 1970
}

// newestOfEach returns the containers of crictl's list that were created after since, the newest of
// each name.
func newestOfEach(list []byte, since time.Time) []container {
	var all struct{ Containers []container }
	if err := json.Unmarshal(list, &all); err != nil {
		return nil
	}
	made := func(c container) int64 {
		at, err := strconv.ParseInt(c.CreatedAt, 10, 64)
		if err != nil {
			return 0
		}
		return at
	}
	kept := slices.DeleteFunc(all.Containers, func(c container) bool {
		return made(c) < since.UnixNano() || !slices.Contains([]string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"}, c.Metadata.Name)
	})
	slices.SortFunc(kept, func(a, b container) int {
		if byName := strings.Compare(a.Metadata.Name, b.Metadata.Name); byName != 0 {
			return byName
		}
		return cmp.Compare(made(b), made(a))
	})
	return slices.CompactFunc(kept, func(a, b container) bool { return a.Metadata.Name == b.Metadata.Name })
}

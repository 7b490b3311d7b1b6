package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/runtime"
)

// LockFile is held by kubeadm and by its children, which may outlive airgap.
const LockFile = "/run/airgap/kubeadm.lock"

// Noting is a shell that runs a command and, when that comes back fine, writes
// the state, also if airgap was killed meanwhile: then nothing need be taken back.
// kubeadm's files are made durable first: after a power cut, a node that is said to
// be one must not have a kubelet without a configuration.
func Noting(m host.Machine, s State) []string {
	const script = `draft=$0 state=$1 as=$2 etc=$3 lib=$4; shift 4
"$@" || exit
for dir in "$etc/kubernetes" "$lib/kubelet" "$lib/etcd"; do [ ! -e "$dir" ] || sync -f "$dir" || exit; done
echo "$as" >"$draft" && sync "$draft" && mv "$draft" "$state"`
	file := m.Path(StateFile)
	return []string{"sh", "-c", script, host.Draft(file), file, string(s), m.Path("/etc"), m.Path("/var/lib")}
}

// Kubeadm runs one command of kubeadm; everything it writes goes to a log.
//
// When airgap is killed, or its SSH session ends, kubeadm goes on without it.
// The lock, which kubeadm holds to its end, makes the next run wait for that.
func Kubeadm(ctx context.Context, m host.Machine, by []string, stdin io.Reader, verb string, args ...string) error {
	for _, dir := range []string{host.LogDir, path.Dir(LockFile)} {
		if err := os.MkdirAll(m.Path(dir), 0o755); err != nil {
			return err
		}
	}
	began := time.Now()
	locked := slices.Concat([]string{"--verbose", "--wait", "300", m.Path(LockFile)}, by, []string{"kubeadm", verb})
	_, err := m.Host.Run(ctx, host.Cmd{
		Name: "flock", Args: append(locked, args...),
		Stdin: stdin, Log: m.Path(host.LogDir + "/kubeadm-" + verb + ".log"),
	})
	if err == nil {
		return nil
	}
	return runtime.Explain(ctx, m, host.Failure{What: "kubeadm " + verb, Err: preflightErrors(err), Unit: "kubelet", Ended: runtime.ExitedContainers(ctx, m, began)})
}

// Await returns when no kubeadm of ours runs. It calls waiting once if one
// runs.
func Await(ctx context.Context, m host.Machine, waiting func()) error {
	if err := host.AwaitLock(ctx, m.Path(LockFile), waiting); err != nil {
		return fmt.Errorf("wait for kubeadm from an interrupted run: %w", err)
	}
	return nil
}

// preflightErrors replaces the tail of kubeadm's output by its own list of
// errors where it has one: the tail shows how to ignore them instead.
func preflightErrors(err error) error {
	var failed *host.CommandError
	if !errors.As(err, &failed) {
		return err
	}
	found := regexp.MustCompile(`(?m)^\s*\[ERROR [^\]]+\]:.*$`).FindAllString(failed.Tail, -1)
	if len(found) == 0 {
		return err
	}
	for i := range found {
		found[i] = strings.TrimSpace(found[i])
	}
	return fmt.Errorf("%s (whole output: %s)", strings.Join(found, "\n"), failed.Log)
}

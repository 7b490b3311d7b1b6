package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// StateFile has the progress of kubeadm on this host. It distinguishes an interrupted
// installation, which may be reset, from a node with workloads.
const StateFile = host.StateDir + "/kubeadm.state"

// State is how far kubeadm got.
type State string

// The states. A host where airgap never started kubeadm is untouched.
const (
	Untouched State = ""
	Began     State = "began" // kubeadm was started and did not come back fine
	Ended     State = "ended" // kubeadm came back fine: never reset on our own
)

// StateOf reads the state of this host.
func StateOf(m host.Machine) (State, error) {
	text, err := os.ReadFile(m.Path(StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Untouched, nil
	}
	if err != nil {
		return Untouched, err
	}
	s := State(strings.TrimSpace(string(text)))
	if s != Began && s != Ended {
		return Untouched, fmt.Errorf("read %s: %q is not a state", StateFile, s)
	}
	return s, nil
}

// SetState writes the state of this host.
func SetState(m host.Machine, s State) error {
	return host.WriteFile(m.Path(StateFile), []byte(s+"\n"), 0o644)
}

// RefuseForeignCluster stops before kubeadm starts on a host of a foreign
// cluster: after that the state would describe that cluster as an installation of airgap.
func RefuseForeignCluster(m host.Machine) error {
	for _, pattern := range []string{"/etc/kubernetes/*.conf", "/etc/kubernetes/manifests/*.yaml", "/etc/kubernetes/pki/*", "/var/lib/etcd/member"} {
		found, err := filepath.Glob(m.Path(pattern))
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return &host.Failure{
				What: "start kubeadm",
				Err:  fmt.Errorf("this host already belongs to a cluster that airgap did not install: %s exists", found[0]),
				Next: "use another host; or, if that cluster is no longer needed, run kubeadm reset on this one",
			}
		}
	}
	return nil
}

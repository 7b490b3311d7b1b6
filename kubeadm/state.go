package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// stateFile says how far kubeadm got on this host. It is what tells a half
// that was cut, and may be reset, from a node that has work to lose.
const stateFile = host.StateDir + "/kubeadm.state"

type state string

const (
	untouched state = ""
	began     state = "began" // kubeadm was started and did not come back fine
	ended     state = "ended" // kubeadm came back fine: never reset on our own
)

func (m Machine) state() (state, error) {
	text, err := os.ReadFile(m.Path(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return untouched, nil
	}
	if err != nil {
		return untouched, err
	}
	s := state(strings.TrimSpace(string(text)))
	if s != began && s != ended {
		return untouched, fmt.Errorf("read %s: %q is not a state", stateFile, s)
	}
	return s, nil
}

func (m Machine) setState(s state) error {
	return host.WriteFile(m.Path(stateFile), []byte(s+"\n"), 0o644)
}

// refuseForeignCluster stops before kubeadm is started on a host that somebody
// else set up: from then on the state would call their cluster our own half.
func (m Machine) refuseForeignCluster() error {
	for _, pattern := range []string{"/etc/kubernetes/*.conf", "/etc/kubernetes/manifests/*.yaml", "/etc/kubernetes/pki/*", "/var/lib/etcd/member"} {
		found, err := filepath.Glob(m.Path(pattern))
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return &host.Failure{
				What: "start kubeadm",
				Err:  fmt.Errorf("this host already belongs to a cluster that airgap did not set up: %s is there", found[0]),
				Next: "use another host; or, if nobody needs that cluster any more, kubeadm reset on this one",
			}
		}
	}
	return nil
}

package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// stateFile says how far kubeadm got on this host. It is what tells a half
// that was cut, and may be reset, from a node that has work to lose.
const stateFile = stateDir + "/kubeadm.state"

type state string

const (
	untouched state = ""
	began     state = "began" // kubeadm was started and did not come back fine
	ended     state = "ended" // kubeadm came back fine: never reset on our own
)

func (m Machine) state() (state, error) {
	text, err := os.ReadFile(m.path(stateFile))
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
	return host.WriteFile(m.path(stateFile), []byte(s+"\n"), 0o644)
}

package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight/netprobe"
)

// NetworkChoice has the settings that airgap install chose on the site from the measured network: the encapsulation
// of pods' packets for an airgap.yaml that says auto, and the times of etcd for long round trips. The signed bundle
// cannot contain them. airgap chooses before the cluster exists. Hosts that join later get the choice from the
// registry's host.
type NetworkChoice struct {
	netprobe.Choice                   // zero: as in airgap.yaml
	Etcd            kubeadm.EtcdTimes `json:"etcd,omitzero"` // zero: as in airgap.yaml, or etcd's defaults
}

// ChoiceName is the name of the choice's file in NetworkDir and in JoinDir.
const ChoiceName = "network.json"

// File returns the choice as a file of JoinDir, or no file if c is nil.
func (c *NetworkChoice) File() (map[string][]byte, error) {
	if c == nil {
		return nil, nil
	}
	data, err := json.MarshalIndent(c, "", "  ")
	return map[string][]byte{ChoiceName: data}, err
}

// recordedChoice returns the choice in NetworkDir of this host, or nil if there is none.
func recordedChoice() (*NetworkChoice, error) {
	path := filepath.Join(NetworkDir, ChoiceName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the network choice: %w", err)
	}
	c, err := ParseChoice(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return c, nil
}

// ParseChoice reads the JSON of a choice. It returns an error for values that no network or etcd can have.
func ParseChoice(data []byte) (*NetworkChoice, error) {
	var c NetworkChoice
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read the network choice: %w", err)
	}
	if err := c.Etcd.Validate(field.NewPath("etcd")).ToAggregate(); err != nil {
		return nil, fmt.Errorf("read the network choice: %w", err)
	}
	tunnel := c.Encapsulation == netprobe.VXLAN && c.Port > 0 && c.Port <= 65535
	routed := c.Encapsulation == netprobe.Native && c.Port == 0
	unchanged := !c.encapsulates() && c.Port == 0 && c.Etcd != kubeadm.EtcdTimes{}
	if !tunnel && !routed && !unchanged || c.MTU < 0 || c.MTU > 65535 {
		return nil, fmt.Errorf("read the network choice: airgap does not know %q on port %d with an MTU of %d bytes", c.Encapsulation, c.Port, c.MTU)
	}
	return &c, nil
}

// encapsulates reports whether the choice has an encapsulation.
func (c *NetworkChoice) encapsulates() bool { return c != nil && c.Encapsulation != "" }

// Encapsulated reports whether airgap has chosen the encapsulation of pods' packets.
func (s *Site) Encapsulated() bool { return s.Choice.encapsulates() }

// Choosing returns the site with the choice in its configuration. A setting in airgap.yaml has priority. A part that
// c does not have stays as it was chosen earlier.
func (s *Site) Choosing(c *NetworkChoice) *Site {
	pods := c.encapsulates() && s.Config.Network.Encapsulation == cni.Auto
	etcd := c != nil && c.Etcd != kubeadm.EtcdTimes{} && (s.timesChosen() || !s.Config.Kubernetes.SetsEtcdTimes())
	if !pods && !etcd {
		return s
	}
	all := *c
	if s.Choice != nil && !all.encapsulates() {
		all.Choice = s.Choice.Choice
	}
	if s.Choice != nil && all.Etcd == (kubeadm.EtcdTimes{}) {
		all.Etcd = s.Choice.Etcd
	}
	s = s.configured()
	s.Choice = &all
	if etcd {
		s.Config.Kubernetes.Etcd = c.Etcd
	}
	if pods {
		encapsulate(&s.Config.Network, c.Choice)
	}
	return s
}

// timesChosen reports whether etcd's times in the configuration are from an earlier choice.
func (s *Site) timesChosen() bool {
	return s.Choice != nil && s.Choice.Etcd != kubeadm.EtcdTimes{} && s.Choice.Etcd == s.Config.Kubernetes.Etcd
}

func encapsulate(n *cni.Config, c netprobe.Choice) {
	if c.Encapsulation == netprobe.Native {
		n.Encapsulation = cni.Native
	} else {
		n.Port = c.Port
	}
	if n.MTU == 0 {
		n.MTU = c.MTU
	}
}

package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/preflight/netprobe"
)

// NetworkChoice is what was chosen on the site, where airgap.yaml leaves it open how
// pods' packets travel: the bundle is signed and cannot say it. It is made once, before
// the cluster is; hosts that join later are told by the registry's host.
type NetworkChoice struct {
	netprobe.Choice
}

// ChoiceName is its file in NetworkDir, and in JoinDir.
const ChoiceName = "network.json"

// File returns the choice as a file of JoinDir, and no file if c is nil.
func (c *NetworkChoice) File() (map[string][]byte, error) {
	if c == nil {
		return nil, nil
	}
	data, err := json.MarshalIndent(c, "", "  ")
	return map[string][]byte{ChoiceName: data}, err
}

// recordedChoice is this host's; nil when nothing was chosen.
func recordedChoice() (*NetworkChoice, error) {
	path := filepath.Join(NetworkDir, ChoiceName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how pods' packets travel: %w", err)
	}
	c, err := ParseChoice(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return c, nil
}

// ParseChoice refuses what no network can be.
func ParseChoice(data []byte) (*NetworkChoice, error) {
	var c NetworkChoice
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read how pods' packets travel: %w", err)
	}
	tunnel := c.Encapsulation == netprobe.VXLAN && c.Port > 0 && c.Port <= 65535
	if !tunnel && (c.Encapsulation != netprobe.Native || c.Port != 0) || c.MTU < 0 || c.MTU > 65535 {
		return nil, fmt.Errorf("read how pods' packets travel: %q on port %d with %d bytes is none of the ways that airgap knows", c.Encapsulation, c.Port, c.MTU)
	}
	return &c, nil
}

// Choosing returns the site whose configuration says what was chosen. What airgap.yaml
// itself says stays: nothing is chosen where it does not say auto.
func (s *Site) Choosing(c *NetworkChoice) *Site {
	if c == nil || s.Config.Network.Encapsulation != cni.Auto {
		return s
	}
	s = s.configured()
	s.Choice = c
	if c.Encapsulation == netprobe.Native {
		s.Config.Network.Encapsulation = cni.Native
	} else {
		s.Config.Network.Port = c.Port
	}
	if s.Config.Network.MTU == 0 {
		s.Config.Network.MTU = c.MTU
	}
	return s
}

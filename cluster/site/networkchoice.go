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

// NetworkChoice is the encapsulation of pods' packets that airgap install chose on the site, for an airgap.yaml
// that says auto. The signed bundle cannot contain it. airgap chooses once, before the cluster exists. Hosts
// that join later get the choice from the registry's host.
type NetworkChoice struct {
	netprobe.Choice
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
		return nil, fmt.Errorf("read the encapsulation of pods' packets: %w", err)
	}
	c, err := ParseChoice(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return c, nil
}

// ParseChoice reads the JSON of a choice. It returns an error for values that no network can have.
func ParseChoice(data []byte) (*NetworkChoice, error) {
	var c NetworkChoice
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read the encapsulation of pods' packets: %w", err)
	}
	tunnel := c.Encapsulation == netprobe.VXLAN && c.Port > 0 && c.Port <= 65535
	if !tunnel && (c.Encapsulation != netprobe.Native || c.Port != 0) || c.MTU < 0 || c.MTU > 65535 {
		return nil, fmt.Errorf("read the encapsulation of pods' packets: airgap does not know %q on port %d with an MTU of %d bytes", c.Encapsulation, c.Port, c.MTU)
	}
	return &c, nil
}

// Choosing returns the site with the choice in its configuration. It changes nothing if the encapsulation
// in airgap.yaml is not auto.
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

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/preflight/netprobe"
)

// networkChoice is what was chosen on the site, where airgap.yaml leaves it open how
// pods' packets travel: the bundle is signed and cannot say it. It is made once, before
// the cluster is; hosts that join later are told by the registry's host.
type networkChoice struct {
	netprobe.Choice
}

// choiceName is its file in networkDir, and in joinDir.
const choiceName = "network.json"

func (c *networkChoice) file() (map[string][]byte, error) {
	if c == nil {
		return nil, nil
	}
	data, err := json.MarshalIndent(c, "", "  ")
	return map[string][]byte{choiceName: data}, err
}

// recordedChoice is this host's; nil when nothing was chosen.
func recordedChoice() (*networkChoice, error) {
	path := filepath.Join(networkDir, choiceName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how pods' packets travel: %w", err)
	}
	c, err := parseChoice(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return c, nil
}

// parseChoice refuses what no network can be.
func parseChoice(data []byte) (*networkChoice, error) {
	var c networkChoice
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read how pods' packets travel: %w", err)
	}
	tunnel := c.Encapsulation == netprobe.VXLAN && c.Port > 0 && c.Port <= 65535
	if !tunnel && (c.Encapsulation != netprobe.Native || c.Port != 0) || c.MTU < 0 || c.MTU > 65535 {
		return nil, fmt.Errorf("read how pods' packets travel: %q on port %d with %d bytes is none of the ways that airgap knows", c.Encapsulation, c.Port, c.MTU)
	}
	return &c, nil
}

// take has the site's configuration say what was chosen. What airgap.yaml itself says
// stays: nothing is chosen where it does not say auto.
func (s *site) take(c *networkChoice) {
	if c == nil || s.config.Network.Encapsulation != cni.Auto {
		return
	}
	s.choice = c
	if c.Encapsulation == netprobe.Native {
		s.config.Network.Encapsulation = cni.Native
	} else {
		s.config.Network.Port = c.Port
	}
	if s.config.Network.MTU == 0 {
		s.config.Network.MTU = c.MTU
	}
}

// choiceSteps keep the choice on this host.
func (s *site) choiceSteps() []step.Step {
	files, err := s.choice.file()
	if err != nil || files == nil {
		return nil
	}
	return []step.Step{filesStep("network-choice", "Keep how pods' packets travel", networkDir, files)}
}

package hostcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/netprobe"
)

// measuredChoice is the choice of airgap netprobe listen for a future cluster. airgap install uses it on the same
// host. The next measurement replaces it.
type measuredChoice struct {
	Cluster string `json:"cluster"` // name in airgap.yaml: the host may be used for another cluster
	site.NetworkChoice
}

// SaveMeasured writes the choice of the measurement to file. It removes the file if airgap.yaml, an installation or the
// defaults already have all settings.
func SaveMeasured(s *site.Site, file string, m *netprobe.Matrix, p ui.Progress) error {
	before := s.Choice
	s, err := Settle(s, m, p)
	if err != nil {
		return err
	}
	switch first := s.Config.Master(); {
	case s.Choice == before:
		return host.Remove(file)
	case s.Node.Name != first.Name:
		p.Say("airgap install runs on %s: run airgap netprobe listen there, so that airgap install uses the result", first.Name)
		return nil
	}
	data, err := json.MarshalIndent(measuredChoice{s.Config.Name, *s.Choice}, "", "  ")
	if err == nil {
		err = host.WriteFile(file, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("save the network choice: %w", err)
	}
	p.Say("airgap install uses this result on this host")
	return nil
}

// AsMeasured is ApplyMeasured, unless airgap install measures itself because it logs in to the other hosts. noSSH is
// install's --no-ssh.
func AsMeasured(ctx context.Context, s *site.Site, noSSH bool, file string) (*site.Site, error) {
	if !noSSH && access.Used(ctx, s.Config) {
		return s, nil
	}
	return ApplyMeasured(s, file)
}

// ApplyMeasured returns the site with the choice that was measured on the first host for this cluster. It changes
// nothing if the installation of the host has begun.
func ApplyMeasured(s *site.Site, file string) (*site.Site, error) {
	began, _, err := begunHere()
	if err != nil || began || s.Node.Name != s.Config.Master().Name {
		return s, err
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the measured network choice: %w", err)
	}
	var of measuredChoice
	c, err := site.ParseChoice(data)
	if err := errors.Join(err, json.Unmarshal(data, &of)); err != nil {
		return nil, advice.Add(fmt.Errorf("read %s: %w", file, err), "run airgap netprobe listen again, or delete the file")
	}
	if of.Cluster != s.Config.Name {
		return s, nil
	}
	if s.Encapsulated() { // by an earlier run of the installation
		c.Choice = netprobe.Choice{}
	}
	return s.Choosing(c), nil
}

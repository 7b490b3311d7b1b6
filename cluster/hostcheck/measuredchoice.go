package hostcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/netprobe"
)

// measuredChoice is what airgap netprobe listen chose for a cluster that is not there
// yet, until airgap install on the same host takes it. The next measurement replaces it.
type measuredChoice struct {
	Cluster string `json:"cluster"` // of airgap.yaml: the host may become another one's
	site.NetworkChoice
}

// KeepMeasured writes down in file what the measurement chose. Where airgap.yaml says it
// all, or an installation has settled it, there is nothing to keep.
func KeepMeasured(s *site.Site, file string, m *netprobe.Matrix, p ui.Progress) error {
	settled := s.Choice != nil
	s, err := Settle(s, m, p)
	if err != nil {
		return err
	}
	switch first := s.Config.Master(); {
	case settled || s.Choice == nil:
		return host.Remove(file)
	case s.Node.Name != first.Name:
		p.Say("airgap install runs on %s: measure from there, so that it takes this", first.Name)
		return nil
	}
	data, err := json.MarshalIndent(measuredChoice{s.Config.Name, *s.Choice}, "", "  ")
	if err == nil {
		err = host.WriteFile(file, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep how pods' packets travel: %w", err)
	}
	p.Say("airgap install takes this, on this host")
	return nil
}

// TakeMeasured returns the site by what was measured on the first host for this cluster. A
// host on which the installation has begun keeps what it has.
func TakeMeasured(s *site.Site, file string) (*site.Site, error) {
	began, _, err := begunHere()
	if err != nil || began || s.Choice != nil || s.Node.Name != s.Config.Master().Name {
		return s, err
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how pods' packets travel: %w", err)
	}
	var of measuredChoice
	c, err := site.ParseChoice(data)
	if err := errors.Join(err, json.Unmarshal(data, &of)); err != nil {
		return nil, advice.Add(fmt.Errorf("read %s: %w", file, err), "airgap netprobe listen writes it again; or delete it")
	}
	if of.Cluster != s.Config.Name {
		return s, nil
	}
	return s.Choosing(c), nil
}

package install

import (
	"fmt"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

// isFirst returns an error if another host is the first control-plane host. After the removal of a lost first host, the
// next one is the first, and continues the installation.
func isFirst(s *site.Site) error {
	first := s.Config.Master().Name
	if s.Node.Name == first {
		return nil
	}
	err := fmt.Errorf("install on %s: by airgap.yaml the first control-plane host is %s", s.Node.Name, first)
	if joined, unknown := s.Machine.Joined(); !joined || unknown != nil || !s.ServesRegistry() {
		return advice.Add(err, "run airgap install on %s, and airgap join here", first)
	}
	return advice.Add(err, "run airgap install on %[1]s; if %[1]s is lost, run airgap remove %[1]s --force here, and the same command again: it continues with the other hosts", first)
}

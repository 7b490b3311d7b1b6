package site

import "airgap.dev/airgap/internal/config"

// Reaching returns the site with a configuration whose SSH settings the site has changed.
func (s *Site) Reaching(c *config.Cluster) *Site {
	changed := *s
	changed.Config = c
	return &changed
}

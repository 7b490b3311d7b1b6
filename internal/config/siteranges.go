package config

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSiteRanges compares the site's networks with those of pods and Services: nodes could not
// reach a system of the site with such an address.
func (c *Cluster) validateSiteRanges(at *field.Path) field.ErrorList {
	subnets := []struct{ name, value string }{{"podSubnet", c.Kubernetes.PodSubnet}, {"serviceSubnet", c.Kubernetes.ServiceSubnet}}
	var all field.ErrorList
	for i, text := range c.Network.SiteRanges {
		site, err := netip.ParsePrefix(text)
		if err != nil {
			continue // the section reports it
		}
		for _, s := range subnets {
			if subnet, err := netip.ParsePrefix(s.value); err == nil && subnet.Overlaps(site) {
				all = append(all, field.Invalid(at.Index(i), text, fmt.Sprintf("overlaps kubernetes.%s %s: set another %[1]s, or list only the parts that systems of the site use", s.name, s.value)))
			}
		}
	}
	return all
}

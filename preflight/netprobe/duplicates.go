package netprobe

import (
	"slices"
	"strings"
)

// duplicates finds identifiers that hosts share.
func duplicates(by []*Report) []Duplicate {
	var found []Duplicate
	add := func(what, value string, i int) {
		if value == "" {
			return
		}
		for j := range found {
			if found[j].What == what && found[j].Value == value {
				found[j].Hosts = append(found[j].Hosts, i)
				return
			}
		}
		found = append(found, Duplicate{what, value, []int{i}})
	}
	for i, r := range by {
		if r == nil {
			continue
		}
		add("machine-id", r.Identity.MachineID, i)
		add("host name", strings.ToLower(r.Identity.Hostname), i)
		add("product_uuid", r.Identity.ProductUUID, i)
		for _, mac := range r.Identity.MACs {
			add("MAC address", mac, i)
		}
	}
	return slices.DeleteFunc(found, func(d Duplicate) bool { return len(d.Hosts) < 2 })
}

package verify

import "airgap.dev/airgap/verify/nodereport"

// nextBoot finds changes on a host that break its node only at the next boot.
func nextBoot() rule {
	boot := part{name: "nextBoot", in: func(r nodereport.Report) bool { return r.NextBoot != nil }, newer: true}
	return reported("next-boot", "Nodes work after the next boot of their hosts", boot, func(host string, r nodereport.Report) (all []Finding) {
		for _, p := range r.NextBoot.Problems {
			all = append(all, Finding{Object: "Node " + host + ", " + p.Check, Saw: p.Saw, Want: p.Want, Fix: "on " + host + ": " + p.Fix})
		}
		return all
	})
}

package main

import (
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/verify"
)

// listRules prints the rules of airgap verify.
func listRules(a *app) error {
	if err := a.refuseReportFormat("airgap verify --list"); err != nil {
		return err
	}
	all := verify.Rules(verification.Probes()...)
	return a.print(all, func(w io.Writer) error {
		for _, r := range all {
			if _, err := fmt.Fprintf(w, "%-17s %-58s %s\n", r.ID, r.Title, observes(r)); err != nil {
				return err
			}
		}
		return nil
	})
}

func observes(r verify.RuleInfo) string {
	text := strings.Join(r.LooksAt, ", ")
	if len(r.LooksAt) == 0 {
		text = "outside the cluster"
	}
	if r.Needs != "" {
		text += "; with " + r.Needs
	}
	return text
}

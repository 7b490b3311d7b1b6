package main

import (
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/verify"
)

// listRules prints what verify may judge.
func listRules(a *app) error {
	if err := a.noReport("airgap verify --list"); err != nil {
		return err
	}
	all := verify.Rules(verdict.RegistriesWhole())
	return a.print(all, func(w io.Writer) error {
		for _, r := range all {
			if _, err := fmt.Fprintf(w, "%-17s %-58s %s\n", r.ID, r.Title, looksAt(r)); err != nil {
				return err
			}
		}
		return nil
	})
}

func looksAt(r verify.RuleInfo) string {
	text := strings.Join(r.LooksAt, ", ")
	if len(r.LooksAt) == 0 {
		text = "asks outside of the cluster"
	}
	if r.Needs != "" {
		text += "; with " + r.Needs
	}
	return text
}
